"""How well label vectors remember the taxonomy: edges read back from similarities (paper section 5.4, Figure 5)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.taxonomy.weights import unit_vectors

__all__ = ["THRESHOLDS", "Reconstruction", "reconstruct"]

THRESHOLDS = tuple(number / 100 for number in range(101))
"""The cosine similarities from which on two labels count as joined."""

_ROWS = 1_024
"""Labels whose similarities to all others are held in memory at a time."""


@dataclass(frozen=True)
class Reconstruction:
    """F1 of the edges read back, for each of the `THRESHOLDS`.

    Attributes:
        micro: Over all pairs of labels.
        macro: The mean, over labels, of the F1 of their sets of neighbours.
    """

    micro: NDArray[np.float64]
    macro: NDArray[np.float64]


def reconstruct(taxonomy: Taxonomy, vectors: NDArray[np.float32]) -> Reconstruction:
    """Join every two labels whose cosine similarity exceeds a threshold, and compare with the taxonomy.

    Pairs are unordered, the edges of the taxonomy undirected, and the root is left out.

    Args:
        taxonomy: The labels.
        vectors: [labels, D] in the order of `taxonomy.names`.
    """
    labels = [name for name in taxonomy.names if name != taxonomy.root]
    number = {name: place for place, name in enumerate(labels)}
    unit = unit_vectors(vectors[[taxonomy.position(name) for name in labels]])
    edges = [(number[a], number[b]) for a, b in taxonomy.edges if a in number and b in number]
    pairs = np.array(edges + [(b, a) for a, b in edges], np.int64).reshape(-1, 2)
    joined = np.zeros((len(labels), len(THRESHOLDS)), np.int64)
    for start in range(0, len(labels), _ROWS):
        joined[start : start + _ROWS] = _joined(unit[start : start + _ROWS] @ unit.T, start)
    hits = np.zeros_like(joined)
    steps = _steps(np.einsum("ij,ij->i", unit[pairs[:, 0]], unit[pairs[:, 1]]))
    np.add.at(hits, pairs[:, 0], steps[:, None] > np.arange(len(THRESHOLDS)))
    neighbours = np.bincount(pairs[:, 0], minlength=len(labels))[:, None]
    return Reconstruction(
        micro=_f1(hits.sum(axis=0), joined.sum(axis=0), neighbours.sum()),
        macro=_f1(hits, joined, neighbours).mean(axis=0) if labels else np.zeros(len(THRESHOLDS)),
    )


def _steps(similarity: NDArray[np.float32]) -> NDArray[np.int64]:
    """The number of thresholds that a similarity exceeds."""
    return np.searchsorted(np.asarray(THRESHOLDS, np.float32), similarity, side="left")


def _joined(similarity: NDArray[np.float32], start: int) -> NDArray[np.int64]:
    """For each row, the number of other labels joined to it at each threshold; row 0 is that of label `start`."""
    rows = np.arange(len(similarity))
    steps = _steps(similarity)
    steps[rows, start + rows] = 0  # no label is joined to itself
    width = len(THRESHOLDS) + 1
    counts = np.bincount((steps + rows[:, None] * width).ravel(), minlength=len(rows) * width).reshape(-1, width)
    return counts[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]


def _f1(hits: NDArray[np.int64], found: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.float64]:
    """2 hits / (found + wanted), and 0 where there is nothing to find and nothing found."""
    total = found + wanted
    f1: NDArray[np.float64] = np.divide(2.0 * hits, total, out=np.zeros(total.shape), where=total > 0)
    return f1
