"""Everything that keeps a list of edges from being a taxonomy, found at once and told line by line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from taxocaps.taxonomy.cycles import find_cycles

__all__ = ["VIRTUAL_ROOT", "Edge", "Problem", "find_problems", "name_problem", "summary"]

VIRTUAL_ROOT = "(root)"
"""The name that stands for the common root of a taxonomy with several roots; no label may have it."""

_SHOWN = 12
"""Labels and lines of a cycle that a message names; the middle of a longer one is left out."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One statement of a taxonomy: `child` stands below `parent`, or is merely named if `parent` is None."""

    parent: str | None
    child: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that must be mended, and the line of the file where it stands, if it stands on one."""

    line: int | None
    message: str

    def __str__(self) -> str:
        """The message, after its line."""
        return f"line {self.line}: {self.message}" if self.line else self.message


def find_problems(edges: Iterable[Edge]) -> list[Problem]:
    """Find bad names, self-loops, duplicates and cycles, all of them.

    Args:
        edges: The statements of a taxonomy, in file order.

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
    sound: dict[tuple[str | None, str], Edge] = {}
    problems = []
    for edge in edges:
        message = _edge_problem(edge, bad_names, sound.get((edge.parent, edge.child)))
        if message:
            problems.append(Problem(edge.line, message))
        else:
            sound[edge.parent, edge.child] = edge
    lines = {(parent, child): edge.line for (parent, child), edge in sound.items() if parent is not None}
    problems += [_cycle_problem(cycle, lines) for cycle in find_cycles(lines)]
    return sorted(problems, key=lambda problem: problem.line or 0)


def name_problem(name: object) -> str | None:
    """Say why `name` cannot name a label, or None when it can.

    >>> name_problem("  ")
    'blank label name; give every label a name'
    """
    if not isinstance(name, str):
        return f"a label's name is text; got {name!r}"
    if not name or name.isspace():
        return "blank label name; give every label a name"
    if name == VIRTUAL_ROOT:
        return f"the name {VIRTUAL_ROOT} is kept for the common root of several roots; rename the label"
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        return f"the label name {name!a} holds half a surrogate pair, which is no character; correct it"
    return None


def summary(problems: Sequence[Problem]) -> str:
    """The first problem, and how many there are besides.

    >>> summary([Problem(None, "this is wrong"), Problem(None, "and this")])
    'this is wrong (and 1 more problem)'
    """
    more = len(problems) - 1
    return f"{problems[0].message} (and {more:,} more problem{'s' * (more > 1)})" if more else problems[0].message


def _edge_problem(edge: Edge, bad_names: Mapping[str | None, str], first: Edge | None) -> str | None:
    """What is wrong with one edge, given the first one between the same labels."""
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
    way = " > ".join(_shortened([_shown(name) for name in (*cycle, cycle[0])]))
    return Problem(min(at, default=None), f"the labels form a cycle: {way}{where}; remove one of these edges")


def _shortened(items: list[str]) -> list[str]:
    if len(items) <= _SHOWN:
        return items
    return [*items[: _SHOWN - 2], f"... ({len(items) - _SHOWN + 1:,} more)", items[-1]]


def _shown(name: str) -> str:
    """The name as it is, unless that would break the line of the message."""
    return name if name.isprintable() else repr(name)
