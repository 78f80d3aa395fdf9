"""SKOS vocabularies: concepts become labels, `skos:broader` and `skos:narrower` become edges (needs rdflib).

`skos:prefLabel`, `altLabel`, `hiddenLabel` and `notation` become the names of labels, in all languages.
"""

import json
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import unquote

from taxocaps.errors import ConfigError
from taxocaps.files import LARGEST_TEXT, format_suffix, open_binary
from taxocaps.registry import import_extra
from taxocaps.taxonomy.problems import ScanBuilder, TaxonomyScan
from taxocaps.taxonomy.terms import Term, TermKind, best_name
from taxocaps.untrusted import check_xml, read_some

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

__all__ = ["LABEL_NAMESPACE", "RDF_SYNTAXES", "SkosLabel", "scan_skos"]

SkosLabel = Literal["uri", "notation", "label"]

RDF_SYNTAXES = {
    ".ttl": "turtle",
    ".n3": "n3",
    ".nt": "nt",
    ".rdf": "xml",
    ".xml": "xml",
    ".jsonld": "json-ld",
}
"""The RDF syntaxes by suffix, with rdflib's names."""

LABEL_NAMESPACE = "taxocaps://label/"
"""The namespace of names that are not URIs, percent-encoded; also the base of a file's relative URIs."""

_PROPERTY = {"uri": "URI", "notation": "skos:notation", "label": "skos:prefLabel"}


def scan_skos(path: Path, label: SkosLabel = "uri", language: str = "en") -> TaxonomyScan:
    """Read a SKOS file; only syntax errors have lines.

    Siblings are in the order of the statements in the file.

    Args:
        path: The file; its suffix determines the RDF syntax, Turtle if it is unknown.
        label: What to use as the name of a label: the concept's URI, its `skos:notation` or its `skos:prefLabel`.
        language: The language of `skos:prefLabel` if that is the name; other languages are the fallback.
    """
    if label not in get_args(SkosLabel):
        raise ConfigError(f"the labels of a SKOS file are named by {', '.join(get_args(SkosLabel))}; got {label!r}")
    scan = ScanBuilder()
    graph = _read_graph(path, scan)
    if graph is not None:
        concepts = _concepts(graph, scan)
        terms = {concept: _terms(graph, concept) for concept in concepts}
        names = _names(terms, label, language, scan)
        for concept, name in names.items():
            scan.add(None, name, terms=terms[concept])
        for parent, child in _edges(graph, concepts):
            if parent in names and child in names:
                scan.add(names[parent], names[child])
    return scan.finish()


def _read_graph(path: Path, scan: ScanBuilder) -> "Graph | None":
    rdflib = import_extra("rdflib", "reading a SKOS taxonomy")
    syntax = {**RDF_SYNTAXES, ".json": "json-ld"}.get(format_suffix(path), "turtle")
    with open_binary(path) as file:
        content = read_some(file, LARGEST_TEXT, path)
    if not content.strip():
        return None
    try:
        if problem := _danger(content, syntax):
            scan.add_problem(None, problem)
            return None
        with _quiet_rdflib():
            graph: Graph = rdflib.Graph().parse(data=content, format=syntax, publicID=LABEL_NAMESPACE)
            return graph
    except Exception as error:  # rdflib's parsers raise many types, even AttributeError
        scan.add_problem(_line(error), f"not valid {syntax}: {' '.join(str(error).split())[:200]}")
        return None


def _danger(content: bytes, syntax: str) -> str | None:
    """Why a file is not given to rdflib, which would expand or download whatever it is told to."""
    if syntax == "json-ld" and _has_context_elsewhere(content):
        return "its @context is outside the file and is not downloaded; put the context into the file"
    try:
        if syntax == "xml":
            check_xml(content)
    except ValueError as error:
        return str(error)
    return None


def _has_context_elsewhere(content: bytes) -> bool:
    contexts: list[Any] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        contexts.extend(value for name, value in pairs if name in ("@context", "@import"))
        return dict(pairs)

    json.loads(content, object_pairs_hook=note)
    while contexts:
        context = contexts.pop()
        if isinstance(context, str):
            return True
        if isinstance(context, list):
            contexts.extend(context)
    return False


@contextmanager
def _quiet_rdflib() -> Iterator[None]:
    """Silence rdflib's logged tracebacks about invalid literals and its deprecation warnings."""
    logger = logging.getLogger("rdflib.term")
    before, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        logger.disabled = before


def _line(error: Any) -> int | None:
    """The line where a parser of RDF/XML, Turtle or JSON-LD stopped, if known."""
    if hasattr(error, "getLineNumber"):
        return int(error.getLineNumber())
    if hasattr(error, "lines"):
        return int(error.lines) + 1
    return getattr(error, "lineno", None)


def _concepts(graph: "Graph", scan: ScanBuilder) -> list["Node"]:
    """All concepts, top concepts first, then in file order."""
    from rdflib import RDF, SKOS, Literal

    found = chain(
        graph.objects(None, SKOS.hasTopConcept),
        graph.subjects(SKOS.topConceptOf),
        graph.subjects(RDF.type, SKOS.Concept),
        chain.from_iterable(graph.subject_objects(SKOS.narrower)),
        chain.from_iterable(graph.subject_objects(SKOS.broader)),
    )
    concepts = list(dict.fromkeys(found))
    for concept in concepts:
        if isinstance(concept, Literal):
            scan.add_problem(None, f"the text {str(concept)!r} is used as a concept; give the concept's URI")
    return [concept for concept in concepts if not isinstance(concept, Literal)]


def _edges(graph: "Graph", concepts: list["Node"]) -> Iterable[tuple["Node", "Node"]]:
    """Pairs of parent and child, without repeats if the file has both directions."""
    from rdflib import SKOS

    down = [(concept, child) for concept in concepts for child in graph.objects(concept, SKOS.narrower)]
    up = [(parent, concept) for concept in concepts for parent in graph.objects(concept, SKOS.broader)]
    return dict.fromkeys(down + up)


def _terms(graph: "Graph", concept: "Node") -> list[Term]:
    """The names of a concept; of several preferred names in one language, all but the first become alternatives."""
    from rdflib import SKOS

    properties: dict[TermKind, Any] = {
        "preferred": SKOS.prefLabel,
        "alternative": SKOS.altLabel,
        "hidden": SKOS.hiddenLabel,
        "notation": SKOS.notation,
    }
    terms = [
        Term(str(literal).strip(), kind, (getattr(literal, "language", None) or "").lower() or None)
        for kind, name in properties.items()
        for literal in graph.objects(concept, name)
    ]
    firsts: dict[str | None, Term] = {}
    for term in sorted(terms, key=lambda term: term.text):
        if term.kind == "preferred" and term.text:
            firsts.setdefault(term.language, term)
    return [
        Term(term.text, "alternative", term.language)
        if term.kind == "preferred" and firsts.get(term.language, term) != term
        else term
        for term in terms
    ]


def _names(
    terms: Mapping["Node", Sequence[Term]], label: SkosLabel, language: str, scan: ScanBuilder
) -> dict["Node", str]:
    """The unique name of every concept that has one."""
    names_of: dict[SkosLabel, Callable[[Node], str | None]] = {
        "uri": _uri_name,
        "notation": lambda concept: min((one.text for one in terms[concept] if one.kind == "notation"), default=None),
        "label": lambda concept: best_name(terms[concept], language),
    }
    owners: dict[str, Node] = {}
    for concept in terms:
        name = names_of[label](concept)
        if not name:
            scan.add_problem(
                None, f"the concept <{concept}> has no {_PROPERTY[label]}; add it or choose another name property"
            )
        elif name in owners:
            scan.add_problem(
                None,
                f"the concepts <{owners[name]}> and <{concept}> are both called {name!r}; "
                "correct one, or name labels by their URIs",
            )
        else:
            owners[name] = concept
    return {concept: name for name, concept in owners.items()}


def _uri_name(concept: "Node") -> str | None:
    from rdflib import URIRef

    if not isinstance(concept, URIRef):
        return None
    uri = str(concept)
    return unquote(uri.removeprefix(LABEL_NAMESPACE)) if uri.startswith(LABEL_NAMESPACE) else uri
