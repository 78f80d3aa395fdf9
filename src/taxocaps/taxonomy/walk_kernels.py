"""Compiled: the moves of random walks on a taxonomy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import kernel

__all__ = ["META_PATH", "PLAIN", "STEPS", "fill_walks"]

META_PATH, STEPS, PLAIN = 0, 1, 2

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


@kernel
def fill_walks(
    parent_starts: Int64s,
    parents: Int32s,
    child_starts: Int64s,
    children: Int32s,
    kind: int,
    seed: np.uint64,
    per_label: int,
    part: tuple[int, int],
    walks: Int32s,
) -> None:
    """Write a range of walks; each has random numbers of its own, so that ranges can be worked on at the same time."""
    for walk in range(part[0], part[1]):
        state = _mixed(seed ^ _mixed(np.uint64(walk)))
        node = walk // per_label
        walks[walk, 0] = node
        step = 1
        while step < walks.shape[1]:
            up = parent_starts[node + 1] - parent_starts[node]
            down = child_starts[node + 1] - child_starts[node]
            if up + down == 0:
                break
            # Half and half between the two ways, or in proportion to the neighbours of each; a closed way is not taken.
            state, draw = _drawn(state, up + down if kind == PLAIN and up > 0 and down > 0 else 2)
            goes_up = down == 0 or (up > 0 and draw < (up if kind == PLAIN else 1))
            state, node = _neighbour(state, goes_up, node, parent_starts, parents, child_starts, children)
            walks[walk, step] = node
            step += 1
            if kind == META_PATH and step < walks.shape[1]:
                state, node = _neighbour(state, not goes_up, node, parent_starts, parents, child_starts, children)
                walks[walk, step] = node
                step += 1


@kernel
def _neighbour(
    state: np.uint64,
    up: bool,
    node: int,
    parent_starts: Int64s,
    parents: Int32s,
    child_starts: Int64s,
    children: Int32s,
) -> tuple[Any, Any]:
    """A parent of the node, or a child, each with the same chance."""
    starts, neighbours = (parent_starts, parents) if up else (child_starts, children)
    state, place = _drawn(state, starts[node + 1] - starts[node])
    return state, np.int64(neighbours[starts[node] + place])


@kernel
def _drawn(state: np.uint64, n: int) -> tuple[Any, Any]:
    """The next state of a SplitMix64 generator, and a number from 0 to n - 1."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    return state, np.int64(((_mixed(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def _mixed(value: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64: neighbouring numbers in, unrelated numbers out."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
