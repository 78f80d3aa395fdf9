"""Raw tokens of many texts at once, by compiled code: the same as by the patterns of `tokenizers`, but faster."""

import re
import secrets
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from taxocaps.text.scan_kernels import CONNECTOR, DIGIT, LONE, LOWER, MARK, SPACE, STOP, WORD, number_pieces, scan_texts
from taxocaps.text.tokenizers import CONNECTORS, LONE_ENDS, STOPS, marks_and_small_letters

__all__ = ["scan"]

_HASH_SEED = secrets.randbits(63)
_ALL_CHARACTERS = 0x110000


def scan(texts: Sequence[str], *, with_marks: bool) -> tuple[list[str], NDArray[np.int32], NDArray[np.int64]]:
    """The raw tokens of texts.

    Args:
        texts: The texts.
        with_marks: Whether `!?` that end no sentence are tokens, as in `raw_tokens_with_marks`.

    Returns:
        The distinct tokens in the order of their first appearance; the tokens of all texts, as indices into these; and
        where in the tokens each text begins, and the end, [texts + 1].

    >>> scan(["To be, or not to be!"], with_marks=False)[0]
    ['To', 'be', 'or', 'not', 'to']
    """
    joined = "".join(texts)
    letters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    bounds = np.fromiter(accumulate(map(len, texts), initial=0), np.int64, len(texts) + 1)
    is_ascii = np.fromiter(map(str.isascii, texts), np.bool_, len(texts))
    kinds = _ascii_kinds() if is_ascii.all() else _unicode_kinds()
    begins, ends, offsets = scan_texts(letters, bounds, is_ascii, _ascii_kinds(), kinds, with_marks)
    numbers, firsts = number_pieces(letters, begins, ends, _HASH_SEED)
    places = zip(begins[firsts].tolist(), ends[firsts].tolist(), strict=True)
    return [joined[begin:end] for begin, end in places], numbers, offsets


@cache
def _ascii_kinds() -> NDArray[np.uint8]:
    return _kinds(128, "", "abcdefghijklmnopqrstuvwxyz", re.ASCII)


@cache
def _unicode_kinds() -> NDArray[np.uint8]:
    return _kinds(_ALL_CHARACTERS, *marks_and_small_letters(), re.NOFLAG)


def _kinds(count: int, marks: str, small: str, flags: re.RegexFlag) -> NDArray[np.uint8]:
    """What each character is, by the classes that the patterns use; uint8 [count]."""
    everything = "".join(map(chr, range(count)))
    classes = {
        **{kind: "".join(re.findall(pattern, everything, flags)) for pattern, kind in _CLASSES.items()},
        MARK: marks,
        LOWER: small,
        STOP: STOPS,
        CONNECTOR: CONNECTORS,
        LONE: LONE_ENDS,
    }
    table = np.zeros(count, np.uint8)
    for kind, characters in classes.items():
        codes = np.frombuffer(characters.encode("utf-32-le", "surrogatepass"), np.uint32)
        table[codes[codes < count]] |= kind
    return table


_CLASSES = {r"\w": WORD, r"\s": SPACE, r"\d": DIGIT}
