"""Words and sentence ends by a spaCy pipeline."""

from collections.abc import Callable, Iterator
from typing import Any

from taxocaps.errors import MissingExtraError, TextError

__all__ = ["spacy_tokenizer"]


def spacy_tokenizer(
    name: str, stop_words: frozenset[str] | None, *, lemmas: bool, lowercase: bool, keep_numbers: bool
) -> Callable[[str], Iterator[str]]:
    """A function from a text to its words by a spaCy pipeline, with "" where a sentence ends.

    Args:
        name: What `spacy.load` takes: an installed package or the path of a saved pipeline.
        stop_words: Words in lower case to drop; None for those of the pipeline's language.
        lemmas: Whether to take lemmas where the pipeline gives them.
        lowercase: Whether words are put into lower case.
        keep_numbers: Whether tokens without letters are kept.

    Raises:
        MissingExtraError: When spaCy is not installed.
        TextError: When the pipeline cannot be loaded; the returned function raises it for a text that is too long.
    """
    pipeline = _loaded(name)

    def is_kept(token: Any) -> bool:
        if token.is_punct or token.is_space:
            return False
        is_stop = token.is_stop if stop_words is None else token.lower_ in stop_words
        return not is_stop and (keep_numbers or any(map(str.isalpha, token.text)))

    def words(text: str) -> Iterator[str]:
        if len(text) > pipeline.max_length:
            raise TextError(
                f"a document of {len(text):,} characters is too long for the spaCy pipeline {name} "
                f"(at most {pipeline.max_length:,}); split it or use the tokenizer 'words'"
            )
        document = pipeline(text)
        has_sentences = document.has_annotation("SENT_START")
        for token in document:
            if has_sentences and token.is_sent_start:
                yield ""
            if is_kept(token):
                word = (lemmas and token.lemma_) or token.text
                yield word.lower() if lowercase else word

    return words


def _loaded(name: str) -> Any:
    try:
        import spacy
    except ImportError as error:
        raise MissingExtraError("spacy", "spacy", f"the tokenizer 'spacy:{name}'") from error
    try:
        return spacy.load(name, exclude=["ner"])  # entities cost time and are not used
    except (OSError, ValueError, ImportError) as error:
        raise TextError(
            f"text.tokenizer: the spaCy pipeline {name!r} cannot be loaded; give the name of an installed package "
            f"(python -m spacy download NAME) or the path of a saved pipeline"
        ) from error
