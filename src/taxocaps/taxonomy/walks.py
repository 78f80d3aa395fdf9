"""Random walks over the labels of a taxonomy, reproducible on any number of threads (paper section 4).

The root is part of the walks, also a virtual one, which connects its children.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import AtLeast, Config
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["PADDING", "WalkConfig", "WalkKind", "random_walks"]

WalkKind = Literal["meta-path", "steps", "plain"]

PADDING = -1
"""Padding of the walk of a label without neighbours."""

_RANGES_PER_THREAD = 4


class WalkConfig(Config):
    """Random walks on the taxonomy.

    Attributes:
        kind: The kind of a step. "plain": to any neighbour, as in DeepWalk; the default, because its label vectors
            reconstruct a taxonomy best (`docs/quality.md`). "meta-path", as in the paper: with equal probability to a
            parent and then to one of its children, or to a child and then to one of its parents. "steps": with equal
            probability to a parent or to a child. Where one direction is impossible, the other is taken.
        length: Number of labels in a walk; null for 500, as in the paper, or fewer where there are so many labels that
            all walks together would have more than four million.
        per_label: Number of walks that start at each label.
    """

    section: ClassVar[str] = "walks"

    kind: WalkKind = "plain"
    length: Annotated[int, AtLeast(1)] | None = None
    per_label: Annotated[int, AtLeast(1)] = 10

    def length_for(self, labels: int) -> int:
        """The length of walks in a taxonomy of so many labels.

        >>> WalkConfig().length_for(100), WalkConfig().length_for(8_000), WalkConfig(length=7).length_for(8_000)
        (500, 50, 7)
        """
        if self.length is not None:
            return self.length
        return max(_SHORTEST, min(_LONGEST, _MOST_STEPS // max(1, labels * self.per_label)))


_LONGEST, _SHORTEST, _MOST_STEPS = 500, 10, 4_000_000


def random_walks(taxonomy: Taxonomy, config: WalkConfig, *, seed: int = 0, threads: int = 1) -> NDArray[np.int32]:
    """Walk from every label.

    Args:
        taxonomy: The labels and their edges.
        config: The options.
        seed: Random seed.
        threads: Number of threads.

    Returns:
        int32 [(labels + root) * per_label, length]: positions in `taxonomy.names`; a virtual root comes after the last
        label. The walks of one label are consecutive. A label without neighbours is followed by `PADDING`.
    """
    from taxocaps.taxonomy.walk_kernels import META_PATH, PLAIN, STEPS, fill_walks

    parents, children = _neighbours(taxonomy)
    n_labels = len(parents[0]) - 1
    walks = np.full((n_labels * config.per_label, config.length_for(n_labels)), PADDING, np.int32)
    kind = {"meta-path": META_PATH, "steps": STEPS, "plain": PLAIN}[config.kind]

    def run(part: tuple[int, int]) -> None:
        fill_walks(*parents, *children, kind, np.uint64(seed), config.per_label, part, walks)

    bounds = np.linspace(0, len(walks), min(threads * _RANGES_PER_THREAD, len(walks)) + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, itertools.pairwise(bounds)))
    return walks


def _neighbours(taxonomy: Taxonomy) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Parents and children of every node as (starts, indices); a virtual root is the last node."""
    index = {name: i for i, name in enumerate(taxonomy.names)}
    edges = [(index[parent], index[child]) for parent, child in taxonomy.edges]
    if taxonomy.root not in index:
        edges += [(len(index), index[root]) for root in taxonomy.roots]
    n = len(index) + (taxonomy.root not in index)
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    return _grouped(pairs[:, 1], pairs[:, 0], n), _grouped(pairs[:, 0], pairs[:, 1], n)


def _grouped(keys: NDArray[np.int64], values: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The values sorted by key, and the start of each key's values."""
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=n), out=starts[1:])
    return starts, values[np.argsort(keys, kind="stable")].astype(np.int32)
