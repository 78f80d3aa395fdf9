"""Words-matrices of many documents at once, by the compiled kernels, on several threads."""

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from taxocaps.errors import GraphError
from taxocaps.graph.arrays import Int8s, Int32s, Int64s
from taxocaps.graph.config import MOST_WORDS_FOR_DIJKSTRA, GraphConfig
from taxocaps.graph.document_graph import too_many_words

__all__ = ["PaddedMatrices", "WordsMatrices", "encode_documents"]

_TASKS_PER_THREAD = 4
"""Documents differ in length: a few tasks per thread keep all threads busy to the end."""


@dataclass(frozen=True)
class WordsMatrices:
    """The words-matrices of some documents, ragged: only rows that exist are stored.

    Attributes:
        words: [rows, T] vocabulary ids, 0 for padding.
        blocks: [rows, T] the number of each word's block in its row, from 1; 0 for padding.
        block_counts: [rows] blocks in the row.
        offsets: [documents + 1] where the rows of each document begin.
    """

    words: Int32s
    blocks: Int8s
    block_counts: Int8s
    offsets: Int64s

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.offsets) - 1

    def padded(self, documents: Sequence[int], N: int | None = None) -> "PaddedMatrices":
        """Some documents as dense arrays.

        Args:
            documents: Their numbers, in the order wanted.
            N: Rows per document; by default as many as the document with the most rows has.
        """
        numbers = np.asarray(documents, np.int64)
        starts, ends = self.offsets[numbers], self.offsets[numbers + 1]
        rows = int((ends - starts).max(initial=0)) if N is None else N
        dense = PaddedMatrices(
            np.zeros((len(documents), rows, self.words.shape[1]), np.int32),
            np.zeros((len(documents), rows, self.words.shape[1]), np.int8),
            np.zeros((len(documents), rows), np.int8),
        )
        for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
            filled = min(int(end - start), rows)
            dense.words[place, :filled] = self.words[start : start + filled]
            dense.blocks[place, :filled] = self.blocks[start : start + filled]
            dense.block_counts[place, :filled] = self.block_counts[start : start + filled]
        return dense


@dataclass(frozen=True)
class PaddedMatrices:
    """The words-matrices of a batch, all with the same number of rows; rows that do not exist are zero.

    Attributes:
        words: [B, N, T] vocabulary ids, 0 for padding.
        blocks: [B, N, T] the number of each word's block in its row, from 1; 0 for padding.
        block_counts: [B, N] blocks in the row; 0 for a row that does not exist.
    """

    words: Int32s
    blocks: Int8s
    block_counts: Int8s


def encode_documents(
    tokens: Int32s,
    offsets: Int64s,
    vocabulary_ids: Int32s,
    config: GraphConfig,
    *,
    sentence_ends: Int64s | None = None,
    threads: int = 1,
) -> WordsMatrices:
    """Compute the words-matrices of a chunk of documents; the same result on any number of threads.

    Args:
        tokens: The words of all documents, one document after the other, numbered from 0 in this chunk.
        offsets: [documents + 1] where each document begins in `tokens`.
        vocabulary_ids: For each word of the chunk, the id that is written for it; different words may share an id
            (unknown words do) and still are different nodes.
        config: The options of the graph.
        sentence_ends: Ascending places in `tokens` where sentences end; needed with `sentence_bound` only.
        threads: Documents are divided among so many threads.

    Raises:
        GraphError: If a document has too many distinct words for weighted distances; `error.document` is its number.
    """
    from taxocaps.graph.kernels import count_words

    distinct = count_words(tokens, offsets, len(vocabulary_ids))
    if config.distance != "hops" and distinct.size and distinct.max() > MOST_WORDS_FOR_DIJKSTRA:
        document = int(distinct.argmax())
        raise GraphError(too_many_words(int(distinct[document]), config), document=document)
    row_offsets = np.zeros(len(offsets), np.int64)
    np.cumsum(np.minimum(distinct, config.N), out=row_offsets[1:])
    matrices = WordsMatrices(
        np.zeros((row_offsets[-1], config.T), np.int32),
        np.zeros((row_offsets[-1], config.T), np.int8),
        np.zeros(row_offsets[-1], np.int8),
        row_offsets,
    )
    sentences = np.zeros(len(tokens), np.int32)
    if config.sentence_bound and sentence_ends is not None:
        inner = sentence_ends[sentence_ends < len(tokens)]
        sentences[inner] = 1
        np.cumsum(sentences, out=sentences)
    _fill(matrices, (tokens, sentences, offsets), vocabulary_ids, config, threads)
    return matrices


def _fill(
    matrices: WordsMatrices,
    chunk: tuple[Int32s, Int32s, Int64s],
    vocabulary_ids: Int32s,
    config: GraphConfig,
    threads: int,
) -> None:
    """Run the kernel over ranges of documents; ranges write to different rows, so their order does not matter."""
    from taxocaps.graph.kernels import COUNT, HOPS, INVERSE_COUNT, fill_rows

    tokens, sentences, offsets = chunk
    distance = {"hops": HOPS, "count": COUNT, "inverse-count": INVERSE_COUNT}[config.distance]

    def run(documents: tuple[int, int]) -> None:
        fill_rows(
            tokens,
            sentences,
            offsets,
            matrices.offsets,
            vocabulary_ids,
            documents,
            config.window,
            distance,
            (config.K, config.bfs_size, config.radius),
            config.row_order == "ordered",
            matrices.words,
            matrices.blocks,
            matrices.block_counts,
        )

    if threads == 1:
        run((0, len(offsets) - 1))
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, _ranges(offsets, threads * _TASKS_PER_THREAD)))


def _ranges(offsets: Int64s, parts: int) -> list[tuple[int, int]]:
    """Cut the documents into at most `parts` ranges of about as many words each."""
    goals = np.linspace(0, offsets[-1], parts + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(offsets, goals), [len(offsets) - 1]]))
    return [(int(start), int(end)) for start, end in itertools.pairwise(cuts)]
