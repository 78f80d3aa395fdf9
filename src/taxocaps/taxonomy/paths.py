"""All paths from the root of a taxonomy to a label, the shortest first."""

import heapq
from collections.abc import Callable, Sequence

__all__ = ["MOST_PATHS", "find_paths"]

MOST_PATHS = 20
"""Longer lists of paths are cut: in a graph their number can grow exponentially with the depth."""


def find_paths(
    label: str, parents: Callable[[str], Sequence[str]], depth: Callable[[str], int], root: str
) -> tuple[tuple[str, ...], ...]:
    """At most `MOST_PATHS` paths to a label, without the root; none to the root itself.

    Paths of equal length are in the order of the parents, from the label upwards. It is a best-first search: as the
    depth of a label is exactly what is missing from a path, no step is made that does not belong to a path found or to
    its neighbour.

    Args:
        label: Where the paths end.
        parents: The parents of a label, always in the same order; none for a label at the top.
        depth: The smallest number of edges between the root, virtual or not, and a label.
        root: The only root or, if there are several, any text that is not a label.

    >>> above = {"all": (), "a": ("all",), "b": ("all",), "c": ("a", "b"), "d": ("b", "c")}
    >>> levels = {"all": 0, "a": 1, "b": 1, "c": 2, "d": 2}
    >>> find_paths("d", above.__getitem__, levels.__getitem__, "all")
    (('b', 'd'), ('a', 'c', 'd'), ('b', 'c', 'd'))
    """
    found: list[tuple[str, ...]] = []
    # The length of the shortest path that ends with these steps; the parents chosen, by rank; the steps upwards.
    waiting: list[tuple[int, tuple[int, ...], tuple[str, ...]]] = [(depth(label), (), (label,))]
    while waiting and len(found) < MOST_PATHS and label != root:
        _, ranks, steps = heapq.heappop(waiting)
        path = list(steps)
        while path[-1] != root and len(above := parents(path[-1])) == 1:  # nothing to choose: chains may be long
            path.append(above[0])
        if path[-1] == root:
            found.append(tuple(path[-2::-1]))
        elif not above:
            found.append(tuple(path[::-1]))
        else:
            for rank, parent in enumerate(above):
                heapq.heappush(waiting, (len(path) + depth(parent), (*ranks, rank), (*path, parent)))
    return tuple(found)
