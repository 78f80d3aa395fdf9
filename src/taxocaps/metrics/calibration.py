"""Calibration: how well scores agree with the observed frequencies of true labels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.metrics.inputs import canonical_labels, check_scores

__all__ = [
    "CLEAR_NEGATIVE",
    "Reliability",
    "ReliabilityBin",
    "ScoreBand",
    "calibration_error",
    "logistic",
    "logit",
    "reliability",
    "score_band",
]

_PAIRS = 1_000_000
"""Number of (document, label) pairs that are binned at a time."""

CLEAR_NEGATIVE = 0.05
"""Pairs with scores up to this do not count in the calibration error: most pairs are such."""

_NEAR_ZERO = 1e-6

_TOLERANCE = 1e-5
"""How far a score may be outside of [0, 1] because of rounding."""


def logistic(logits: NDArray[np.floating]) -> NDArray[np.floating]:
    """The logistic function, exact for small probabilities, too, down to 1e-38; scipy's would take 60 ms to import.

    >>> logistic(np.array([0.0, -100.0, -1e6])).tolist()
    [0.5, 3.7200759760208356e-44, 0.0]
    """
    with np.errstate(over="ignore"):  # 1 / infinity is 0, as it should be
        probabilities: NDArray[np.floating] = 1 / (1 + np.exp(-logits))
    return probabilities


def logit(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    """The inverse of the logistic function, kept finite: scores within a millionth of 0 and 1 are cut there.

    >>> logit(np.array([0.5, 0.0])).round(1).tolist()
    [0.0, -13.8]
    """
    inside = np.clip(scores, _NEAR_ZERO, 1 - _NEAR_ZERO)
    found: NDArray[np.floating] = np.log(inside / (1 - inside))
    return found


@dataclass(frozen=True)
class ReliabilityBin:
    """A bin of `Reliability`: its centre, the mean score in it, the fraction of true labels, the number of pairs."""

    centre: float
    mean_score: float
    observed: float
    count: int


@dataclass(frozen=True)
class ScoreBand:
    """The (document, label) pairs with scores in a range: how many there are, and the fraction of true labels."""

    low: float
    high: float
    count: int
    observed: float


@dataclass(frozen=True)
class Reliability:
    """Mean score and observed frequency of true labels in bins of equal width from 0 to 1.

    Attributes:
        centres: float64 [bins], the centre of each bin.
        mean_score: float64 [bins], the mean of the scores in the bin; 0 in an empty bin.
        observed: float64 [bins], the fraction of true labels in the bin; 0 in an empty bin.
        count: int64 [bins], the number of (document, label) pairs in the bin.
    """

    centres: NDArray[np.float64]
    mean_score: NDArray[np.float64]
    observed: NDArray[np.float64]
    count: NDArray[np.int64]

    @property
    def error(self) -> float:
        """The mean gap between scores and observed frequencies, weighted by bin size."""
        gaps = np.abs(self.observed - self.mean_score)
        return float(gaps @ self.count / max(int(self.count.sum()), 1))

    @property
    def bins(self) -> tuple[ReliabilityBin, ...]:
        """The bins one by one."""
        columns = (self.centres, self.mean_score, self.observed, self.count)
        return tuple(map(ReliabilityBin, *(column.tolist() for column in columns)))


def calibration_error(
    truth: csr_array, scores: NDArray[np.float32], bins: int = 15, above: float = CLEAR_NEGATIVE
) -> float:
    """The expected calibration error: the mean gap between scores and observed frequencies, weighted by bin size.

    All (document, label) pairs with a score above 0.05 are pooled. Most pairs are clear negatives; with these the error
    would be close to 0 for any model.

    Args:
        truth: CSR [documents, L] of bool.
        scores: float32 [documents, L], from 0 to 1.
        bins: See `reliability`.
        above: See `reliability`.

    Raises:
        ValueError: As `reliability` does.
    """
    return reliability(truth, scores, bins, above).error


def score_band(truth: csr_array, scores: NDArray[np.float32], low: float = 0.85, high: float = 0.95) -> ScoreBand:
    """How many labels with scores in a range are true; of those around 0.9, nine of ten should be.

    Args:
        truth: CSR [documents, L] of bool.
        scores: float32 [documents, L].
        low: The lowest score.
        high: The highest score.

    Raises:
        ValueError: If the shapes differ, or a score is NaN.

    >>> score_band(csr_array([[True, False, True]]), np.array([[0.9, 0.88, 0.99]], np.float32))
    ScoreBand(low=0.85, high=0.95, count=2, observed=0.5)
    """
    check_scores(truth, scores)
    of_true = scores[canonical_labels(truth).nonzero()]
    count, right = (int(np.count_nonzero((low <= found) & (found <= high))) for found in (scores, of_true))
    return ScoreBand(low, high, count, right / max(count, 1))


def reliability(truth: csr_array, scores: NDArray[np.float32], bins: int = 15, above: float = -1.0) -> Reliability:
    """Bin (document, label) pairs by score and count the true ones.

    Args:
        truth: CSR [documents, L] of bool.
        scores: float32 [documents, L], from 0 to 1.
        bins: Number of bins; a score on a boundary belongs to the upper bin, 1 to the last.
        above: Only pairs with a larger score count; by default all.

    Raises:
        ValueError: If the shapes differ, a score is not between 0 and 1, or `bins` is less than 1.
    """
    check_scores(truth, scores)
    _check_range(scores, bins)
    truth = canonical_labels(truth)
    count = np.zeros(bins, np.int64)
    true = np.zeros(bins, np.int64)
    total = np.zeros(bins)
    step = max(1, _PAIRS // max(truth.shape[1], 1))
    for start in range(0, len(scores), step):
        chunk = scores[start : start + step]
        indices, counted = _bins(chunk, bins), chunk > above
        count += np.bincount(indices[counted], minlength=bins)
        total += np.bincount(indices[counted], weights=chunk[counted], minlength=bins)
        rows, columns = truth[start : start + step].nonzero()
        inside = counted[rows, columns]
        true += np.bincount(indices[rows[inside], columns[inside]], minlength=bins)
    return Reliability(
        centres=(np.arange(bins) + 0.5) / bins,
        mean_score=total / np.maximum(count, 1),
        observed=true / np.maximum(count, 1),
        count=count,
    )


def _check_range(scores: NDArray[np.float32], bins: int) -> None:
    if bins < 1:
        raise ValueError(f"there must be at least 1 bin; got {bins}")
    if scores.size and not (scores.min() >= -_TOLERANCE and scores.max() <= 1 + _TOLERANCE):
        raise ValueError(f"calibration needs scores from 0 to 1; got {scores.min():g} to {scores.max():g}")


def _bins(scores: NDArray[np.float32], bins: int) -> NDArray[np.intp]:
    return np.clip((scores.astype(np.float64) * bins).astype(np.intp), 0, bins - 1)
