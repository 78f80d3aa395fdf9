"""Evidence about pairs of a document and a label, for the few labels of each document that may be true."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.joining.names import LabelNames
from taxocaps.metrics.calibration import logit

__all__ = ["KINDS", "RESERVED", "EvidenceMaker", "Pairs"]

Dense = NDArray[np.float32]

_TOGETHER = "members together"
_KIND_OF: Mapping[str, str] = {
    "mean": _TOGETHER,
    **dict.fromkeys(("to best", "best", "second", "rank"), "rank"),
    "frequency": "frequency",
    **dict.fromkeys((*LabelNames.features, "likeness to best", "parent's name"), "name"),
    **dict.fromkeys(("parent", "child", "sibling"), "taxonomy"),
    "length": "length",
}
"""The kind of each feature that is no member."""

KINDS = tuple(dict.fromkeys(kind for kind in _KIND_OF.values() if kind != _TOGETHER))
"""The kinds of evidence besides the scores of members."""

RESERVED = frozenset((*_KIND_OF, *_KIND_OF.values()))
"""Names that no member may have."""

_FURTHER = 10
"""Candidates of each source beyond three times the mean number of labels of a document."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Some pairs of documents and labels with their evidence.

    Attributes:
        documents: int64 [pairs], ascending.
        labels: int64 [pairs], columns; ascending for each document.
        rows: float32 [pairs, features], NaN where there is no such evidence.
    """

    documents: NDArray[np.int64]
    labels: NDArray[np.int64]
    rows: Dense

    def __len__(self) -> int:
        return len(self.documents)


@dataclass(frozen=True, eq=False)
class EvidenceMaker:
    """Makes pairs out of the scores of members and the names of labels.

    Attributes:
        members: The names of the members.
        classes: The labels of the columns.
        candidates: The number of candidate labels of each document that each source of evidence proposes.
        without: Kinds of evidence that are left out; without `name`, labels are known by their documents only.
    """

    members: tuple[str, ...]
    classes: Classes
    candidates: int
    without: tuple[str, ...] = ()

    @staticmethod
    def candidates_for(labels: csr_array) -> int:
        """The number of candidate labels, from the labels of training documents."""
        return int(np.ceil(3 * labels.nnz / max(1, labels.shape[0]))) + _FURTHER

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """The kind of evidence of each feature: a member, `members together` or one of `KINDS`."""
        kinds = {**{member: member for member in self.members}, **_KIND_OF}
        return {feature: kind for feature, kind in kinds.items() if kind not in self.without}

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns of `Pairs.rows`."""
        return tuple(self.kinds)

    @property
    def rising(self) -> list[bool]:
        """Whether a higher value of each feature always makes a label more probable, as with the scores of members."""
        known = {*self.members, "mean", *LabelNames.rising}
        return [feature in known for feature in self.features]

    def pairs(
        self, scores: Sequence[Dense], names: Mapping[str, Dense], counts: NDArray[Any], lengths: NDArray[Any]
    ) -> Pairs:
        """The pairs of some documents.

        Args:
            scores: The scores of each member, float32 [documents, L] from 0 to 1.
            names: The measurements of names, float32 [documents, L], or [L] if all documents share them; none if
                names are no evidence.
            counts: Training documents of each label, [L] or [documents, L]; members know nothing of one without any.
            lengths: The number of words of each document, [documents].
        """
        counts = np.broadcast_to(counts, scores[0].shape)
        is_read = np.any([one.any(axis=1) for one in scores], axis=0)  # by some member
        mean: Dense = np.zeros_like(scores[0])
        for one in scores:
            mean += logit(one) / np.float32(len(scores))
        mean[(counts == 0) | ~is_read[:, None]] = np.nan  # members know nothing
        documents, labels = np.nonzero(self._candidates(mean, names))
        values = mean[documents, labels]
        own, parents = self._parents_of(labels)  # [links], [links]: pairs, and the parents of their labels
        best, second = self._children_in(mean)  # [documents, L] each
        inside, score = documents[own], values[own]
        is_best = score >= best[inside, parents]  # the label itself is its parent's best child
        columns: dict[str, Dense] = {
            **{
                member: np.where(np.isnan(values), np.nan, logit(one[documents, labels]))
                for member, one in zip(self.members, scores, strict=True)
            },
            **_compared(values, documents),
            "frequency": np.log1p(counts[documents, labels]),
            **{name: one[documents, labels] if one.ndim > 1 else one[labels] for name, one in names.items()},
            "parent": _largest(mean[inside, parents], own, len(labels)),
            "child": _known(best[documents, labels]),
            "sibling": _largest(np.where(is_best, second[inside, parents], best[inside, parents]), own, len(labels)),
            "length": np.log1p(lengths)[documents],
        }
        if names:
            columns["likeness to best"] = columns["likeness"] - names["likeness"].max(axis=1)[documents]
            columns["parent's name"] = _largest(names["coverage"][inside, parents], own, len(labels))
        rows = np.stack([columns[feature] for feature in self.features], axis=1)
        return Pairs(documents, labels, rows.astype(np.float32))

    def _candidates(self, mean: Dense, names: Mapping[str, Dense]) -> NDArray[np.bool_]:
        """The labels with the best scores of members, and those with the best names; bool [documents, L]."""
        found = _best(np.where(np.isnan(mean), -np.inf, mean), self.candidates)
        if names:
            alike = names["coverage"] + names["likeness"] + 0.5 * (names["phrases"] > 0)
            found |= _best(np.where(alike > 0, alike, -np.inf), _FURTHER)
        return found

    def _parents_of(self, labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The parents of some labels: which of the labels, ascending, and the column of its parent."""
        found = self._parents[labels].tocoo()
        return found.row, found.col

    def _children_in(self, values: Dense) -> tuple[Dense, Dense]:
        """The largest value among the children of each label, and the one after it; -inf where there is none.

        Args:
            values: [documents, L], NaN where there is none.

        Returns:
            [documents, L] each. The same value twice is the largest one and the one after it.
        """
        best = np.full(values.shape, -np.inf, np.float32)
        second = best.copy()
        starts, columns = self._children.indptr, self._children.indices
        families = np.flatnonzero(np.diff(starts))
        if len(families):
            found = values[:, columns]
            found[np.isnan(found)] = -np.inf
            firsts = starts[families]
            largest = np.maximum.reduceat(found, firsts, axis=1)
            is_largest = found == np.repeat(largest, np.diff(starts)[families], axis=1)
            times = np.add.reduceat(is_largest, firsts, axis=1, dtype=np.int32)
            found[is_largest] = -np.inf
            best[:, families] = largest
            second[:, families] = np.where(times > 1, largest, np.maximum.reduceat(found, firsts, axis=1))
        return best, second

    @cached_property
    def _parents(self) -> csr_array:
        """CSR [L, L] of bool."""
        return _relation(self.classes.parents, len(self.classes))

    @cached_property
    def _children(self) -> csr_array:
        """CSR [L, L] of bool."""
        return csr_array(self._parents.T)


def _compared(values: Dense, documents: NDArray[np.int64]) -> dict[str, Dense]:
    """The mean scores of pairs, and how each compares with those of other labels of its document.

    Args:
        values: [pairs], NaN for a label that no member knows.
        documents: [pairs], ascending.
    """
    order = np.lexsort((-values, documents))  # NaN last
    starts = np.searchsorted(documents, documents)  # the first pair of the same document
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - starts
    ends = np.searchsorted(documents, documents, side="right")
    best, second = values[order[starts]], values[order[np.minimum(starts + 1, ends - 1)]]
    return {"mean": values, "to best": values - best, "best": best, "second": second, "rank": np.log1p(ranks)}


def _relation(lists: Sequence[Sequence[int]], count: int) -> csr_array:
    starts = np.cumsum([0, *map(len, lists)])
    indices = np.array([label for found in lists for label in found], np.int64)
    return csr_array((np.ones(len(indices), bool), indices, starts), shape=(count, count))


def _best(values: Dense, count: int) -> NDArray[np.bool_]:
    """Marks the `count` largest finite values of each row."""
    found = np.zeros(values.shape, bool)
    count = min(count, values.shape[1])
    best = np.argpartition(-values, count - 1, axis=1)[:, :count]
    np.put_along_axis(found, best, True, axis=1)
    found &= np.isfinite(values)
    return found


def _largest(values: Dense, pairs: NDArray[np.int64], count: int) -> Dense:
    """For each of so many pairs the largest of its values; NaN if there is none.

    Args:
        values: [links], NaN and -inf where there is none.
        pairs: The pair of each value, ascending.
        count: The number of pairs.
    """
    result = np.full(count, -np.inf, np.float32)
    some, firsts = np.unique(pairs, return_index=True)
    if len(some):
        result[some] = np.maximum.reduceat(np.where(np.isnan(values), -np.inf, values), firsts)
    return _known(result)


def _known(values: Dense) -> Dense:
    """NaN in place of -inf."""
    return np.where(np.isfinite(values), values, np.float32(np.nan))
