"""Ranking metrics: precision, recall and NDCG of the k labels with the highest scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.metrics.inputs import canonical_labels, check_scores

__all__ = ["RankingMetrics", "ranking_metrics"]

_PAIRS = 2_000_000
"""Number of (document, label) pairs that are ranked at a time."""


@dataclass(frozen=True)
class RankingMetrics:
    """Metrics of the k labels with the highest scores, by k.

    Attributes:
        precision: P@k, the mean fraction of true labels among the top k; documents without true labels count as 0.
        recall: R@k, the mean fraction of true labels that are in the top k, over documents with true labels.
        ndcg: Normalized discounted cumulative gain at k, over documents with true labels; a true label at rank i has
            the gain 1 / log2(1 + i).
    """

    precision: Mapping[int, float]
    recall: Mapping[int, float]
    ndcg: Mapping[int, float]


def ranking_metrics(truth: csr_array, scores: NDArray[np.float32], ks: Sequence[int] = (1, 3, 5)) -> RankingMetrics:
    """Compare the labels with the highest scores with the true ones.

    Args:
        truth: CSR [documents, L] of bool.
        scores: float32 [documents, L]; equal scores are ranked in the order of the columns.
        ks: The values of k; a k above L is allowed, and P@k is still divided by k.

    Raises:
        ValueError: If the shapes differ, a score is NaN, or a k is below 1.
    """
    check_scores(truth, scores)
    if any(k < 1 for k in ks):
        raise ValueError(f"every k must be at least 1; got {', '.join(map(str, ks))}")
    truth = canonical_labels(truth)
    hits = _hits(truth, scores, min(max(ks, default=0), truth.shape[1]))
    actual = np.diff(truth.indptr)
    some = actual > 0
    discounts = 1 / np.log2(np.arange(2, max(ks, default=0) + 2))
    best = np.concatenate([[0.0], np.cumsum(discounts)])
    found = {k: hits[:, :k].sum(axis=1) for k in ks}
    gained = {k: hits[:, :k] @ discounts[: min(k, hits.shape[1])] for k in ks}
    return RankingMetrics(
        precision={k: _mean(found[k] / k) for k in ks},
        recall={k: _mean(found[k][some] / actual[some]) for k in ks},
        ndcg={k: _mean(gained[k][some] / best[np.minimum(actual[some], k)]) for k in ks},
    )


def _hits(truth: csr_array, scores: NDArray[np.float32], k: int) -> NDArray[np.bool_]:
    """Whether the label at each of the first k ranks is true, bool [documents, k]."""
    hits = np.zeros((len(scores), k), bool)
    step = max(1, _PAIRS // max(truth.shape[1], 1))
    for start in range(0, len(scores) if k else 0, step):
        chunk = slice(start, start + step)
        hits[chunk] = np.take_along_axis(truth[chunk].toarray(), _top_k(scores[chunk], k), axis=1)
    return hits


def _top_k(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """The columns of the k highest scores of each row, as a stable sort would give them, [rows, k].

    Sorting whole rows is much slower with thousands of labels.
    """
    last = np.partition(scores, -k, axis=1)[:, -k, None]  # the k-th highest score
    higher = scores > last
    equal = scores == last
    room = k - higher.sum(axis=1, keepdims=True)
    chosen = higher | (equal & (np.cumsum(equal, axis=1, dtype=np.int32) <= room))
    columns = np.nonzero(chosen)[1].reshape(-1, k)
    order = np.argsort(-np.take_along_axis(scores, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0
