"""The features of bags by compiled code: which there are in a corpus, and how often documents have those of a bag.

The same counts as by numpy in `bag`, for many words at a time.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise, repeat
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from taxocaps.encoding.bag_kernels import (
    count_columns,
    count_documents,
    count_pair_documents,
    count_with_pairs,
    insert_codes,
    insert_grams,
    spell,
)
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.text.tokens import Tokens
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["COUNTERS", "FREQUENCIES", "FeatureCounter", "Rows"]

_HASH_SEED = secrets.randbits(63)

Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
"""A CSR matrix: where rows begin, the columns, sorted in each row, and the values."""


class FeatureCounter(Protocol):
    """Counts the features of a vocabulary in documents."""

    def __call__(self, tokens: Tokens) -> Rows:
        """How often each document has each feature, CSR [documents, V]."""


class _PairCounter:
    """Counts words and pairs; the words of a name such as `crude oil` may be two words, or one with a space in it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary, self._parts = vocabulary, dict[str, int]()
        splits = (
            (self._number(name[:space]), self._number(name[space + 1 :]), column)
            for column, name in enumerate(vocabulary.words)
            for space in range(len(name))
            if name[space] == " "
        )
        first, second, self._columns = np.array(list(splits), np.int64).reshape(-1, 3).T
        self._codes = first * len(self._parts) + second
        self._slots = _empty_table(len(self._codes))
        insert_codes(self._slots, self._codes)
        self._latest: tuple[Sequence[str], NDArray[np.int32]] = ((), np.zeros(0, np.int32))

    def _number(self, word: str) -> int:
        return self._parts.setdefault(word, len(self._parts))

    def __call__(self, tokens: Tokens) -> Rows:
        singles = self._vocabulary.ids(tokens.words) - Vocabulary.FIRST
        if tokens.words is not self._latest[0]:
            parts = np.fromiter(map(self._parts.get, tokens.words, repeat(-1)), np.int32, len(tokens.words))
            self._latest = tokens.words, parts
        table = self._slots, self._codes, self._columns.astype(np.int32), len(self._parts)
        width = len(self._vocabulary.words)
        found: Rows = count_with_pairs(tokens.ids, tokens.offsets, singles, self._latest[1], *table, width)
        return found


class _CharacterCounter:
    """Counts character n-grams."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._width = len(vocabulary.words)
        self._known, bounds = _letters(vocabulary.words)
        lengths = np.minimum(np.diff(bounds), 7)  # no n-gram is so long
        self._places, self._slots = bounds[:-1] * 8 + lengths, _empty_table(self._width)
        insert_grams(self._known, self._places, self._slots, _HASH_SEED)
        self._latest: tuple[Sequence[str], Any] = ((), (np.zeros(1, np.int64), np.zeros(0, np.int32)))
        self._memory: dict[str, bytes] = {}

    def __call__(self, tokens: Tokens) -> Rows:
        latest = self._latest
        if tokens.words is not latest[0]:
            self._latest = latest = tokens.words, self._spelled(tokens.words)
        found: Rows = count_columns(tokens.ids, tokens.offsets, *latest[1], self._width)
        return found

    def _spelled(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where the known n-grams of each word begin, and the end; and all of them. Most words were met before."""
        if len(words) > _MOST_REMEMBERED:
            return self._spell(words)
        memory = self._memory
        new = [word for word in words if word not in memory]
        if len(memory) + len(new) > _MOST_REMEMBERED:
            memory, new = {}, list(words)
        starts, columns = self._spell(new)
        letters, bounds = columns.tobytes(), (starts * columns.itemsize).tolist()
        memory.update((word, letters[begin:end]) for word, (begin, end) in zip(new, pairwise(bounds), strict=True))
        self._memory = memory
        found = [memory[word] for word in words]
        ends = np.fromiter(accumulate(map(len, found), initial=0), np.int64, len(found) + 1)
        return ends // columns.itemsize, np.frombuffer(b"".join(found), np.int32)

    def _spell(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        table = self._known, self._places, self._slots, self._width
        starts, columns, _ = spell(*_letters([f" {word} " for word in words]), *table, _HASH_SEED, False)
        return starts, columns


_MOST_REMEMBERED = 200_000
"""Words whose n-grams a counter remembers, about 200 bytes each."""


COUNTERS: Mapping[str, Callable[[Vocabulary], FeatureCounter]] = {
    "pairs": _PairCounter,
    "characters": _CharacterCounter,
}
"""What counts the features of a bag, by `bag.features`."""


def _words_with_frequencies(documents: EncodedDocuments, least: int) -> dict[str, int]:
    words = documents.tokens.words
    identity = np.arange(len(words) + 1)
    counts = _document_counts(documents, identity, identity[:-1].astype(np.int32), len(words))
    frequent = np.flatnonzero(counts >= least)
    return dict(zip([words[index] for index in frequent.tolist()], counts[frequent].tolist(), strict=True))


def _pairs_with_frequencies(documents: EncodedDocuments, least: int) -> dict[str, int]:
    words, table = documents.tokens.words, _PairTable(len(documents.tokens.words))
    if any(" " in word for word in words):
        return _spaced_with_frequencies(documents, least)
    for tokens in documents.token_chunks():
        table.add(tokens)
    pairs = {f"{words[first]} {words[second]}": count for first, second, count in table.frequent(least)}
    return {**_words_with_frequencies(documents, least), **pairs}


def _spaced_with_frequencies(documents: EncodedDocuments, least: int) -> dict[str, int]:
    """The same where a word may be spelled like a pair of others: a document that has both counts once."""
    lists = (words for tokens in documents.token_chunks() for words in tokens.documents())
    counts = Counter(name for words in lists for name in {*words, *map(" ".join, pairwise(words))})
    return {name: count for name, count in counts.items() if count >= least}


def _characters_with_frequencies(documents: EncodedDocuments, least: int) -> dict[str, int]:
    used = np.zeros(len(documents.tokens.words), bool)
    for tokens in documents.token_chunks():
        used[tokens.ids] = True
    words = [f" {word} " if is_used else "" for word, is_used in zip(documents.tokens.words, used, strict=True)]
    letters, bounds = _letters(words)
    most = int(np.maximum(3 * np.diff(bounds), 0).sum())
    places = np.empty(most, np.int64)
    starts, columns, number = spell(letters, bounds, letters, places, _empty_table(most), 0, _HASH_SEED, True)
    counts = _document_counts(documents, starts, columns, number)
    text = "".join(words)
    frequent = np.flatnonzero(counts >= least)
    begins, lengths = places[frequent] >> 3, places[frequent] & 7
    names = [text[begin:end] for begin, end in zip(begins.tolist(), (begins + lengths).tolist(), strict=True)]
    return dict(zip(names, counts[frequent].tolist(), strict=True))


FREQUENCIES: Mapping[str, Callable[[EncodedDocuments, int], dict[str, int]]] = {
    "words": _words_with_frequencies,
    "pairs": _pairs_with_frequencies,
    "characters": _characters_with_frequencies,
}
"""From documents to the features that at least so many of them have, with the number of these, by `bag.features`."""


def _document_counts(
    documents: EncodedDocuments, starts: NDArray[np.int64], columns: NDArray[np.int32], width: int
) -> NDArray[np.int64]:
    """How many documents have each feature; int64 [width]."""
    counts = np.zeros(width, np.int64)
    for tokens in documents.token_chunks():
        count_documents(tokens.ids, tokens.offsets, starts, columns, counts)
    return counts


class _PairTable:
    """The pairs of neighbouring words of a corpus, and how many documents have each; it grows as needed."""

    def __init__(self, words: int) -> None:
        self._size, self._last = words, np.zeros(2, np.int64)
        self._codes = self._counts = self._latest = np.zeros(0, np.int64)
        self._slots = _empty_table(0)

    def add(self, tokens: Tokens) -> None:
        """Count the pairs of some more documents."""
        self._make_room(int(self._last[0]) + len(tokens.ids))
        table = self._slots, self._codes, self._counts, self._latest, self._last
        count_pair_documents(tokens.ids, tokens.offsets, self._size, *table)

    def frequent(self, least: int) -> list[tuple[int, int, int]]:
        """The pairs that at least so many documents have: first word, second word, documents."""
        kept = np.flatnonzero(self._counts[: self._last[0]] >= least)
        first, second = np.divmod(self._codes[kept], max(1, self._size))
        return list(zip(first.tolist(), second.tolist(), self._counts[kept].tolist(), strict=True))

    def _make_room(self, wanted: int) -> None:
        if wanted <= len(self._codes):
            return
        wanted = max(wanted, 2 * len(self._codes))
        used = int(self._last[0])
        self._codes, self._counts, self._latest = (
            np.concatenate([array[:used], np.zeros(wanted - used, np.int64)])
            for array in (self._codes, self._counts, self._latest)
        )
        self._slots = _empty_table(wanted)
        insert_codes(self._slots, self._codes[:used])


def _empty_table(entries: int) -> NDArray[np.int32]:
    """An empty hash table, at most half full with so many entries."""
    return np.full(1 << max(4, (2 * entries).bit_length()), -1, np.int32)


def _letters(words: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The letters of words one after the other, and where each word begins, and the end."""
    letters = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
    return letters, np.fromiter(accumulate(map(len, words), initial=0), np.int64, len(words) + 1)
