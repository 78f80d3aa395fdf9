"""Writing a taxonomy to a file from which `read_taxonomy` reads an equal one.

JSON, YAML and SKOS hold all names of labels. The formats with one label per line hold names without languages: TSV
and CSV the title, and as alternatives the alternative names and the titles in other languages; `.hier` only the title.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias, get_args
from urllib.parse import quote

from taxocaps.errors import FileError, TaxonomyError
from taxocaps.files import atomic_text, format_suffix
from taxocaps.taxonomy.labeling_config import write_labeling_config
from taxocaps.taxonomy.nested import TERM_KEYS
from taxocaps.taxonomy.readers import TaxonomyFormat, taxonomy_format
from taxocaps.taxonomy.sheets import HEADER, Columns
from taxocaps.taxonomy.skos import LABEL_NAMESPACE, RDF_SYNTAXES
from taxocaps.taxonomy.statements import Statement, looks_like_two, parse_hier, parse_tsv
from taxocaps.taxonomy.terms import Term, TermKind
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["WrittenFormat", "flat_nodes", "format_hier", "format_tsv", "write_taxonomy"]

LabelingFormat = Literal["label-studio", "label-studio-choices"]
WrittenFormat: TypeAlias = TaxonomyFormat | LabelingFormat

_NESTING = 64
"""Maximum nesting in JSON and YAML, whose libraries recurse; deeper taxonomies are written as a flat list of nodes."""

_URI = re.compile(r'(?:https?://|urn:)[^\x00-\x20<>"{}|^`\\]+')


def write_taxonomy(taxonomy: Taxonomy, path: str | PathLike[str], *, format: WrittenFormat | None = None) -> None:
    """Write a taxonomy; the file appears only when it is complete.

    Args:
        taxonomy: The taxonomy.
        path: The file, compressed if the suffix is `.gz`, `.xz` or `.zst`.
        format: `tsv`, `csv`, `hier`, `json`, `yaml` or `skos` (as Turtle), by default determined by the suffix; or
            `label-studio` or `label-studio-choices` for a labeling configuration, which cannot be read again.

    Raises:
        TaxonomyError: If the format cannot represent one of the labels or names.
        FileError: If the suffix is not that of a format that can be written.
    """
    path = Path(path)
    writers: dict[str, Callable[[Taxonomy, TextIO], None]] = {
        "label-studio": partial(write_labeling_config, tag="Taxonomy"),
        "label-studio-choices": partial(write_labeling_config, tag="Choices"),
        "tsv": _write_tsv,
        "csv": _write_csv,
        "hier": _write_hier,
        "json": _write_json,
        "yaml": _write_yaml,
        "skos": _write_turtle,
    }
    name = format if format in get_args(LabelingFormat) else taxonomy_format(path, format)
    if name == "skos" and RDF_SYNTAXES.get(format_suffix(path), "turtle") not in ("turtle", "n3"):
        raise FileError(f"{path}: SKOS is written as Turtle only; give the file the suffix .ttl")
    try:
        with atomic_text(path) as file:
            writers[str(name)](taxonomy, file)
    except TaxonomyError as error:
        raise TaxonomyError(f"{path}: {error}") from error


def format_tsv(statement: Statement) -> str:
    r"""Format a line for `parse_tsv`.

    >>> format_tsv(Statement("CCAT", "C11"))
    'CCAT\tC11'
    """
    if statement.title or statement.alternatives:
        names = [statement.title, *(["|".join(statement.alternatives)] if statement.alternatives else [])]
        return "\t".join([statement.parent or "", statement.child, *names])
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
    lines = [_checked_line(statement, format_tsv, parse_tsv) for statement in _named_statements(taxonomy)]
    if len(lines) > 1 and all(map(looks_like_two, lines)):
        raise TaxonomyError(
            f"the labels cannot be written in this format (all are roots, and each looks like two, such as "
            f"{lines[0].strip()!r}); write csv, json, yaml or skos"
        )
    file.writelines(lines)


def _write_csv(taxonomy: Taxonomy, file: TextIO) -> None:
    columns = Columns.unnamed(len(HEADER))
    file.write(f"{_csv_row(HEADER)}\n")
    for statement in _named_statements(taxonomy):
        line = _checked_line(statement, _format_csv, lambda text: columns.statement(next(csv.reader([text]))))
        file.write(line)


def _format_csv(statement: Statement) -> str:
    return _csv_row([statement.parent or "", statement.child, statement.title, "|".join(statement.alternatives)])


def _csv_row(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


def _named_statements(taxonomy: Taxonomy) -> Iterator[Statement]:
    """One for each edge, and one for each root that has no edges or has names."""
    for parent, child in _statements(taxonomy):
        statement = Statement(parent, child, taxonomy.titles.get(child, ""), _alternatives(taxonomy, child))
        if parent is not None or statement.title or statement.alternatives or not taxonomy.children(child):
            yield statement


def _alternatives(taxonomy: Taxonomy, name: str) -> tuple[str, ...]:
    """The names that TSV can hold beside the title."""
    terms = (term.text for term in taxonomy.terms(name) if term.kind in ("preferred", "alternative"))
    return tuple(dict.fromkeys(text for text in terms if text != taxonomy.titles.get(name)))


def _write_hier(taxonomy: Taxonomy, file: TextIO) -> None:
    for parent, child in _statements(taxonomy):
        statement = Statement(parent, child, taxonomy.titles.get(child, ""))
        file.write(_checked_line(statement, format_hier, parse_hier))


def _statements(taxonomy: Taxonomy) -> Iterator[tuple[str | None, str]]:
    """All edges, and each root before its edges as a pair with None."""
    for name in taxonomy:
        if not taxonomy.parents(name):
            yield None, name
        yield from ((name, child) for child in taxonomy.children(name))


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
            "start or end, or a special character of the format such as # or |); write json, yaml or skos"
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
    """Nested nodes: a label has its children below its first parent, and only its id below the others."""
    if max(_nesting_depths(taxonomy).values()) > _NESTING:
        return flat_nodes(taxonomy)
    nodes = {name: _node(taxonomy, name) for name in taxonomy}
    for parent, child in taxonomy.edges:
        is_first = taxonomy.parents(child)[0] == parent
        _children(nodes[parent]).append(nodes[child] if is_first else child)
    roots = [nodes[name] for name in taxonomy.roots]
    return roots[0] if len(roots) == 1 else roots


def flat_nodes(taxonomy: Taxonomy) -> list[str | dict[str, Any]]:
    """All labels as plain values for JSON, in a list of nodes with all names and the ids of their children.

    >>> flat_nodes(Taxonomy.from_edges([("all", "trade"), ("trade", "oil")], titles={"trade": "Trade"}))
    [{'name': 'all', 'children': ['trade']}, {'name': 'trade', 'title': 'Trade', 'children': ['oil']}, 'oil']
    """
    nodes = [_node(taxonomy, name) for name in taxonomy]
    for name, node in zip(taxonomy, nodes, strict=True):
        if children := taxonomy.children(name):
            _children(node).extend(children)
    return nodes


def _children(node: str | dict[str, Any]) -> list[Any]:
    assert isinstance(node, dict)
    found: list[Any] = node["children"]
    return found


def _nesting_depths(taxonomy: Taxonomy) -> dict[str, int]:
    depths: dict[str, int] = {}
    for name in taxonomy:  # parents come before their children
        depths[name] = 1 + max((depths[parent] for parent in taxonomy.parents(name)[:1]), default=0)
    return depths


def _node(taxonomy: Taxonomy, name: str) -> str | dict[str, Any]:
    """The node of a label, only its id if it has neither names nor children."""
    names = _names(taxonomy.terms(name))
    children: dict[str, Any] = {"children": []} if taxonomy.children(name) else {}
    return {"name": name, **names, **children} if names or children else name


def _names(terms: Iterable[Term]) -> dict[str, Any]:
    """The names of a label by key: `title`, `titles` by language, and lists of the others, by language if needed."""
    by_kind: dict[TermKind, dict[str, list[str]]] = {}
    for term in terms:
        by_kind.setdefault(term.kind, {}).setdefault(term.language or "", []).append(term.text)
    titles = {language: text for language, (text,) in by_kind.pop("preferred", {}).items()}
    found: dict[str, Any] = {"title": titles.pop("")} if "" in titles else {}
    if titles:
        found["titles"] = titles
    keys = {kind: key for key, kind in TERM_KEYS.items()}
    for kind, texts in by_kind.items():
        found[keys[kind]] = texts[""] if list(texts) == [""] else texts
    return found


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
            *_turtle_names(taxonomy, name),
            f"skos:broader {_uris(parents)}" if parents else f"skos:topConceptOf {scheme}",
            *([f"skos:narrower {_uris(children)}"] if children else []),
        ]
        file.write(f"\n{_uris([name])} " + " ;\n    ".join(properties) + " .\n")


def _turtle_names(taxonomy: Taxonomy, name: str) -> Iterator[str]:
    """The names of a label; every concept gets a notation and a preferred label, if need be the id of the label."""
    properties: dict[TermKind, str] = {
        "notation": "notation",
        "preferred": "prefLabel",
        "alternative": "altLabel",
        "hidden": "hiddenLabel",
    }
    for kind, name_of_property in properties.items():
        literals = [_literal(term.text, term.language) for term in taxonomy.terms(name) if term.kind == kind]
        if not literals and kind in ("notation", "preferred"):
            literals = [_literal(name)]
        if literals:
            yield f"skos:{name_of_property} {', '.join(literals)}"


def _uris(names: Iterable[str]) -> str:
    """The names as URIs, percent-encoded in `LABEL_NAMESPACE` unless they are URIs already."""
    return ", ".join(
        f"<{name}>"
        if _URI.fullmatch(name) and not name.startswith(LABEL_NAMESPACE)
        else f"<{LABEL_NAMESPACE}{quote(name, safe='')}>"
        for name in names
    )


def _literal(text: str, language: str | None = None) -> str:
    """A Turtle string, which has the same escapes as JSON."""
    return json.dumps(text, ensure_ascii=False) + (f"@{language}" if language else "")
