"""The compiled twin of the patterns of raw tokens: where they begin and end, and which are the same."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import kernel
from taxocaps.splitmix import mixed

__all__ = [
    "CONNECTOR",
    "DIGIT",
    "LONE",
    "LOWER",
    "MARK",
    "SPACE",
    "STOP",
    "WORD",
    "number_pieces",
    "scan_texts",
    "spread_words",
]

WORD, MARK, SPACE, DIGIT, LOWER, STOP, CONNECTOR, LONE = (1 << bit for bit in range(8))
"""What a character may be, as bits: part of a word, a mark on a letter, space, a digit, a small letter, what ends a
sentence, what connects two parts of a word, and what ends a sentence without a space behind it."""

Letters: TypeAlias = NDArray[np.uint32]
Kinds: TypeAlias = NDArray[np.uint8]
Places: TypeAlias = NDArray[np.int64]

_NEWLINE, _COMMA, _SEMICOLON, _COLON = 10, 44, 59, 58
_DOT, _EXCLAMATION, _QUESTION = 46, 33, 63


@kernel
def scan_texts(
    letters: Letters, bounds: Places, is_ascii: NDArray[np.bool_], ascii_kinds: Kinds, kinds: Kinds, keeps_marks: bool
) -> tuple[Places, Places, Places]:
    """Find the raw tokens of texts.

    Args:
        letters: The characters of all texts; uint32 [characters].
        bounds: Where each text begins, and the end; int64 [texts + 1].
        is_ascii: Whether a text has ASCII characters only, for which rules are simpler; bool [texts].
        ascii_kinds: What each character of such a text is; uint8 [128].
        kinds: What each character of another text is; uint8 [characters there are].
        keeps_marks: Whether runs of `!?` that end no sentence are tokens, too.

    Returns:
        Begin and end of each token, int64 [tokens] each, and where the tokens of each text begin, int64 [texts + 1].
    """
    begins, ends = np.empty(len(letters), np.int64), np.empty(len(letters), np.int64)
    offsets = np.zeros(len(bounds), np.int64)
    count = 0
    for text in range(len(bounds) - 1):
        table = ascii_kinds if is_ascii[text] else kinds
        first, last = bounds[text], bounds[text + 1]
        position = first
        while position < last:
            end = _token(letters, table, first, position, last, keeps_marks)
            if end > position:
                begins[count], ends[count] = position, end
                count += 1
                position = end
            else:
                position += 1
        offsets[text + 1] = count
    return begins[:count].copy(), ends[:count].copy(), offsets


@kernel
def _token(letters: Letters, table: Kinds, first: int, position: int, last: int, keeps_marks: bool) -> Any:
    """The end of the token that begins here, or this position if none does."""
    letter = letters[position]
    kind = table[letter]
    if kind & WORD:
        return _sentence_end(letters, table, _word(letters, table, position, last), last)
    if letter == _NEWLINE:
        end, behind = position, position + 1
        while behind < last and table[letters[behind]] & SPACE:
            if letters[behind] == _NEWLINE:
                end = behind + 1
            behind += 1
        if end > position:
            return end
    if letter in (_DOT, _EXCLAMATION, _QUESTION):
        before = position > first and table[letters[position - 1]] & SPACE
        if before and position + 1 < last and table[letters[position + 1]] & SPACE:
            return position + 1
    if kind & LONE:
        return position + 1
    end = position
    if keeps_marks:
        while end < last and (letters[end] == _EXCLAMATION or letters[end] == _QUESTION):
            end += 1
    return end


@kernel
def _word(letters: Letters, table: Kinds, position: int, last: int) -> Any:
    """The end of the word that begins here."""
    end = _run(letters, table, position, last)
    while end + 1 < last:
        if table[letters[end]] & CONNECTOR and table[letters[end + 1]] & WORD:
            end = _run(letters, table, end + 1, last)
        elif letters[end] == _COMMA and _thousands(letters, table, end, last):
            end += 4
        else:
            break
    return end


@kernel
def _run(letters: Letters, table: Kinds, position: int, last: int) -> int:
    end = position + 1
    while end < last and table[letters[end]] & (WORD | MARK):
        end += 1
    return end


@kernel
def _thousands(letters: Letters, table: Kinds, comma: int, last: int) -> bool:
    """Whether a comma stands behind a digit and before three digits that end there."""
    if comma + 3 >= last or not table[letters[comma - 1]] & DIGIT:
        return False
    for place in range(comma + 1, comma + 4):
        if not table[letters[place]] & DIGIT:
            return False
    return comma + 4 >= last or not table[letters[comma + 4]] & WORD


@kernel
def _sentence_end(letters: Letters, table: Kinds, end: int, last: int) -> int:
    """The end of a token whose word ends here: behind the marks of its sentence, if one ends with it."""
    behind = end
    while behind < last and not table[letters[behind]] & (WORD | SPACE | STOP):
        behind += 1
    if behind >= last or not table[letters[behind]] & STOP:
        return end
    while behind < last and table[letters[behind]] & STOP:
        behind += 1
    while behind < last and not table[letters[behind]] & (WORD | SPACE):
        if letters[behind] == _COMMA or letters[behind] == _SEMICOLON or letters[behind] == _COLON:
            break
        behind += 1
    ahead = behind
    while ahead < last and table[letters[ahead]] & SPACE:
        ahead += 1
    if ahead == behind:
        return end
    while ahead < last and not table[letters[ahead]] & (WORD | SPACE):
        ahead += 1
    if ahead < last and table[letters[ahead]] & WORD and not table[letters[ahead]] & LOWER:
        return behind
    return end


@kernel
def number_pieces(letters: Letters, begins: Places, ends: Places, seed: int) -> tuple[NDArray[np.int32], Places]:
    """Number pieces of text in the order of their first appearance; the same letters are the same piece.

    Args:
        letters: uint32 [characters].
        begins: Where each piece begins; int64 [pieces].
        ends: Where each piece ends; int64 [pieces].
        seed: Of the hash, so that nobody can prepare texts whose pieces all collide; changes no result.

    Returns:
        The number of each piece, int32 [pieces], and for each number the first piece that has it, int64 [numbers].
    """
    size = 16
    while size < 2 * len(begins):
        size *= 2
    slots = np.full(size, -1, np.int32)
    numbers, firsts = np.empty(len(begins), np.int32), np.empty(len(begins), np.int64)
    hashes = np.empty(len(begins), np.uint64)
    count = 0
    for piece in range(len(begins)):
        begin, length = begins[piece], ends[piece] - begins[piece]
        value = np.uint64(seed)
        for place in range(begin, begin + length):
            value = (value ^ np.uint64(letters[place])) * np.uint64(0x100000001B3)
        value = mixed(value)
        slot = np.int64(value & np.uint64(size - 1))
        while slots[slot] >= 0:
            number = slots[slot]
            if hashes[number] == value and _is_same(letters, begins, ends, firsts[number], begin, length):
                break
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot], firsts[count], hashes[count] = count, piece, value
            count += 1
        numbers[piece] = slots[slot]
    return numbers, firsts[:count].copy()


@kernel
def _is_same(letters: Letters, begins: Places, ends: Places, other: int, begin: int, length: int) -> bool:
    if ends[other] - begins[other] != length:
        return False
    step = 0
    while step < length and letters[begins[other] + step] == letters[begin + step]:
        step += 1
    return step == length


@kernel
def spread_words(words: NDArray[np.int32], starts: Places, pieces: NDArray[np.int32], bounds: Places) -> Any:
    """Put the words of pieces one after the other.

    Args:
        words: The words of each distinct piece, numbered from 1; 0 marks the end of a sentence; int32.
        starts: Where the words of each distinct piece begin, and the end; int64 [distinct pieces + 1].
        pieces: The pieces of all documents, as numbers of distinct ones; int32 [pieces].
        bounds: Where in `pieces` each document begins, and the end; int64 [documents + 1].

    Returns:
        The words, numbered from 0, int32; from which of the pieces each comes, int64; where the words of each document
        begin, and the end, int64 [documents + 1]; and where sentences end, ascending, each document's end among them.
    """
    most = 0
    for piece in pieces:
        most += starts[piece + 1] - starts[piece]
    ids, origins, ends = np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most + len(bounds), np.int64)
    offsets = np.zeros(len(bounds), np.int64)
    count, sentences, last = 0, 0, 0  # `last` is the end of the last sentence
    for document in range(len(bounds) - 1):
        for place in range(bounds[document], bounds[document + 1]):
            for i in range(starts[pieces[place]], starts[pieces[place] + 1]):
                if words[i] > 0:
                    ids[count], origins[count] = words[i] - 1, place
                    count += 1
                elif count > last:
                    ends[sentences] = last = count
                    sentences += 1
        offsets[document + 1] = count
        if count > last:
            ends[sentences] = last = count
            sentences += 1
    return ids[:count].copy(), origins[:count].copy(), offsets, ends[:sentences].copy()
