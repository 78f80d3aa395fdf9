"""Numba kernels of joining: walking down trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import kernel

__all__ = ["sum_contributions", "sum_trees"]

Floats = NDArray[np.float32]
Int32s = NDArray[np.int32]

_ROWS = 128
"""So many rows, and what is known of their leaves, stay in the processor's cache."""
_ONE, _ALL = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
_DE_BRUIJN, _SHIFT = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
"""A power of 2 times this number has other leading six bits for each power."""


@kernel
def sum_trees(
    columns: Floats, roots: Int32s, nodes: Any, values: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Add the value of the leaf of each tree to the sum of each row.

    No row walks down a tree: which way it goes cannot be foreseen, and wrong guesses cost the processor most of the
    time. Instead, every inner node looks at all rows, and where a row goes to the right, it rules the leaves to its
    left out. The leaf of a row is the first that no node has ruled out (QuickScorer, Lucchese et al. 2015).

    Args:
        columns: The features of rows, [features, rows].
        roots: Where the nodes of each tree begin.
        nodes: As in `Trees`, with thresholds of the same type as the features.
        values: Those of nodes.
        sums: In and out: [rows].
    """
    features, thresholds, missing_left, left, _ = nodes
    kept, leaves = _ruled(roots, nodes, values)
    possible = np.empty(_ROWS, np.uint64)
    for first in range(0, len(sums), _ROWS):
        size = min(_ROWS, len(sums) - first)
        for tree in range(len(roots)):
            possible[:] = _ALL
            for node in range(roots[tree], roots[tree + 1] if tree + 1 < len(roots) else len(values)):
                if left[node] < 0:
                    continue
                column, threshold, rest = columns[features[node], first : first + size], thresholds[node], kept[node]
                if missing_left[node]:
                    for row in range(size):
                        possible[row] &= rest if column[row] > threshold else _ALL
                else:
                    for row in range(size):
                        possible[row] &= _ALL if column[row] <= threshold else rest
            for row in range(size):
                sums[first + row] += leaves[tree, _slot(possible[row] & (~possible[row] + _ONE))]


@kernel
def _ruled(roots: Int32s, nodes: Any, values: NDArray[np.float64]) -> Any:
    """For each node a bit for each leaf that a row may still reach that goes to its right; the leaves of each tree."""
    left, right = nodes[3], nodes[4]
    count, first = np.ones(len(values), np.uint64), np.zeros(len(values), np.uint64)  # leaves below, and before, a node
    for node in range(len(values) - 1, -1, -1):  # children come after their parents
        if left[node] >= 0:
            count[node] = count[left[node]] + count[right[node]]
    kept, leaves = np.zeros(len(values), np.uint64), np.zeros((len(roots), 64))
    tree = -1
    for node in range(len(values)):
        if tree + 1 < len(roots) and roots[tree + 1] == node:
            tree += 1
        if left[node] < 0:
            leaves[tree, _slot(_ONE << first[node])] = values[node]
        else:
            first[left[node]], first[right[node]] = first[node], first[node] + count[left[node]]
            kept[node] = ~(((_ONE << count[left[node]]) - _ONE) << first[node])
    return kept, leaves


@kernel
def _slot(bit: Any) -> Any:
    """A number below 64 for each power of 2."""
    return (bit * _DE_BRUIJN) >> _SHIFT


@kernel
def _child(row: Floats, node: int, nodes: Any) -> Any:
    """The child of an inner node that a row goes to; a value that is missing goes where training sent those."""
    features, thresholds, missing_left, left, right = nodes
    value = row[features[node]]
    if value <= thresholds[node] or (np.isnan(value) and missing_left[node]):
        return left[node]
    return right[node]


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
