"""Writing a taxonomy to a file from which `read_taxonomy` reads an equal one."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from taxocaps.errors import FileError, TaxonomyError
from taxocaps.files import atomic_text, format_suffix
from taxocaps.taxonomy.readers import Statement, TaxonomyFormat, parse_hier, parse_tsv, taxonomy_format
from taxocaps.taxonomy.skos import LABEL_NAMESPACE, RDF_SYNTAXES
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["format_hier", "format_tsv", "write_taxonomy"]

_NESTING = 64
"""Maximum nesting in JSON and YAML, whose libraries recurse."""

_URI = re.compile(r'(?:https?://|urn:)[^\x00-\x20<>"{}|^`\\]+')


def write_taxonomy(taxonomy: Taxonomy, path: str | PathLike[str], *, format: TaxonomyFormat | None = None) -> None:
    """Write a taxonomy; the file appears only when it is complete.

    Args:
        taxonomy: The taxonomy.
        path: The file, compressed if the suffix is `.gz`, `.xz` or `.zst`.
        format: `tsv`, `hier`, `json`, `yaml` or `skos` (as Turtle); by default determined by the suffix.

    Raises:
        TaxonomyError: If the format cannot represent one of the names, or the taxonomy is too deep for it.
        FileError: If the suffix is not that of a format that can be written.
    """
    path = Path(path)
    writers: dict[TaxonomyFormat, Callable[[Taxonomy, TextIO], None]] = {
        "tsv": _write_tsv,
        "hier": _write_hier,
        "json": _write_json,
        "yaml": _write_yaml,
        "skos": _write_turtle,
    }
    name = taxonomy_format(path, format)
    if name == "skos" and RDF_SYNTAXES.get(format_suffix(path), "turtle") not in ("turtle", "n3"):
        raise FileError(f"{path}: SKOS is written as Turtle only; give the file the suffix .ttl")
    try:
        with atomic_text(path) as file:
            writers[name](taxonomy, file)
    except TaxonomyError as error:
        raise TaxonomyError(f"{path}: {error}") from error


def format_tsv(statement: Statement) -> str:
    r"""Format a line for `parse_tsv`.

    >>> format_tsv(Statement("CCAT", "C11"))
    'CCAT\tC11'
    """
    if statement.title:
        return f"{statement.parent or ''}\t{statement.child}\t{statement.title}"
    return statement.child if statement.parent is None else f"{statement.parent}\t{statement.child}"


def format_hier(statement: Statement) -> str:
    """Format a line for `parse_hier`.

    >>> format_hier(Statement(None, "Root"))
    'parent: None child: Root child-description: Root'
    """
    return (
        f"parent: {'None' if statement.parent is None else statement.parent} child: {statement.child} "
        f"child-description: {statement.title or statement.child}"
    )


def _write_tsv(taxonomy: Taxonomy, file: TextIO) -> None:
    """One line per edge, and one per root that has no edges or has a title."""
    for statement in _statements(taxonomy):
        if statement.parent is not None or statement.title or not taxonomy.children(statement.child):
            file.write(_checked_line(statement, format_tsv, parse_tsv))


def _write_hier(taxonomy: Taxonomy, file: TextIO) -> None:
    for statement in _statements(taxonomy):
        file.write(_checked_line(statement, format_hier, parse_hier))


def _statements(taxonomy: Taxonomy) -> Iterator[Statement]:
    """All edges, and each root before its edges."""
    for name in taxonomy:
        if not taxonomy.parents(name):
            yield Statement(None, name, taxonomy.titles.get(name, ""))
        for child in taxonomy.children(name):
            yield Statement(name, child, taxonomy.titles.get(child, ""))


def _checked_line(
    statement: Statement, write: Callable[[Statement], str], read: Callable[[str], Statement | None]
) -> str:
    """The line for a statement, checked by parsing it."""
    line = write(statement)
    try:
        is_same = not any(mark in line for mark in "\n\r\ufeff") and read(line) == statement
    except ValueError:
        is_same = False
    if not is_same:
        names = " or ".join(repr(name) for name in (statement.parent, statement.child) if name is not None)
        raise TaxonomyError(
            f"the label {names} cannot be written in this format (it contains a tab, a line break, white space at the "
            "start or end, or a special character of the format such as #); write json, yaml or skos"
        )
    return f"{line}\n"


def _write_json(taxonomy: Taxonomy, file: TextIO) -> None:
    json.dump(_nested(taxonomy), file, ensure_ascii=False, indent=2)
    file.write("\n")


def _write_yaml(taxonomy: Taxonomy, file: TextIO) -> None:
    import yaml

    # YAML folds these line breaks unless they are escaped in double quotes.
    is_broken = any(mark in "".join(taxonomy) for mark in "\n\r\x85\u2028\u2029")
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    style = '"' if is_broken else None
    yaml.dump(_nested(taxonomy), file, Dumper=dumper, allow_unicode=True, sort_keys=False, default_style=style)


def _nested(taxonomy: Taxonomy) -> Any:
    """Nested nodes; a label has its children below its first parent and only its name below the others."""
    nodes: dict[str, Any] = {name: _node(taxonomy, name) for name in taxonomy}
    depths = dict.fromkeys(taxonomy.roots, 1)
    for parent, child in taxonomy.edges:
        is_first = taxonomy.parents(child)[0] == parent
        nodes[parent]["children"].append(nodes[child] if is_first else child)
        if is_first:
            depths[child] = depths[parent] + 1
    if max(depths.values()) > _NESTING:
        raise TaxonomyError(f"labels are more than {_NESTING} levels deep, too deep for nested formats; write tsv")
    roots = [nodes[name] for name in taxonomy.roots]
    return roots[0] if len(roots) == 1 else roots


def _node(taxonomy: Taxonomy, name: str) -> str | dict[str, Any]:
    """The node of a label, only its name if it has neither title nor children."""
    title = {"title": taxonomy.titles[name]} if name in taxonomy.titles else {}
    children: dict[str, Any] = {"children": []} if taxonomy.children(name) else {}
    return {"name": name, **title, **children} if title or children else name


def _write_turtle(taxonomy: Taxonomy, file: TextIO) -> None:
    """Concepts with the properties that SKOS readers expect; `skos:narrower` keeps the order of siblings."""
    scheme = "<taxocaps://taxonomy>"
    file.write("@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n\n")
    file.write(f"{scheme} a skos:ConceptScheme ;\n    skos:hasTopConcept {_uris(taxonomy.roots)} .\n")
    for name in taxonomy:
        parents, children = taxonomy.parents(name), taxonomy.children(name)
        properties = [
            "a skos:Concept",
            f"skos:inScheme {scheme}",
            f"skos:notation {_literal(name)}",
            f"skos:prefLabel {_literal(taxonomy.title(name))}",
            f"skos:broader {_uris(parents)}" if parents else f"skos:topConceptOf {scheme}",
            *([f"skos:narrower {_uris(children)}"] if children else []),
        ]
        file.write(f"\n{_uris([name])} " + " ;\n    ".join(properties) + " .\n")


def _uris(names: Iterable[str]) -> str:
    """The names as URIs, percent-encoded in `LABEL_NAMESPACE` unless they are URIs already."""
    return ", ".join(
        f"<{name}>"
        if _URI.fullmatch(name) and not name.startswith(LABEL_NAMESPACE)
        else f"<{LABEL_NAMESPACE}{quote(name, safe='')}>"
        for name in names
    )


def _literal(text: str) -> str:
    """A Turtle string, which has the same escapes as JSON."""
    return json.dumps(text, ensure_ascii=False)
