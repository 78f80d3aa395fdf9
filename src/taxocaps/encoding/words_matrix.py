"""From texts to words-matrices: the text pipeline, the vocabulary and the graph kernels in a row."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from taxocaps.graph.config import GraphConfig
from taxocaps.graph.words_matrix import WordsMatrices, encode_documents
from taxocaps.text.pipeline import TextPipeline
from taxocaps.text.token_chunk import TokenChunk
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["WordsMatrixEncoder", "encode_chunk"]


@dataclass(frozen=True)
class WordsMatrixEncoder:
    """Encodes documents against a fixed vocabulary, as training did.

    Attributes:
        pipeline: Makes words out of texts.
        vocabulary: Gives words their ids; other words become unknown but stay nodes of their own in the graph.
        graph: The options of the graph.
        threads: Threads for the compiled part.
    """

    pipeline: TextPipeline
    vocabulary: Vocabulary
    graph: GraphConfig = field(default_factory=GraphConfig)
    threads: int = 1

    def __call__(self, documents: Iterable[str | Sequence[str]]) -> WordsMatrices:
        """The words-matrices of some texts, or of ready lists of words."""
        return encode_chunk(self.pipeline.chunk(documents), self.vocabulary, self.graph, self.threads)


def encode_chunk(chunk: TokenChunk, vocabulary: Vocabulary, graph: GraphConfig, threads: int = 1) -> WordsMatrices:
    """The words-matrices of documents that are tokenised already."""
    return encode_documents(
        chunk.ids,
        chunk.offsets,
        vocabulary.ids(chunk.words),
        graph,
        sentence_ends=chunk.sentence_ends,
        threads=threads,
    )
