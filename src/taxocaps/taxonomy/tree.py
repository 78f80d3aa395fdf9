"""The taxonomy: an immutable directed acyclic graph of labels, in which a label may have several parents."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from taxocaps.config import fingerprint
from taxocaps.errors import TaxonomyError
from taxocaps.taxonomy.order import invert, levels, reachable, taxonomy_order
from taxocaps.taxonomy.problems import VIRTUAL_ROOT, Edge, find_problems, summary
from taxocaps.taxonomy.statistics import TaxonomyStatistics, measure

__all__ = ["VIRTUAL_ROOT", "Taxonomy", "assemble"]

V = TypeVar("V")

_CACHED_ANCESTORS = 1_000
"""Longer lists of ancestors are worked out anew each time: in a chain of labels their memory grows with its square."""


@dataclass(frozen=True, eq=False, repr=False)
class Taxonomy:
    """A directed acyclic graph of labels; made by `from_edges` or `read_taxonomy`.

    Everything that lists labels does so in *taxonomy order*: parents before children, and in a tree each label
    directly followed by all that is below it, siblings in file order.

    Attributes:
        names: All labels.
        roots: The labels without a parent.
        root: The only root, or `VIRTUAL_ROOT`, which is no label, if there are several.
        edges: All pairs of parent and child, parents in taxonomy order, children in file order.
        levels: The labels by depth; level 0 holds `root`, or nothing if that is virtual.
        leaves: The labels without children.
        titles: The display names of those labels that have one other than their name.

    >>> topics = Taxonomy.from_edges([("all", "art"), ("all", "trade"), ("trade", "oil"), ("art", "film")])
    >>> topics.names
    ('all', 'art', 'film', 'trade', 'oil')
    >>> topics.close(["oil"])
    ('trade', 'oil')
    """

    names: tuple[str, ...]
    roots: tuple[str, ...]
    root: str
    edges: tuple[tuple[str, str], ...]
    levels: tuple[tuple[str, ...], ...]
    leaves: tuple[str, ...]
    titles: Mapping[str, str]
    _parents: Mapping[str, tuple[str, ...]]
    _children: Mapping[str, tuple[str, ...]]
    _positions: Mapping[str, int]
    _depths: Mapping[str, int]
    _known_ancestors: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def from_edges(
        cls, edges: Iterable[tuple[str, str]], *, labels: Iterable[str] = (), titles: Mapping[str, str] | None = None
    ) -> "Taxonomy":
        """Make a taxonomy.

        Args:
            edges: Pairs of parent and child; siblings keep this order.
            labels: Labels without edges. Labels with edges may be among them: roots come in the order of first
                mention, here and then in `edges`.
            titles: Display names; those of unknown labels are left out.

        Raises:
            TaxonomyError: For a bad name, a self-loop, a duplicate or a cycle, or if there is no label.
        """
        named = [Edge(None, name) for name in dict.fromkeys(labels)]
        statements = named + [Edge(parent, child) for parent, child in edges]
        if not statements:
            raise TaxonomyError("a taxonomy needs at least one label; got none")
        if problems := find_problems(statements):
            raise TaxonomyError(summary(problems))
        return assemble(statements, titles or {})

    def parents(self, name: str) -> tuple[str, ...]:
        """The labels directly above; none for a root."""
        return self._of(self._parents, name)

    def children(self, name: str) -> tuple[str, ...]:
        """The labels directly below, in file order; for `root`, virtual or not, the top labels."""
        return self.roots if name == self.root == VIRTUAL_ROOT else self._of(self._children, name)

    def ancestors(self, name: str) -> tuple[str, ...]:
        """All labels above; a virtual root is not among them."""
        found = self._known_ancestors.get(name)
        if found is None:
            found = self._ordered(reachable(name, self.parents))
            if len(found) <= _CACHED_ANCESTORS:
                self._known_ancestors[name] = found
        return found

    def descendants(self, name: str) -> tuple[str, ...]:
        """All labels below."""
        return self._ordered(reachable(name, self.children))

    def depth(self, name: str) -> int:
        """The smallest number of edges between `root`, virtual or not, and the label."""
        return self._of(self._depths, name)

    def path(self, name: str) -> tuple[str, ...]:
        """A shortest way down to the label, `root` left out; of several, always the same.

        >>> Taxonomy.from_edges([("all", "trade"), ("trade", "oil")]).path("oil")
        ('trade', 'oil')
        """
        way: list[str] = []
        step: str | None = name
        while step is not None and step != self.root:
            way.append(step)
            step = min(self.parents(step), key=self.depth, default=None)
        return tuple(reversed(way))

    def position(self, name: str) -> int:
        """The index of the label in `names`."""
        return self._of(self._positions, name)

    def title(self, name: str) -> str:
        """The display name of the label: its title, or else its name."""
        return self.titles.get(name) or self.names[self.position(name)]

    def nearest(self, name: str) -> str | None:
        """The label whose spelling is most like `name`, or None if none is like it."""
        return next(iter(difflib.get_close_matches(name, self.names, n=1)), None)

    def close(self, labels: Iterable[str]) -> tuple[str, ...]:
        """The labels and all their ancestors; `root` only if it is given, for it says nothing about a document."""
        given = dict.fromkeys(labels)
        closed = set(given).union(*map(self.ancestors, given))
        if self.root not in given:
            closed.discard(self.root)
        return self._ordered(closed)

    def with_labels(self, names: Iterable[str]) -> "Taxonomy":
        """A taxonomy that has those of `names` which this one lacks directly below its root, after all others."""
        new = [name for name in dict.fromkeys(names) if name not in self]
        if not new:
            return self
        if self.root == VIRTUAL_ROOT:
            return self.from_edges(self.edges, labels=[*self.roots, *new], titles=self.titles)
        return self.from_edges([*self.edges, *((self.root, name) for name in new)], titles=self.titles)

    def statistics(self) -> TaxonomyStatistics:
        """The size and shape of the taxonomy in numbers."""
        return measure(self.levels, self._parents, self._children)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of names, edges and titles, the same on every machine."""
        return fingerprint([self.names, self.edges, self.titles])

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._positions

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Taxonomy) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        depth = len(self.levels) - 1
        count = len(self) - len(self.levels[0])
        return f"Taxonomy({count:,} label{'s' * (count != 1)}, {depth:,} level{'s' * (depth != 1)})"

    def _ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(names, key=self._positions.__getitem__))

    def _of(self, values: Mapping[str, V], name: str) -> V:
        try:
            return values[name]
        except KeyError:
            nearest = self.nearest(name)
            hint = f"did you mean {nearest!r}?" if nearest else f"it is not among the {len(self):,} of the taxonomy"
            raise TaxonomyError(f"unknown label {name!r}; {hint}") from None


def assemble(statements: Iterable[Edge], titles: Mapping[str, str]) -> Taxonomy:
    """Make a taxonomy of statements in which `find_problems` has found none; everyone else takes `from_edges`."""
    lists: dict[str, list[str]] = {}
    below = set()
    for edge in statements:
        if edge.parent is not None:
            lists.setdefault(edge.parent, []).append(edge.child)
            below.add(edge.child)
        lists.setdefault(edge.child, [])
    children = {name: tuple(found) for name, found in lists.items()}
    roots = tuple(name for name in children if name not in below)
    names = taxonomy_order(roots, children)
    positions = {name: position for position, name in enumerate(names)}
    by_depth = [tuple(sorted(level, key=positions.__getitem__)) for level in levels(roots, children)]
    by_depth = by_depth if len(roots) == 1 else [(), *by_depth]
    return Taxonomy(
        names=names,
        roots=roots,
        root=roots[0] if len(roots) == 1 else VIRTUAL_ROOT,
        edges=tuple((parent, child) for parent in names for child in children[parent]),
        levels=tuple(by_depth),
        leaves=tuple(name for name in names if not children[name]),
        titles=_clean_titles(titles, names),
        _parents=invert(names, children),
        _children=children,
        _positions=positions,
        _depths={name: depth for depth, level in enumerate(by_depth) for name in level},
    )


def _clean_titles(titles: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The titles on one line each, in valid Unicode; those that say no more than the name are dropped."""
    clean = {}
    for name in names:
        title = " ".join(titles.get(name, "").split()).encode("utf-8", "replace").decode("utf-8")
        if title and title != " ".join(name.split()):
            clean[name] = title
    return clean
