"""The readable graph-of-words: one document as a graph, its central words and the blocks of its words-matrix.

This is the reference for the compiled kernels, and what explanations and drawings are made from.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Any

from taxocaps.errors import GraphError
from taxocaps.graph.config import HOP_LIMITS, MOST_WORDS_FOR_DIJKSTRA, GraphConfig

__all__ = ["Block", "GraphOfWords", "Row"]


@dataclass(frozen=True)
class Block:
    """A context of a central word: consecutive words of the document, the first at `position` (from 1)."""

    position: int
    words: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A row of the words-matrix: the blocks of one central word, truncated to T words in all."""

    central_word: str
    blocks: tuple[Block, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the row, block after block."""
        return tuple(word for block in self.blocks for word in block.words)

    @property
    def block_numbers(self) -> tuple[int, ...]:
        """For each word of the row, the number of its block, from 1."""
        return tuple(number for number, block in enumerate(self.blocks, 1) for _ in block.words)


class GraphOfWords:
    """A document as a word-order-preserving graph of words (paper section 2).

    Words are nodes with their positions as attribute; a directed edge leads from each word to the next
    `window - 1` words, weighted by the number of co-occurrences.

    >>> graph = GraphOfWords("musk tell electric car company".split())
    >>> graph.positions["company"], graph.edges["electric", "car"], graph.central_words[0]
    ((5,), 1, 'electric')
    """

    def __init__(
        self, tokens: Sequence[str], sentence_ends: Sequence[int] = (), config: GraphConfig | None = None
    ) -> None:
        """Make the graph of a document.

        Args:
            tokens: The kept words of the document in order, as the text pipeline gives them.
            sentence_ends: The number of words up to the end of each sentence; used with `sentence_bound` only.
            config: The options; by default those of `GraphConfig`.
        """
        self.tokens = tuple(tokens)
        self.config = config or GraphConfig()
        ends = set(sentence_ends) if self.config.sentence_bound else set()
        sentence, self._sentence = 0, []
        for position in range(len(self.tokens)):
            sentence += position in ends
            self._sentence.append(sentence)

    @cached_property
    def positions(self) -> Mapping[str, tuple[int, ...]]:
        """For each distinct word, in order of first appearance, its positions in the document, from 1."""
        positions: dict[str, list[int]] = {}
        for position, word in enumerate(self.tokens, 1):
            positions.setdefault(word, []).append(position)
        return {word: tuple(found) for word, found in positions.items()}

    @property
    def words(self) -> tuple[str, ...]:
        """The distinct words in order of first appearance."""
        return tuple(self.positions)

    @cached_property
    def edges(self) -> Mapping[tuple[str, str], int]:
        """The directed edges with their co-occurrence counts; a word makes no edge to itself."""
        return Counter(
            (self.tokens[i], self.tokens[j])
            for i in range(len(self.tokens))
            for j in range(i + 1, min(i + self.config.window, len(self.tokens)))
            if self._sentence[i] == self._sentence[j] and self.tokens[i] != self.tokens[j]
        )

    def to_networkx(self) -> Any:
        """The graph as a `networkx.DiGraph`: nodes with `positions` and `closeness`, edges with `weight`."""
        import networkx

        graph = networkx.DiGraph()
        for word, positions in self.positions.items():
            graph.add_node(word, positions=positions, closeness=self.closeness[word])
        graph.add_weighted_edges_from((source, target, count) for (source, target), count in self.edges.items())
        return graph

    @cached_property
    def closeness(self) -> Mapping[str, float]:
        """Closeness centrality of each word, with the correction of Wasserman and Faust where the graph falls apart.

        C_v = (n-1) / sum_u d(v,u) on a connected graph; 0 for a word without neighbours. In very long documents u are
        some of the words only (`HopLimits`).
        """
        others = max(len(self._sources) - 1, 1)
        return {word: rank_key / others for word, rank_key in self._rank_keys.items()}

    @cached_property
    def central_words(self) -> tuple[str, ...]:
        """All words, the most central first: by closeness, then frequency, then first position."""
        return tuple(
            sorted(
                self.words,
                key=lambda word: (
                    -self._rank_keys[word],
                    -len(self.positions[word]),
                    self.positions[word][0],
                ),
            )
        )

    def subgraph(self, word: str) -> tuple[str, ...]:
        """The words around a central word in visiting order, itself first, at most K."""
        taken = list(islice(self._breadth_first(word), self.config.bfs_size))
        rest = (other for other in self._depth_first(word) if other not in taken)
        return (*taken, *islice(rest, self.config.K - len(taken)))

    def blocks(self, word: str) -> tuple[Block, ...]:
        """The contexts of a central word inside its subgraph, long ones first, ties by position.

        From each occurrence the block reaches left and right over words of the subgraph, at most `radius` words
        each way; blocks that share a word of the text are merged, blocks that only touch are not.
        """
        members = set(self.subgraph(word))
        spans: list[tuple[int, int]] = []
        for position in self.positions[word]:
            start, end = self._span(position - 1, members)
            if spans and start < spans[-1][1]:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
        spans.sort(key=lambda span: span[0] - span[1])
        return tuple(Block(start + 1, self.tokens[start:end]) for start, end in spans)

    def row(self, word: str) -> Row:
        """The row of a central word, truncated to T words."""
        if self.config.row_order == "unordered":
            return Row(word, (Block(0, self.subgraph(word)[: self.config.T]),))
        kept, room = [], self.config.T
        for block in self.blocks(word):
            if room > 0:
                kept.append(Block(block.position, block.words[:room]))
                room -= len(block.words)
        return Row(word, tuple(kept))

    def rows(self) -> tuple[Row, ...]:
        """The arranged words-matrix: the rows of the N most central words."""
        return self._rows

    @cached_property
    def _rows(self) -> tuple[Row, ...]:
        return tuple(self.row(word) for word in self.central_words[: self.config.N])

    @cached_property
    def _skeleton(self) -> Any:
        """The undirected graph, with the sum of both directions as `count` and the edge length as `length`."""
        import networkx

        graph = networkx.Graph()
        graph.add_nodes_from(self.words)
        for source, target in self.edges:
            count = self.edges[source, target] + self.edges.get((target, source), 0)
            graph.add_edge(source, target, count=count, length=count if self.config.distance == "count" else 1 / count)
        return graph

    @property
    def _sources(self) -> list[str]:
        """The words from which distances are measured."""
        is_exact = self.config.distance != "hops"
        runs = [range(len(self.words))] if is_exact else HOP_LIMITS.sources(len(self.words))
        return [self.words[index] for index in chain.from_iterable(runs)]

    @cached_property
    def _rank_keys(self) -> Mapping[str, float]:
        """(reached words)^2 / (sum of distances): closeness up to a factor, equal exactly where closeness is."""
        keys = {}
        for word, (reached, total) in self._distance_sums():
            keys[word] = reached * reached / total if reached else 0.0
        return keys

    def _distance_sums(self) -> Iterator[tuple[str, tuple[int, float]]]:
        import networkx

        if self.config.distance == "hops":
            reached: Counter[str] = Counter()
            total: Counter[str] = Counter()
            for source in self._sources:
                hops = networkx.single_source_shortest_path_length(self._skeleton, source)
                reached.update(word for word in hops if word != source)
                total.update(hops)
            yield from ((word, (reached[word], total[word])) for word in self.words)
            return
        if len(self.words) > MOST_WORDS_FOR_DIJKSTRA:
            raise GraphError(too_many_words(len(self.words), self.config))
        for word in self.words:
            lengths = networkx.single_source_dijkstra_path_length(self._skeleton, word, weight="length")
            # Rounded, so that sums added in another order still tie.
            yield word, (len(lengths) - 1, math.floor(sum(lengths.values()) * 1e9 + 0.5) / 1e9)

    def _neighbours(self, word: str) -> list[str]:
        return sorted(self._skeleton[word], key=self._rank.__getitem__)

    @cached_property
    def _rank(self) -> Mapping[str, int]:
        return {word: rank for rank, word in enumerate(self.central_words)}

    def _breadth_first(self, word: str) -> Iterator[str]:
        """Level after level, inside a level by closeness."""
        level, visited = [word], {word}
        while level:
            yield from level
            found = {other for node in level for other in self._skeleton[node]} - visited
            visited |= found
            level = sorted(found, key=self._rank.__getitem__)

    def _depth_first(self, word: str) -> Iterator[str]:
        """Preorder, the neighbours of a word by closeness."""
        visited, stack = {word}, [iter(self._neighbours(word))]
        yield word
        while stack:
            unvisited = next((other for other in stack[-1] if other not in visited), None)
            if unvisited is None:
                stack.pop()
                continue
            visited.add(unvisited)
            yield unvisited
            stack.append(iter(self._neighbours(unvisited)))

    def _span(self, position: int, members: set[str]) -> tuple[int, int]:
        def reach(step: int) -> int:
            length = 0
            while length < self.config.radius:
                other = position + step * (length + 1)
                inside = 0 <= other < len(self.tokens) and self._sentence[other] == self._sentence[position]
                if not inside or self.tokens[other] not in members:
                    break
                length += 1
            return length

        return position - reach(-1), position + reach(+1) + 1


def too_many_words(count: int, config: GraphConfig) -> str:
    """The message for a document that weighted distances would take too long for."""
    return (
        f"{count:,} distinct words are too many for graph.distance={config.distance} "
        f"(at most {MOST_WORDS_FOR_DIJKSTRA:,}); use graph.distance=hops or shorten the document"
    )
