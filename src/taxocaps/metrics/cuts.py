"""Thresholds that turn scores into labels, tuned for F1 on documents whose labels are known."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.metrics.inputs import check_scores, plain_labels

__all__ = ["Cut", "best_cut", "label_cuts"]

_PAIRS = 2_000_000
"""Pairs of a document and a label whose scores are turned to columns at a time."""


@dataclass(frozen=True)
class Cut:
    """A threshold and what it achieves.

    Attributes:
        threshold: A label is predicted where its score is at least this. The number is exact in float32, so comparing
            float32 or float64 scores with it gives the same labels.
        f1: The F1 that it has on the scores it was tuned on.
    """

    threshold: float
    f1: float


def best_cut(truth: csr_array, scores: NDArray[np.float32], *, limit: int | None = None) -> Cut:
    """The one threshold for all labels with the highest micro F1; of equally good ones the highest.

    It stands midway between the lowest score accepted and the highest refused; if all are accepted, at half of the
    lowest.

    Args:
        truth: CSR [documents, L] of bool.
        scores: float32 [documents, L], not negative.
        limit: At most so many pairs of a document and a label may be predicted; None for any number.

    Returns:
        The cut. If no label is true, threshold 1 and F1 0; if `limit` leaves no threshold that predicts a true label,
        F1 0 and a threshold that refuses everything, at least 1.

    Raises:
        ValueError: If the shapes differ, a score is NaN, or `limit` is negative.
    """
    check_scores(truth, scores)
    if limit is not None and limit < 0:
        raise ValueError(f"limit must be at least 0; got {limit}")
    return _best_cut(scores.ravel(), scores[plain_labels(truth).nonzero()], limit)


def label_cuts(
    truth: csr_array, scores: NDArray[np.float32], fallback: float, smallest_f1: float = 0.1
) -> NDArray[np.float32]:
    """A threshold for each label: SCutFBR.1 of Lewis, Yang, Rose and Li (2004, RCV1).

    A threshold tuned on few positives overfits, most often by being too low: one that does not reach `smallest_f1` is
    replaced by the highest score of the label, which lets almost nothing pass.

    Args:
        truth: CSR [documents, L] of bool.
        scores: float32 [documents, L], not negative.
        fallback: The threshold of a label that no document carries; `best_cut` gives a good one.
        smallest_f1: See above.

    Returns:
        float32 [L].

    Raises:
        ValueError: If the shapes differ or a score is NaN.
    """
    check_scores(truth, scores)
    columns = plain_labels(truth).tocsc()
    thresholds = np.full(truth.shape[1], fallback, np.float32)
    step = max(1, _PAIRS // max(truth.shape[0], 1))
    for start in range(0, len(thresholds), step):
        turned = np.ascontiguousarray(scores[:, start : start + step].T)  # [labels, documents]
        for label, values in enumerate(turned, start):
            carriers = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
            if len(carriers):
                cut = _best_cut(values, values[carriers])
                thresholds[label] = cut.threshold if cut.f1 >= smallest_f1 else values.max()
    return thresholds


def _best_cut(scores: NDArray[np.float32], positives: NDArray[np.float32], limit: int | None = None) -> Cut:
    """The best cut of `scores`, [n]; `positives` are those of them that belong to true labels.

    The lowest score accepted is that of a positive: raising a threshold past negatives only helps. So the scores below
    the lowest positive need no sorting; equal scores share a threshold because thresholds are looked up by value.
    """
    if not len(positives):
        return Cut(1.0, 0.0)
    positives = np.sort(positives)
    above = np.sort(scores[scores >= positives[0]])
    accepted = len(above) - np.searchsorted(above, positives)
    found = len(positives) - np.searchsorted(positives, positives)
    f1 = 2 * found / (accepted + len(positives))
    if limit is not None:
        f1[accepted > limit] = 0
    best = len(f1) - 1 - int(np.argmax(f1[::-1]))
    if f1[best] == 0:  # the limit forbids even the highest score: refuse that too
        return Cut(max(1.0, float(np.nextafter(above[-1], np.float32(np.inf)))), 0.0)
    return Cut(_threshold(scores, above, positives[best]), float(f1[best]))


def _threshold(scores: NDArray[np.float32], above: NDArray[np.float32], lowest: np.float32) -> float:
    """Where to put a threshold that accepts `lowest`; `above` holds the scores from the lowest positive on, sorted."""
    place = int(np.searchsorted(above, lowest))
    if place:
        refused = above[place - 1]
    elif len(above) < len(scores):
        refused = np.max(scores, initial=-np.inf, where=scores < lowest)
    else:
        return float(min(lowest, lowest / 2))
    middle = np.float32(refused + (lowest - refused) / 2)
    return float(middle if refused < middle <= lowest else lowest)  # no float32 lies between neighbours
