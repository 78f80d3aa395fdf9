"""The words of many documents as a few arrays, and their file."""

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from taxocaps.errors import StoreError
from taxocaps.files import atomic_path, open_binary

__all__ = ["TokenChunk", "gather"]

Piece = TypeVar("Piece", bound=Hashable)


@dataclass(frozen=True, eq=False)
class TokenChunk:
    """The kept words of some documents.

    Attributes:
        words: The distinct words, in order of first appearance.
        ids: All words of all documents, as indices into `words`; int32 [words of all documents].
        offsets: Document i has the words `offsets[i]` to `offsets[i + 1]`; int64 [documents + 1].
        sentence_ends: Where sentences end, as positions in `ids`, ascending; int64. The end of every document that has
            words is among them.
    """

    words: tuple[str, ...]
    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    sentence_ends: NDArray[np.int64]

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.offsets) - 1

    def documents(self) -> Iterator[list[str]]:
        """Yield the words of each document."""
        word = self.words.__getitem__
        for start, end in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            yield list(map(word, self.ids[start:end].tolist()))

    def counts(self) -> NDArray[np.int64]:
        """How often each of `words` occurs; int64 [words]."""
        return np.bincount(self.ids, minlength=len(self.words))

    def save(self, path: Path) -> None:
        """Write the chunk as `.npz`, without pickle; the file appears only when complete."""
        with atomic_path(path) as part, part.open("wb") as file:
            np.savez(
                file,
                letters=np.frombuffer("".join(self.words).encode("utf-8", "surrogatepass"), np.uint8),
                lengths=np.fromiter(map(len, self.words), np.int32, len(self.words)),
                ids=self.ids,
                offsets=self.offsets,
                sentence_ends=self.sentence_ends,
            )

    @classmethod
    def load(cls, path: Path) -> "TokenChunk":
        """Read a chunk that `save` wrote.

        Raises:
            FileError: When the file cannot be read.
            StoreError: When it is damaged or something else.
        """
        with open_binary(path) as file:
            try:
                arrays = np.load(file, allow_pickle=False)
                words = _cut(arrays["letters"].tobytes().decode("utf-8", "surrogatepass"), arrays["lengths"])
                chunk = cls(words, arrays["ids"], arrays["offsets"], arrays["sentence_ends"])
            except Exception as error:  # a damaged archive can fail in a dozen ways
                raise StoreError(f"{path}: not a file of tokens, or damaged; encode the corpus again") from error
        if not _is_sound(chunk):
            raise StoreError(f"{path}: the tokens do not fit together; encode the corpus again")
        return chunk


def gather(documents: Iterable[Iterable[Piece]], words_of: Callable[[Piece], tuple[str, ...]]) -> TokenChunk:
    """Make a chunk of documents that are given in pieces, without a loop over their words.

    Args:
        documents: The pieces of each document, such as raw tokens.
        words_of: From a piece to its words, where "" ends a sentence; asked once for each distinct piece.
    """
    number_of_piece: _Numbering[Piece] = _Numbering()
    pieces = array("i")
    ends = [0]
    for document in documents:
        pieces.extend(map(number_of_piece.__getitem__, document))
        ends.append(len(pieces))
    words_of_piece = list(map(words_of, number_of_piece))
    number_of_word: _Numbering[str] = _Numbering({"": 0})
    words = np.fromiter(map(number_of_word.__getitem__, chain.from_iterable(words_of_piece)), np.int32)
    lengths = np.fromiter(map(len, words_of_piece), np.int64, len(words_of_piece))
    marked, starts = _expand(words, lengths, np.frombuffer(pieces, np.int32))
    return _without_marks(marked, starts[ends], tuple(number_of_word)[1:])


class _Numbering(dict[Piece, int]):
    """Numbers for things in order of first appearance."""

    def __missing__(self, thing: Piece) -> int:
        number = self[thing] = len(self)
        return number


def _expand(
    words: NDArray[np.int32], lengths: NDArray[np.int64], pieces: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The words of all pieces one after the other, and where in them each piece starts, [pieces + 1]."""
    first = np.cumsum(lengths) - lengths  # of each distinct piece, in `words`
    repeats = lengths[pieces]
    starts = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum(repeats, out=starts[1:])
    places = np.repeat(first[pieces] - starts[:-1], repeats) + np.arange(starts[-1])
    return words[places], starts


def _without_marks(marked: NDArray[np.int32], bounds: NDArray[np.int64], words: tuple[str, ...]) -> TokenChunk:
    """Take out the sentence marks, number 0, and turn them into positions."""
    is_word = marked != 0
    words_before = np.zeros(len(marked) + 1, np.int64)
    np.cumsum(is_word, out=words_before[1:])
    offsets = words_before[bounds]
    # A mark before the first word of a document falls on the end of an earlier document, which is there anyway.
    ends = np.unique(np.concatenate([words_before[:-1][~is_word], offsets]))
    return TokenChunk(words, marked[is_word] - np.int32(1), offsets, ends[ends > 0])


def _cut(text: str, lengths: NDArray[np.int32]) -> tuple[str, ...]:
    ends = np.cumsum(lengths, dtype=np.int64)
    if int(lengths.sum()) != len(text):
        raise ValueError("lengths do not fit the letters")
    return tuple(text[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True))


def _is_sound(chunk: TokenChunk) -> bool:
    """Whether the arrays of a chunk fit together."""
    ids, offsets, ends = chunk.ids, chunk.offsets, chunk.sentence_ends
    shapes = [(array.dtype.str, array.ndim) for array in (ids, offsets, ends)]
    if shapes != [(np.dtype(kind).str, 1) for kind in (np.int32, np.int64, np.int64)] or not len(offsets):
        return False
    document_ends = np.unique(offsets)[1:]
    return bool(
        offsets[0] == 0
        and offsets[-1] == len(ids)
        and (np.diff(offsets) >= 0).all()
        and (np.diff(ends, prepend=0) > 0).all()
        and np.isin(document_ends, ends).all()
        and (ends[-1:] <= len(ids)).all()
        and ((ids >= 0) & (ids < len(chunk.words))).all()
    )
