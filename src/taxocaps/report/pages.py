"""Self-contained HTML pages: an explanation, a graph-of-words.

The pages draw with the same scripts and style as the page of the server (the folder `assets`), inlined, so that a file
needs no network. Data is embedded as JSON that no document can break out of.
"""

import dataclasses
import functools
import json
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from taxocaps.explanations.explanation import Explanation, Graph, MatrixRow

__all__ = ["asset_files", "explanation_page", "graph_page", "inline_modules", "render_page", "templates"]

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|function|class)\b)", re.MULTILINE)


def explanation_page(explanation: Explanation, most_words: int = 60) -> str:
    """The labels with their scores, the text tinted for a label of choice, rows, attention and graph.

    Args:
        explanation: The document and why it has its labels.
        most_words: How many words of the graph are drawn, the most central ones.

    Returns:
        The text of an HTML page that needs no network.
    """
    if explanation.graph is not None:
        explanation = dataclasses.replace(explanation, graph=_most_central(explanation.graph, most_words))
    return render_page("explanation_page", explanation.title, dataclasses.asdict(explanation))


def graph_page(graph: Graph, matrix: Sequence[MatrixRow], title: str, most_words: int = 60) -> str:
    """Draw a document as the paper's Figure 1 does.

    Args:
        graph: The graph-of-words of the document.
        matrix: Its arranged words-matrix.
        title: A heading.
        most_words: How many words are drawn, the most central ones; the words-matrix is always complete.

    Returns:
        The text of an HTML page that needs no network.
    """
    data = {
        "words": sum(len(node.positions) for node in graph.nodes),
        "distinct": len(graph.nodes),
        "graph": dataclasses.asdict(_most_central(graph, most_words)),
        "matrix": [dataclasses.asdict(row) for row in matrix],
    }
    return render_page("graph_page", title, data)


def render_page(name: str, title: str, data: Any, style: str | None = None) -> str:
    """The text of a page that needs no network.

    Args:
        name: A template of this package, `name.html`, with its script `name.js`.
        title: A heading, any text.
        data: Plain values for the script of the page.
        style: A style sheet of the templates beside that of all pages, such as `report`.
    """
    own = [_read("templates", f"{style}.css")] if style is not None else []
    # A lone surrogate, which no file can hold, becomes a question mark in the title and its escape in JSON.
    return (
        templates("taxocaps.report")
        .get_template(f"{name}.html")
        .render(
            title=title.encode("utf-8", "replace").decode(),
            style=Markup("".join([_read("assets", "style.css"), *own])),
            data=_embedded(data),
            script=Markup(inline_modules(f"{name}.js")),
        )
    )


def asset_files() -> dict[str, bytes]:
    """The files that all pages share, by name."""
    return {file.name: file.read_bytes() for file in resources.files(__package__).joinpath("assets").iterdir()}


def inline_modules(name: str) -> str:
    """The script of a page and all modules that it imports as one module, without import and export.

    Modules are written so that this is enough: they import names as they are, and no two share a top-level name.
    """
    return "\n".join(_modules(name, set()))


def _modules(name: str, done: set[str]) -> Iterator[str]:
    """A module after those that it imports, each once."""
    done.add(name)
    text = _read("assets" if _path("assets", name).is_file() else "templates", name)
    for imported in _IMPORT.findall(text):
        if imported not in done:
            yield from _modules(imported, done)
    yield _EXPORT.sub("", _IMPORT.sub("", text))


def _embedded(data: Any) -> Markup:
    """Data as JSON in which no text can close the script element."""
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return Markup(text.encode("utf-8", "backslashreplace").decode())


def _most_central(graph: Graph, most_words: int) -> Graph:
    """The most central words of a graph, and the edges between them."""
    nodes = graph.nodes[:most_words]
    kept = {node.word for node in nodes}
    return Graph(nodes, tuple(edge for edge in graph.edges if edge.source in kept and edge.target in kept))


@functools.cache
def templates(package: str) -> jinja2.Environment:
    """The templates of a package, in which all text is escaped and a missing value is an error."""
    return jinja2.Environment(loader=jinja2.PackageLoader(package), autoescape=True, undefined=jinja2.StrictUndefined)


def _path(folder: str, name: str) -> Any:
    return resources.files(__package__).joinpath(folder, name)


def _read(folder: str, name: str) -> str:
    text: str = _path(folder, name).read_text(encoding="utf-8")
    return text
