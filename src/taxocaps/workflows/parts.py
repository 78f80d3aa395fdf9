"""Which documents of one corpus are for training, validation and testing, where nobody has divided them."""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.corpus.document import Document, document_name
from taxocaps.corpus.labels import label_matrix
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.errors import CorpusError
from taxocaps.scorers.decision import count_labels
from taxocaps.scorers.folds import assign_folds, near_copies

__all__ = ["AUTO", "NONE", "Division", "divide", "part_of"]

AUTO, NONE = "auto", "none"
"""What `split_by` may be beside the name of a field."""

_PARTS = {"train": "train", "training": "train", "test": "test", "testing": "test"}
_PARTS |= dict.fromkeys(("dev", "val", "valid", "validation"), "dev")
"""What the field `split` may say."""

_SHARE = 10
"""One document in so many is for the test."""
_FEWEST = 200
"""With fewer documents none are spared for a test: twenty of them would measure nothing."""


@dataclass(frozen=True)
class Division:
    """The documents of each part.

    Attributes:
        rows: int64 [documents of the part], by the name of the part: `train`, and some of `dev` and `test`.
        how: How they were divided, for people.
        is_by_field: Whether a field names the part of each document.
    """

    rows: Mapping[str, NDArray[np.int64]]
    how: str
    is_by_field: bool = False


def divide(
    documents: EncodedDocuments, split_by: str, values: Sequence[Any], *, has_test: bool, seed: int = 0
) -> Division | None:
    """Divide documents into parts; None if they are all for training.

    Args:
        documents: All documents.
        split_by: `auto` divides by the field `split`, if it names other parts beside training; else one document in
            ten is for the test, unless there are few. Any other name is that of a field with dates or numbers: the
            latest tenth is for the test, the tenth before it for validation.
        values: What that field says of each document.
        has_test: Whether there are test documents already, so that none are drawn.
        seed: Random seed.

    Raises:
        CorpusError: If a field has no dates or numbers.
    """
    if split_by != AUTO:
        return _by_value(list(documents.documents), split_by, values)
    splits = [_PARTS.get((document.split or "").strip().lower()) for document in documents.documents]
    if {"train"} < set(splits) - {None}:
        return _by_field(splits)
    if has_test or len(documents) < _FEWEST:
        return None
    return _at_random(documents, seed)


def part_of(documents: EncodedDocuments, rows: NDArray[np.int64]) -> EncodedDocuments:
    """Some of the documents, with what is known of each."""
    return replace(documents.select(rows), documents=_Chosen(documents, rows))


@dataclass(frozen=True)
class _Chosen:
    """Some documents, read anew for each iteration."""

    whole: EncodedDocuments
    rows: NDArray[np.int64]

    def __iter__(self) -> Iterator[Document]:
        is_chosen = np.zeros(len(self.whole), bool)
        is_chosen[self.rows] = True
        return compress(self.whole.documents, is_chosen)


def _by_field(splits: Sequence[str | None]) -> Division:
    found = np.array([split or "" for split in splits])
    rows = {part: np.flatnonzero(found == part) for part in ("train", "dev", "test")}
    left = len(splits) - sum(map(len, rows.values()))
    how = "by the field 'split'" + (f"; {left:,} with another value or none are left out" if left else "")
    return Division({part: some for part, some in rows.items() if len(some)}, how, True)


def _at_random(documents: EncodedDocuments, seed: int) -> Division | None:
    """Near copies come into one part, rare labels into both, and the last document of a label stays for training.

    So do large groups of near copies, such as filled-in forms: one of them would be most of the test. None if nothing
    is left for a test.
    """
    lists = [document.labels or () for document in documents.documents]
    labels = label_matrix(lists, sorted(set().union(*lists)))
    groups = near_copies(documents, seed)
    is_test = assign_folds(labels, groups, _SHARE, seed) == 0
    is_only = count_labels(labels[np.flatnonzero(~is_test)]) == 0
    is_needed = np.asarray(labels @ is_only.astype(np.int64)) > 0
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    is_test &= ~np.isin(groups, groups[is_needed]) & (sizes[group] <= len(documents) // (2 * _SHARE))
    if not is_test.any():
        return None
    rows = {"train": np.flatnonzero(~is_test), "test": np.flatnonzero(is_test)}
    return Division(rows, "one in ten drawn for the test, rare labels in proportion, near copies together")


def _by_value(documents: Sequence[Document], field: str, values: Sequence[Any]) -> Division:
    order = [_ordered(value, field, documents, row) for row, value in enumerate(values)]
    if len({type(value) for value in order}) > 1:
        raise CorpusError(f"the field '{field}' has both dates and numbers; correct it, or leave out --split-by")
    ranks = np.unique(np.array(order, dtype=object), return_inverse=True)[1]
    # Documents of one date stay together: a border lies before the first document of the date it falls on.
    borders = [np.sort(ranks)[max(0, len(ranks) - count)] for count in (_tenths(len(ranks), 2), _tenths(len(ranks), 1))]
    part = np.searchsorted(np.array(borders), ranks, side="right")
    rows = {name: np.flatnonzero(part == number) for number, name in enumerate(("train", "dev", "test"))}
    if not len(rows["train"]):
        raise CorpusError(f"the field '{field}' is the same for nearly all documents; leave out --split-by")
    how = f"by '{field}', the latest tenth for the test, the tenth before it for validation"
    return Division({name: some for name, some in rows.items() if len(some)}, how)


def _tenths(documents: int, count: int) -> int:
    return max(count, count * documents // _SHARE)


def _ordered(value: Any, field: str, documents: Sequence[Document], row: int) -> float | datetime:
    """A date or a number out of a field."""
    for read in (_number, _date):
        with contextlib.suppress(ValueError):
            return read(str(value).strip())
    where = document_name(documents[row].id, row + 1)
    problem = "is missing" if value is None else f"is {str(value)[:40]!r}"
    raise CorpusError(
        f"{where}: the field '{field}' {problem}; --split-by needs a date such as 2024-05-31, or a number"
    )


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _date(text: str) -> datetime:
    """A date; a time without a zone is taken for UTC, so that all can be compared."""
    date = datetime.fromisoformat(text)
    return date if date.tzinfo else date.replace(tzinfo=UTC)
