"""Words-matrices of many documents at once, by the compiled kernels, on several threads."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from taxocaps.errors import GraphError
from taxocaps.graph.arrays import Int8s, Int32s, Int64s
from taxocaps.graph.config import HOP_LIMITS, MOST_WORDS_FOR_DIJKSTRA, GraphConfig
from taxocaps.graph.document_graph import too_many_words

__all__ = ["WordsMatrices", "encode_documents"]


_TASKS_PER_THREAD = 4
"""Documents differ in length: a few tasks per thread keep all threads busy to the end."""


@dataclass(frozen=True)
class WordsMatrices:
    """The words-matrices of some documents, ragged: only rows that exist are stored.

    Attributes:
        words: [rows, T] word ids, 0 for padding.
        blocks: [rows, T] the index of each word's block in its row, from 1; 0 for padding.
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

    @property
    def lengths(self) -> Int64s:
        """The number of rows of each document; [documents]."""
        return np.diff(self.offsets)

    def arrays(self, documents: Int64s) -> tuple[Int32s, Int8s, Int8s]:
        """Some documents as dense arrays, filled up with zeros to the rows of the longest.

        Args:
            documents: Their indices, in the order wanted.

        Returns:
            Words [B, N, T], blocks [B, N, T] and block counts [B, N].
        """
        documents = np.asarray(documents, np.int64)
        starts, ends = self.offsets[documents], self.offsets[documents + 1]
        B, N, T = len(documents), int((ends - starts).max(initial=0)), self.words.shape[1]
        words, blocks = np.zeros((B, N, T), np.int32), np.zeros((B, N, T), np.int8)
        block_counts = np.zeros((B, N), np.int8)
        for index, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            words[index, : end - start] = self.words[start:end]
            blocks[index, : end - start] = self.blocks[start:end]
            block_counts[index, : end - start] = self.block_counts[start:end]
        return words, blocks, block_counts


def encode_documents(
    tokens: Int32s,
    offsets: Int64s,
    word_ids: Int32s,
    config: GraphConfig,
    *,
    sentence_ends: Int64s | None = None,
    threads: int = 1,
) -> WordsMatrices:
    """Compute the words-matrices of a chunk of documents; the same result on any number of threads.

    Args:
        tokens: The words of all documents, one document after the other, numbered from 0 in this chunk.
        offsets: [documents + 1] where each document begins in `tokens`.
        word_ids: For each word of the chunk, the id that is written for it; different words may share an id
            (unknown words do) and still are different nodes.
        config: The options of the graph.
        sentence_ends: Ascending positions in `tokens` where sentences end; needed with `sentence_bound` only.
        threads: Documents are divided among so many threads.

    Raises:
        GraphError: If a document has too many distinct words for weighted distances; `error.document` is its index.
    """
    from taxocaps.graph.kernels import count_words

    distinct = count_words(tokens, offsets, len(word_ids))
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
    _fill(matrices, (tokens, sentences, offsets), word_ids, config, threads)
    return matrices


def _fill(
    matrices: WordsMatrices,
    chunk: tuple[Int32s, Int32s, Int64s],
    word_ids: Int32s,
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
            word_ids,
            documents,
            config.window,
            distance,
            (config.K, config.bfs_size, config.radius),
            tuple(HOP_LIMITS),
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
    bounds = np.unique(np.concatenate([[0], np.searchsorted(offsets, goals), [len(offsets) - 1]]))
    return [(int(start), int(end)) for start, end in itertools.pairwise(bounds)]
