"""Compiled counting of the features of bags: words, pairs of neighbouring words, character n-grams."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import kernel
from taxocaps.splitmix import mixed

__all__ = [
    "count_columns",
    "count_documents",
    "count_pair_documents",
    "count_with_pairs",
    "insert_codes",
    "insert_grams",
    "spell",
]

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]
Letters = NDArray[np.uint32]

_SHORTEST, _LONGEST = 3, 5
_BIT, _DE_BRUIJN, _SHIFT = np.uint64(1), np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
"""A power of 2 times the second has other leading six bits for each power."""
_INDICES = np.argsort([(1 << index) * 0x03F79D71B4CB0A89 % 2**64 >> 58 for index in range(64)])
"""Which power has which leading bits."""


@kernel
def count_columns(ids: Int32s, offsets: Int64s, starts: Int64s, columns: Int32s, width: int) -> Any:
    """Count the features of each document, where every word has some.

    Args:
        ids: The words of all documents; int32.
        offsets: Where each document begins, and the end; int64 [documents + 1].
        starts: Where the features of each word begin in `columns`, and the end; int64 [words + 1].
        columns: The features of all words, -1 for one that does not count; int32.
        width: The number of features.

    Returns:
        A CSR matrix with sorted indices: where rows begin, int64; the features, int32; and how often, float64.
    """
    most = 0
    for word in ids:
        most += starts[word + 1] - starts[word]
    found, bounds = np.empty(most, np.int32), np.zeros(len(offsets), np.int64)
    counts, times = np.empty(most), np.zeros(width, np.int32)
    words, repeats = np.empty(len(ids), np.int32), np.zeros(len(starts) - 1, np.int32)
    count = 0
    for document in range(len(offsets) - 1):
        begin, different = count, 0
        for word in ids[offsets[document] : offsets[document + 1]]:
            different = _met(word, 1, repeats, words, different)
        for word in words[:different]:
            for i in range(starts[word], starts[word + 1]):
                count = _met(columns[i], repeats[word], times, found, count)
            repeats[word] = 0
        _finish(found, counts, times, begin, count)
        bounds[document + 1] = count
    return bounds, found[:count].copy(), counts[:count].copy()


@kernel
def count_with_pairs(
    ids: Int32s,
    offsets: Int64s,
    singles: Int32s,
    parts: Int32s,
    slots: Int32s,
    codes: Int64s,
    pairs: Int32s,
    size: int,
    width: int,
) -> Any:
    """Count words and pairs of neighbouring words of each document.

    Args:
        ids: The words of all documents; int32.
        offsets: Where each document begins, and the end; int64 [documents + 1].
        singles: The feature that each word is, or -1; int32 [words].
        parts: The number of each word as a part of pairs, or -1; int32 [words].
        slots: A table of `codes`, see `insert_codes`.
        codes: The number of the first word of each known pair times `size`, plus that of the second; int64.
        pairs: The feature that each of these pairs is; int32.
        size: How many words are parts of pairs.
        width: The number of features.

    Returns:
        As `count_columns` does.
    """
    found, bounds = np.empty(2 * len(ids), np.int32), np.zeros(len(offsets), np.int64)
    counts, times = np.empty(2 * len(ids)), np.zeros(width, np.int32)
    count = 0
    for document in range(len(offsets) - 1):
        begin, before = count, -1
        for word in ids[offsets[document] : offsets[document + 1]]:
            count = _met(singles[word], 1, times, found, count)
            part = parts[word]
            if before >= 0 and part >= 0:
                index = slots[_slot(slots, codes, np.int64(before) * size + part)]
                if index >= 0:
                    count = _met(pairs[index], 1, times, found, count)
            before = part
        _finish(found, counts, times, begin, count)
        bounds[document + 1] = count
    return bounds, found[:count].copy(), counts[:count].copy()


@kernel
def _met(column: int, more: int, times: Int32s, found: Int32s, count: int) -> Any:
    """Count a feature of a document so many times; returns the number of its different features so far."""
    if column < 0:
        return count
    if times[column] == 0:
        found[count] = column
        count += 1
    times[column] += more
    return count


@kernel
def _finish(found: Int32s, counts: Float64s, times: Int32s, begin: int, end: int) -> None:
    """Sort the features of a document and write down how often each was met, which is then forgotten."""
    _sort(found[begin:end], len(times))
    for i in range(begin, end):
        counts[i] = times[found[i]]
        times[found[i]] = 0


@kernel
def _sort(columns: Int32s, width: int) -> None:
    """Sort different numbers below `width`; if they are many, by a bit for each, which is several times as fast."""
    words = width // 64 + 1
    if 16 * len(columns) < words:
        columns.sort()
        return
    bits = np.zeros(words, np.uint64)
    for column in columns:
        bits[column >> 6] |= _BIT << np.uint64(column & 63)
    count = 0
    for word in range(words):
        rest = bits[word]
        while rest:
            lowest = rest & (~rest + _BIT)
            columns[count] = 64 * word + _INDICES[(lowest * _DE_BRUIJN) >> _SHIFT]
            rest ^= lowest
            count += 1


@kernel
def count_documents(ids: Int32s, offsets: Int64s, starts: Int64s, columns: Int32s, counts: Int64s) -> None:
    """Add to `counts`, [features], the documents that have each feature; see `count_columns`."""
    latest, latest_word = np.full(len(counts), -1, np.int64), np.full(len(starts) - 1, -1, np.int64)
    for document in range(len(offsets) - 1):
        for word in ids[offsets[document] : offsets[document + 1]]:
            if latest_word[word] == document:
                continue
            latest_word[word] = document
            for i in range(starts[word], starts[word + 1]):
                column = columns[i]
                if latest[column] != document:
                    latest[column] = document
                    counts[column] += 1


@kernel
def count_pair_documents(
    ids: Int32s, offsets: Int64s, size: int, slots: Int32s, codes: Int64s, counts: Int64s, latest: Int64s, last: Int64s
) -> None:
    """Add the pairs of neighbouring words of some documents to a table, with the documents that have each.

    Args:
        ids: The words of all documents; int32.
        offsets: Where each document begins, and the end; int64 [documents + 1].
        size: More than any word's id.
        slots: The table, see `insert_codes`; there must be room for all pairs of these documents.
        codes: The pairs, first word times `size` plus second; those in the table come first.
        counts: The documents of each pair.
        latest: The document that had each pair last, counted over all calls.
        last: int64 [2]: the number of pairs in the table, and of documents so far.
    """
    for document in range(len(offsets) - 1):
        for i in range(offsets[document] + 1, offsets[document + 1]):
            code = np.int64(ids[i - 1]) * size + ids[i]
            slot = _slot(slots, codes, code)
            if slots[slot] < 0:
                slots[slot] = last[0]
                codes[last[0]], counts[last[0]], latest[last[0]] = code, 0, -1
                last[0] += 1
            index = slots[slot]
            if latest[index] != last[1]:
                latest[index] = last[1]
                counts[index] += 1
        last[1] += 1


@kernel
def insert_codes(slots: Int32s, codes: Int64s) -> None:
    """Fill a hash table, -1 everywhere and its length a power of 2, with the indices of different numbers."""
    for index in range(len(codes)):
        slots[_slot(slots, codes, codes[index])] = index


@kernel
def _slot(slots: Int32s, codes: Int64s, code: int) -> Any:
    """Where a number stands in a table, or where it would."""
    mask = len(slots) - 1
    slot = np.int64(mixed(np.uint64(code)) & np.uint64(mask))
    while slots[slot] >= 0 and codes[slots[slot]] != code:
        slot = (slot + 1) & mask
    return slot


@kernel
def spell(
    letters: Letters, bounds: Int64s, known: Letters, places: Int64s, slots: Int32s, number: int, seed: int, adds: bool
) -> Any:
    """Find the character n-grams of words in a table; see `encoding.bag` for which these are.

    Args:
        letters: The letters of all words, a space before and after each; uint32.
        bounds: Where each word begins, and the end; int64 [words + 1].
        known: The letters of the n-grams in the table; uint32.
        places: Where each n-gram of the table begins in `known`, times 8, plus its length; int64, room for new ones.
        slots: The table: numbers of n-grams, -1 where it is empty; its length is a power of 2.
        number: How many n-grams the table has.
        seed: Of the hash, so that nobody can prepare words whose n-grams all collide; changes no result.
        adds: Whether n-grams that are not in the table are added; `known` is `letters` then.

    Returns:
        Where the n-grams of each word begin, int64 [words + 1]; the numbers of those in the table, int32; and how many
        the table has now.
    """
    most = 0
    for word in range(len(bounds) - 1):
        for length in range(_SHORTEST, _LONGEST + 1):
            most += max(0, bounds[word + 1] - bounds[word] - length + 1)
    found, starts = np.empty(most, np.int32), np.zeros(len(bounds), np.int64)
    count = 0
    for word in range(len(bounds) - 1):
        for length in range(_SHORTEST, _LONGEST + 1):
            for begin in range(bounds[word], bounds[word + 1] - length + 1):
                slot = _gram_slot(letters, begin, length, known, places, slots, seed)
                if slots[slot] < 0 and adds:
                    slots[slot], places[number] = number, begin * 8 + length
                    number += 1
                if slots[slot] >= 0:
                    found[count] = slots[slot]
                    count += 1
        starts[word + 1] = count
    return starts, found[:count].copy(), number


@kernel
def insert_grams(known: Letters, places: Int64s, slots: Int32s, seed: int) -> None:
    """Fill an empty table of n-grams, see `spell`; lengths that no n-gram has are left out."""
    for number in range(len(places)):
        length = places[number] & 7
        if _SHORTEST <= length <= _LONGEST:
            slots[_gram_slot(known, places[number] >> 3, length, known, places, slots, seed)] = number


@kernel
def _gram_slot(
    letters: Letters, begin: int, length: int, known: Letters, places: Int64s, slots: Int32s, seed: int
) -> Any:
    """Where an n-gram stands in a table, or where it would."""
    value = np.uint64(seed)
    for i in range(begin, begin + length):
        value = (value ^ np.uint64(letters[i])) * np.uint64(0x100000001B3)
    mask = len(slots) - 1
    slot = np.int64(mixed(value) & np.uint64(mask))
    while slots[slot] >= 0 and not _is_same(letters, begin, length, known, places[slots[slot]]):
        slot = (slot + 1) & mask
    return slot


@kernel
def _is_same(letters: Letters, begin: int, length: int, known: Letters, place: int) -> bool:
    if place & 7 != length:
        return False
    other, step = place >> 3, 0
    while step < length and known[other + step] == letters[begin + step]:
        step += 1
    return step == length
