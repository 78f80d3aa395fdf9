"""Label vectors: skip-gram with negative sampling over random walks on the taxonomy (paper section 4)."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import Between, Config
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.taxonomy.walks import NO_LABEL, WalkConfig, random_walks

__all__ = ["LabelVectorsConfig", "train_label_vectors"]


class LabelVectorsConfig(Config):
    """How label vectors are learned from walks.

    Attributes:
        dimension: Numbers in a vector.
        window: Labels on either side that a label must predict.
        negative: Random labels against which each prediction is weighed.
        epochs: Passes over the walks.
        learning_rate: At the start; it falls steadily to almost nothing.
        workers: Threads of the training; with more than one it is faster and no longer the same from run to run.
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
    """Learn a vector for every label of a taxonomy.

    Args:
        taxonomy: The labels and their edges.
        walks: How walks are drawn.
        config: How vectors are learned from them.
        seed: With one worker, the same seed gives the same vectors.
        threads: Threads that draw the walks.
        progress: Told how many walks have been learned from, and how many there are, over all epochs.

    Returns:
        float32 [labels, dimension], in the order of `taxonomy.names`.
    """
    from gensim.models import Word2Vec

    walks, config = walks or WalkConfig(), config or LabelVectorsConfig()
    paths = random_walks(taxonomy, walks, seed=seed, threads=threads)
    nodes = [str(number) for number in range(len(paths) // walks.per_label)]
    model = Word2Vec(
        vector_size=config.dimension,
        window=config.window,
        sg=1,
        hs=0,
        negative=config.negative,
        sample=0,  # the root and its children are frequent because they are near everything: that is the signal
        alpha=config.learning_rate,
        min_count=1,
        sorted_vocab=0,
        workers=config.workers,
        seed=seed,
        # Python's own hash differs from run to run.
        hashfxn=lambda text: zlib.crc32(text.encode()),
    )
    counts = np.bincount(paths[paths != NO_LABEL], minlength=len(nodes))
    model.build_vocab_from_freq({node: int(count) for node, count in zip(nodes, counts, strict=True)})
    sentences = _Sentences(paths, nodes, progress, config.epochs)
    model.train(sentences, total_words=int(counts.sum()), epochs=config.epochs)
    if sentences.error is not None:
        raise sentences.error
    rows = [model.wv.key_to_index[node] for node in nodes[: len(taxonomy)]]
    return np.asarray(model.wv.vectors[rows], np.float32)


@dataclass
class _Sentences:
    """The walks as lists of words, as gensim wants them."""

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
                yield [nodes[node] for node in path.tolist() if node != NO_LABEL]
                self.done += 1
                if self.progress and self.done % 100 == 0:
                    self.progress(self.done, len(self.paths) * self.epochs)
        except Exception as error:  # raised here, in gensim's own thread, it would make the others wait for ever
            self.error = error
