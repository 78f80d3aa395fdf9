"""The words of many documents as a few arrays, with their positions in the text, and their file."""

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import pays
from taxocaps.errors import StoreError
from taxocaps.files import atomic_path, open_binary
from taxocaps.text.tokenizers import split_raw

__all__ = ["Span", "Tokens", "from_pieces", "gather", "joined_spans", "locate"]


Piece = TypeVar("Piece", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Tokens:
    """The words of some documents, in memory or memory-mapped.

    Attributes:
        words: The distinct words.
        ids: All words of all documents, as indices into `words`; int32 [words of all documents].
        offsets: Document i has the words `offsets[i]` to `offsets[i + 1]`; int64 [documents + 1].
        sentence_ends: Where sentences end, as positions in `ids`, ascending; int64. The end of every document that has
            words is among them.
        spans: Where each word stands in its text, as [start, end) in characters, -1 where that is not known; int64
            [words of all documents, 2], or None if it was not asked for.
        raw: The tokens of the texts that the words were made from, stop words and capitals among them; None if they
            were not asked for.
        origins: Which of the raw tokens each word was made from, as positions in `raw.ids`, ascending; int64 [words of
            all documents], or None.
    """

    words: Sequence[str]
    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    sentence_ends: NDArray[np.int64]
    spans: NDArray[np.int64] | None = None
    raw: "Tokens | None" = None
    origins: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.offsets) - 1

    @property
    def is_sound(self) -> bool:
        """Whether the arrays fit together, which those of a damaged file may not."""
        ids, offsets, ends = self.ids, self.offsets, self.sentence_ends
        shapes = [(array.dtype.str, array.ndim) for array in (ids, offsets, ends)]
        if shapes != [(np.dtype(kind).str, 1) for kind in (np.int32, np.int64, np.int64)] or not len(offsets):
            return False
        document_ends = np.unique(offsets)[1:]
        places = np.minimum(np.searchsorted(ends, document_ends), len(ends) - 1)
        return bool(
            offsets[0] == 0
            and offsets[-1] == len(ids)
            and (np.diff(offsets) >= 0).all()
            and (np.diff(ends, prepend=0) > 0).all()
            and (not len(document_ends) or (len(ends) and (ends[places] == document_ends).all()))
            and (ends[-1:] <= len(ids)).all()
            and (not len(ids) or (ids.min() >= 0 and ids.max() < len(self.words)))
        )

    def documents(self) -> Iterator[list[str]]:
        """Yield the words of each document."""
        word = self.words.__getitem__
        for start, end in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            yield list(map(word, self.ids[start:end].tolist()))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of words of each document; int64 [documents]."""
        return np.diff(self.offsets)

    def document(self, index: int) -> list[str]:
        """The words of one document."""
        return [self.words[id] for id in self.ids[self.offsets[index] : self.offsets[index + 1]].tolist()]

    def document_sentence_ends(self, index: int) -> list[int]:
        """For each sentence of one document, the number of words up to its end."""
        start, end = self.offsets[index], self.offsets[index + 1]
        first, last = np.searchsorted(self.sentence_ends, [start, end], side="right")
        found: list[int] = (self.sentence_ends[first:last] - start).tolist()
        return found

    def select(self, indices: NDArray[np.int64]) -> "Tokens":
        """Some of the documents, copied into memory; `words` stays the same."""
        starts, lengths = self.offsets[indices], self.offsets[indices + 1] - self.offsets[indices]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        positions = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        first, last = (np.searchsorted(self.sentence_ends, bound, side="right") for bound in (starts, starts + lengths))
        sentences = last - first  # of each document
        which = np.repeat(first - (np.cumsum(sentences) - sentences), sentences) + np.arange(sentences.sum())
        return Tokens(
            self.words,
            np.asarray(self.ids[positions], np.int32),
            offsets,
            np.asarray(self.sentence_ends[which] + np.repeat(offsets[:-1] - starts, sentences), np.int64),
            None if self.spans is None else self.spans[positions],
            *self._raw_of(indices, positions, lengths),
        )

    def _raw_of(
        self, indices: NDArray[np.int64], positions: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> "tuple[Tokens, NDArray[np.int64]] | tuple[()]":
        """The raw tokens of some of the documents, and which of them their words were made from."""
        if self.raw is None or self.origins is None:
            return ()
        raw = self.raw.select(indices)
        return raw, self.origins[positions] + np.repeat(raw.offsets[:-1] - self.raw.offsets[indices], lengths)

    @classmethod
    def concatenate(cls, parts: Sequence["Tokens"]) -> "Tokens":
        """The documents of several sets of tokens one after the other, without spans."""
        number_of_word: _Numbering[str] = _Numbering()
        ids, offsets, ends, last = [], [np.zeros(1, np.int64)], [np.zeros(0, np.int64)], 0
        for part in parts:
            numbers = np.fromiter(map(number_of_word.__getitem__, part.words), np.int32, len(part.words))
            ids.append(numbers[part.ids])
            offsets.append(part.offsets[1:] + last)
            ends.append(part.sentence_ends + last)
            last += len(part.ids)
        ids = [np.zeros(0, np.int32), *ids]
        return cls(tuple(number_of_word), *map(np.concatenate, (ids, offsets, ends)))  # type: ignore[arg-type]

    def expanded(self, words_of: Callable[[str], tuple[str, ...]], *, keep_raw: bool = False) -> "Tokens":
        """The same documents with each word replaced by others: none, one or several.

        Args:
            words_of: From a word to those that replace it, where "" ends a sentence; asked once for each distinct word.
            keep_raw: Remember which of these words each of the others replaces.

        >>> tokens = gather([["Old", "cars."]], lambda piece: (piece,))
        >>> tokens.expanded({"Old": (), "cars.": ("car", "")}.__getitem__).document(0)
        ['car']
        """
        is_used = np.zeros(len(self.words), bool)
        is_used[self.ids] = True
        pieces = np.cumsum(is_used, dtype=np.int32)[self.ids] - np.int32(1)
        replaced = list(map(words_of, compress(self.words, is_used.tolist())))
        found, origins = _expanded(replaced, pieces, self.offsets)
        found = found if self.spans is None else replace(found, spans=self.spans[origins])
        return replace(found, raw=self, origins=origins) if keep_raw else found

    def counts(self) -> NDArray[np.int64]:
        """How often each of `words` occurs; int64 [words]."""
        return np.bincount(self.ids, minlength=len(self.words))

    def save(self, path: Path) -> None:
        """Write the tokens as `.npz`, without pickle; the file appears only when complete."""
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
    def load(cls, path: Path) -> "Tokens":
        """Read tokens that `save` wrote.

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
        if not chunk.is_sound:
            raise StoreError(f"{path}: the tokens do not fit together; encode the corpus again")
        return chunk


def gather(documents: Iterable[Iterable[Piece]], words_of: Callable[[Piece], tuple[str, ...]]) -> Tokens:
    """Collect documents that are given in pieces, without a loop over their words.

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
    return from_pieces(number_of_piece, np.frombuffer(pieces, np.int32), np.array(ends), words_of)


def from_pieces(
    pieces: Iterable[Piece],
    numbers: NDArray[np.int32],
    bounds: NDArray[np.int64],
    words_of: Callable[[Piece], tuple[str, ...]],
) -> Tokens:
    """Documents that are given in numbered pieces.

    Args:
        pieces: The distinct pieces.
        numbers: The pieces of all documents, as indices into these.
        bounds: Where in `numbers` each document begins, and the end; [documents + 1].
        words_of: From a piece to its words, where "" ends a sentence; asked once for each distinct piece.
    """
    return _expanded(list(map(words_of, pieces)), numbers, bounds)[0]


class _Numbering(dict[Piece, int]):
    """Numbers for things in order of first appearance."""

    def __missing__(self, thing: Piece) -> int:
        number = self[thing] = len(self)
        return number


def _expanded(
    words_of_piece: Sequence[tuple[str, ...]],
    pieces: NDArray[np.int32],
    bounds: NDArray[np.int64],
) -> tuple[Tokens, NDArray[np.int64]]:
    """The words of all pieces one after the other.

    Args:
        words_of_piece: The words of each distinct piece, with "" where a sentence ends.
        pieces: The pieces of all documents, as indices into `words_of_piece`.
        bounds: Where in `pieces` each document begins, and the end; [documents + 1].

    Returns:
        The words, and from which of the pieces each comes; int64 [words].
    """
    flat = list(chain.from_iterable(words_of_piece))
    distinct = dict.fromkeys(chain(("",), flat))
    number_of_word = dict(zip(distinct, range(len(distinct)), strict=True))
    words = np.fromiter(map(number_of_word.__getitem__, flat), np.int32, len(flat))  # 0 is the mark of a sentence end
    starts = np.zeros(len(words_of_piece) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, words_of_piece), np.int64, len(words_of_piece)), out=starts[1:])
    spread = _compiled_spread() if pays("taxocaps.text.scan_kernels:spread_words", _SAVED * len(pieces)) else _spread
    ids, origins, offsets, ends = spread(words, starts, pieces, bounds)
    return Tokens(tuple(distinct)[1:], ids, offsets, ends), origins


_SAVED = 5e-8
"""CPU seconds a piece that compiled code saves."""


def _compiled_spread() -> Callable[..., Any]:
    from taxocaps.text.scan_kernels import spread_words

    return spread_words  # type: ignore[no-any-return]


def _spread(
    words: NDArray[np.int32], starts: NDArray[np.int64], pieces: NDArray[np.int32], bounds: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The words of pieces one after the other; see `spread_words`, the compiled twin."""
    repeats = np.diff(starts)[pieces]
    marked_starts = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum(repeats, out=marked_starts[1:])
    origins = np.repeat(np.arange(len(pieces)), repeats)
    marked = words[(starts[pieces] - marked_starts[:-1])[origins] + np.arange(len(origins))]
    is_word = marked != 0
    words_before = np.zeros(len(marked) + 1, np.int64)
    np.cumsum(is_word, out=words_before[1:])
    offsets = words_before[marked_starts[bounds]]
    # A mark before the first word of a document falls on the end of an earlier document, which is there anyway.
    ends = np.unique(np.concatenate([words_before[:-1][~is_word], offsets]))
    return marked[is_word] - np.int32(1), origins[is_word], offsets, ends[ends > 0]


def _cut(text: str, lengths: NDArray[np.int32]) -> tuple[str, ...]:
    ends = np.cumsum(lengths, dtype=np.int64)
    if int(lengths.sum()) != len(text):
        raise ValueError("lengths do not fit the letters")
    return tuple(text[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True))


Span = tuple[int, int] | None
"""The first character of a word and the one after its last; None if the word is not found."""

_REACH = 1_000
"""How far ahead a word of a foreign tokenizer is looked for; it may be a lemma that stands nowhere."""


def locate(text: str, pieces: Iterable[tuple[str | tuple[str, ...], Sequence[str]]]) -> list[Span]:
    """Where the words of a text are.

    Args:
        text: The text.
        pieces: Its pieces in order, each with the words kept of it: a raw token, or a finished word as a tuple of one.

    Returns:
        A span for each word; the words of one raw token share that of the token, its sentence end left out.

    >>> locate("The cars.", [("The", ()), ("cars.", ("car",))])
    [(4, 8)]
    """
    lower = text.lower()
    found: list[Span] = []
    position = 0
    for piece, words in pieces:
        if isinstance(piece, str):
            # Between raw tokens there are no letters: the first position that fits is the right one.
            start = text.find(piece, position)
            position = start + len(piece)
            found.extend([(start, start + len(split_raw(piece)[0]))] * len(words))
        elif words:
            span = _ahead(text, lower, words[0], position)
            position = span[1] if span else position
            found.append(span)
    return found


def joined_spans(words: Iterable[str]) -> list[Span]:
    """Where words are in a text that is made of them, joined by single spaces.

    >>> joined_spans(["to", "be"])
    [(0, 2), (3, 5)]
    """
    spans: list[Span] = []
    position = 0
    for word in words:
        spans.append((position, position + len(word)))
        position += len(word) + 1
    return spans


def _ahead(text: str, lower: str, word: str, position: int) -> Span:
    """The next occurrence of a word; its tokenizer may have put it into lower case, so the nearest is taken."""
    within = (position, position + _REACH)
    start = text.find(word, *within) if len(lower) != len(text) else lower.find(word.lower(), *within)
    return (start, start + len(word)) if start >= 0 else None
