"""Thresholds that turn scores into labels: tuned for F1, and the precision and recall of every threshold."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.metrics.classification import Counts
from taxocaps.metrics.inputs import canonical_labels, check_scores

__all__ = ["BestThreshold", "ThresholdCurve", "best_threshold", "label_thresholds", "threshold_curve"]

_PAIRS = 2_000_000
"""Number of (document, label) pairs that are transposed at a time."""


@dataclass(frozen=True)
class BestThreshold:
    """A threshold and its F1.

    Attributes:
        threshold: A label is predicted where its score is at least this. The number is exact in float32, so comparing
            float32 or float64 scores with it gives the same labels.
        f1: The F1 on the scores it was tuned on.
    """

    threshold: float
    f1: float


@dataclass(frozen=True)
class ThresholdCurve:
    """Micro precision, recall and F1 as a function of the threshold.

    Attributes:
        thresholds: float32 [n], ascending from 0 to 1.
        counts: The counts of (document, label) pairs at each threshold; its `precision`, `recall` and `f1` are the
            curves.
    """

    thresholds: NDArray[np.float32]
    counts: Counts


def best_threshold(truth: csr_array, scores: NDArray[np.float32], *, limit: int | None = None) -> BestThreshold:
    """The global threshold with the highest micro F1; the highest one in case of ties.

    It is halfway between the lowest accepted score and the highest rejected one; if all are accepted, half of the
    lowest score.

    Args:
        truth: CSR [documents, L] of bool.
        scores: float32 [documents, L], non-negative.
        limit: Maximum number of predicted (document, label) pairs; None for no limit.

    Returns:
        The threshold and its F1. If no label is true, threshold 1 and F1 0; if `limit` allows no threshold that
        predicts a true label, F1 0 and a threshold of at least 1 that rejects everything.

    Raises:
        ValueError: If the shapes differ, a score is NaN, or `limit` is negative.
    """
    check_scores(truth, scores)
    if limit is not None and limit < 0:
        raise ValueError(f"limit must be at least 0; got {limit}")
    return _best_threshold(scores.ravel(), scores[canonical_labels(truth).nonzero()], limit)


def label_thresholds(
    truth: csr_array, scores: NDArray[np.float32], fallback: float, min_f1: float = 0.1
) -> NDArray[np.float32]:
    """A threshold for each label: SCutFBR.1 of Lewis, Yang, Rose and Li (2004, RCV1).

    A threshold tuned on few positives overfits, most often by being too low: if its F1 is below `min_f1`, it is
    replaced by the highest score of the label, which rejects almost everything.

    Args:
        truth: CSR [documents, L] of bool.
        scores: float32 [documents, L], non-negative.
        fallback: The threshold of a label without positive documents, such as the one of `best_threshold`.
        min_f1: See above.

    Returns:
        float32 [L].

    Raises:
        ValueError: If the shapes differ or a score is NaN.
    """
    check_scores(truth, scores)
    columns = canonical_labels(truth).tocsc()
    thresholds = np.full(truth.shape[1], fallback, np.float32)
    step = max(1, _PAIRS // max(truth.shape[0], 1))
    for start in range(0, len(thresholds), step):
        transposed = np.ascontiguousarray(scores[:, start : start + step].T)  # [labels, documents]
        for label, values in enumerate(transposed, start):
            rows = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
            if len(rows):
                best = _best_threshold(values, values[rows])
                thresholds[label] = best.threshold if best.f1 >= min_f1 else values.max()
    return thresholds


def threshold_curve(truth: csr_array, scores: NDArray[np.float32], steps: int = 100) -> ThresholdCurve:
    """Micro precision, recall and F1 at thresholds from 0 to 1.

    Decision rules after the threshold, such as adding ancestors, are not applied.

    Args:
        truth: CSR [documents, L] of bool.
        scores: float32 [documents, L], from 0 to 1.
        steps: The thresholds are 0, 1/steps, 2/steps, ..., 1.

    Raises:
        ValueError: If the shapes differ, a score is NaN, or `steps` is less than 1.

    >>> curve = threshold_curve(csr_array([[True, False]]), np.array([[0.9, 0.4]], np.float32), steps=2)
    >>> curve.thresholds.tolist(), curve.counts.precision.tolist(), curve.counts.recall.tolist()
    ([0.0, 0.5, 1.0], [0.5, 1.0, 0.0], [1.0, 1.0, 0.0])
    """
    check_scores(truth, scores)
    if steps < 1:
        raise ValueError(f"there must be at least 1 step; got {steps}")
    labels = canonical_labels(truth)
    thresholds = np.linspace(0, 1, steps + 1, dtype=np.float32)
    counts = Counts(
        true_positives=_reaching(scores[labels.nonzero()], thresholds),
        predicted=_reaching(scores.ravel(), thresholds),
        actual=np.full(len(thresholds), labels.nnz, np.int64),
    )
    return ThresholdCurve(thresholds, counts)


def _best_threshold(
    scores: NDArray[np.float32], positives: NDArray[np.float32], limit: int | None = None
) -> BestThreshold:
    """The best threshold of `scores`, [n]; `positives` are the scores of true labels among them.

    The lowest accepted score is always that of a positive, so scores below the lowest positive need not be sorted.
    Equal scores share a threshold, because thresholds are looked up by value.
    """
    if not len(positives):
        return BestThreshold(1.0, 0.0)
    positives = np.sort(positives)
    above = np.sort(scores[scores >= positives[0]])
    accepted = len(above) - np.searchsorted(above, positives)
    found = len(positives) - np.searchsorted(positives, positives)
    f1 = 2 * found / (accepted + len(positives))
    if limit is not None:
        f1[accepted > limit] = 0
    best = len(f1) - 1 - int(np.argmax(f1[::-1]))
    if f1[best] == 0:  # the limit excludes even the highest score
        return BestThreshold(max(1.0, float(np.nextafter(above[-1], np.float32(np.inf)))), 0.0)
    return BestThreshold(_midpoint(scores, above, positives[best]), float(f1[best]))


def _midpoint(scores: NDArray[np.float32], above: NDArray[np.float32], lowest: np.float32) -> float:
    """A threshold that accepts `lowest`; `above` has the sorted scores from the lowest positive upwards."""
    index = int(np.searchsorted(above, lowest))
    if index:
        rejected = above[index - 1]
    elif len(above) < len(scores):
        rejected = np.max(scores, initial=-np.inf, where=scores < lowest)
    else:
        return float(min(lowest, lowest / 2))
    middle = np.float32(rejected + (lowest - rejected) / 2)
    return float(middle if rejected < middle <= lowest else lowest)  # adjacent float32 values have no midpoint


def _reaching(values: NDArray[np.float32], thresholds: NDArray[np.float32]) -> NDArray[np.int64]:
    """How many values are at least each threshold."""
    high = values[values >= thresholds[1]]  # most scores are close to 0; skipping them saves time
    passed = np.bincount(np.searchsorted(thresholds, high, side="right"), minlength=len(thresholds) + 1)
    found: NDArray[np.int64] = passed[::-1].cumsum()[::-1][1:]
    found[0] = np.count_nonzero(values >= thresholds[0])
    return found
