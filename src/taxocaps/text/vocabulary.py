"""The vocabulary: words and their ids, from counts to a file and back."""

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from operator import add, lt
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import AtLeast, Config
from taxocaps.errors import FileError, StoreError
from taxocaps.files import COMPRESSIONS, LARGEST_TEXT, atomic_text, is_decodable, read_lines
from taxocaps.text.tokens import Tokens
from taxocaps.untrusted import read_bounded

__all__ = ["Vocabulary", "VocabularyConfig", "WordCounter"]

# What cannot stand as it is in a line `word<TAB>count`; ready tokens may hold anything.
_UNSAFE = re.compile(r"[\\\t\n\r\ufeff\ud800-\udfff]")
_DIGITS = 18
"""Of a count: no corpus has more words."""
_LONGEST_ROW = 2**20
_ESCAPED = re.compile(r"\\(?:[\\tnr]|u[0-9a-f]{4})")


class VocabularyConfig(Config):
    """Which words get an id of their own.

    Attributes:
        min_count: The least number of occurrences; 1 keeps all words, as for vectors from a file.
        max_size: The largest number of words, the most frequent ones; null for no limit.
    """

    section: ClassVar[str] = "vocabulary"
    min_count: Annotated[int, AtLeast(1)] = 2
    max_size: Annotated[int, AtLeast(1)] | None = None


class Vocabulary:
    """Words with ids: 0 is padding, 1 any unknown word, and words from 2, the most frequent first.

    Words of the same count are in alphabetical order, so the same counts always give the same ids.

    >>> vocabulary = Vocabulary.from_counts({"b": 1, "a": 1, "c": 9})
    >>> vocabulary.ids(["a", "c", "z"]).tolist(), vocabulary.word(2), len(vocabulary)
    ([3, 2, 1], 'c', 5)
    """

    PADDING: ClassVar[int] = 0
    UNKNOWN: ClassVar[int] = 1
    FIRST: ClassVar[int] = 2

    def __init__(self, words: Sequence[str], counts: Sequence[int]) -> None:
        """Take words in their final order, with their counts; `from_counts` sorts them."""
        self.words = tuple(words)
        self.counts = tuple(counts)
        self._latest: tuple[Iterable[str], NDArray[np.int32]] = ((), np.zeros(0, np.int32))

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], config: VocabularyConfig | None = None) -> "Vocabulary":
        """Give ids to the words of a corpus.

        Args:
            counts: How often each word occurs.
            config: Which words are taken; by default all.
        """
        config = config or VocabularyConfig(min_count=1)
        words = sorted(word for word, count in counts.items() if count >= config.min_count)
        words.sort(key=counts.__getitem__, reverse=True)
        chosen = words[: config.max_size]
        return cls(chosen, [counts[word] for word in chosen])

    def __len__(self) -> int:
        """The number of ids, those of padding and unknown words included."""
        return len(self.words) + self.FIRST

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def ids(self, words: Iterable[str]) -> NDArray[np.int32]:
        """The ids of words; int32, 1 for an unknown one."""
        if words is self._latest[0]:  # the chunks of a store share their words, which may be a million
            return self._latest[1]
        ids = np.fromiter(map(self._ids.get, words, repeat(self.UNKNOWN)), np.int32)
        if isinstance(words, tuple):
            self._latest = words, ids
        return ids

    @cached_property
    def _ids(self) -> dict[str, int]:
        return dict(zip(self.words, range(self.FIRST, len(self)), strict=True))

    def word(self, id: int) -> str:
        """The word that has an id.

        Raises:
            IndexError: For padding, unknown, and ids that no word has.
        """
        if not self.FIRST <= id < len(self):
            raise IndexError(f"no word has the id {id}; words have {self.FIRST} to {len(self) - 1}")
        return self.words[id - self.FIRST]

    @property
    def fingerprint(self) -> str:
        """A hash of the words in their order: equal for vocabularies that give the same ids."""
        return hashlib.sha256("\n".join(self._escaped()).encode("utf-8")).hexdigest()

    def save(self, path: Path) -> None:
        """Write lines `word<TAB>count`; the file appears only when complete."""
        with atomic_text(path) as file:
            file.writelines(map("{}\t{}\n".format, self._escaped(), self.counts))

    def _escaped(self) -> Iterable[str]:
        """The words as they are written; few vocabularies have one that must be escaped."""
        return map(_escape, self.words) if _UNSAFE.search("".join(self.words)) else self.words

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Read a vocabulary that `save` wrote.

        Raises:
            StoreError: When the file is damaged; the line is named.
        """
        if rows := _sound_rows(path):
            return cls(*rows)
        counts: dict[str, int] = {}
        last = (-math.inf, "")
        for number, line in read_lines(path, strict=False, longest=_LONGEST_ROW):
            word, count = _row(path, number, line)
            if word in counts or (-count, word) <= last:
                raise _damaged(path, number, "words must stand once each, the most frequent first")
            counts[word] = count
            last = (-count, word)
        return cls(list(counts), list(counts.values()))


class WordCounter:
    """Counts the words of a corpus, chunk by chunk, in bounded memory.

    Whenever there are more than `limit` distinct words, those seen once are forgotten, and if that is not enough those
    seen twice, and so on. From then on (`exact` is false) words that are rare everywhere can be missing or counted too
    low; frequent ones lose nothing that matters.
    """

    LIMIT: ClassVar[int] = 2_000_000

    def __init__(self, limit: int = LIMIT) -> None:
        """Start with no words; `limit` is the number of distinct words to keep, about 150 bytes each."""
        self.counts: dict[str, int] = {}
        self.exact = True
        self._limit = limit

    def add(self, tokens: Tokens) -> None:
        """Count the words of a chunk."""
        self.add_counts(tokens.words, tokens.counts().tolist())

    def add_counts(self, words: Sequence[str], numbers: Iterable[int]) -> None:
        """Count words that occur so many times each; every word stands there once."""
        before = map(self.counts.get, words, repeat(0))
        self.counts.update(zip(words, map(add, before, numbers), strict=True))
        rare = 1
        while len(self.counts) > self._limit:
            self.counts = {word: count for word, count in self.counts.items() if count > rare}
            self.exact = False
            rare += 1


def _sound_rows(path: Path) -> tuple[list[str], list[int]] | None:
    """All words and counts at once; None if a line may be damaged, and each must be looked at."""
    if path.suffix.lower() in COMPRESSIONS:
        return None
    try:
        content = read_bounded(path, LARGEST_TEXT)
        text = content.decode("utf-8")
    except (FileError, UnicodeDecodeError):
        return None
    if not text.endswith("\n") or text.startswith("\ufeff") or "\r" in text:
        return None
    marks = np.frombuffer(content, np.uint8)
    marks = marks[(marks == ord("\t")) | (marks == ord("\n"))]
    if len(marks) % 2 or (marks[::2] != ord("\t")).any() or (marks[1::2] != ord("\n")).any():
        return None
    fields = text[:-1].replace("\n", "\t").split("\t")
    words, numbers = fields[::2], fields[1::2]
    digits = "".join(numbers)
    are_counts = all(numbers) and digits.isascii() and digits.isdigit() and max(map(len, numbers)) <= _DIGITS
    if not (are_counts and all(words)):
        return None
    if "\\" in text:
        words = [_unescape(word) if "\\" in word else word for word in words]
    counts = np.array(list(map(int, numbers)))
    follows = np.fromiter(map(lt, words, words[1:]), bool, len(words) - 1)
    is_sorted = ((counts[1:] < counts[:-1]) | ((counts[1:] == counts[:-1]) & follows)).all()
    return (words, counts.tolist()) if is_sorted and counts[-1] and len(set(words)) == len(words) else None


def _row(path: Path, number: int, line: str) -> tuple[str, int]:
    word, _, count = line.partition("\t")
    found = int(count) if count.isascii() and count.isdigit() and len(count) <= _DIGITS else 0
    if not (word and found and is_decodable(word)):
        raise _damaged(path, number, "not a word, a tab and a count")
    return _unescape(word) if "\\" in word else word, found


def _damaged(path: Path, number: int, reason: str) -> StoreError:
    return StoreError(f"{path}, line {number}: the vocabulary is damaged: {reason}; encode the corpus again")


def _escape(word: str) -> str:
    return _UNSAFE.sub(lambda match: match.group().encode("unicode_escape", "surrogatepass").decode("ascii"), word)


def _unescape(word: str) -> str:
    return _ESCAPED.sub(lambda match: match.group().encode("ascii").decode("unicode_escape"), word)
