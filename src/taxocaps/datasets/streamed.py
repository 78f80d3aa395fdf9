"""A split that is read from its files whenever someone goes through it, and is never in memory as a whole."""

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice
from typing import overload

from taxocaps.corpus.document import Document
from taxocaps.datasets.checks import check_count

__all__ = ["Streamed"]


class Streamed(Sequence[Document]):
    """The documents that a function yields, as a sequence; going through them is cheap, jumping about is not."""

    def __init__(self, read: Callable[[], Iterator[Document]], *, title: str = "", expected: int | None = None) -> None:
        """Keep how to read the documents.

        Args:
            read: Yields the documents from the first to the last.
            title: The name of the data set, for messages.
            expected: How many there must be; whoever goes through to the end gets a `CorpusError` if there are not.
        """
        self._read = read
        self._title = title
        self._expected = expected
        self._length: int | None = None

    def __iter__(self) -> Iterator[Document]:
        self._length = yield from self._numbered()
        if self._expected is not None:
            check_count(self._title, "documents of this split", self._length, self._expected)

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(1 for _ in self)
        return self._length

    def _numbered(self) -> Generator[Document, None, int]:
        number = 0
        for document in self._read():
            yield document
            number += 1
        return number

    @overload
    def __getitem__(self, index: int) -> Document: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Document]: ...

    def __getitem__(self, index: int | slice) -> Document | Sequence[Document]:
        if isinstance(index, slice):
            return tuple(self)[index]
        place = index + len(self) if index < 0 else index
        document = next(islice(self, place, None), None) if place >= 0 else None
        if document is None:
            raise IndexError(index)
        return document
