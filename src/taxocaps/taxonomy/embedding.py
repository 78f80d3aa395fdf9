"""Label vectors: skip-gram over random walks on the taxonomy (paper section 4), and how well they reconstruct it."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import Between, Config
from taxocaps.errors import MissingExtraError
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.taxonomy.walks import PADDING, WalkConfig, random_walks

__all__ = ["THRESHOLDS", "LabelVectorsConfig", "Reconstruction", "reconstruct", "train_label_vectors", "unit_vectors"]


class LabelVectorsConfig(Config):
    """Training of label vectors with skip-gram and negative sampling.

    Attributes:
        dimension: Dimension of the vectors.
        window: Context window: the number of labels on each side to predict.
        negative: Number of negative samples.
        epochs: Number of passes over the walks.
        learning_rate: Initial learning rate; it decays linearly to almost zero.
        workers: Number of training threads; with more than one, results are not reproducible.
    """

    section: ClassVar[str] = "label_vectors"

    dimension: Annotated[int, Between(1, 10_000)] = 200
    window: Annotated[int, Between(1, 1_000)] = 5
    negative: Annotated[int, Between(1, 1_000)] = 5
    epochs: Annotated[int, Between(1, 1_000)] = 1
    learning_rate: Annotated[float, Between(1e-6, 1)] = 0.025
    workers: Annotated[int, Between(1, 1_000)] = 1


def train_label_vectors(
    taxonomy: Taxonomy,
    walks: WalkConfig | None = None,
    config: LabelVectorsConfig | None = None,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float32]:
    """Train a vector for every label of a taxonomy.

    Args:
        taxonomy: The labels and their edges.
        walks: Options of the walks.
        config: Options of the training.
        seed: Random seed; with one worker, the same seed gives the same vectors.
        threads: Number of threads for the walks.
        progress: Called with the number of walks processed and their total, over all epochs.

    Returns:
        float32 [labels, dimension], in the order of `taxonomy.names`.
    """
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise MissingExtraError("gensim", "networks", "learning label vectors") from error

    walks, config = walks or WalkConfig(), config or LabelVectorsConfig()
    paths = random_walks(taxonomy, walks, seed=seed, threads=threads)
    nodes = [str(index) for index in range(len(paths) // walks.per_label)]
    model = Word2Vec(
        vector_size=config.dimension,
        window=config.window,
        sg=1,
        hs=0,
        negative=config.negative,
        sample=0,  # no subsampling: that the root and its children are frequent is part of the structure
        alpha=config.learning_rate,
        min_count=1,
        sorted_vocab=0,
        workers=config.workers,
        seed=seed,
        # Python's own hash of strings changes between runs.
        hashfxn=lambda text: zlib.crc32(text.encode()),
    )
    counts = np.bincount(paths[paths != PADDING], minlength=len(nodes))
    model.build_vocab_from_freq({node: int(count) for node, count in zip(nodes, counts, strict=True)})
    sentences = _Sentences(paths, nodes, progress, config.epochs)
    model.train(sentences, total_words=int(counts.sum()), epochs=config.epochs)
    if sentences.error is not None:
        raise sentences.error
    rows = [model.wv.key_to_index[node] for node in nodes[: len(taxonomy)]]
    return np.asarray(model.wv.vectors[rows], np.float32)


@dataclass
class _Sentences:
    """The walks as lists of words, as gensim expects them."""

    paths: NDArray[np.int32]
    nodes: list[str]
    progress: Callable[[int, int], None] | None
    epochs: int
    done: int = 0
    error: Exception | None = None

    def __iter__(self) -> Iterator[list[str]]:
        nodes = self.nodes
        try:
            for path in () if self.error else self.paths:
                yield [nodes[node] for node in path.tolist() if node != PADDING]
                self.done += 1
                if self.progress and self.done % 100 == 0:
                    self.progress(self.done, len(self.paths) * self.epochs)
        except Exception as error:  # raised in gensim's own thread, it would block the others forever
            self.error = error


THRESHOLDS = tuple(number / 100 for number in range(101))
"""Cosine similarities above which two labels count as connected."""

_ROWS = 1_024
"""Number of labels whose similarities to all others are in memory at a time."""


@dataclass(frozen=True)
class Reconstruction:
    """F1 of the reconstructed edges for each of the `THRESHOLDS` (paper section 5.4, Figure 5).

    Attributes:
        micro: Over all pairs of labels.
        macro: The mean over labels of the F1 of their sets of neighbours.
    """

    micro: NDArray[np.float64]
    macro: NDArray[np.float64]


def reconstruct(taxonomy: Taxonomy, vectors: NDArray[np.float32]) -> Reconstruction:
    """Connect all pairs of labels whose cosine similarity exceeds a threshold, and compare with the taxonomy.

    Pairs are unordered, the edges of the taxonomy undirected, and the root is excluded.

    Args:
        taxonomy: The labels.
        vectors: [labels, D] in the order of `taxonomy.names`.
    """
    labels = [name for name in taxonomy.names if name != taxonomy.root]
    index = {name: i for i, name in enumerate(labels)}
    unit = unit_vectors(vectors[[taxonomy.position(name) for name in labels]])
    edges = [(index[a], index[b]) for a, b in taxonomy.edges if a in index and b in index]
    pairs = np.array(edges + [(b, a) for a, b in edges], np.int64).reshape(-1, 2)
    connected = np.zeros((len(labels), len(THRESHOLDS)), np.int64)
    for start in range(0, len(labels), _ROWS):
        connected[start : start + _ROWS] = _connected(unit[start : start + _ROWS] @ unit.T, start)
    hits = np.zeros_like(connected)
    steps = _steps(np.einsum("ij,ij->i", unit[pairs[:, 0]], unit[pairs[:, 1]]))
    np.add.at(hits, pairs[:, 0], steps[:, None] > np.arange(len(THRESHOLDS)))
    neighbours = np.bincount(pairs[:, 0], minlength=len(labels))[:, None]
    return Reconstruction(
        micro=_f1(hits.sum(axis=0), connected.sum(axis=0), neighbours.sum()),
        macro=_f1(hits, connected, neighbours).mean(axis=0) if labels else np.zeros(len(THRESHOLDS)),
    )


def unit_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors scaled to length 1; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
    return unit


def _steps(similarity: NDArray[np.float32]) -> NDArray[np.int64]:
    """The number of thresholds that each similarity exceeds."""
    return np.searchsorted(np.asarray(THRESHOLDS, np.float32), similarity, side="left")


def _connected(similarity: NDArray[np.float32], start: int) -> NDArray[np.int64]:
    """For each row, the number of other labels connected to it at each threshold; row 0 is that of label `start`."""
    rows = np.arange(len(similarity))
    steps = _steps(similarity)
    steps[rows, start + rows] = 0  # no label is connected to itself
    width = len(THRESHOLDS) + 1
    counts = np.bincount((steps + rows[:, None] * width).ravel(), minlength=len(rows) * width).reshape(-1, width)
    return counts[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]


def _f1(hits: NDArray[np.int64], found: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.float64]:
    """2 hits / (found + wanted), and 0 where both are 0."""
    total = found + wanted
    f1: NDArray[np.float64] = np.divide(2.0 * hits, total, out=np.zeros(total.shape), where=total > 0)
    return f1
