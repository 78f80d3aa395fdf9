"""Random walks over the labels of a taxonomy, seeded, and the same on any number of threads (paper section 4).

The root takes part, the virtual one too: it joins what would otherwise fall apart.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import AtLeast, Config
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["NO_LABEL", "WalkConfig", "WalkKind", "random_walks"]

WalkKind = Literal["meta-path", "steps", "plain"]

NO_LABEL = -1
"""Fills up the walk of a label that has no neighbour."""

_RANGES_PER_THREAD = 4


class WalkConfig(Config):
    """How walks are drawn.

    Attributes:
        kind: What a move is. The default is the one whose label vectors best give back a taxonomy (`docs/quality.md`);
            the paper's is "meta-path": with equal chance to a parent and on to one of its children, or to a child
            and on to one of its parents. "steps": with equal chance to a parent or to a child. "plain": to any
            neighbour, as in DeepWalk. Where one way is closed, the other is taken.
        length: Labels in a walk.
        per_label: Walks that begin at each label.
    """

    section: ClassVar[str] = "walks"

    kind: WalkKind = "plain"
    length: Annotated[int, AtLeast(1)] = 500
    per_label: Annotated[int, AtLeast(1)] = 10


def random_walks(taxonomy: Taxonomy, config: WalkConfig, *, seed: int = 0, threads: int = 1) -> NDArray[np.int32]:
    """Walk from every label.

    Args:
        taxonomy: The labels and their edges.
        config: How to walk.
        seed: The same seed gives the same walks.
        threads: Walks are divided among so many threads.

    Returns:
        int32 [(labels + root) * per_label, length]: positions in `taxonomy.names`; a virtual root comes after the last
        label. The walks of one label stand together. A label without neighbours is followed by `NO_LABEL`.
    """
    from taxocaps.taxonomy.walk_kernels import META_PATH, PLAIN, STEPS, fill_walks

    parents, children = _neighbours(taxonomy)
    n_labels = len(parents[0]) - 1
    walks = np.full((n_labels * config.per_label, config.length), NO_LABEL, np.int32)
    kind = {"meta-path": META_PATH, "steps": STEPS, "plain": PLAIN}[config.kind]

    def run(part: tuple[int, int]) -> None:
        fill_walks(*parents, *children, kind, np.uint64(seed), config.per_label, part, walks)

    cuts = np.linspace(0, len(walks), min(threads * _RANGES_PER_THREAD, len(walks)) + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, itertools.pairwise(cuts)))
    return walks


def _neighbours(taxonomy: Taxonomy) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Parents and children of every node as (starts, numbers); a virtual root is the last node."""
    number = {name: place for place, name in enumerate(taxonomy.names)}
    edges = [(number[parent], number[child]) for parent, child in taxonomy.edges]
    if taxonomy.root not in number:
        edges += [(len(number), number[root]) for root in taxonomy.roots]
    n = len(number) + (taxonomy.root not in number)
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    return _grouped(pairs[:, 1], pairs[:, 0], n), _grouped(pairs[:, 0], pairs[:, 1], n)


def _grouped(keys: NDArray[np.int64], values: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The values of each key, one key after the other, and where each begins."""
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=n), out=starts[1:])
    return starts, values[np.argsort(keys, kind="stable")].astype(np.int32)
