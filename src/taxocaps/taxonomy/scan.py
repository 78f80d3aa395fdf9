"""What a taxonomy file says, with all of its problems, before it is known to be a taxonomy."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from taxocaps.taxonomy.problems import Edge, Problem, find_problems

__all__ = ["ScanBuilder", "TaxonomyScan"]


@dataclass(frozen=True)
class TaxonomyScan:
    """The content of a taxonomy file.

    Attributes:
        edges: Parents and children with their lines, in file order.
        labels: Every label, in order of first mention.
        titles: Display names.
        problems: Everything to mend, by line; a taxonomy can be made only if there is nothing.
    """

    edges: tuple[Edge, ...]
    labels: tuple[str, ...]
    titles: Mapping[str, str]
    problems: tuple[Problem, ...]


@dataclass
class ScanBuilder:
    """What a reader has found so far; each format's reader fills one and `finish`es it."""

    statements: list[Edge] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def state(self, parent: str | None, child: str, line: int | None = None, title: str = "") -> None:
        """Note that `child` stands below `parent`, or merely that it is a label if `parent` is None."""
        self.statements.append(Edge(parent, child, line))
        if title and self.titles.setdefault(child, title) != title:
            self.problem(line, f"the label {child!r} has two titles, {self.titles[child]!r} and {title!r}; keep one")

    def problem(self, line: int | None, message: str) -> None:
        """Note something that must be mended."""
        self.problems.append(Problem(line, message))

    def finish(self) -> TaxonomyScan:
        """Look for the problems that show only in the whole, and put all in order."""
        problems = self.problems + find_problems(self.statements)
        if not self.statements and not problems:
            problems.append(Problem(None, "there is no label in it; a taxonomy needs at least one"))
        names = [name for edge in self.statements for name in (edge.parent, edge.child) if name is not None]
        return TaxonomyScan(
            edges=tuple(edge for edge in self.statements if edge.parent is not None),
            labels=tuple(dict.fromkeys(names)),
            titles=self.titles,
            problems=tuple(sorted(problems, key=lambda problem: problem.line or 0)),
        )
