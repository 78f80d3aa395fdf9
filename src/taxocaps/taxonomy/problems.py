"""The edges of a taxonomy as read from a source, and every problem that keeps them from being a taxonomy."""

from collections import Counter, defaultdict, deque
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from taxocaps.errors import TaxonomyError
from taxocaps.taxonomy.terms import Term, collect_terms

__all__ = [
    "VIRTUAL_ROOT",
    "Edge",
    "Problem",
    "ScanBuilder",
    "TaxonomyScan",
    "find_cycles",
    "find_problems",
    "name_problem",
    "summary",
]

VIRTUAL_ROOT = "(root)"
"""The name of the common root of a taxonomy with several roots; no label may have it."""

_MOST_PROBLEMS = 100_000
_MOST_EDGES = 10_000_000
_SHOWN = 12
"""Maximum number of labels and lines of a cycle in a message."""


class Edge(NamedTuple):
    """An edge from `parent` to `child`, or only a mention of the label `child` if `parent` is None."""

    parent: str | None
    child: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem to fix, with its line in the file if it has one."""

    line: int | None
    message: str

    def __str__(self) -> str:
        """The message, after its line."""
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(frozen=True)
class TaxonomyScan:
    """The content of a taxonomy file, valid or not.

    Attributes:
        edges: Parents and children with their lines, in file order.
        labels: Every label, in order of first mention.
        terms: The names of the labels that have any.
        problems: Everything to fix, by line; a taxonomy can be built only if this is empty.
    """

    edges: tuple[Edge, ...]
    labels: tuple[str, ...]
    terms: Mapping[str, Sequence[Term]]
    problems: tuple[Problem, ...]


@dataclass
class ScanBuilder:
    """Collects edges, names and problems while a source is read."""

    edges: list[Edge] = field(default_factory=list)
    terms: dict[str, dict[Term, None]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, parent: str | None, child: str, line: int | None = None, terms: Iterable[Term] = ()) -> None:
        """Add an edge, or only the label `child` if `parent` is None, and names of `child`."""
        if len(self.edges) >= _MOST_EDGES:
            raise TaxonomyError(f"more than {_MOST_EDGES:,} labels and edges, which is too much for a taxonomy")
        self.edges.append(Edge(parent, child, line))
        for message in collect_terms(child, terms, self.terms.setdefault(child, {})):
            self.add_problem(line, message)

    def add_problem(self, line: int | None, message: str) -> None:
        """Add something that must be fixed.

        Raises:
            TaxonomyError: If there are so many problems that the file is something else.
        """
        self.problems.append(Problem(line, message))
        _refuse_too_many(self.problems)

    def finish(self) -> TaxonomyScan:
        """Find the problems of the edges as a whole and sort all problems by line."""
        problems = self.problems + find_problems(self.edges)
        if not self.edges and not problems:
            problems.append(Problem(None, "no labels found; a taxonomy needs at least one"))
        names = [name for edge in self.edges for name in (edge.parent, edge.child) if name is not None]
        return TaxonomyScan(
            edges=tuple(edge for edge in self.edges if edge.parent is not None),
            labels=tuple(dict.fromkeys(names)),
            terms={name: tuple(terms) for name, terms in self.terms.items() if terms},
            problems=tuple(sorted(problems, key=lambda problem: problem.line or 0)),
        )


def find_problems(edges: Iterable[Edge]) -> list[Problem]:
    """Find all invalid names, self-loops, duplicates and cycles.

    Args:
        edges: The edges of a taxonomy, in file order.

    Returns:
        The problems by line; those without a line come first.

    >>> for problem in find_problems([Edge("a", "b", 1), Edge("a", "b", 2), Edge("b", "a", 3)]):
    ...     print(problem)
    line 1: the labels form a cycle: a > b > a (lines 1, 3); remove one of these edges
    line 2: the edge a > b is given twice, first on line 1; remove one of the two
    """
    edges = list(edges)
    names = {name for edge in edges for name in (edge.parent, edge.child) if name is not None}
    bad_names: dict[str | None, str] = {name: problem for name in names if (problem := name_problem(name))}
    valid: dict[tuple[str | None, str], Edge] = {}
    problems = []
    for edge in edges:
        message = _edge_problem(edge, bad_names, valid.get((edge.parent, edge.child)))
        if message:
            problems.append(Problem(edge.line, message))
            _refuse_too_many(problems)
        else:
            valid[edge.parent, edge.child] = edge
    lines = {(parent, child): edge.line for (parent, child), edge in valid.items() if parent is not None}
    problems += [_cycle_problem(cycle, lines) for cycle in find_cycles(lines)]
    return sorted(problems, key=lambda problem: problem.line or 0)


def _refuse_too_many(problems: Sequence[Problem]) -> None:
    if len(problems) > _MOST_PROBLEMS:
        raise TaxonomyError(f"more than {_MOST_PROBLEMS:,} problems; is it a taxonomy? The first: {problems[0]}")


def name_problem(name: object) -> str | None:
    """Return why `name` is not a valid label name, or None if it is.

    >>> name_problem("  ")
    'blank label name; give every label a name'
    """
    if not isinstance(name, str):
        return f"a label's name must be text; got {name!r}"
    if not name or name.isspace():
        return "blank label name; give every label a name"
    if name == VIRTUAL_ROOT:
        return f"the name {VIRTUAL_ROOT} is reserved for the common root of several roots; rename the label"
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        return f"the label name {name!a} contains half a surrogate pair, which is not a character; correct it"
    return None


def summary(problems: Sequence[Problem]) -> str:
    """The first problem and the number of others.

    >>> summary([Problem(None, "this is wrong"), Problem(None, "and this")])
    'this is wrong (and 1 more problem)'
    """
    more = len(problems) - 1
    return f"{problems[0].message} (and {more:,} more problem{'s' * (more > 1)})" if more else problems[0].message


def find_cycles(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """One cycle of every strongly connected component: the shortest through its first label.

    Args:
        edges: Pairs of parent and child, without self-loops.

    Returns:
        The labels along each cycle, without the first label again at the end; empty if there is no cycle.

    >>> find_cycles([("a", "b"), ("b", "c"), ("c", "b")])
    [['b', 'c']]
    """
    children = _without_acyclic_top(edges)
    return [_cycle_through(component[0], set(component), children) for component in _components(children)]


def _edge_problem(edge: Edge, bad_names: Mapping[str | None, str], first: Edge | None) -> str | None:
    """The problem of one edge, given the first edge between the same labels."""
    if edge.parent in bad_names or edge.child in bad_names:
        return bad_names.get(edge.parent) or bad_names[edge.child]
    if edge.parent == edge.child:
        return f"the label {_shown(edge.child)} is its own parent; remove this edge"
    if first is None:
        return None
    what = "the label" if edge.parent is None else f"the edge {_shown(edge.parent)} >"
    where = f", first on line {first.line}" if first.line else ""
    return f"{what} {_shown(edge.child)} is given twice{where}; remove one of the two"


def _cycle_problem(cycle: Sequence[str], lines: Mapping[tuple[str, str], int | None]) -> Problem:
    steps = zip(cycle, [*cycle[1:], cycle[0]], strict=True)
    at = sorted({line for step in steps if (line := lines[step])})
    where = f" (line{'s' * (len(at) > 1)} {', '.join(_shortened([str(line) for line in at]))})" if at else ""
    path = " > ".join(_shortened([_shown(name) for name in (*cycle, cycle[0])]))
    return Problem(min(at, default=None), f"the labels form a cycle: {path}{where}; remove one of these edges")


def _shortened(items: list[str]) -> list[str]:
    """The items without the middle of a long list."""
    if len(items) <= _SHOWN:
        return items
    return [*items[: _SHOWN - 2], f"... ({len(items) - _SHOWN + 1:,} more)", items[-1]]


def _shown(name: str) -> str:
    """The name, quoted if it would break the line of the message."""
    return name if name.isprintable() else repr(name)


def _without_acyclic_top(edges: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[str]]:
    """Remove labels without parents until none is left: what remains is on cycles or below them."""
    children: defaultdict[str, list[str]] = defaultdict(list)
    in_degree: Counter[str] = Counter()
    for parent, child in edges:
        children[parent].append(child)
        in_degree[child] += 1
    roots = [name for name in children if not in_degree[name]]
    while roots:
        for child in children.pop(roots.pop(), ()):
            in_degree[child] -= 1
            if not in_degree[child]:
                roots.append(child)
    return children


def _components(children: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The strongly connected components of two labels or more, in order of first mention."""
    if not children:
        return []
    # SciPy is slow to import and only needed for an invalid taxonomy.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    index = {name: i for i, name in enumerate(children)}
    pairs = [(index[parent], index[child]) for parent in children for child in children[parent] if child in index]
    rows, columns = zip(*pairs, strict=True)
    graph = csr_array(([1] * len(pairs), (rows, columns)), shape=(len(index), len(index)))
    _, component_of = connected_components(graph, directed=True, connection="strong")
    components: defaultdict[int, list[str]] = defaultdict(list)
    for name, component in zip(children, component_of.tolist(), strict=True):
        components[component].append(name)
    return [component for component in components.values() if len(component) > 1]


def _cycle_through(start: str, component: Container[str], children: Mapping[str, Sequence[str]]) -> list[str]:
    """The labels on a shortest path from `start` back to itself; in a strongly connected component there is one."""
    reached_from: dict[str, str] = {}
    queue = deque([start])
    while start not in reached_from:
        name = queue.popleft()
        for child in children[name]:
            if child in component and child not in reached_from:
                reached_from[child] = name
                queue.append(child)
    cycle = [reached_from[start]]
    while cycle[-1] != start:
        cycle.append(reached_from[cycle[-1]])
    return cycle[::-1]
