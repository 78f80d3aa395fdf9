"""Taxonomies with one statement a line: `parent<TAB>child` files and the `.hier` files of RCV1."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from taxocaps.files import read_lines
from taxocaps.taxonomy.scan import ScanBuilder, TaxonomyScan

__all__ = ["Statement", "format_hier", "format_tsv", "parse_hier", "parse_tsv", "scan_lines"]

_HIER = re.compile(
    r"\s*parent:\s*(.*?)\s+child:\s*(?!child-description:)(.*?)(?:\s+child-description:\s*(.*?))?\s*", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Statement:
    """What one line says: `child`, with its title if it has one, stands below `parent` or, if that is None, alone."""

    parent: str | None
    child: str
    title: str = ""


def scan_lines(path: Path, encoding: str, parse: Callable[[str], Statement | None]) -> TaxonomyScan:
    """Read a file line by line.

    Args:
        path: The file.
        encoding: Its encoding.
        parse: What makes a statement of a line: None if there is none on it, ValueError if it is not well formed.
    """
    scan = ScanBuilder()
    for number, line in read_lines(path, encoding):
        try:
            statement = parse(line)
        except ValueError as error:
            scan.problem(number, str(error))
            continue
        if statement:
            scan.state(statement.parent, statement.child, number, statement.title)
    return scan.finish()


def parse_tsv(line: str) -> Statement | None:
    r"""Read `parent<TAB>child`, with the child's title as an optional third field.

    A label without a parent stands alone on its line or, with a title, after an empty first field. White space around
    a field is dropped. Blank lines and lines that start with `#` say nothing.

    >>> parse_tsv("CCAT\tC11\tstrategy and plans")
    Statement(parent='CCAT', child='C11', title='strategy and plans')
    >>> parse_tsv("CCAT")
    Statement(parent=None, child='CCAT', title='')
    """
    if line.startswith("#") or not line or line.isspace():
        return None
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) > 3:
        raise ValueError(f"{len(fields)} fields between tabs; give parent, child and at most a title")
    if len(fields) == 1:
        return Statement(None, fields[0])
    parent, child, title = (*fields, "")[:3]
    return Statement(None if title and not parent else parent, child, title)


def format_tsv(statement: Statement) -> str:
    r"""Write what `parse_tsv` reads.

    >>> format_tsv(Statement("CCAT", "C11"))
    'CCAT\tC11'
    """
    if statement.title:
        return f"{statement.parent or ''}\t{statement.child}\t{statement.title}"
    return statement.child if statement.parent is None else f"{statement.parent}\t{statement.child}"


def parse_hier(line: str) -> Statement | None:
    """Read a line of `rcv1.topics.hier` or `rcv1.topics.hier.orig`; the parent `None` is no parent.

    A description that only repeats the label is no title.

    >>> parse_hier("parent: CCAT  child: C11    child-description: STRATEGY/PLANS")
    Statement(parent='CCAT', child='C11', title='STRATEGY/PLANS')
    """
    if not line or line.isspace():
        return None
    match = _HIER.fullmatch(line)
    if not match:
        raise ValueError("not of the form `parent: X child: Y child-description: Z`; correct the line")
    parent, child, title = match.groups(default="")
    return Statement(None if parent == "None" else parent, child, "" if title == child else title)


def format_hier(statement: Statement) -> str:
    """Write what `parse_hier` reads.

    >>> format_hier(Statement(None, "Root"))
    'parent: None child: Root child-description: Root'
    """
    return (
        f"parent: {'None' if statement.parent is None else statement.parent} child: {statement.child} "
        f"child-description: {statement.title or statement.child}"
    )
