"""Numba kernels of random walks on a taxonomy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import kernel
from taxocaps.splitmix import mixed, random_below

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
    """Fill a range of walks; each walk has its own random state, so ranges can be filled in parallel."""
    for walk in range(part[0], part[1]):
        state = mixed(seed ^ mixed(np.uint64(walk)))
        node = walk // per_label
        walks[walk, 0] = node
        step = 1
        while step < walks.shape[1]:
            up = parent_starts[node + 1] - parent_starts[node]
            down = child_starts[node + 1] - child_starts[node]
            if up + down == 0:
                break
            # Up or down with equal probability, or in proportion to the neighbours; never in an impossible direction.
            state, draw = random_below(state, up + down if kind == PLAIN and up > 0 and down > 0 else 2)
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
    """A random parent or child of the node."""
    starts, neighbours = (parent_starts, parents) if up else (child_starts, children)
    state, offset = random_below(state, starts[node + 1] - starts[node])
    return state, np.int64(neighbours[starts[node] + offset])
