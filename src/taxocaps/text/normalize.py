"""From a raw token to the words that are kept of it: case, clitics, stop words, lemma."""

import unicodedata
from collections.abc import Callable
from itertools import chain

from taxocaps.text.languages import CAPITAL_NOUNS, abbreviations, clitics, letter_table, lower_function
from taxocaps.text.tokenize import ends_sentence, is_dotted, split_raw, word_runs

__all__ = ["LONGEST_WORD", "Normalizer"]

LONGEST_WORD = 100
"""Longer tokens, such as encoded data, are dropped."""


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

    def __call__(self, raw: str) -> tuple[str, ...]:
        """The kept words of a raw token, in order, and then "" if the token ends a sentence."""
        word, end = split_raw(raw)
        kept = list(chain.from_iterable(self._kept(run.strip("_")) for run in self._runs(word)))
        if ends_sentence(word, end, self._abbreviations):
            kept.append("")
        return tuple(kept)

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
