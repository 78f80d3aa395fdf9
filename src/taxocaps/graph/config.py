"""The options of the graph-of-words and of the words-matrix (paper section 2)."""

from typing import Annotated, ClassVar, Literal, NamedTuple

from taxocaps.config import Between, Config

__all__ = ["HOP_LIMITS", "MOST_WORDS_FOR_DIJKSTRA", "GraphConfig", "HopLimits"]

MOST_WORDS_FOR_DIJKSTRA = 5_000
"""Distinct words up to which weighted distances are computed; all pairs by Dijkstra take a minute beyond it."""


class HopLimits(NamedTuple):
    """How much is done for the closeness of a document by hops.

    Attributes:
        exact: Distinct words up to which distances from all words are added up; time would grow with their square.
        runs: In longer documents distances are those from so many runs of `RUN` words, spread evenly over the document.
    """

    exact: int
    runs: int

    def sources(self, words: int) -> list[range]:
        """The words from which distances are measured, numbered by first appearance, in a document of so many words.

        >>> HopLimits(exact=600, runs=3).sources(600), HopLimits(exact=600, runs=3).sources(1_000)
        ([range(0, 600)], [range(0, 256), range(372, 628), range(744, 1000)])
        """
        if words <= self.exact:
            return [range(words)]
        firsts = (run * (words - RUN) // (self.runs - 1) for run in range(self.runs))
        return [range(first, first + RUN) for first in firsts]


RUN = 256
"""Words whose distances the kernel finds at once."""
HOP_LIMITS = HopLimits(exact=10_000, runs=8)


class GraphConfig(Config):
    """How a document becomes a words-matrix.

    Attributes:
        window: Words that a sliding window holds; each word is joined to the next `window - 1` words.
        sentence_bound: Windows and blocks stop at the end of a sentence. The paper lets them cross it.
        distance: Length of an edge: one hop, its co-occurrence count, or the inverse of that count.
        expansion: How the subgraph of a central word grows: by levels, in depth, or half and half.
        radius: Words that a block reaches to the left and to the right of each occurrence of its central word.
        N: Central words, and so rows of a words-matrix.
        K: Words of a subgraph at most, the central word among them.
        T: Words in a row.
        row_order: Rows in the order of the text, or in visiting order ("No-R" in the paper).
    """

    section: ClassVar[str] = "graph"

    window: Annotated[int, Between(2, 1_000)] = 3
    sentence_bound: bool = False
    distance: Literal["hops", "count", "inverse-count"] = "hops"
    expansion: Literal["bfs", "dfs", "bfs+dfs"] = "bfs"
    radius: Annotated[int, Between(0, 1_000)] = 3
    N: Annotated[int, Between(1, 100_000)] = 80
    K: Annotated[int, Between(1, 10_000)] = 25
    T: Annotated[int, Between(1, 127)] = 7  # block indices are stored as int8
    row_order: Literal["ordered", "unordered"] = "ordered"

    @property
    def bfs_size(self) -> int:
        """Words of a subgraph that breadth-first search takes; depth-first search takes the rest."""
        return {"bfs": self.K, "dfs": 0, "bfs+dfs": (self.K + 1) // 2}[self.expansion]
