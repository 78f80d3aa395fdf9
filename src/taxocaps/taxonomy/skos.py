"""SKOS vocabularies: concepts become labels, `skos:broader` and `skos:narrower` become edges (needs rdflib)."""

import json
import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import unquote

from taxocaps.errors import ConfigError, MissingExtraError
from taxocaps.files import format_suffix, open_binary
from taxocaps.taxonomy.formats import RDF_SYNTAXES
from taxocaps.taxonomy.scan import ScanBuilder, TaxonomyScan

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

__all__ = ["LABEL_NAMESPACE", "SkosLabel", "scan_skos"]

SkosLabel = Literal["uri", "notation", "label"]

LABEL_NAMESPACE = "taxocaps://label/"
"""Where names that are no URIs are put, percent-encoded; it is also the base of a file's relative URIs."""

_NESTED_ENTITY = re.compile(rb"""<!ENTITY\s+[^>]*["'][^"'>]*&""")
_PROPERTY = {"uri": "URI", "notation": "skos:notation", "label": "skos:prefLabel"}


def scan_skos(path: Path, label: SkosLabel = "uri", language: str = "en") -> TaxonomyScan:
    """Read a SKOS file. RDF has no lines, so problems have none unless the syntax is wrong.

    RDF has no order either: siblings come in the order of the statements in the file.

    Args:
        path: A file whose suffix tells the notation; any other suffix is read as Turtle.
        label: What becomes the name of a label: the concept's URI, its `skos:notation` or its `skos:prefLabel`.
        language: The language of `skos:prefLabel`, which also gives the titles; if there is none in it, any is taken.
    """
    if label not in get_args(SkosLabel):
        raise ConfigError(f"the labels of a SKOS file are named by {', '.join(get_args(SkosLabel))}; got {label!r}")
    scan = ScanBuilder()
    graph = _read_graph(path, scan)
    if graph is not None:
        concepts = _concepts(graph, scan)
        names = _names(graph, concepts, label, language, scan)
        for concept, name in names.items():
            scan.state(None, name, title=_pref_label(graph, concept, language) or "")
        for parent, child in _edges(graph, concepts):
            if parent in names and child in names:
                scan.state(names[parent], names[child])
    return scan.finish()


def _read_graph(path: Path, scan: ScanBuilder) -> "Graph | None":
    try:
        from rdflib import Graph
    except ImportError as error:
        raise MissingExtraError("rdflib", "skos", "reading a SKOS taxonomy") from error
    syntax = {**RDF_SYNTAXES, ".json": "json-ld"}.get(format_suffix(path), "turtle")
    with open_binary(path) as file:
        content = file.read()
    if not content.strip():
        return None
    try:
        if _NESTED_ENTITY.search(content):
            scan.problem(None, "an entity is made of entities, which can grow without end; write them out")
            return None
        if syntax == "json-ld" and _has_context_elsewhere(content):
            scan.problem(None, "its @context lies elsewhere, and nothing is fetched; put the context into the file")
            return None
        with _quiet_rdflib():
            return Graph().parse(data=content, format=syntax, publicID=LABEL_NAMESPACE)
    except Exception as error:  # every parser of rdflib has its own kinds, some as general as AttributeError
        scan.problem(_line(error), f"not valid {syntax}: {' '.join(str(error).split())[:200]}")
        return None


def _has_context_elsewhere(content: bytes) -> bool:
    """Whether a JSON-LD file refers to a context outside of it, which rdflib would go and fetch."""
    contexts: list[Any] = []

    def note(item: dict[str, Any]) -> dict[str, Any]:
        context = item.get("@context")
        contexts.extend(context if isinstance(context, list) else [context])
        contexts.append(item.get("@import"))
        return item

    json.loads(content, object_hook=note)
    return any(isinstance(context, str) for context in contexts)


@contextmanager
def _quiet_rdflib() -> Iterator[None]:
    """Keep rdflib from logging tracebacks about odd literals in a user's file, and from warning of its own future."""
    logger = logging.getLogger("rdflib.term")
    before, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        logger.disabled = before


def _line(error: Any) -> int | None:
    """The line that a parser of RDF/XML, Turtle or JSON-LD stopped at, if it says so."""
    if hasattr(error, "getLineNumber"):
        return int(error.getLineNumber())
    if hasattr(error, "lines"):
        return int(error.lines) + 1
    return getattr(error, "lineno", None)


def _concepts(graph: "Graph", scan: ScanBuilder) -> list["Node"]:
    """All concepts, top concepts first, otherwise in the order in which the file speaks of them."""
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
            scan.problem(None, f"the text {str(concept)!r} stands where a concept must; give the concept's URI")
    return [concept for concept in concepts if not isinstance(concept, Literal)]


def _edges(graph: "Graph", concepts: list["Node"]) -> Iterable[tuple["Node", "Node"]]:
    """Parents and children, once each even if the file says it both ways round."""
    from rdflib import SKOS

    down = [(concept, child) for concept in concepts for child in graph.objects(concept, SKOS.narrower)]
    up = [(parent, concept) for concept in concepts for parent in graph.objects(concept, SKOS.broader)]
    return dict.fromkeys(down + up)


def _names(
    graph: "Graph", concepts: list["Node"], label: SkosLabel, language: str, scan: ScanBuilder
) -> dict["Node", str]:
    """The name of every concept that has one, no two the same."""
    names_of: dict[SkosLabel, Callable[[Node], str | None]] = {
        "uri": _uri_name,
        "notation": lambda concept: _notation(graph, concept),
        "label": lambda concept: _pref_label(graph, concept, language),
    }
    owners: dict[str, Node] = {}
    for concept in concepts:
        name = names_of[label](concept)
        if not name:
            scan.problem(None, f"the concept <{concept}> has no {_PROPERTY[label]}; add it or name labels otherwise")
        elif name in owners:
            scan.problem(
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


def _notation(graph: "Graph", concept: "Node") -> str | None:
    from rdflib import SKOS

    return min((str(notation).strip() for notation in graph.objects(concept, SKOS.notation)), default=None)


def _pref_label(graph: "Graph", concept: "Node", language: str) -> str | None:
    """The preferred label in the language, else one without a language, else the first by language."""
    from rdflib import SKOS

    found = [
        (tag != language.lower(), tag, str(literal).strip())
        for literal in graph.objects(concept, SKOS.prefLabel)
        for tag in [(getattr(literal, "language", None) or "").lower()]
    ]
    return min(found)[-1] if found else None
