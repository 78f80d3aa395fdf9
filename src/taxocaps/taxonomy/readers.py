"""Reading a taxonomy from a file of any of the formats, with every problem told at once."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from taxocaps.errors import FileError, TaxonomyError
from taxocaps.taxonomy.formats import TaxonomyFormat, taxonomy_format
from taxocaps.taxonomy.lines import parse_hier, parse_tsv, scan_lines
from taxocaps.taxonomy.markup import parse_json, parse_yaml
from taxocaps.taxonomy.nested import scan_nested
from taxocaps.taxonomy.problems import Edge, summary
from taxocaps.taxonomy.scan import TaxonomyScan
from taxocaps.taxonomy.skos import SkosLabel, scan_skos
from taxocaps.taxonomy.tree import Taxonomy, assemble

__all__ = ["read_taxonomy", "scan_taxonomy"]


def read_taxonomy(
    path: str | PathLike[str],
    *,
    format: TaxonomyFormat | None = None,
    encoding: str = "utf-8",
    skos_label: SkosLabel = "uri",
    language: str = "en",
) -> Taxonomy:
    """Read a taxonomy.

    Args:
        path: The file; `.gz`, `.xz` and `.zst` are unpacked.
        format: `tsv`, `hier`, `json`, `yaml` or `skos`; told by the suffix if not given.
        encoding: The encoding of the file; SKOS files tell their own.
        skos_label: What names the labels of a SKOS file: `uri`, `notation` or `label`.
        language: The language of a SKOS file's titles and labels.

    Raises:
        FileError: If the file cannot be read, or its suffix tells no format.
        TaxonomyError: If the file holds no taxonomy; the first problem is told, and how many there are besides.
    """
    scan = scan_taxonomy(path, format=format, encoding=encoding, skos_label=skos_label, language=language)
    if scan.problems:
        line = scan.problems[0].line
        where = f"{path}, line {line}" if line else f"{path}"
        hint = f"; list them with: taxocaps taxonomy check {path}" if len(scan.problems) > 1 else ""
        raise TaxonomyError(f"{where}: {summary(scan.problems)}{hint}")
    return assemble([*(Edge(None, name) for name in scan.labels), *scan.edges], scan.titles)


def scan_taxonomy(
    path: str | PathLike[str],
    *,
    format: TaxonomyFormat | None = None,
    encoding: str = "utf-8",
    skos_label: SkosLabel = "uri",
    language: str = "en",
) -> TaxonomyScan:
    """Read a file as `read_taxonomy` does, but return what it says together with all of its problems.

    Raises:
        FileError: If the file cannot be read, or its suffix tells no format.
    """
    path = Path(path)
    if str(path) != "-" and not path.is_file():
        raise FileError(f"{path}: {'is a directory; give a file' if path.is_dir() else 'no such file; check the path'}")
    scanners: dict[TaxonomyFormat, Callable[[], TaxonomyScan]] = {
        "tsv": lambda: scan_lines(path, encoding, parse_tsv),
        "hier": lambda: scan_lines(path, encoding, parse_hier),
        "json": lambda: scan_nested(path, encoding, parse_json),
        "yaml": lambda: scan_nested(path, encoding, parse_yaml),
        "skos": lambda: scan_skos(path, skos_label, language),
    }
    return scanners[taxonomy_format(path, format)]()
