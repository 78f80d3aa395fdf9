"""Where predictions go wrong: calibration, thresholds and confusions between siblings."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from taxocaps.metrics.calibration import Reliability, reliability
from taxocaps.metrics.inputs import check_columns, label_pair
from taxocaps.metrics.thresholds import ThresholdCurve, threshold_curve

__all__ = ["Confusion", "Diagnosis", "diagnose", "sibling_confusions"]


@dataclass(frozen=True)
class Confusion:
    """A label that was predicted instead of its sibling.

    Attributes:
        label: The column of the true label a.
        predicted: The column of the label b that was predicted instead.
        count: Number of documents with a and without b, for which b was predicted and a was not.
        support: Number of documents with a and without b.
    """

    label: int
    predicted: int
    count: int
    support: int

    @property
    def rate(self) -> float:
        """Count divided by support."""
        return self.count / self.support


@dataclass(frozen=True)
class Diagnosis:
    """Summaries of scores, which are too large to store.

    Attributes:
        reliability: Mean score and observed frequency of true labels, by bins of scores.
        curve: Precision, recall and F1 as a function of a global threshold.
        confusions: Labels predicted instead of a sibling, the most frequent first.
    """

    reliability: Reliability
    curve: ThresholdCurve
    confusions: tuple[Confusion, ...]


def diagnose(
    truth: csr_array, predicted: csr_array, scores: NDArray[np.float32], parents: Sequence[Iterable[Hashable]]
) -> Diagnosis:
    """Summarize the scores and labels of documents.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        scores: float32 [documents, L], from 0 to 1.
        parents: The parents of each label; see `sibling_confusions`.

    Raises:
        ValueError: If the shapes or lengths differ, or a score is not between 0 and 1.
    """
    return Diagnosis(
        reliability=reliability(truth, scores),
        curve=threshold_curve(truth, scores),
        confusions=sibling_confusions(truth, predicted, parents),
    )


def sibling_confusions(
    truth: csr_array, predicted: csr_array, parents: Sequence[Iterable[Hashable]], limit: int = 50
) -> tuple[Confusion, ...]:
    """Count the documents for which b was predicted instead of a, for all ordered pairs (a, b) of siblings.

    Siblings are labels with a common parent. A document counts for (a, b) if it has a and not b, and b was
    predicted and a was not. A document may count for several pairs.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        parents: The parents of each of the L labels, as any hashable values; labels without parents have no siblings.
        limit: Maximum number of pairs to return.

    Returns:
        The pairs that occur, by descending count, then by columns.

    Raises:
        ValueError: If the shapes or lengths differ.

    >>> predicted = csr_array([[False, True, False], [True, False, False]])
    >>> sibling_confusions(csr_array([[True, False, False], [True, False, False]]), predicted, ["x", "x", "y"])
    (Confusion(label=0, predicted=1, count=1, support=2),)
    """
    truth, predicted = label_pair(truth, predicted)
    check_columns(truth, parents, "lists of parents")
    both = truth.multiply(predicted).astype(np.int32)
    missed = csc_array(truth.astype(np.int32) - both)
    wrong = csc_array(predicted.astype(np.int32) - both)
    counts: dict[tuple[int, int], int] = {}
    for family in _families(parents):
        counts.update(_pairs(missed, wrong, family, limit))
    first = sorted(counts, key=lambda pair: (-counts[pair], pair))[:limit]
    columns = truth.tocsc()
    return tuple(Confusion(*pair, counts[pair], _support(columns, *pair)) for pair in first)


def _families(parents: Sequence[Iterable[Hashable]]) -> list[NDArray[np.int64]]:
    """The columns below each parent that has several."""
    below: dict[Hashable, list[int]] = {}
    for column, above in enumerate(parents):
        for parent in set(above):
            below.setdefault(parent, []).append(column)
    return [np.array(columns, np.int64) for columns in below.values() if len(columns) > 1]


def _pairs(missed: csc_array, wrong: csc_array, family: NDArray[np.int64], limit: int) -> dict[tuple[int, int], int]:
    """The counts of the most frequent pairs of a family."""
    found = (missed[:, family].T @ wrong[:, family]).tocoo()
    a, b = family[found.row], family[found.col]
    first = np.lexsort((b, a, -found.data))[:limit]  # a model that predicts everything has millions of pairs
    return {(int(a[i]), int(b[i])): int(found.data[i]) for i in first if found.data[i]}


def _support(truth: csc_array, a: int, b: int) -> int:
    """Number of documents with a and without b."""
    with_a, with_b = (truth.indices[truth.indptr[one] : truth.indptr[one + 1]] for one in (a, b))
    return len(np.setdiff1d(with_a, with_b, assume_unique=True))
