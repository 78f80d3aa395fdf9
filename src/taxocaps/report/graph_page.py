"""A self-contained HTML page with the graph-of-words of one document and its arranged words-matrix."""

from typing import Any

from taxocaps.graph.document_graph import GraphOfWords
from taxocaps.report.graph_drawing import DrawnWord, drawn_graph
from taxocaps.report.page_template import fill_template

__all__ = ["graph_page"]


def graph_page(graph: GraphOfWords, title: str, most_words: int = 60) -> str:
    """Draw a document as the paper's Figure 1 does.

    Args:
        graph: The document.
        title: A heading.
        most_words: How many words are drawn, the most central ones; the words-matrix is always complete.

    Returns:
        The text of an HTML page that needs no network.
    """
    return fill_template("graph_page.html", title, _page_data(graph, most_words))


def _page_data(graph: GraphOfWords, most_words: int) -> dict[str, Any]:
    words = [
        DrawnWord(word, graph.closeness[word], graph.positions[word], rank if rank <= graph.config.N else None)
        for rank, word in enumerate(graph.central_words[:most_words], 1)
    ]
    return {
        "words": len(graph.words),
        "tokens": len(graph.tokens),
        **drawn_graph(words, graph.edges),
        "rows": [{"word": row.central_word, "blocks": [block.words for block in row.blocks]} for row in graph.rows()],
    }
