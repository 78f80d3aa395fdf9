"""What a line or a row of a taxonomy file says: a label, what is above it, and its names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from taxocaps.errors import FileError
from taxocaps.files import LARGEST_TEXT, read_lines
from taxocaps.taxonomy.terms import Term

__all__ = [
    "Statement",
    "alternative_names",
    "bounded_lines",
    "encoding_remedy",
    "looks_like_two",
    "parse_hier",
    "parse_tsv",
]

_LONGEST_LINE = 2**20
"""Letters of a line: of labels and all their names."""
_MOST_REPEATS, _MOST_EMPTY_ROWS = 10_000, 2**20
"""Lines in a row that are the same; a spreadsheet may have as many empty rows as it has rows."""
_CHILD = re.compile(r"\schild:")
_DESCRIPTION = re.compile(r"\schild-description:")
_OTHER_DELIMITER = re.compile(r"\S[;,]\S")


@dataclass(frozen=True, slots=True)
class Statement:
    """The content of one line: `child`, with optional names, is below `parent`, or is a root if that is None."""

    parent: str | None
    child: str
    title: str = ""
    alternatives: tuple[str, ...] = ()

    def terms(self) -> Iterator[Term]:
        """The names of `child`."""
        yield Term(self.title)
        yield from (Term(text, "alternative") for text in self.alternatives)


def bounded_lines(path: Path, encoding: str, *, keep_ends: bool = False) -> Iterator[str]:
    """The lines of a file that is not too large for a taxonomy; arguments as of `read_lines`."""
    size, last, repeats, remedy = 0, "", 0, encoding_remedy(path)
    for _, line in read_lines(path, encoding, keep_ends=keep_ends, longest=_LONGEST_LINE, remedy=remedy):
        size += len(line) + 1
        if size > LARGEST_TEXT:
            raise FileError(f"{path}: has more than {LARGEST_TEXT:,} letters, which is too much for a taxonomy")
        repeats = repeats + 1 if line == last else 0
        most = _MOST_EMPTY_ROWS if repeats and not line.strip(" \t\r\n,;|") else _MOST_REPEATS
        if repeats > most:
            raise FileError(f"{path}: has the same line more than {most:,} times in a row, as no taxonomy has")
        last = line
        yield line


def encoding_remedy(path: Path) -> str:
    """What to do about another encoding; most commands that read a taxonomy have no option for it."""
    return f"save it as UTF-8: taxocaps taxonomy convert {path} NEW --encoding latin-1"


def parse_tsv(line: str) -> Statement | None:
    r"""Parse `parent<TAB>child`, with two optional fields: the child's name, and alternatives separated by `|`.

    A label without a parent is alone on its line or, with a name, after an empty first field. White space around a
    field is stripped. Blank lines and lines that start with `#` are ignored.

    >>> parse_tsv("CCAT\tC11\tstrategy and plans\tstrategies|plans")
    Statement(parent='CCAT', child='C11', title='strategy and plans', alternatives=('strategies', 'plans'))
    >>> parse_tsv("CCAT")
    Statement(parent=None, child='CCAT', title='', alternatives=())
    """
    if line.startswith("#") or not line or line.isspace():
        return None
    fields = [field.strip() for field in line.split("\t")]
    if len(fields) > 4:
        raise ValueError(f"{len(fields)} fields between tabs; give parent, child and at most a name and alternatives")
    if len(fields) == 1 and "  " in fields[0]:
        raise ValueError(f"spaces between labels, as in {fields[0][:60]!r}, where a tab belongs; put a tab there")
    if len(fields) == 1:
        return Statement(None, fields[0])
    parent, child, title, others = (*fields, "", "")[:4]
    names = title, alternative_names(others)
    return Statement(None if any(names) and not parent else parent, child, *names)


def looks_like_two(line: str) -> bool:
    """Whether a line of a TSV file looks as if a comma or a semicolon were to separate two labels."""
    return "\t" not in line and bool(_OTHER_DELIMITER.search(line))


def alternative_names(text: str) -> tuple[str, ...]:
    """The names that `|` separates."""
    return tuple(name.strip() for name in text.split("|") if name.strip())


def parse_hier(line: str) -> Statement | None:
    """Parse a line of `rcv1.topics.hier` or `rcv1.topics.hier.orig`; the parent `None` means no parent.

    A description that only repeats the label is not a title.

    >>> parse_hier("parent: CCAT  child: C11    child-description: STRATEGY/PLANS")
    Statement(parent='CCAT', child='C11', title='STRATEGY/PLANS', alternatives=())
    """
    if not line or line.isspace():
        return None
    start, _, after = line.partition("parent:")
    found = _CHILD.search(after)
    if start.strip() or not found or after.startswith("child-description:", found.end()):
        raise ValueError("not of the form `parent: X child: Y child-description: Z`; correct the line")
    parent = after[: found.start()].strip()
    described = _DESCRIPTION.search(after, found.end())
    child = after[found.end() : described.start() if described else None].strip()
    title = after[described.end() :].strip() if described else ""
    return Statement(None if parent == "None" else parent, child, "" if title == child else title)
