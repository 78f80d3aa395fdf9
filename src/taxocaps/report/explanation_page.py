"""A self-contained HTML page that explains the labels of one document (the paper's Figure 6, and more)."""

import dataclasses
from typing import Any

from taxocaps.explain.explanation import Explanation, Graph, LabelReasons
from taxocaps.report.graph_drawing import DrawnWord, drawn_graph
from taxocaps.report.page_template import fill_template

__all__ = ["explanation_page"]

_METHODS = {
    "occlusion": "The weight of a word is how far the score falls when the word becomes an unknown one, wherever it "
    "stands.",
    "linear": "The weight of a word is its weight in the linear classifier of the label, times its value in the "
    "document.",
    "none": "This model cannot tell what its words weigh.",
}


def explanation_page(explanation: Explanation, most_words: int = 60) -> str:
    """The labels with their scores, the text tinted for a label of choice, rows, attention and graph.

    Args:
        explanation: The document and why it has its labels.
        most_words: How many words of the graph are drawn, the most central ones.

    Returns:
        The text of an HTML page that needs no network.
    """
    return fill_template("explanation_page.html", explanation.title, _page_data(explanation, most_words))


def _page_data(explanation: Explanation, most_words: int) -> dict[str, Any]:
    plain = {
        name: [dataclasses.asdict(one) for one in getattr(explanation, name) or ()] for name in ("labels", "matrix")
    }
    return {
        **plain,
        "model": explanation.model,
        "warning": explanation.warning,
        "raw": "capsule length" if any(one.rows for one in explanation.reasons) else "before calibration",
        "method": _METHODS[explanation.method],
        "pieces": _pieces(explanation),
        "reasons": [_reasons(one) for one in explanation.reasons],
        "graph": None if explanation.graph is None else _graph(explanation.graph, most_words),
        "words": len(explanation.words),
        "missing": _missing(explanation),
    }


def _pieces(explanation: Explanation) -> list[tuple[str, list[str], bool]]:
    """The text cut up: each piece with the words that the model reads there, and whether all of them are unknown."""
    at: dict[tuple[int, int], list[Any]] = {}
    for word in explanation.words:
        if word.start is not None and word.end is not None:
            at.setdefault((word.start, word.end), []).append(word)
    pieces: list[tuple[str, list[str], bool]] = []
    done = 0
    for (start, end), words in sorted(at.items()):
        if start > done:
            pieces.append((explanation.text[done:start], [], False))
        unknown = not any(word.is_known for word in words)
        pieces.append((explanation.text[start:end], [word.word for word in words], unknown))
        done = end
    if done < len(explanation.text):
        pieces.append((explanation.text[done:], [], False))
    return pieces


def _reasons(reasons: LabelReasons) -> dict[str, Any]:
    return {
        "label": reasons.label,
        "words": [(one.word, one.weight) for one in reasons.words],
        "rows": None if reasons.rows is None else [(one.row, one.central_word, one.share) for one in reasons.rows],
    }


def _graph(graph: Graph, most_words: int) -> dict[str, Any]:
    words = [DrawnWord(one.word, one.closeness, one.positions, one.row) for one in graph.nodes[:most_words]]
    return drawn_graph(words, {(edge.source, edge.target): edge.count for edge in graph.edges})


def _missing(explanation: Explanation) -> list[str]:
    """What this kind of model has not, for a reader who looks for it."""
    if explanation.warning:
        return []
    missing = []
    if explanation.graph is None:
        missing.append("This model reads no graph of words and no words-matrix: there is nothing to draw of them.")
    elif not any(row.attention for row in explanation.matrix or ()):
        missing.append("This model has no block attention.")
    if explanation.graph is not None and all(one.rows is None for one in explanation.reasons):
        missing.append("This model has no capsules of rows: what each row gave to a label is not known.")
    return missing
