"""The text pipeline: from a text to the words that are kept of it, and where its sentences end."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal

from taxocaps.config import Config, fingerprint
from taxocaps.errors import TextError
from taxocaps.text.custom_tokenizer import code_of, custom_tokenizer
from taxocaps.text.lemmas import lemmatizer
from taxocaps.text.normalize import LONGEST_WORD, Normalizer
from taxocaps.text.spacy_tokenizer import spacy_tokenizer
from taxocaps.text.spans import Span, locate
from taxocaps.text.stopwords import load_stop_words, read_stop_words
from taxocaps.text.token_chunk import TokenChunk, gather
from taxocaps.text.tokenize import raw_tokens

__all__ = ["TextConfig", "TextPipeline", "TokenizedText"]

_REMEMBERED = 2**18
_LONGEST_RAW = 2 * LONGEST_WORD

# A raw token, still to be normalised, is a string; a finished word is a tuple of one. Both can stand in one chunk.
Piece = str | tuple[str, ...]


class TextConfig(Config):
    """How texts become words.

    Attributes:
        language: Code of the language, such as `en`.
        tokenizer: `words` (the built-in rules), `none` (ready tokens between white space), `spacy:NAME` (a spaCy
            pipeline, by package or path), or `module:function` (a callable from a text to a list of words). The other
            keys apply to `words`; spaCy has its own language, lemmas and, by default, stop words; what `none` and a
            callable give is final.
        lemmas: Whether words are replaced by their lemmas.
        stop_words: `default` (the list of the language), `none`, or a file with one word a line.
        lowercase: Whether words are put into lower case.
        numbers: Whether tokens without letters are kept.
    """

    section: ClassVar[str] = "text"
    language: str = "en"
    tokenizer: str = "words"
    lemmas: Literal["simplemma", "none"] = "simplemma"
    stop_words: str = "default"
    lowercase: bool = True
    numbers: Literal["keep", "drop"] = "keep"


@dataclass(frozen=True)
class TokenizedText:
    """The kept words of one text.

    Attributes:
        words: In the order of the text.
        sentence_ends: The number of words up to the end of each sentence that has words, strictly ascending; the last
            is the number of all words.
    """

    words: tuple[str, ...]
    sentence_ends: tuple[int, ...]


class TextPipeline:
    """From texts to kept words, by one configuration; built once, since it loads dictionaries and remembers words.

    >>> pipeline = TextPipeline(TextConfig())
    >>> pipeline("Musk told the electric car company that it had gone.").words
    ('musk', 'tell', 'electric', 'car', 'company', 'go')
    """

    def __init__(self, config: TextConfig | None = None) -> None:
        """Prepare tokenizer, lemmas and stop words.

        Raises:
            TextError: For an unknown language, tokenizer or list of stop words.
            MissingExtraError: For a spaCy tokenizer when spaCy is not installed.
        """
        self.config = config or TextConfig()
        self._pieces, normalize = _parts(self.config)
        self._words_of = _Memory(normalize).__getitem__

    def __call__(self, text: str) -> TokenizedText:
        """The kept words of a text."""
        words: list[str] = []
        ends = [0]
        for word in chain.from_iterable(map(self._words_of, self._pieces(text))):
            if word:
                words.append(word)
            elif len(words) > ends[-1]:
                ends.append(len(words))
        if len(words) > ends[-1]:
            ends.append(len(words))
        return TokenizedText(tuple(words), tuple(ends[1:]))

    def spans(self, text: str) -> list[Span]:
        """Where in a text each of its kept words stands, in the order of `words`."""
        pieces = ((piece, [word for word in self._words_of(piece) if word]) for piece in self._pieces(text))
        return locate(text, pieces)

    def from_tokens(self, tokens: Sequence[str]) -> TokenizedText:
        """Ready tokens as they are, in one sentence; empty ones are left out."""
        words = tuple(filter(None, tokens))
        return TokenizedText(words, (len(words),) if words else ())

    def chunk(self, documents: Iterable[str | Sequence[str]]) -> TokenChunk:
        """The words of many documents, texts or ready tokens, as arrays."""
        pieces = (
            self._pieces(document) if isinstance(document, str) else zip(filter(None, document), strict=True)
            for document in documents
        )
        return gather(pieces, self._words_of)

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides the words: the configuration, and what a user's files and functions hold."""
        name = self.config.tokenizer
        is_own = ":" in name and not name.startswith("spacy:")
        uses_stop_words = name == "words" or (name.startswith("spacy:") and self.config.stop_words != "default")
        stop_words = sorted(_stop_words(self.config)) if uses_stop_words else []
        return fingerprint([self.config.as_mapping(), stop_words, code_of(name) if is_own else ""])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.config,)


class _Memory(dict[Piece, tuple[str, ...]]):
    """The words of pieces, worked out when first asked for; emptied when full, so that no corpus can outgrow it."""

    def __init__(self, normalize: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._normalize = normalize

    def __missing__(self, piece: Piece) -> tuple[str, ...]:
        if isinstance(piece, tuple):
            return piece
        if len(piece) > _LONGEST_RAW:  # encoded data: neither a word nor worth remembering
            return ()
        if len(self) >= _REMEMBERED:
            self.clear()
        words = self[piece] = self._normalize(piece)
        return words


def _parts(config: TextConfig) -> tuple[Callable[[str], Iterable[Piece]], Callable[[str], tuple[str, ...]]]:
    """The function from a text to its pieces, and the one from a raw token to its words."""
    name = config.tokenizer
    if name == "words":
        return raw_tokens, _normalizer(config)
    words = str.split if name == "none" else _foreign_tokenizer(name, config)
    return lambda text: zip(words(text), strict=True), _finished


def _normalizer(config: TextConfig) -> Normalizer:
    return Normalizer(
        config.language,
        lemmatizer(config.language) if config.lemmas == "simplemma" else None,
        _stop_words(config),
        lowercase=config.lowercase,
        keep_numbers=config.numbers == "keep",
    )


def _foreign_tokenizer(name: str, config: TextConfig) -> Callable[[str], Iterable[str]]:
    kind, colon, rest = name.partition(":")
    if not (kind and colon and rest):
        nearest = difflib.get_close_matches(name, ["words", "none", "spacy:NAME", "module:function"], n=1, cutoff=0.5)
        hint = f"; did you mean {nearest[0]}?" if nearest else ""
        raise TextError(f"text.tokenizer must be words, none, spacy:NAME or module:function; got {name!r}{hint}")
    if kind != "spacy":
        return custom_tokenizer(name)
    return spacy_tokenizer(
        rest,
        None if config.stop_words == "default" else _stop_words(config),
        lemmas=config.lemmas != "none",
        lowercase=config.lowercase,
        keep_numbers=config.numbers == "keep",
    )


def _stop_words(config: TextConfig) -> frozenset[str]:
    if config.stop_words == "none":
        return frozenset()
    if config.stop_words == "default":
        return load_stop_words(config.language)
    path = Path(config.stop_words)
    if not path.is_file():
        raise TextError(f"text.stop_words must be default, none or a file with one word a line; no file {str(path)!r}")
    return read_stop_words(path)


def _finished(raw: str) -> tuple[str, ...]:
    return (raw,)
