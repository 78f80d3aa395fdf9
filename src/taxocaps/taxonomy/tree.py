"""The taxonomy: an immutable directed acyclic graph of labels, in which a label may have several parents."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from taxocaps.config import fingerprint
from taxocaps.errors import TaxonomyError, nearest
from taxocaps.notebook import table
from taxocaps.taxonomy.nested import attribute_terms, scan_mapping
from taxocaps.taxonomy.paths import find_paths
from taxocaps.taxonomy.problems import VIRTUAL_ROOT, Edge, ScanBuilder, TaxonomyScan, find_problems, summary
from taxocaps.taxonomy.terms import Term, best_name, collect_terms, sorted_terms

if TYPE_CHECKING:
    import networkx

__all__ = ["VIRTUAL_ROOT", "Taxonomy", "TaxonomyStatistics", "build_taxonomy"]

Neighbours = Mapping[str, tuple[str, ...]]
V = TypeVar("V")

_MOST_SHOWN = 100
_CACHED = 1_000
"""Longer lists of ancestors or paths are not cached: memory would grow with the square of the length of a chain."""


@dataclass(frozen=True)
class TaxonomyStatistics:
    """The size and shape of a taxonomy.

    Attributes:
        labels: Number of labels; a single root is not counted.
        edges: Number of edges, including those from a single root.
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


@dataclass(frozen=True, eq=False, repr=False)
class Taxonomy:
    """A directed acyclic graph of labels; created by `from_edges`, `from_mapping`, `from_networkx` or `read_taxonomy`.

    All lists of labels are in *taxonomy order*: parents before children, and in a tree each label is directly
    followed by its descendants, with siblings in file order.

    Attributes:
        names: All labels.
        roots: The labels without a parent.
        root: The only root, or `VIRTUAL_ROOT`, which is not a label, if there are several.
        edges: All pairs of parent and child, parents in taxonomy order, children in file order.
        levels: The labels by depth; level 0 contains `root`, or nothing if that is virtual.
        leaves: The labels without children.

    >>> topics = Taxonomy.from_edges([("all", "art"), ("all", "trade"), ("trade", "oil"), ("art", "film")])
    >>> topics.names
    ('all', 'art', 'film', 'trade', 'oil')
    >>> topics.with_ancestors(["oil"])
    ('trade', 'oil')
    """

    names: tuple[str, ...]
    roots: tuple[str, ...]
    root: str
    edges: tuple[tuple[str, str], ...]
    levels: tuple[tuple[str, ...], ...]
    leaves: tuple[str, ...]
    _terms: Mapping[str, tuple[Term, ...]]
    _parents: Mapping[str, tuple[str, ...]]
    _children: Mapping[str, tuple[str, ...]]
    _positions: Mapping[str, int]
    _depths: Mapping[str, int]
    _known_ancestors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _known_paths: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    _known_titles: dict[tuple[str, str | None], str] = field(default_factory=dict)

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[str, str]],
        *,
        labels: Iterable[str] = (),
        titles: Mapping[str, str] | None = None,
        terms: Mapping[str, Iterable[Term]] | None = None,
    ) -> "Taxonomy":
        """Create a taxonomy from edges.

        Args:
            edges: Pairs of parent and child; siblings keep this order.
            labels: Labels without edges. Labels with edges may be among them: roots are in the order of first
                mention, here and then in `edges`.
            titles: Preferred names without a language; those of unknown labels are ignored.
            terms: Names of any kind; those of unknown labels are ignored.

        Raises:
            TaxonomyError: For an invalid name, a self-loop, a duplicate or a cycle, or if there are no labels.
        """
        mentions = [Edge(None, name) for name in dict.fromkeys(labels)]
        statements = mentions + [Edge(parent, child) for parent, child in edges]
        if not statements:
            raise TaxonomyError("a taxonomy needs at least one label; got none")
        if problems := find_problems(statements):
            raise TaxonomyError(summary(problems))
        return _assemble(statements, _joined_terms(titles or {}, terms or {}))

    @classmethod
    def from_mapping(cls, labels: Mapping[Any, Any]) -> "Taxonomy":
        """Create a taxonomy from a mapping, either nested or from each parent to its children.

        The mapping has the same form as the JSON files of `read_taxonomy`: the value of a label is a mapping of its
        children, a list of them, or None. Labels with names of their own are nodes such as `{"name": "D", "title":
        "dogs", "alternatives": ["hounds"], "children": [...]}`.

        Raises:
            TaxonomyError: For an invalid name, a self-loop, a duplicate or a cycle, or if there are no labels.

        >>> nested = Taxonomy.from_mapping({"all": {"art": {"film": {}}, "trade": ["oil"]}})
        >>> nested == Taxonomy.from_mapping({"all": ["art", "trade"], "art": ["film"], "trade": ["oil"]})
        True
        """
        return build_taxonomy(scan_mapping(labels))

    @classmethod
    def from_networkx(cls, graph: "networkx.DiGraph[Any]") -> "Taxonomy":
        """Create a taxonomy from a networkx graph.

        Args:
            graph: A directed graph with edges from parent to child. The names of the labels are the nodes as text;
                the node attributes `title`, `titles`, `alternatives`, `hidden` and `notation`, if present, give their
                names in the same form as the nodes of a JSON file.

        Raises:
            TaxonomyError: If the graph is undirected, for an invalid name, a self-loop, a duplicate or a cycle, or if
                there are no labels.
        """
        if not graph.is_directed():
            raise TaxonomyError("taxonomy: the graph is undirected; give a networkx.DiGraph with edges parent -> child")
        scan = ScanBuilder()
        for node, attributes in graph.nodes(data=True):
            scan.add(None, str(node), terms=attribute_terms(attributes, scan))
        for parent, child in graph.edges():
            scan.add(str(parent), str(child))
        return build_taxonomy(scan.finish())

    def parents(self, name: str) -> tuple[str, ...]:
        """The labels directly above; none for a root."""
        return self._lookup(self._parents, name)

    def children(self, name: str) -> tuple[str, ...]:
        """The labels directly below, in file order; for `root`, virtual or not, the top labels."""
        return self.roots if name == self.root == VIRTUAL_ROOT else self._lookup(self._children, name)

    def ancestors(self, name: str) -> tuple[str, ...]:
        """All labels above; a virtual root is not among them."""
        found = self._known_ancestors.get(name)
        if found is None:
            found = self._ordered(_reachable([name], self.parents))
            if len(found) <= _CACHED:
                self._known_ancestors[name] = found
        return found

    def descendants(self, name: str) -> tuple[str, ...]:
        """All labels below."""
        return self._ordered(_reachable([name], self.children))

    def depth(self, name: str) -> int:
        """The smallest number of edges between `root`, virtual or not, and the label."""
        return self._lookup(self._depths, name)

    def path(self, name: str) -> tuple[str, ...]:
        """A shortest path from `root`, which is not included, to the label; if there are several, always the same.

        >>> Taxonomy.from_edges([("all", "trade"), ("trade", "oil")]).path("oil")
        ('trade', 'oil')
        """
        return next(iter(self.paths(name)), ())

    def paths(self, name: str) -> tuple[tuple[str, ...], ...]:
        """All paths from `root`, which is not included, to the label, the shortest first and at most 20.

        The root itself has no path.

        >>> Taxonomy.from_edges([("all", "a"), ("all", "b"), ("a", "c"), ("b", "c")]).paths("c")
        (('a', 'c'), ('b', 'c'))
        """
        found = self._known_paths.get(name)
        if found is None:
            found = find_paths(name, self.parents, self.depth, self.root)
            if sum(map(len, found)) <= _CACHED:
                self._known_paths[name] = found
        return found

    def position(self, name: str) -> int:
        """The index of the label in `names`."""
        return self._lookup(self._positions, name)

    def terms(self, name: str) -> tuple[Term, ...]:
        """The names of the label, by kind and language; none for a label that is only known by its id in `names`."""
        return self._terms.get(self.names[self.position(name)], ())

    def title(self, name: str, language: str | None = None) -> str:
        """The name to show for the label.

        Args:
            name: The label.
            language: The language of the preferred name. If there is none in it, one without a language, in English or
                in any other language is taken, and the label itself if it has no preferred name.

        >>> terms = {"D": [Term("dogs"), Term("Hunde", language="de"), Term("hounds", "alternative")]}
        >>> topics = Taxonomy.from_edges([], labels=["D"], terms=terms)
        >>> topics.title("D"), topics.title("D", "de"), topics.title("D", "fr")
        ('dogs', 'Hunde', 'dogs')
        """
        key = name, language
        if key not in self._known_titles:
            self._known_titles[key] = best_name(self.terms(name), language) or name
        return self._known_titles[key]

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """The names to show, as `title` gives them without a language, of the labels that have a preferred name."""
        return {name: title for name in self._terms if (title := best_name(self._terms[name], None))}

    def nearest(self, name: str) -> str | None:
        """The label with the most similar spelling to `name`, or None if none is similar."""
        return nearest(name, self.names)

    def with_ancestors(self, labels: Iterable[str]) -> tuple[str, ...]:
        """The labels and all their ancestors; `root` is included only if it is given."""
        given = dict.fromkeys(labels)  # in their order: the first that is unknown is told
        found = {*given} | (_reachable(given, self.parents) if len(given) != 1 else set(self.ancestors(*given)))
        if self.root not in given:
            found.discard(self.root)
        return self._ordered(found)

    def with_labels(self, names: Iterable[str]) -> "Taxonomy":
        """A taxonomy with those of `names` that are not in this one added as the last children of the root."""
        new = [name for name in dict.fromkeys(names) if name not in self]
        if not new:
            return self
        if self.root == VIRTUAL_ROOT:
            return self.from_edges(self.edges, labels=[*self.roots, *new], terms=self._terms)
        return self.from_edges([*self.edges, *((self.root, name) for name in new)], terms=self._terms)

    def statistics(self) -> TaxonomyStatistics:
        """The size and shape of the taxonomy."""
        per_level = tuple(len(level) for level in self.levels[1:])
        widest = max(self.names, key=lambda name: len(self._children[name]))
        return TaxonomyStatistics(
            labels=sum(per_level),
            edges=len(self.edges),
            roots=len(self.roots),
            leaves=len(self.leaves),
            depth=len(per_level),
            labels_per_level=per_level,
            multiple_parents=sum(len(found) > 1 for found in self._parents.values()),
            most_children=len(self._children[widest]),
            most_children_of=widest,
        )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of labels, edges and the names of labels, the same on every machine."""
        terms = {name: [(term.text, term.kind, term.language) for term in terms] for name, terms in self._terms.items()}
        return fingerprint([self.names, self.edges, terms])

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

    def _repr_html_(self) -> str:
        """The first labels as a table, indented by their levels."""
        shown = [name for name in self.names if name != VIRTUAL_ROOT][:_MOST_SHOWN]
        rows = [("\u2003" * max(0, self.depth(name) - 1) + self.title(name), name) for name in shown]
        more = f", the first {len(shown):,} of which" if len(shown) < len(self) - 1 else ""
        return table(("name", "label"), rows, f"{self!r}{more}")

    def _ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(names, key=self._positions.__getitem__))

    def _lookup(self, values: Mapping[str, V], name: str) -> V:
        try:
            return values[name]
        except KeyError:
            nearest = self.nearest(name)
            hint = (
                f"did you mean {nearest!r}?"
                if nearest
                else f"it is not one of the {len(self):,} labels of the taxonomy"
            )
            raise TaxonomyError(f"unknown label {name!r}; {hint}") from None


def build_taxonomy(scan: TaxonomyScan, source: object = "taxonomy", hint: str = "") -> Taxonomy:
    """Create a taxonomy from what was read.

    Args:
        scan: The edges, names and problems.
        source: What was read, for messages.
        hint: What to do if there are several problems, for messages.

    Raises:
        TaxonomyError: If there are problems; the message has the first and the number of others.
    """
    if scan.problems:
        line = scan.problems[0].line
        where = f"{source}, line {line}" if line else f"{source}"
        raise TaxonomyError(f"{where}: {summary(scan.problems)}{hint if len(scan.problems) > 1 else ''}")
    return _assemble([*(Edge(None, name) for name in scan.labels), *scan.edges], scan.terms)


def _joined_terms(titles: Mapping[str, str], terms: Mapping[str, Iterable[Term]]) -> dict[str, list[Term]]:
    """The titles as preferred names, and the other names, checked."""
    joined = {}
    for name in dict.fromkeys([*titles, *terms]):
        known: dict[Term, None] = {}
        for problem in collect_terms(name, [Term(titles.get(name, "")), *terms.get(name, ())], known):
            raise TaxonomyError(problem)
        joined[name] = list(known)
    return joined


def _assemble(statements: Iterable[Edge], terms: Mapping[str, Sequence[Term]]) -> Taxonomy:
    """Create a taxonomy from edges and names without problems."""
    lists: dict[str, list[str]] = {}
    below = set()
    for edge in statements:
        if edge.parent is not None:
            lists.setdefault(edge.parent, []).append(edge.child)
            below.add(edge.child)
        lists.setdefault(edge.child, [])
    children = {name: tuple(found) for name, found in lists.items()}
    roots = tuple(name for name in children if name not in below)
    names = _taxonomy_order(roots, children)
    positions = {name: position for position, name in enumerate(names)}
    by_depth = [tuple(sorted(level, key=positions.__getitem__)) for level in _levels(roots, children)]
    by_depth = by_depth if len(roots) == 1 else [(), *by_depth]
    return Taxonomy(
        names=names,
        roots=roots,
        root=roots[0] if len(roots) == 1 else VIRTUAL_ROOT,
        edges=tuple((parent, child) for parent in names for child in children[parent]),
        levels=tuple(by_depth),
        leaves=tuple(name for name in names if not children[name]),
        _terms={name: sorted_terms(terms[name]) for name in names if terms.get(name)},
        _parents=_invert(names, children),
        _children=children,
        _positions=positions,
        _depths={name: depth for depth, level in enumerate(by_depth) for name in level},
    )


# Nothing below recurses, because chains of labels may be long.


def _taxonomy_order(roots: Iterable[str], children: Neighbours) -> tuple[str, ...]:
    """All labels, parents before children; in a tree, depth first with siblings in the given order.

    It is the reverse postorder of a depth-first search that visits the last root and the last child first.

    >>> _taxonomy_order(["a"], {"a": ("b", "c"), "b": ("d",), "c": ("d",), "d": ()})
    ('a', 'b', 'c', 'd')
    """
    finished: list[str] = []
    seen: set[str] = set()
    waiting = [(name, False) for name in roots]
    while waiting:
        name, is_done = waiting.pop()
        if is_done:
            finished.append(name)
        elif name not in seen:
            seen.add(name)
            waiting.append((name, True))
            waiting.extend((child, False) for child in children[name])
    return tuple(reversed(finished))


def _invert(names: Iterable[str], children: Neighbours) -> dict[str, tuple[str, ...]]:
    """The parents of each label, in the order of `names`.

    >>> _invert("abc", {"a": ("b", "c"), "b": ("c",), "c": ()})
    {'a': (), 'b': ('a',), 'c': ('a', 'b')}
    """
    parents: dict[str, list[str]] = {name: [] for name in names}
    for parent in parents:
        for child in children[parent]:
            parents[child].append(parent)
    return {name: tuple(found) for name, found in parents.items()}


def _levels(roots: Iterable[str], children: Neighbours) -> list[list[str]]:
    """The labels by their smallest number of edges from a root.

    >>> _levels(["a"], {"a": ("b", "c"), "b": ("c",), "c": ()})
    [['a'], ['b', 'c']]
    """
    found = []
    level = list(roots)
    seen = set(level)
    while level:
        found.append(level)
        below = dict.fromkeys(child for name in level for child in children[name])
        level = [name for name in below if name not in seen]
        seen.update(level)
    return found


def _reachable(names: Iterable[str], step: Callable[[str], Iterable[str]]) -> set[str]:
    """Everything that can be reached from some labels by one step or more.

    >>> sorted(_reachable(["a"], {"a": ("b",), "b": ("c",), "c": ()}.__getitem__))
    ['b', 'c']
    """
    reached: set[str] = set()
    waiting = [found for name in names for found in step(name)]
    while waiting:
        found = waiting.pop()
        if found not in reached:
            reached.add(found)
            waiting.extend(step(found))
    return reached
