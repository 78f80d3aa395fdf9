"""A graph-of-words as data for the drawing code that pages share (`graph_drawing.js`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["DrawnWord", "drawn_graph"]

_MARKED = 10
"""Words marked as central; of a short document every word heads a row, and marking all would mark none."""


@dataclass(frozen=True)
class DrawnWord:
    """A word of the graph: its closeness, its positions, from 1, and the number of the row that it heads, if any."""

    word: str
    closeness: float
    positions: Sequence[int]
    row: int | None


def drawn_graph(words: Sequence[DrawnWord], edges: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    """Nodes with their places, and edges as [from, to, count].

    Args:
        words: The words to draw, the most central first.
        edges: Of the whole graph; those between words that are drawn are taken.
    """
    number = {one.word: place for place, one in enumerate(words)}
    lines = [(number[a], number[b], count) for (a, b), count in edges.items() if a in number and b in number]
    nodes = [
        {
            **vars(one),
            "x": x,
            "y": y,
            "central": one.row is not None and one.row <= _MARKED,
        }
        for one, (x, y) in zip(words, _layout(len(words), lines), strict=True)
    ]
    return {"nodes": nodes, "edges": lines}


def _layout(size: int, lines: Sequence[tuple[int, int, int]]) -> list[tuple[float, float]]:
    """Places in the unit square by a spring model; the same for the same graph."""
    import networkx

    if not size:
        return []
    skeleton = networkx.Graph()
    skeleton.add_nodes_from(range(size))
    skeleton.add_edges_from((source, target) for source, target, _ in lines)
    found = networkx.spring_layout(skeleton, seed=0, weight=None, k=2.2 / size**0.5, iterations=150)
    places = np.array([found[place] for place in range(size)])
    places -= places.min(axis=0)
    places /= np.maximum(places.max(axis=0), 1e-9)
    return [(float(x), float(y)) for x, y in places]
