"""The language of a text, guessed by its function words: documents in an unexpected language deserve a look."""

import re
from collections import Counter
from collections.abc import Mapping

from taxocaps.text.languages import stop_list_code
from taxocaps.text.normalize import load_stop_words, stop_word_languages

__all__ = ["LanguageGuesser"]

_WORD = re.compile(r"[^\W\d_]+")
_CHARACTERS = 5_000
"""Characters that are looked at; of a long text the beginning is enough."""

_FEWEST = 5
"""The least number of different function words of another language: a single one may be a name."""
_SHARE = 0.12
"""The least share of function words of another language; in running text it is a third."""
_TIMES = 3.0
"""How many times more frequent they must be than those of the expected language."""


class LanguageGuesser:
    """Recognises texts that are clearly not in the expected language, by their function words.

    A word that is in the stop lists of several languages counts for each of them in part. Languages without a stop list
    are not recognised.

    >>> guess = LanguageGuesser("en")
    >>> guess("Der Bericht ist nicht von dem Amt, und er wird auch nicht mehr von ihm sein.")
    'de'
    >>> guess("The report is not by the office, and it will not be.") is None
    True
    >>> LanguageGuesser()("The report is not by the office, and it will not be.")
    'en'
    """

    def __init__(self, language: str | None = None) -> None:
        """Prepare to find what is not in `language`; without one, any language that is clear."""
        self.expected = stop_list_code(language) if language is not None else ""
        self.is_able = language is None or self.expected in stop_word_languages()
        self._weights = _weights() if self.is_able else {}

    def __call__(self, text: str) -> str | None:
        """The code of the language, if it is another one than expected; else None."""
        counts = Counter(word.lower() for word in _WORD.findall(text[:_CHARACTERS]))
        found: dict[str, float] = {}  # by language, words that are in several lists by their part
        hits: dict[str, list[int]] = {}
        for word, count in counts.items():
            for language, part in self._weights.get(word, {}).items():
                found[language] = found.get(language, 0.0) + part * count
                hits.setdefault(language, []).append(count)
        if not found:
            return None
        best = max(sorted(found), key=found.__getitem__)
        is_running = len(hits[best]) >= _FEWEST and sum(hits[best]) >= _SHARE * counts.total()
        is_clear = found[best] > _TIMES * found.get(self.expected, 0.0)
        return best if best != self.expected and is_running and is_clear else None


def _weights() -> Mapping[str, Mapping[str, float]]:
    """For each stop word the languages that have it, with the part that it counts for each."""
    languages: dict[str, list[str]] = {}
    for language in sorted(stop_word_languages()):
        for word in load_stop_words(language):
            languages.setdefault(word, []).append(language)
    return {word: dict.fromkeys(known, 1 / len(known)) for word, known in languages.items()}
