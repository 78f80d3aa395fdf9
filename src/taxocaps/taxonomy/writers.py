"""Writing a taxonomy to a file from which an equal one is read."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from taxocaps.errors import FileError, TaxonomyError
from taxocaps.files import atomic_text, format_suffix
from taxocaps.taxonomy.formats import RDF_SYNTAXES, TaxonomyFormat, taxonomy_format
from taxocaps.taxonomy.lines import Statement, format_hier, format_tsv, parse_hier, parse_tsv
from taxocaps.taxonomy.skos import LABEL_NAMESPACE
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["write_taxonomy"]

_NESTING = 64
"""Labels inside each other in JSON and YAML; the libraries that write and read them recurse."""

_URI = re.compile(r'(?:https?://|urn:)[^\x00-\x20<>"{}|^`\\]+')


def write_taxonomy(taxonomy: Taxonomy, path: str | PathLike[str], *, format: TaxonomyFormat | None = None) -> None:
    """Write a taxonomy; the file appears only when it is complete.

    Args:
        taxonomy: The taxonomy.
        path: The file; `.gz`, `.xz` and `.zst` are packed.
        format: `tsv`, `hier`, `json`, `yaml` or `skos` (as Turtle); told by the suffix if not given.

    Raises:
        TaxonomyError: If the format cannot hold one of the names, or nests too deep.
        FileError: If the suffix tells no format that can be written.
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


def _write_tsv(taxonomy: Taxonomy, file: TextIO) -> None:
    """One line for each edge, and one for each root that no edge names or that has a title."""
    for statement in _statements(taxonomy):
        if statement.parent is not None or statement.title or not taxonomy.children(statement.child):
            file.write(_checked_line(statement, format_tsv, parse_tsv))


def _write_hier(taxonomy: Taxonomy, file: TextIO) -> None:
    for statement in _statements(taxonomy):
        file.write(_checked_line(statement, format_hier, parse_hier))


def _statements(taxonomy: Taxonomy) -> Iterator[Statement]:
    """The roots, each before the edges from it, and all edges."""
    for name in taxonomy:
        if not taxonomy.parents(name):
            yield Statement(None, name, taxonomy.titles.get(name, ""))
        for child in taxonomy.children(name):
            yield Statement(name, child, taxonomy.titles.get(child, ""))


def _checked_line(
    statement: Statement, write: Callable[[Statement], str], read: Callable[[str], Statement | None]
) -> str:
    """The line for a statement, if reading it gives the same statement again."""
    line = write(statement)
    try:
        is_same = not any(mark in line for mark in "\n\r\ufeff") and read(line) == statement
    except ValueError:
        is_same = False
    if not is_same:
        names = " or ".join(repr(name) for name in (statement.parent, statement.child) if name is not None)
        raise TaxonomyError(
            f"the label {names} cannot stand in a line of this format (it holds a tab, a line break, white space at an "
            "end or a mark of the format such as #); write json, yaml or skos"
        )
    return f"{line}\n"


def _write_json(taxonomy: Taxonomy, file: TextIO) -> None:
    json.dump(_nested(taxonomy), file, ensure_ascii=False, indent=2)
    file.write("\n")


def _write_yaml(taxonomy: Taxonomy, file: TextIO) -> None:
    import yaml

    # YAML folds these line breaks when it reads them, unless they are escapes in double quotes.
    is_broken = any(mark in "".join(taxonomy) for mark in "\n\r\x85\u2028\u2029")
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    style = '"' if is_broken else None
    yaml.dump(_nested(taxonomy), file, Dumper=dumper, allow_unicode=True, sort_keys=False, default_style=style)


def _nested(taxonomy: Taxonomy) -> Any:
    """Nodes inside each other; a label has its children below its first parent and only its name below the others."""
    nodes: dict[str, Any] = {name: _node(taxonomy, name) for name in taxonomy}
    depths = dict.fromkeys(taxonomy.roots, 1)
    for parent, child in taxonomy.edges:
        is_first = taxonomy.parents(child)[0] == parent
        nodes[parent]["children"].append(nodes[child] if is_first else child)
        if is_first:
            depths[child] = depths[parent] + 1
    if max(depths.values()) > _NESTING:
        raise TaxonomyError(f"it has labels more than {_NESTING} levels deep, too deep for nested formats; write tsv")
    roots = [nodes[name] for name in taxonomy.roots]
    return roots[0] if len(roots) == 1 else roots


def _node(taxonomy: Taxonomy, name: str) -> str | dict[str, Any]:
    """The bare name if there is nothing else to say."""
    title = {"title": taxonomy.titles[name]} if name in taxonomy.titles else {}
    children: dict[str, Any] = {"children": []} if taxonomy.children(name) else {}
    return {"name": name, **title, **children} if title or children else name


def _write_turtle(taxonomy: Taxonomy, file: TextIO) -> None:
    """Concepts with all that SKOS readers look for; `skos:narrower` keeps the order of siblings."""
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
    """The names as URIs: those that are URIs as they are, the others percent-encoded in a namespace of their own."""
    return ", ".join(
        f"<{name}>"
        if _URI.fullmatch(name) and not name.startswith(LABEL_NAMESPACE)
        else f"<{LABEL_NAMESPACE}{quote(name, safe='')}>"
        for name in names
    )


def _literal(text: str) -> str:
    """A Turtle string; its escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False)
