"""A self-contained HTML page with the graph-of-words of one document and its arranged words-matrix."""

import html
import json
from importlib import resources
from typing import Any

import numpy as np

from taxocaps.graph.document_graph import GraphOfWords

__all__ = ["graph_page"]

_MARKED = 10
"""Words marked as central; of a short document every word heads a row, and marking all would mark none."""


def graph_page(graph: GraphOfWords, title: str, most_words: int = 60) -> str:
    """Draw a document as the paper's Figure 1 does.

    Args:
        graph: The document.
        title: A heading.
        most_words: How many words are drawn, the most central ones; the words-matrix is always complete.

    Returns:
        The text of an HTML page that needs no network.
    """
    template = resources.files("taxocaps.report").joinpath("graph_page.html").read_text(encoding="utf-8")
    # "<" is escaped so that no word can close the script element.
    data = json.dumps(_page_data(graph, most_words), ensure_ascii=False).replace("<", "\\u003c")
    return template.replace("{{title}}", html.escape(title)).replace("{{data}}", data)


def _page_data(graph: GraphOfWords, most_words: int) -> dict[str, Any]:
    drawn = graph.central_words[:most_words]
    number = {word: place for place, word in enumerate(drawn)}
    places = _layout(graph, drawn)
    return {
        "words": len(graph.words),
        "tokens": len(graph.tokens),
        "nodes": [
            {
                "word": word,
                "x": places[word][0],
                "y": places[word][1],
                "closeness": graph.closeness[word],
                "positions": graph.positions[word],
                "row": place + 1 if place < graph.config.N else None,
                "central": place < min(_MARKED, graph.config.N),
            }
            for place, word in enumerate(drawn)
        ],
        "edges": [
            [number[source], number[target], count]
            for (source, target), count in graph.edges.items()
            if source in number and target in number
        ],
        "rows": [{"word": row.central_word, "blocks": [block.words for block in row.blocks]} for row in graph.rows()],
    }


def _layout(graph: GraphOfWords, words: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Places in the unit square by a spring model; the same for the same document."""
    import networkx

    if not words:
        return {}
    skeleton = graph.to_networkx().subgraph(words).to_undirected()
    found = networkx.spring_layout(skeleton, seed=0, weight=None, k=2.2 / len(words) ** 0.5, iterations=150)
    places = np.array([found[word] for word in words])
    places -= places.min(axis=0)
    places /= np.maximum(places.max(axis=0), 1e-9)
    return {word: (float(x), float(y)) for word, (x, y) in zip(words, places, strict=True)}
