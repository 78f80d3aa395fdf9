"""The words-matrix as one would write it with networkx in an afternoon: the peer of `benchmarks/encode.py`.

It gives the same rows as taxocaps with the default options (the benchmark checks that), by networkx's own functions
wherever it has one.
"""

from collections.abc import Sequence

import networkx as nx

__all__ = ["words_matrix"]


def words_matrix(
    tokens: Sequence[str], window: int = 3, N: int = 100, K: int = 25, T: int = 20, radius: int = 5
) -> list[list[str]]:
    """The rows of a document's words-matrix, as words."""
    graph = nx.Graph()
    positions: dict[str, list[int]] = {}
    for i, word in enumerate(tokens):
        positions.setdefault(word, []).append(i)
        graph.add_node(word)
        for other in tokens[i + 1 : i + window]:
            if other != word:
                graph.add_edge(word, other)
    closeness = nx.closeness_centrality(graph)
    ranked = sorted(graph, key=lambda word: (-closeness[word], -len(positions[word]), positions[word][0]))
    rank = {word: position for position, word in enumerate(ranked)}
    return [_row(tokens, positions[word], _subgraph(graph, word, rank, K), radius, T) for word in ranked[:N]]


def _subgraph(graph: nx.Graph, word: str, rank: dict[str, int], K: int) -> set[str]:
    members: list[str] = []
    for layer in nx.bfs_layers(graph, word):
        members += sorted(layer, key=rank.__getitem__)
        if len(members) >= K:
            break
    return set(members[:K])


def _row(tokens: Sequence[str], occurrences: list[int], members: set[str], radius: int, T: int) -> list[str]:
    spans: list[list[int]] = []
    for position in occurrences:
        start, end = position, position + 1
        while start > max(position - radius, 0) and tokens[start - 1] in members:
            start -= 1
        while end < min(position + radius + 1, len(tokens)) and tokens[end] in members:
            end += 1
        if spans and start < spans[-1][1]:
            spans[-1][1] = max(end, spans[-1][1])
        else:
            spans.append([start, end])
    spans.sort(key=lambda span: span[0] - span[1])
    return [word for start, end in spans for word in tokens[start:end]][:T]
