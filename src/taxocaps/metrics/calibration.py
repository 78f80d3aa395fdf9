"""Whether scores are probabilities: of the labels scored 0.7, seven in ten should be true."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.metrics.inputs import check_scores, plain_labels

__all__ = ["Reliability", "calibration_error", "reliability"]

_PAIRS = 1_000_000
"""Pairs of a document and a label that are sorted into bins at a time."""

_SLACK = 1e-5
"""How far rounding may carry a score out of the range from 0 to 1."""


@dataclass(frozen=True)
class Reliability:
    """Scores beside the shares of true labels, in bins of equal width from 0 to 1.

    Attributes:
        centres: float64 [bins], the middle of each bin.
        mean_score: float64 [bins], the mean of the scores in the bin; 0 in an empty bin.
        observed: float64 [bins], the share of true labels in the bin; 0 in an empty bin.
        count: int64 [bins], the pairs of a document and a label in the bin.
    """

    centres: NDArray[np.float64]
    mean_score: NDArray[np.float64]
    observed: NDArray[np.float64]
    count: NDArray[np.int64]


def calibration_error(truth: csr_array, scores: NDArray[np.float32], bins: int = 15) -> float:
    """The expected calibration error: how far the scores lie from the shares of true labels, on average.

    Pairs of a document and a label are pooled. Most pairs are clear negatives and lie in the first bin, so the error is
    small wherever labels are many; compare it only on the same labels.

    Args:
        truth: CSR [documents, L] of bool.
        scores: float32 [documents, L], from 0 to 1.
        bins: See `reliability`.

    Raises:
        ValueError: As `reliability` does.
    """
    found = reliability(truth, scores, bins)
    gaps = np.abs(found.observed - found.mean_score)
    return float(gaps @ found.count / max(int(found.count.sum()), 1))


def reliability(truth: csr_array, scores: NDArray[np.float32], bins: int = 15) -> Reliability:
    """Sort all pairs of a document and a label into bins by score, and count the true ones.

    Args:
        truth: CSR [documents, L] of bool.
        scores: float32 [documents, L], from 0 to 1.
        bins: The number of bins; a score on the border of two lies in the upper one, 1 in the last.

    Raises:
        ValueError: If the shapes differ, a score is no number from 0 to 1, or there is no bin.
    """
    check_scores(truth, scores)
    _check_range(scores, bins)
    truth = plain_labels(truth)
    count = np.zeros(bins, np.int64)
    true = np.zeros(bins, np.int64)
    total = np.zeros(bins)
    step = max(1, _PAIRS // max(truth.shape[1], 1))
    for start in range(0, len(scores), step):
        chunk = scores[start : start + step]
        places = _bins(chunk, bins)
        count += np.bincount(places.ravel(), minlength=bins)
        total += np.bincount(places.ravel(), weights=chunk.ravel(), minlength=bins)
        true += np.bincount(places[truth[start : start + step].nonzero()], minlength=bins)
    return Reliability(
        centres=(np.arange(bins) + 0.5) / bins,
        mean_score=total / np.maximum(count, 1),
        observed=true / np.maximum(count, 1),
        count=count,
    )


def _check_range(scores: NDArray[np.float32], bins: int) -> None:
    if bins < 1:
        raise ValueError(f"there must be at least 1 bin; got {bins}")
    if scores.size and not (scores.min() >= -_SLACK and scores.max() <= 1 + _SLACK):
        raise ValueError(f"calibration needs scores from 0 to 1; got {scores.min():g} to {scores.max():g}")


def _bins(scores: NDArray[np.float32], bins: int) -> NDArray[np.intp]:
    return np.clip((scores.astype(np.float64) * bins).astype(np.intp), 0, bins - 1)
