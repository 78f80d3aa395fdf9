"""What one threshold for all labels would achieve, from 0 to 1."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.metrics.flat import Counts
from taxocaps.metrics.inputs import check_scores, plain_labels

__all__ = ["ThresholdCurve", "threshold_curve"]


@dataclass(frozen=True)
class ThresholdCurve:
    """Micro precision, recall and F1 over the threshold.

    Attributes:
        thresholds: float32 [n], rising from 0 to 1.
        counts: For each threshold the pairs of a document and a label that reach it, are true, and both; its
            `precision`, `recall` and `f1` are the curves.
    """

    thresholds: NDArray[np.float32]
    counts: Counts


def threshold_curve(truth: csr_array, scores: NDArray[np.float32], steps: int = 100) -> ThresholdCurve:
    """Give every label whose score is at least the threshold, and nothing else; all pairs are pooled.

    Rules that come after the threshold, such as adding ancestors, are left aside.

    Args:
        truth: CSR [documents, L] of bool.
        scores: float32 [documents, L], from 0 to 1.
        steps: The thresholds are 0, 1/steps, 2/steps, ..., 1.

    Raises:
        ValueError: If the shapes differ, a score is NaN, or there is no step.

    >>> curve = threshold_curve(csr_array([[True, False]]), np.array([[0.9, 0.4]], np.float32), steps=2)
    >>> curve.thresholds.tolist(), curve.counts.precision.tolist(), curve.counts.recall.tolist()
    ([0.0, 0.5, 1.0], [0.5, 1.0, 0.0], [1.0, 1.0, 0.0])
    """
    check_scores(truth, scores)
    if steps < 1:
        raise ValueError(f"there must be at least 1 step; got {steps}")
    labels = plain_labels(truth)
    thresholds = np.linspace(0, 1, steps + 1, dtype=np.float32)
    counts = Counts(
        true_positives=_reaching(scores[labels.nonzero()], thresholds),
        predicted=_reaching(scores.ravel(), thresholds),
        actual=np.full(len(thresholds), labels.nnz, np.int64),
    )
    return ThresholdCurve(thresholds, counts)


def _reaching(values: NDArray[np.float32], thresholds: NDArray[np.float32]) -> NDArray[np.int64]:
    """How many values are at least each threshold."""
    high = values[values >= thresholds[1]]  # most scores are next to 0: looking those up would take most of the time
    passed = np.bincount(np.searchsorted(thresholds, high, side="right"), minlength=len(thresholds) + 1)
    found: NDArray[np.int64] = passed[::-1].cumsum()[::-1][1:]
    found[0] = np.count_nonzero(values >= thresholds[0])
    return found
