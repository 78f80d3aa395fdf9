"""How loaders part documents where the publication does not: by time, or by a draw that is the same everywhere."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from taxocaps.corpus.document import Document

__all__ = ["draw_order", "last_tenth", "named_splits"]

T = TypeVar("T")

_DEV_SHARE = 0.1


def last_tenth(items: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """Part items, the oldest first, into the first nine tenths and the last.

    Where test documents are later than training documents, so must dev documents be: on Reuters a random tenth is
    three points easier for every model.

    >>> last_tenth(range(20))
    (range(0, 18), range(18, 20))
    """
    end = round(len(items) * (1 - _DEV_SHARE))
    return items[:end], items[end:]


def draw_order(ids: Iterable[str], seed: int) -> list[str]:
    """The ids in an order that depends on them and the seed alone, on every machine and for every version of Python.

    >>> draw_order(["a", "b", "c"], 0) == draw_order(["c", "b", "a"], 0)
    True
    """
    return sorted(ids, key=lambda id_: hashlib.sha256(f"{seed}:{id_}".encode()).digest())


def named_splits(splits: Mapping[str, Iterable[Document]]) -> dict[str, tuple[Document, ...]]:
    """The splits, with documents that say which one they are in."""
    return {name: tuple(replace(document, split=name) for document in split) for name, split in splits.items()}
