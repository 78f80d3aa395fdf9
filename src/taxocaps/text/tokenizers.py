"""Tokenizers: the built-in rules, a spaCy pipeline, or a callable of the user."""

import importlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from taxocaps.errors import TextError, nearest
from taxocaps.registry import import_extra
from taxocaps.text.languages import INVISIBLE

__all__ = [
    "CONNECTORS",
    "LONE_ENDS",
    "STOPS",
    "code_of",
    "custom_tokenizer",
    "ends_sentence",
    "is_dotted",
    "marks_and_small_letters",
    "raw_tokens",
    "raw_tokens_with_marks",
    "spacy_tokenizer",
    "split_raw",
    "word_runs",
]


CONNECTORS = "'’.&·"
"""What connects two parts of a word."""
STOPS = ".!?…"
"""What ends a sentence if a space and no small letter come behind it."""
LONE_ENDS = "。！？｡।॥؟۔።។\u2029"
"""What ends a sentence without a space behind it."""

_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")


@dataclass(frozen=True)
class _Patterns:
    """Words; raw tokens: words with glued-on sentence ends, or marks that end a sentence; and those with all `!?`."""

    word: re.Pattern[str]
    raw: re.Pattern[str]
    marked: re.Pattern[str]

    @classmethod
    def of(cls, marks: str, lower: str, flags: re.RegexFlag) -> "_Patterns":
        # Quantifiers are possessive (`++`, `*+`): nothing is ever tried twice, so no text can make matching slow.
        run = rf"\w[\w{marks}]*+"
        word = rf"{run}(?:[{CONNECTORS}]{run}|,(?<=\d,)\d{{3}}(?!\w))*+"
        end = rf"[^\w\s{STOPS}]*+[{STOPS}]++[^\w\s,;:]*+(?=\s++[^\w\s]*+[^\W{lower}])"
        raw = rf"{word}(?:{end})?+|\n\s*\n|[.!?](?<=\s.)(?=\s)|[{LONE_ENDS}]"
        return cls(re.compile(word, flags), re.compile(raw, flags), re.compile(rf"{raw}|[!?]++", flags))


@cache
def _ascii_patterns() -> _Patterns:
    return _Patterns.of("", "a-z", re.ASCII)


@cache
def _unicode_patterns() -> _Patterns:
    return _Patterns.of(*marks_and_small_letters(), re.NOFLAG)


@cache
def marks_and_small_letters() -> tuple[str, str]:
    """The marks that may stand on a letter, and all small letters; going through all characters takes a while."""
    marks = "".join(c for c in map(chr, range(0x300, 0xFE00)) if unicodedata.category(c).startswith("M"))
    return marks + INVISIBLE, "".join(c for c in map(chr, range(0x2000)) if c.islower())


def _patterns(text: str) -> _Patterns:
    return _ascii_patterns() if text.isascii() else _unicode_patterns()


def raw_tokens(text: str) -> list[str]:
    r"""The tokens of a text with glued-on sentence ends; a lone mark or blank line that ends a sentence is one too.

    >>> raw_tokens("Mr. Musk (5.2 pct). He's in the U.S. now!\n\nEnd")
    ['Mr.', 'Musk', '5.2', 'pct).', "He's", 'in', 'the', 'U.S', 'now!', '\n\n', 'End']
    """
    return _patterns(text).raw.findall(text)


def raw_tokens_with_marks(text: str) -> list[str]:
    """The raw tokens of a text, and its other exclamation and question marks, which tell much in short texts.

    >>> raw_tokens_with_marks("So good!! Really?")
    ['So', 'good!!', 'Really', '?']
    """
    return _patterns(text).marked.findall(text)


def split_raw(raw: str) -> tuple[str, str]:
    """A raw token as its word and the sentence end behind it; either may be empty.

    >>> split_raw("pct).")
    ('pct', ').')
    """
    match = _patterns(raw).word.match(raw)
    word = match.group() if match else ""
    return word, raw[len(word) :]


def word_runs(text: str) -> list[str]:
    r"""The words of a text by the rules for raw tokens, without sentence ends.

    >>> word_runs("1\u20442 cup")
    ['1', '2', 'cup']
    """
    return _patterns(text).word.findall(text)


def is_dotted(word: str) -> bool:
    """Whether a word is an abbreviation with dots inside, its last one left out.

    >>> is_dotted("U.S"), is_dotted("Ph.D"), is_dotted("np.array"), is_dotted("3.5")
    (True, True, False, False)
    """
    return _DOTTED.fullmatch(word) is not None


def ends_sentence(word: str, end: str, abbreviations: frozenset[str]) -> bool:
    """Whether a raw token ends a sentence.

    A single full stop does not after an abbreviation, an initial, or a number of one or two digits, which is a list
    item or an ordinal more often than the last word. In doubt two sentences stay one.

    Args:
        word: First part of the raw token, by `split_raw`.
        end: Second part.
        abbreviations: Those of the language, in lower case.

    >>> ends_sentence("Mr", ".", frozenset({"mr"})), ends_sentence("pct", ").", frozenset({"mr"}))
    (False, True)
    """
    if not end or not word:
        return bool(end)
    if end != ".":
        return True
    initial = len(word) == 1 and word.isupper()
    short_number = len(word) <= 2 and word.isdigit()
    return not (initial or short_number or is_dotted(word) or word.lower() in abbreviations)


def custom_tokenizer(name: str) -> Callable[[str], list[str]]:
    """Import the function `module:function`, from a text to its words, and check what it gives.

    Raises:
        TextError: When it cannot be imported; the returned function raises it when the user's function fails or gives
            something other than words.
    """
    function = _imported(name)

    def words(text: str) -> list[str]:
        try:
            result = function(text)
            tokens = result if isinstance(result, str) else list(result)
        except Exception as error:
            raise TextError(f"tokenizer {name} failed: {type(error).__name__}: {error}") from error
        return _checked(tokens, name)

    return words


def code_of(name: str) -> str:
    """The source of the module that holds the tokenizer, by which a change of it is noticed; empty if it has none."""
    origin = getattr(importlib.import_module(name.partition(":")[0]), "__file__", None)
    return Path(origin).read_text(encoding="utf-8", errors="replace") if origin and origin.endswith(".py") else ""


def _imported(name: str) -> Callable[[str], Iterable[Any]]:
    module_name, _, function_name = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise TextError(
            f"text.tokenizer: the module of {name!r} cannot be imported: {type(error).__name__}: {error}; "
            "is its folder on PYTHONPATH?"
        ) from error
    function: object = getattr(module, function_name, None)
    if callable(function):
        return function
    functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
    close = nearest(function_name, functions)
    hint = f"; did you mean {module_name}:{close}?" if close else f"; it has {', '.join(functions) or 'none'}"
    raise TextError(f"text.tokenizer: the module {module_name!r} has no function {function_name!r}{hint}")


def _checked(tokens: object, name: str) -> list[str]:
    if not isinstance(tokens, list):
        raise TextError(f"tokenizer {name} must give a list of words; got {type(tokens).__name__}")
    strange = next((token for token in tokens if not isinstance(token, str)), None)
    if strange is not None:
        raise TextError(f"tokenizer {name} must give a list of words; one is {strange!r}")
    return [token for token in tokens if token]


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
    spacy = import_extra("spacy", f"the tokenizer 'spacy:{name}'")
    try:
        return spacy.load(name, exclude=["ner"])  # entities cost time and are not used
    except (OSError, ValueError, ImportError) as error:
        raise TextError(
            f"text.tokenizer: the spaCy pipeline {name!r} cannot be loaded; give the name of an installed package "
            f"(python -m spacy download NAME) or the path of a saved pipeline"
        ) from error
