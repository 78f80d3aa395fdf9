"""From raw tokens to words: lower case, clitics, lemmas, stop words."""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from taxocaps.errors import TextError, nearest
from taxocaps.files import read_lines
from taxocaps.text.languages import (
    CAPITAL_NOUNS,
    abbreviations,
    clitics,
    lemma_code,
    letter_table,
    lower_function,
    stop_list_code,
)
from taxocaps.text.tokenizers import ends_sentence, is_dotted, split_raw, word_runs

__all__ = [
    "LONGEST_RAW",
    "LONGEST_WORD",
    "Memory",
    "Normalizer",
    "lemma_languages",
    "lemmatizer",
    "load_overrides",
    "load_stop_words",
    "read_stop_words",
    "stop_word_languages",
]


_FOLDER = Path(__file__).parent / "stopwords"


def stop_word_languages() -> list[str]:
    """The languages that have a list.

    >>> "en" in stop_word_languages()
    True
    """
    return sorted(path.stem for path in _FOLDER.glob("*.txt"))


@cache
def load_stop_words(language: str) -> frozenset[str]:
    """The published stop words of a language, in lower case.

    Raises:
        TextError: When there is no list for the language.

    >>> "the" in load_stop_words("en")
    True
    """
    available = stop_word_languages()
    code = stop_list_code(language)
    if code not in available:
        raise TextError(
            f"text.stop_words: no list for language {language!r}; there are lists for {', '.join(available)}; "
            "set text.stop_words to none or to a file with one word a line"
        )
    return read_stop_words(_FOLDER / f"{code}.txt")


def read_stop_words(path: Path) -> frozenset[str]:
    """The words of a file, in lower case; white space separates them, and `|` begins a comment.

    They get the form that tokens have: abbreviations keep their last full stop only if there is another inside.
    """
    lines = (line.partition("|")[0] for _, line in read_lines(path))
    words = (word for line in lines for word in line.lower().replace("’", "'").split())
    return frozenset(word if is_dotted(word[:-1]) else word.rstrip(".") for word in words)


_OVERRIDES = Path(__file__).parent / "lemma_overrides.tsv"
_NOT_A_WORD = re.compile(r"[\d_.&,·]")
_NOT_ONE_TOKEN = re.compile(r"[\s.-]")
# English words of one or two letters are function words, which are stop words, or else names, units and symbols that
# the dictionary mistakes for contractions: ai -> be, ml -> millileter, us -> we, cs -> c.
_SHORTEST = {"en": 3}


def lemma_languages() -> list[str]:
    """The languages that have lemmas, by their codes."""
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    return sorted(SUPPORTED_LANGUAGES)


def load_overrides(language: str) -> dict[str, str]:
    """The corrected lemmas of a language, words and lemmas in lower case.

    >>> load_overrides("en")["gone"]
    'go'
    """
    rows = (line.split("\t") for _, line in read_lines(_OVERRIDES))
    return {word: lemma for code, word, lemma in rows if code == language}


def lemmatizer(language: str) -> Callable[[str], str]:
    """A function from a word to its lemma.

    Case is respected where the language writes nouns with a capital, except in words all in capitals. Numbers and
    identifiers, and words whose lemma would be several tokens, are their own lemma. The dictionary is read at the first
    word, which takes from 0.3 s (English) to 2.5 s (Russian).

    Raises:
        TextError: When there are no lemmas for the language.
    """
    code = lemma_code(language)
    _check_language(language, code)
    lemmatize = _lemmatize()
    overrides = load_overrides(language)
    shortest = _SHORTEST.get(language, 1)
    shouting = str.isupper if language in CAPITAL_NOUNS else _never

    def lemma(word: str) -> str:
        lower = word.lower()
        corrected = overrides.get(lower)
        if corrected is not None:
            return corrected
        if len(word) < shortest or (not word.isalpha() and _NOT_A_WORD.search(word)):
            return word
        found = lemmatize(lower if shouting(word) else word, code)
        if not found or found == word or found.lower() == lower:  # only case differs
            return word
        return found if found.isalpha() or not _NOT_ONE_TOKEN.search(found) else word

    return lemma


@cache
def _lemmatize() -> Callable[[str, str], str]:
    """The lemmatizer of the process, which remembers words of all languages."""
    from simplemma import Lemmatizer

    return Lemmatizer().lemmatize


_NAMES = {"german": "de", "french": "fr", "spanish": "es", "italian": "it", "dutch": "nl", "portuguese": "pt"}
_NAMES |= {"greek": "el", "polish": "pl", "russian": "ru", "swedish": "sv", "turkish": "tr", "czech": "cs"}
"""Languages whose names do not begin as their codes do."""


def _check_language(language: str, code: str) -> None:
    available = lemma_languages()
    if code in available:
        return
    name = re.split("[-_]", language.lower())[0]  # of en-US or english
    close = _NAMES.get(name) or nearest(name[:3], available)
    hint = f"did you mean {close}? " if close else ""
    raise TextError(
        f"text.language: no lemmas for language {language!r}; {hint}allowed: {', '.join(available)}; "
        "or set text.lemmas to none"
    )


def _never(_: str) -> bool:
    return False


LONGEST_WORD = 100
"""Longer tokens, such as encoded data, are dropped."""

LONGEST_RAW = 2 * LONGEST_WORD
"""Raw tokens that are longer, encoded data too, have no words."""

_REMEMBERED = 2**18
_NUMBER = "0123456789.,"
_ASCII_MARKS = "".join(c for c in map(chr, range(128)) if not (c.isalnum() or c == "_"))


class Memory(dict[Any, tuple[str, ...]]):
    """What a function makes of words, worked out when first asked for; emptied when full: no corpus can outgrow it."""

    def __init__(self, words_of: Callable[[str], tuple[str, ...]]) -> None:
        """Remember what `words_of` gives."""
        super().__init__()
        self._words_of = words_of

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(word) > LONGEST_RAW:  # hardly met again
            return self._words_of(word)
        if len(self) >= _REMEMBERED:
            self.clear()
        found = self[word] = self._words_of(word)
        return found


class Normalizer:
    """Turns raw tokens into kept words; slow and pure, so that callers remember its results.

    Letters are put into Unicode's compatible composed form (NFKC): accents are composed, ligatures and full-width
    letters become plain ones. Underscores around a word go. Abbreviations with dots get their last one: `U.S` and
    `U.S.` are both `u.s.`.
    """

    def __init__(
        self,
        language: str,
        lemma: Callable[[str], str] | None,
        stop_words: frozenset[str],
        *,
        lowercase: bool = True,
        keep_numbers: bool = True,
    ) -> None:
        """Keep the rules.

        Args:
            language: Code of the language, for its abbreviations, clitics and letters.
            lemma: From a word to its lemma; None keeps words as they are.
            stop_words: Words in lower case; tokens, their parts and their lemmas are dropped when they are among these.
            lowercase: Whether words are put into lower case.
            keep_numbers: Whether tokens without letters are kept.
        """
        self._lemma = lemma
        self._stop_words = stop_words
        self._lowercase = lowercase
        self._lower_first = lowercase and language not in CAPITAL_NOUNS
        self._keep_numbers = keep_numbers
        self._lower = lower_function(language)
        self._letters = letter_table(language)
        self._clitics = clitics(language)
        self._abbreviations = abbreviations(language)
        self._simple = Memory(self._kept_of_simple if self._lower_first else lambda word: tuple(self._kept(word)))

    def __call__(self, raw: str) -> tuple[str, ...]:
        """The kept words of a raw token, in order, and then "" if the token ends a sentence."""
        if not raw.isascii():
            word, end = split_raw(raw)
        elif raw.isalnum():  # most are
            return self._simple[self._lower(raw) if self._lower_first else raw]
        else:
            word = raw.rstrip(_ASCII_MARKS)  # as `split_raw`, but faster
            end = raw[len(word) :]
        if word.isascii() and word.isalnum():  # many differ in case and sentence ends only
            kept = self._simple[self._lower(word) if self._lower_first else word]
        elif not word.strip(_NUMBER):
            kept = (word,) if word and self._keep_numbers and word not in self._stop_words else ()
        else:
            kept = tuple(chain.from_iterable(self._kept(run.strip("_")) for run in self._runs(word)))
        return (*kept, "") if end and ends_sentence(word, end, self._abbreviations) else kept

    def _kept_of_simple(self, word: str) -> tuple[str, ...]:
        """As `_kept`, for ASCII letters and digits that were put into lower case."""
        if word in self._stop_words or len(word) > LONGEST_WORD or (word.isdigit() and not self._keep_numbers):
            return ()
        found = word if self._lemma is None else self._lemma(word)
        if found is not word:
            found = self._lower(found.translate(self._letters))
        return () if found in self._stop_words else (found,)

    def _runs(self, word: str) -> list[str]:
        if word.isascii():
            return [word]
        # The compatible form of one character can be several words: ½ is 1 and 2.
        return word_runs(unicodedata.normalize("NFKC", word.translate(self._letters)))

    def _kept(self, token: str) -> list[str]:
        if not token or len(token) > LONGEST_WORD or self._is_unwanted(token):
            return []
        if "." in token and is_dotted(token) and (token[0].isupper() or self._lower(token) in self._abbreviations):
            return self._finished(f"{token}.")
        if "'" not in token:
            return self._finished(token)
        parts = token.split("'")
        words = [part for part in parts if not self._is_stop_word(part) and self._lower(part) not in self._clitics]
        if len(words) == len(parts):
            return self._finished(token)
        return [word for part in words for word in self._finished(part)]

    def _finished(self, token: str) -> list[str]:
        word = self._lower(token) if self._lower_first else token
        if self._lemma is not None:
            word = self._lemma(word)
            if not word.isascii():
                word = word.translate(self._letters)
        if self._lowercase:
            word = self._lower(word)
        return [] if self._is_stop_word(word) else [word]

    def _is_stop_word(self, word: str) -> bool:
        return self._lower(word) in self._stop_words

    def _is_unwanted(self, token: str) -> bool:
        return self._is_stop_word(token) or not (self._keep_numbers or any(map(str.isalpha, token)))
