"""Numba kernels of joining: walking down trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import kernel

__all__ = ["sum_contributions", "sum_trees"]

Floats = NDArray[np.float32]
Int32s = NDArray[np.int32]

_ROWS = 128


@kernel
def _child(row: Floats, node: int, nodes: Any) -> Any:
    """The child of an inner node that a row goes to; a value that is missing goes where training sent those."""
    features, thresholds, missing_left, left, right = nodes
    value = np.float64(row[features[node]])
    # Without branches: which way a row goes cannot be foreseen, and a wrong guess costs the processor more than this.
    goes_left = np.int32(value <= thresholds[node]) | (np.int32(np.isnan(value)) & missing_left[node])
    return right[node] + (left[node] - right[node]) * goes_left


@kernel
def sum_trees(rows: Floats, roots: Int32s, nodes: Any, values: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    """Add the value of the leaf of each tree to the sum of each row."""
    left = nodes[3]
    for first in range(0, len(rows), _ROWS):  # so few that they and a tree stay in the processor's cache
        for root in roots:
            for index in range(first, min(first + _ROWS, len(rows))):
                node = root
                while left[node] >= 0:
                    node = _child(rows[index], node, nodes)
                sums[index] += values[node]


@kernel
def sum_contributions(
    rows: Floats, roots: Int32s, nodes: Any, values: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Add to each feature of each row how far its splits move the value, from each root to a leaf; [rows, features]."""
    features, left = nodes[0], nodes[3]
    for index in range(len(rows)):
        for root in roots:
            node = root
            while left[node] >= 0:
                child = _child(rows[index], node, nodes)
                sums[index, features[node]] += values[child] - values[node]
                node = child
