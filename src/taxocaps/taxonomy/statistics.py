"""The size and shape of a taxonomy in numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["TaxonomyStatistics", "measure"]


@dataclass(frozen=True)
class TaxonomyStatistics:
    """The size and shape of a taxonomy.

    Attributes:
        labels: Number of labels; a single root is not counted, for it is on no level below itself.
        edges: Number of edges, those from a single root included.
        roots: Number of labels without a parent.
        leaves: Number of labels without a child.
        depth: Number of levels below the root, virtual or not.
        labels_per_level: Number of labels on each of these levels.
        multiple_parents: Number of labels with two parents or more.
        most_children: The largest number of children of one label.
        most_children_of: The first label with that many children.
    """

    labels: int
    edges: int
    roots: int
    leaves: int
    depth: int
    labels_per_level: tuple[int, ...]
    multiple_parents: int
    most_children: int
    most_children_of: str


def measure(
    levels: Sequence[Sequence[str]], parents: Mapping[str, Sequence[str]], children: Mapping[str, Sequence[str]]
) -> TaxonomyStatistics:
    """Count.

    Args:
        levels: The labels by depth; level 0 holds the root, or nothing if it is virtual.
        parents: The parents of every label, in taxonomy order.
        children: The children of every label.
    """
    per_level = tuple(len(level) for level in levels[1:])
    fullest = max(parents, key=lambda name: len(children[name]))
    return TaxonomyStatistics(
        labels=sum(per_level),
        edges=sum(len(found) for found in children.values()),
        roots=sum(not found for found in parents.values()),
        leaves=sum(not found for found in children.values()),
        depth=len(per_level),
        labels_per_level=per_level,
        multiple_parents=sum(len(found) > 1 for found in parents.values()),
        most_children=len(children[fullest]),
        most_children_of=fullest,
    )
