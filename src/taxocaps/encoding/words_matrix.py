"""From texts to words-matrices: the text pipeline, the vocabulary and the graph kernels in a row."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.encoding.corpus_words import Pipeline, Text
from taxocaps.errors import GraphError
from taxocaps.graph.config import GraphConfig
from taxocaps.graph.store import StoreWriter, open_store
from taxocaps.graph.words_matrix import WordsMatrices, encode_documents
from taxocaps.progress import Progress, silent
from taxocaps.text.token_chunk import TokenChunk
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["MatrixDocuments", "WordsMatrixEncoder", "encode_chunk", "write_store"]


@dataclass(frozen=True)
class MatrixDocuments:
    """Words-matrices as training wants its documents: with lengths, and as arrays of any few of them."""

    matrices: WordsMatrices

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The rows of each document."""
        return np.diff(self.matrices.offsets)

    def arrays(self, documents: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Words [B, N, T], blocks [B, N, T] and numbers of blocks [B, N] of some documents."""
        padded = self.matrices.padded(documents)  # type: ignore[arg-type]
        return padded.words, padded.blocks, padded.block_counts


@dataclass(frozen=True)
class WordsMatrixEncoder:
    """Encodes documents against a fixed vocabulary, as training did.

    Attributes:
        pipeline: Makes words out of texts.
        vocabulary: Gives words their ids; other words become unknown but stay nodes of their own in the graph.
        graph: The options of the graph.
        threads: Threads for the compiled part.
    """

    pipeline: Pipeline
    vocabulary: Vocabulary
    graph: GraphConfig = field(default_factory=GraphConfig)
    threads: int = 1

    def __call__(self, documents: Iterable[Text]) -> WordsMatrices:
        """The words-matrices of some texts, or of ready lists of words."""
        return encode_chunk(self.pipeline.chunk(documents), self.vocabulary, self.graph, self.threads)

    def read(self, texts: Iterable[Text]) -> MatrixDocuments:
        """The words-matrices of some texts, as a network takes them."""
        return MatrixDocuments(self(texts))

    def store(
        self, chunks: Sequence[TokenChunk], folder: Path, progress: Progress = silent, stage: str = ""
    ) -> MatrixDocuments:
        """Write tokenised documents to a store, and open it: memory then holds what is in use.

        Raises:
            GraphError: For a document whose graph cannot be computed; it is named by its place, counted from 1.
        """
        folder.mkdir(parents=True, exist_ok=True)
        total = sum(map(len, chunks))
        hashes = {"vocabulary": self.vocabulary.fingerprint, "text": self.pipeline.fingerprint}
        manifest = {"config": {"graph": self.graph.as_mapping()}, "hashes": hashes}
        try:
            write_store(chunks, self, folder, manifest, lambda done: progress(stage, done, total))
        except GraphError as error:
            raise GraphError(f"document {(error.document or 0) + 1}: {error}") from error
        return MatrixDocuments(open_store(folder).matrices)


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


def write_store(
    chunks: Iterable[TokenChunk],
    encoder: WordsMatrixEncoder,
    folder: Path,
    manifest: Mapping[str, Any],
    progress: Callable[[int], None],
) -> int:
    """Write the words-matrices of tokenised documents to a store; returns the number of rows.

    Args:
        chunks: The documents.
        encoder: How they are encoded.
        folder: An existing folder.
        manifest: What the store says of itself.
        progress: Told how many documents are done.

    Raises:
        GraphError: For a document whose graph cannot be computed; `error.document` is its place among all.
    """
    done = rows = 0
    progress(0)  # the very first time, numba compiles now
    with StoreWriter(folder, encoder.graph.T) as writer:
        for chunk in chunks:
            try:
                matrices = encode_chunk(chunk, encoder.vocabulary, encoder.graph, encoder.threads)
            except GraphError as error:
                raise GraphError(str(error), document=done + (error.document or 0)) from error
            writer.append(matrices)
            done += len(matrices)
            rows += len(matrices.words)
            progress(done)
        writer.finish(manifest)
    return rows
