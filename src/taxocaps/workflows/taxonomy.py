"""Look at a taxonomy file, check it, and write it in another format."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from taxocaps.corpus.label_changes import LabelChange, TaxonomyChanges
from taxocaps.files import refuse_same_file
from taxocaps.taxonomy.problems import Problem
from taxocaps.taxonomy.readers import TaxonomyFormat, read_taxonomy, scan_taxonomy
from taxocaps.taxonomy.skos import SkosLabel
from taxocaps.taxonomy.tree import Taxonomy, TaxonomyStatistics
from taxocaps.taxonomy.writers import WrittenFormat, write_taxonomy

__all__ = [
    "TaxonomyCheck",
    "TaxonomyDifference",
    "TaxonomyOptions",
    "TaxonomyOutline",
    "TreeLine",
    "check_taxonomy",
    "convert_taxonomy",
    "diff_taxonomies",
    "view_taxonomy",
]


@dataclass(frozen=True)
class TaxonomyOptions:
    """How a taxonomy file is read: the keyword arguments of `read_taxonomy`; names are shown in `language`, too."""

    format: TaxonomyFormat | None = None
    encoding: str = "utf-8"
    skos_label: SkosLabel = "uri"
    language: str = "en"


@dataclass(frozen=True)
class TreeLine:
    """A label where it stands in the tree.

    Attributes:
        label: Its id.
        title: Its name.
        level: Its distance from the top of the tree that is shown.
        children: The number of its children.
        repeated: Whether it was shown before, below another parent; its children are not shown again.
    """

    label: str
    title: str
    level: int
    children: int
    repeated: bool


@dataclass(frozen=True)
class TaxonomyOutline:
    """A taxonomy for display: its statistics, and its tree from top to bottom."""

    statistics: TaxonomyStatistics
    tree: tuple[TreeLine, ...]


@dataclass(frozen=True)
class TaxonomyCheck:
    """All problems of a file; none means that it is a taxonomy of so many labels and edges."""

    file: str
    labels: int
    edges: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class TaxonomyDifference:
    """What is different in another taxonomy.

    Attributes:
        labels: The number of labels before and now.
        counts: How many changes of each kind there are.
        changes: All changes.
    """

    labels: tuple[int, int]
    counts: Mapping[str, int]
    changes: tuple[LabelChange, ...]


def diff_taxonomies(old: Path, new: Path, options: TaxonomyOptions | None = None) -> TaxonomyDifference:
    """Compare two taxonomies, label by label; see `TaxonomyChanges`."""
    options = options or TaxonomyOptions()
    before, after = (read_taxonomy(path, **vars(options)) for path in (old, new))
    found = TaxonomyChanges(before, after, options.language)
    return TaxonomyDifference((len(found.successors), len(found.predecessors)), found.counts, found.changes)


def view_taxonomy(path: Path, options: TaxonomyOptions | None = None, *, levels: int | None = None) -> TaxonomyOutline:
    """Read a taxonomy and lay out its tree.

    Args:
        path: The file.
        options: How to read it.
        levels: How many levels of the tree are wanted; by default all.
    """
    options = options or TaxonomyOptions()
    taxonomy = read_taxonomy(path, **vars(options))
    return TaxonomyOutline(taxonomy.statistics(), tuple(_tree_lines(taxonomy, levels, options.language)))


def check_taxonomy(path: Path, options: TaxonomyOptions | None = None) -> TaxonomyCheck:
    """Find every problem of a taxonomy file at once."""
    scan = scan_taxonomy(path, **vars(options or TaxonomyOptions()))
    return TaxonomyCheck(str(path), len(scan.labels), len(scan.edges), scan.problems)


def convert_taxonomy(
    source: Path, target: Path, options: TaxonomyOptions | None = None, *, format: WrittenFormat | None = None
) -> TaxonomyStatistics:
    """Write a taxonomy in another format, told by the suffix of `target` or by `format`."""
    refuse_same_file(source, target)
    taxonomy = read_taxonomy(source, **vars(options or TaxonomyOptions()))
    write_taxonomy(taxonomy, target, format=format)
    return taxonomy.statistics()


def _tree_lines(taxonomy: Taxonomy, levels: int | None, language: str) -> Iterator[TreeLine]:
    """Depth first, without recursion, for chains may be long."""
    shown: set[str] = set()
    waiting = [(root, 0) for root in reversed(taxonomy.roots)]
    while waiting:
        label, level = waiting.pop()
        children = taxonomy.children(label)
        yield TreeLine(label, taxonomy.title(label, language), level, len(children), label in shown)
        if label not in shown and (levels is None or level + 1 < levels):
            waiting += [(child, level + 1) for child in reversed(children)]
        shown.add(label)
