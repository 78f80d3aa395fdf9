"""Reading a taxonomy from a file of any format, a mapping or a networkx graph."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from taxocaps.errors import ConfigError, FileError, TaxonomyError
from taxocaps.files import format_suffix
from taxocaps.taxonomy.nested import TERM_KEYS, parse_json, parse_yaml, scan_nested
from taxocaps.taxonomy.problems import Problem, ScanBuilder, TaxonomyScan
from taxocaps.taxonomy.sheets import Columns, scan_sheet
from taxocaps.taxonomy.skos import RDF_SYNTAXES, SkosLabel, scan_skos
from taxocaps.taxonomy.statements import Statement, bounded_lines, looks_like_two, parse_hier, parse_tsv
from taxocaps.taxonomy.terms import Term, TermKind
from taxocaps.taxonomy.tree import Taxonomy, build_taxonomy

if TYPE_CHECKING:
    import networkx

__all__ = [
    "TaxonomyFormat",
    "TaxonomySource",
    "as_taxonomy",
    "read_flat_nodes",
    "read_taxonomy",
    "scan_taxonomy",
    "taxonomy_format",
]

TaxonomyFormat = Literal["tsv", "csv", "hier", "json", "yaml", "skos"]
TaxonomySource: TypeAlias = "Taxonomy | str | PathLike[str] | Mapping[Any, Any] | networkx.DiGraph[Any]"
"""Everything that `as_taxonomy` accepts."""

_SUFFIXES: dict[str, TaxonomyFormat] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "tsv",
    ".csv": "csv",
    ".hier": "hier",
    ".orig": "hier",  # the official file is called rcv1.topics.hier.orig
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    **dict.fromkeys(RDF_SYNTAXES, "skos"),
}

_SPREADSHEETS = (".xlsx", ".xls", ".ods")


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
        format: `tsv`, `csv`, `hier`, `json`, `yaml` or `skos`; by default determined by the suffix.
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
        "tsv": lambda: _scan_tsv(bounded_lines(path, encoding)),
        "csv": lambda: scan_sheet(bounded_lines(path, encoding, keep_ends=True)),
        "hier": lambda: _scan_lines(bounded_lines(path, encoding), parse_hier),
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
    if suffix in _SPREADSHEETS:
        raise FileError(f"{path}: a spreadsheet is not a format of taxonomies; save the sheet as CSV, and give that")
    if suffix not in _SUFFIXES:
        raise FileError(
            f"{path}: {suffix!r} is not the suffix of a taxonomy format; give the format ({allowed}) "
            f"or use one of the suffixes {' '.join(_SUFFIXES)}"
        )
    return _SUFFIXES[suffix]


def _scan_tsv(lines: Iterator[str]) -> TaxonomyScan:
    """Read lines `parent<TAB>child`, or columns in any order if the first line names them."""
    first = next(lines, "")
    columns = Columns.named(first.split("\t"))
    if columns is not None and columns.parent is not None:
        return scan_sheet(chain([first], lines), "\t")
    scan = _scan_lines(chain([first], lines), parse_tsv)
    if not scan.edges and not scan.terms and len(scan.labels) > 1 and all(map(looks_like_two, scan.labels)):
        problem = f"no line has a tab, and {scan.labels[0][:60]!r} looks like two labels; give the file the suffix .csv"
        return replace(scan, problems=(Problem(1, problem), *scan.problems))
    return scan


def _scan_lines(lines: Iterable[str], parse: Callable[[str], Statement | None]) -> TaxonomyScan:
    """Read line by line; `parse` gives None for a line that is blank or a comment, and ValueError if it is invalid."""
    scan = ScanBuilder()
    for number, line in enumerate(lines, 1):
        try:
            statement = parse(line)
        except ValueError as error:
            scan.add_problem(number, str(error))
            continue
        if statement:
            scan.add(statement.parent, statement.child, number, statement.terms())
    return scan.finish()


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
