"""What a network over words-matrices saw in one document: the graph, the rows, their attention and their shares."""

from dataclasses import dataclass

import numpy as np
import torch

from taxocaps.encoding.corpus_words import Text
from taxocaps.estimators.document_words import rounded
from taxocaps.estimators.explanations import Graph, GraphEdge, GraphNode, MatrixRow, RowShare
from taxocaps.estimators.neural import NetworkScorer
from taxocaps.graph.document_graph import GraphOfWords
from taxocaps.nn.explain import BlockFactors, Trace, trace
from taxocaps.text.pipeline import TextPipeline

__all__ = ["MatrixView"]


@dataclass(frozen=True)
class MatrixView:
    """One document inside a network.

    Attributes:
        readable: The document's graph-of-words.
        trace: What the network made of its rows.
    """

    readable: GraphOfWords
    trace: Trace

    @classmethod
    def of(cls, scorer: NetworkScorer, content: Text) -> "MatrixView":
        """Let a network over words-matrices read a document that has words."""
        pipeline = TextPipeline(scorer.config.text)
        tokenized = pipeline(content) if isinstance(content, str) else pipeline.from_tokens(content)
        readable = GraphOfWords(tokenized.words, tokenized.sentence_ends, scorer.config.graph)
        network = scorer.objective.network.eval()
        device = next(network.parameters()).device
        inputs = scorer.encoder.read([content]).arrays(np.zeros(1, np.int64))
        return cls(readable, trace(network, [torch.from_numpy(array).to(device) for array in inputs]))

    @property
    def graph(self) -> Graph:
        """The graph, its words the most central first."""
        readable = self.readable
        nodes = (
            GraphNode(
                word,
                rounded(readable.closeness[word]),
                readable.positions[word],
                rank if rank <= readable.config.N else None,
            )
            for rank, word in enumerate(readable.central_words, 1)
        )
        return Graph(tuple(nodes), tuple(GraphEdge(*ends, count) for ends, count in readable.edges.items()))

    @property
    def matrix(self) -> tuple[MatrixRow, ...]:
        """The rows, with the attention of every layer that has one."""
        layers = [_factors(layer) for layer in self.trace.attention]
        return tuple(
            MatrixRow(
                row.central_word,
                tuple(block.words for block in row.blocks),
                tuple(
                    tuple(factors[place].get(block) for block in range(1, len(row.blocks) + 1)) for factors in layers
                ),
            )
            for place, row in enumerate(self.readable.rows())
        )

    def shares(self, column: int) -> tuple[RowShare, ...] | None:
        """What each row gave to a label, the largest share first; None without capsules."""
        shares = self.trace.row_shares(column)
        if shares is None:
            return None
        heads = [row.central_word for row in self.readable.rows()]
        found = [
            RowShare(number, head, rounded(share))
            for number, (head, share) in enumerate(zip(heads, shares.tolist(), strict=True), 1)
        ]
        return tuple(sorted(found, key=lambda one: -one.share))


def _factors(layer: BlockFactors) -> list[dict[int, float]]:
    """For each row the factor of each block that a window belongs to."""
    return [
        {block: rounded(factor) for block, factor in zip(blocks, factors, strict=True) if block}
        for blocks, factors in zip(layer.blocks.tolist(), layer.alpha.tolist(), strict=True)
    ]
