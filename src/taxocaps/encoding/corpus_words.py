"""What a model learns about words before training: the vocabulary of its documents and their vectors."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from taxocaps.progress import Progress, silent
from taxocaps.text.token_chunk import TokenChunk
from taxocaps.text.vector_files import WordVectors, load_vectors
from taxocaps.text.vectors import VectorsConfig, align, train_skip_gram
from taxocaps.text.vocabulary import Vocabulary, VocabularyConfig, WordCounter

__all__ = ["Pipeline", "Text", "count_words", "learn_vectors", "tokenise"]

Text = str | Sequence[str]
"""A text, or ready tokens, which replace the text pipeline."""


class Pipeline(Protocol):
    """Makes words out of texts: the text pipeline, or what stands in its place."""

    def chunk(self, documents: Iterable[Text]) -> TokenChunk:
        """The words of many documents."""

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides the words."""


_CHUNK = 1_024


@dataclass(frozen=True)
class _Sentences:
    """Tokenised documents as lists of words; can be read again for every epoch."""

    chunks: Iterable[TokenChunk]

    def __iter__(self) -> Iterator[list[str]]:
        for chunk in self.chunks:
            yield from chunk.documents()


def tokenise(
    texts: Sequence[Text], pipeline: Pipeline, progress: Progress = silent, stage: str = "reading documents"
) -> list[TokenChunk]:
    """The words of many documents, in chunks."""
    chunks = []
    for start in range(0, len(texts), _CHUNK):
        chunks.append(pipeline.chunk(texts[start : start + _CHUNK]))
        progress(stage, min(start + _CHUNK, len(texts)), len(texts))
    return chunks


def count_words(chunks: Iterable[TokenChunk], config: VocabularyConfig) -> Vocabulary:
    """The vocabulary of tokenised documents."""
    counter = WordCounter()
    for chunk in chunks:
        counter.add(chunk)
    return Vocabulary.from_counts(counter.counts, config)


def learn_vectors(
    chunks: Iterable[TokenChunk], vocabulary: Vocabulary, config: VectorsConfig, progress: Progress = silent
) -> tuple[NDArray[np.float32], float | None]:
    """Vectors for a vocabulary, by `vectors.source`: trained on the documents, read from a file, or random.

    Args:
        chunks: The tokenised documents; read several times.
        vocabulary: The words.
        config: Where vectors come from.
        progress: Told how much of the training is done.

    Returns:
        float32 [vocabulary, D], and the share of the words found in a file, if there was one.
    """
    generator = np.random.default_rng(config.seed)
    if config.source == "none":
        return align(vocabulary, WordVectors((), np.zeros((0, config.dimension), np.float32)), generator)[0], None
    if config.source == "skip-gram":
        vectors = train_skip_gram(
            _Sentences(chunks),
            vocabulary,
            config,
            progress=lambda done, total: progress("training word vectors", done, total),
        )
        return vectors, None
    loaded = load_vectors(Path(config.source), words=vocabulary)
    return align(vocabulary, loaded, generator)
