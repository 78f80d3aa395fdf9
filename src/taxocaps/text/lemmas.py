"""Lemmas by simplemma, with a table of corrections for its known faults."""

import difflib
import re
from collections.abc import Callable
from pathlib import Path

from taxocaps.errors import TextError
from taxocaps.files import read_lines
from taxocaps.text.languages import CAPITAL_NOUNS, lemma_code

__all__ = ["lemma_languages", "lemmatizer", "load_overrides"]

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
    from simplemma import lemmatize

    overrides = load_overrides(language)
    shortest = _SHORTEST.get(language, 1)
    shouting = str.isupper if language in CAPITAL_NOUNS else _never

    def lemma(word: str) -> str:
        corrected = overrides.get(word.lower())
        if corrected is not None:
            return corrected
        if len(word) < shortest or _NOT_A_WORD.search(word):
            return word
        found = lemmatize(word.lower() if shouting(word) else word, lang=code)
        only_case_differs = found.lower() == word.lower()
        return word if not found or only_case_differs or _NOT_ONE_TOKEN.search(found) else found

    return lemma


def _check_language(language: str, code: str) -> None:
    available = lemma_languages()
    if code in available:
        return
    start = re.split("[-_]", language.lower())[0][:3]  # of en-US or english
    nearest = difflib.get_close_matches(start, available, n=1)
    hint = f"did you mean {nearest[0]}? " if nearest else ""
    raise TextError(
        f"text.language: no lemmas for language {language!r}; {hint}allowed: {', '.join(available)}; "
        "or set text.lemmas to none"
    )


def _never(_: str) -> bool:
    return False
