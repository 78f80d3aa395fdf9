"""Reading a taxonomy from a table, such as a spreadsheet saved as CSV: a row for each label, or for each edge."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from taxocaps.errors import TaxonomyError
from taxocaps.taxonomy.problems import ScanBuilder, TaxonomyScan
from taxocaps.taxonomy.statements import Statement, alternative_names

__all__ = ["HEADER", "Columns", "scan_sheet"]

HEADER = ("parent", "child", "name", "alternatives")
"""The names of columns as they are written."""

# What columns are usually called, the surest names first.
_PARENTS = ("parent", "parent id", "parent code", "parent label", "parent name", "broader", "broader term")
_LABELS = ("child", "label", "id", "code", "notation", "category", "topic", "class", "concept", "term", "narrower")
_NAMES = ("name", "title", "preferred label", "pref label", "label name")
_ALTERNATIVES = ("alternatives", "alternative labels", "alternative names", "alt labels", "alt label", "synonyms")
_DELIMITERS = ",;\t|"
_NO_DELIMITER = "\x1f"


@dataclass(frozen=True, slots=True)
class Columns:
    """Where in a row the label stands, and what belongs to it; None for what the table does not have."""

    label: int
    parent: int | None = None
    name: int | None = None
    alternatives: int | None = None

    @classmethod
    def named(cls, cells: Sequence[str]) -> "Columns | None":
        """The columns that the first row of a table names; None if it names none, but is a row like the others.

        >>> Columns.named(["ID", "Name", "parent_id"])
        Columns(label=0, parent=2, name=1, alternatives=None)
        >>> Columns.named(["sport", "football"])
        """
        names = [" ".join(re.split(r"[\s_-]+", cell.strip().lower())) for cell in cells]
        kinds = (_LABELS, _PARENTS, _NAMES, _ALTERNATIVES)
        label, parent, name, others = (next((names.index(one) for one in kind if one in names), None) for kind in kinds)
        if label is None:
            label, name = name, None
        is_header = len(names) == 1 or parent is not None or name is not None
        return cls(label, parent, name, others) if label is not None and is_header else None

    @classmethod
    def unnamed(cls, count: int) -> "Columns":
        """The columns of a table without a header, in the order in which they are written."""
        if count > len(HEADER):
            raise TaxonomyError(f"line 1: {count} columns without names; name those that matter {', '.join(HEADER)}")
        return cls(0) if count == 1 else cls(1, 0, *range(2, count))

    def statement(self, row: Sequence[str]) -> Statement:
        """What a row says; what is missing at its end is empty."""
        label, parent, name, others = (
            row[index].strip() if index is not None and index < len(row) else ""
            for index in (self.label, self.parent, self.name, self.alternatives)
        )
        return Statement(parent or None, label, name, alternative_names(others))


def scan_sheet(lines: Iterator[str], delimiter: str | None = None) -> TaxonomyScan:
    """Read a table, with or without names of columns in its first row.

    Where a parent is no label of the table, but the name of one, that label is meant.

    Args:
        lines: The lines of a file, with their ends if cells may have several lines.
        delimiter: What separates cells; by default the comma, semicolon, tab or bar that the first row has most of.
    """
    scan, by_name = ScanBuilder(), dict[str, str]()
    for line, statement in _statements(lines, delimiter):
        scan.add(statement.parent, statement.child, line, statement.terms())
        by_name.setdefault(statement.title, statement.child)
    labels = {edge.child for edge in scan.edges}
    for index, edge in enumerate(scan.edges):
        if edge.parent is not None and edge.parent not in labels and edge.parent in by_name:
            scan.edges[index] = edge._replace(parent=by_name[edge.parent])
    return scan.finish()


def _statements(lines: Iterator[str], delimiter: str | None) -> Iterator[tuple[int, Statement]]:
    """What each row says, with the number of its line."""
    line, first = next(((number, text) for number, text in enumerate(lines, 1) if text.strip()), (1, ""))
    above = line - 1  # blank lines
    reader = csv.reader(chain([first], lines), delimiter=delimiter or _delimiter(first))
    columns: Columns | None = None
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                if columns is not None:
                    yield line, columns.statement(row)
                elif (columns := Columns.named(row)) is None:
                    columns = Columns.unnamed(len(row))
                    yield line, columns.statement(row)
            line = above + reader.line_num + 1
    except csv.Error as error:
        raise TaxonomyError(f"line {line}: {error}; is there a quotation mark without its partner?") from error


def _delimiter(row: str) -> str:
    """The mark that a row has most of, outside of quotation marks."""
    bare = re.sub(r'"[^"]*"', "", row)
    best = max(_DELIMITERS, key=bare.count)
    return best if best in bare else _NO_DELIMITER
