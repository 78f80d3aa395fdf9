"""Reading a taxonomy from a file of any format, a mapping or a networkx graph."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from taxocaps.errors import ConfigError, FileError, TaxonomyError
from taxocaps.files import LARGEST_TEXT, format_suffix, read_lines
from taxocaps.taxonomy.nested import TERM_KEYS, parse_json, parse_yaml, scan_nested
from taxocaps.taxonomy.problems import ScanBuilder, TaxonomyScan
from taxocaps.taxonomy.skos import RDF_SYNTAXES, SkosLabel, scan_skos
from taxocaps.taxonomy.terms import Term, TermKind
from taxocaps.taxonomy.tree import Taxonomy, build_taxonomy

if TYPE_CHECKING:
    import networkx

__all__ = [
    "Statement",
    "TaxonomyFormat",
    "TaxonomySource",
    "as_taxonomy",
    "parse_hier",
    "parse_tsv",
    "read_flat_nodes",
    "read_taxonomy",
    "scan_lines",
    "scan_taxonomy",
    "taxonomy_format",
]

TaxonomyFormat = Literal["tsv", "hier", "json", "yaml", "skos"]
TaxonomySource: TypeAlias = "Taxonomy | str | PathLike[str] | Mapping[Any, Any] | networkx.DiGraph[Any]"
"""Everything that `as_taxonomy` accepts."""

_SUFFIXES: dict[str, TaxonomyFormat] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "tsv",
    ".hier": "hier",
    ".orig": "hier",  # the official file is called rcv1.topics.hier.orig
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    **dict.fromkeys(RDF_SYNTAXES, "skos"),
}

_CHILD = re.compile(r"\schild:")
_DESCRIPTION = re.compile(r"\schild-description:")
_LONGEST_LINE = 2**20
"""Letters of a line: of labels and all their names."""


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


def as_taxonomy(value: "TaxonomySource") -> Taxonomy:
    """Convert a value to a taxonomy.

    Args:
        value: A taxonomy, which is returned unchanged; the path of a file, read with the defaults of `read_taxonomy`;
            a mapping (see `Taxonomy.from_mapping`); or a `networkx.DiGraph` (see `Taxonomy.from_networkx`).

    Raises:
        FileError: If the file cannot be read.
        TaxonomyError: If the value is not a valid taxonomy.

    >>> as_taxonomy({"all": ["art", "trade"], "trade": ["oil"]}).names
    ('all', 'art', 'trade', 'oil')
    """
    if isinstance(value, Taxonomy):
        return value
    if isinstance(value, str | PathLike):
        return read_taxonomy(value)
    if isinstance(value, Mapping):
        return Taxonomy.from_mapping(value)
    if _is_networkx(value):
        return Taxonomy.from_networkx(value)
    raise TaxonomyError(
        f"a taxonomy must be a file, a mapping, a networkx.DiGraph or a Taxonomy; got {type(value).__name__}"
    )


def read_taxonomy(
    source: "TaxonomySource",
    *,
    format: TaxonomyFormat | None = None,
    encoding: str = "utf-8",
    skos_label: SkosLabel = "uri",
    language: str = "en",
) -> Taxonomy:
    """Read a taxonomy.

    Args:
        source: A file, which may be compressed (`.gz`, `.xz`, `.zst`), or anything else that `as_taxonomy` accepts; the
            other arguments are for files only.
        format: `tsv`, `hier`, `json`, `yaml` or `skos`; by default determined by the suffix.
        encoding: The encoding of the file; not used for SKOS.
        skos_label: What to use as the labels of a SKOS file: `uri`, `notation` or `label`.
        language: The language of the labels of a SKOS file if they are its preferred names. The names of labels are
            read in all languages.

    Raises:
        FileError: If the file cannot be read, or its suffix is unknown.
        TaxonomyError: If the taxonomy is invalid; the message has the first problem and the number of others.
    """
    if not isinstance(source, str | PathLike):
        return as_taxonomy(source)
    scan = scan_taxonomy(source, format=format, encoding=encoding, skos_label=skos_label, language=language)
    return build_taxonomy(scan, source, f"; list them with: taxocaps taxonomy check {source}")


def scan_taxonomy(
    path: str | PathLike[str],
    *,
    format: TaxonomyFormat | None = None,
    encoding: str = "utf-8",
    skos_label: SkosLabel = "uri",
    language: str = "en",
) -> TaxonomyScan:
    """Read a file like `read_taxonomy`, but return its content together with all of its problems.

    Raises:
        FileError: If the file cannot be read, or its suffix is unknown.
    """
    path = Path(path)
    if str(path) != "-" and (path.is_dir() or not path.exists()):
        raise FileError(f"{path}: {'is a directory; give a file' if path.is_dir() else 'no such file; check the path'}")
    scanners: dict[TaxonomyFormat, Callable[[], TaxonomyScan]] = {
        "tsv": lambda: scan_lines(path, encoding, parse_tsv),
        "hier": lambda: scan_lines(path, encoding, parse_hier),
        "json": lambda: scan_nested(path, encoding, parse_json),
        "yaml": lambda: scan_nested(path, encoding, parse_yaml),
        "skos": lambda: scan_skos(path, skos_label, language),
    }
    scan = scanners[taxonomy_format(path, format)]
    try:
        return scan()
    except TaxonomyError as error:
        raise TaxonomyError(f"{path}: {error}") from None


def taxonomy_format(path: Path, name: str | None = None) -> TaxonomyFormat:
    """The format of a file: `name`, or by default the format of the suffix.

    >>> taxonomy_format(Path("eurovoc.ttl.gz"))
    'skos'
    """
    allowed = ", ".join(get_args(TaxonomyFormat))
    if name is not None:
        if name not in get_args(TaxonomyFormat):
            raise ConfigError(f"the format of a taxonomy must be one of {allowed}; got {name!r}")
        return cast("TaxonomyFormat", name)
    suffix = format_suffix(path)
    if suffix not in _SUFFIXES:
        raise FileError(
            f"{path}: {suffix!r} is not the suffix of a taxonomy format; give the format ({allowed}) "
            f"or use one of the suffixes {' '.join(_SUFFIXES)}"
        )
    return _SUFFIXES[suffix]


def scan_lines(path: Path, encoding: str, parse: Callable[[str], Statement | None]) -> TaxonomyScan:
    """Read a file line by line.

    Args:
        path: The file.
        encoding: Its encoding.
        parse: Parses a line: None if it is blank or a comment, ValueError if it is invalid.
    """
    scan, size = ScanBuilder(), 0
    for number, line in read_lines(path, encoding, longest=_LONGEST_LINE):
        size += len(line) + 1
        if size > LARGEST_TEXT:
            raise FileError(f"{path}: has more than {LARGEST_TEXT:,} letters, which is too much for a taxonomy")
        try:
            statement = parse(line)
        except ValueError as error:
            scan.add_problem(number, str(error))
            continue
        if statement:
            scan.add(statement.parent, statement.child, number, statement.terms())
    return scan.finish()


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
    alternatives = tuple(name.strip() for name in others.split("|") if name.strip())
    return Statement(None if (title or alternatives) and not parent else parent, child, title, alternatives)


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


def read_flat_nodes(nodes: Iterable[str | Mapping[str, Any]]) -> Taxonomy:
    """Create a taxonomy from the plain values that `flat_nodes` made of one.

    `read_taxonomy` reads them from a JSON file as well; this is faster, because it does not keep lines for messages.
    """
    edges: list[tuple[str, str]] = []
    labels: list[str] = []
    terms: dict[str, list[Term]] = {}
    for node in nodes:
        if isinstance(node, str):
            labels.append(node)
            continue
        name = node["name"]
        labels.append(name)
        edges += [(name, child) for child in node.get("children", ())]
        terms[name] = [term for key, kind in TERM_KEYS.items() if key in node for term in _plain_terms(node[key], kind)]
    return Taxonomy.from_edges(edges, labels=labels, terms=terms)


def _plain_terms(value: str | list[str] | Mapping[str, Any], kind: TermKind) -> Iterator[Term]:
    for language, texts in value.items() if isinstance(value, Mapping) else [(None, value)]:
        yield from (Term(text, kind, language or None) for text in ([texts] if isinstance(texts, str) else texts))


def _is_networkx(value: object) -> bool:
    """Whether the value is a networkx graph; networkx is not imported, because such a graph implies that it is."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(value, networkx.Graph)
