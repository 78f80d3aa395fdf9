"""What a model learns about words before training: the vocabulary of its documents and their vectors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.progress import Progress, silent
from taxocaps.text.vectors import VectorsConfig, WordVectors, align, load_vectors, train_skip_gram
from taxocaps.text.vocabulary import Vocabulary, VocabularyConfig

__all__ = ["count_words", "learn_vectors", "vocabulary_ids"]


def count_words(documents: EncodedDocuments, config: VocabularyConfig) -> Vocabulary:
    """The vocabulary of some documents."""
    words = documents.tokens.words
    counts = np.zeros(len(words), np.int64)
    for tokens in documents.token_chunks():
        counts += tokens.counts()
    found = {words[index]: int(counts[index]) for index in np.flatnonzero(counts).tolist() if words[index]}
    return Vocabulary.from_counts(found, config)


def vocabulary_ids(words: Sequence[str], vocabulary: Vocabulary) -> NDArray[np.int32]:
    """From word ids relative to `words`, as encodings hold them, to ids of a vocabulary; int32 [len(words) + 2]."""
    special = np.array([Vocabulary.PADDING, Vocabulary.UNKNOWN], np.int32)
    return np.concatenate([special, vocabulary.ids(words)])


def learn_vectors(
    documents: EncodedDocuments, vocabulary: Vocabulary, config: VectorsConfig, progress: Progress = silent
) -> NDArray[np.float32]:
    """Vectors for a vocabulary, by `vectors.source`: trained on the documents, read from a file, or random.

    Args:
        documents: The documents; read several times.
        vocabulary: The words.
        config: Where vectors come from.
        progress: Told how much of the training is done.

    Returns:
        float32 [vocabulary, D].
    """
    generator = np.random.default_rng(config.seed)
    if config.source == "skip-gram":
        return train_skip_gram(
            _Sentences(documents),
            vocabulary,
            config,
            progress=lambda done, total: progress("training word vectors", done, total),
        )
    if config.source == "none":
        known = WordVectors((), np.zeros((0, config.dimension), np.float32))
    else:
        known = load_vectors(Path(config.source), words=vocabulary)
    vectors, share = align(vocabulary, known, generator)
    if config.source != "none":
        progress(f"reading word vectors, {share:.0%} of the words found", len(vocabulary), len(vocabulary))
    return vectors


@dataclass(frozen=True)
class _Sentences:
    """Documents as lists of words; can be read again for every epoch."""

    documents: EncodedDocuments

    def __iter__(self) -> Iterator[list[str]]:
        for tokens in self.documents.token_chunks():
            yield from tokens.documents()
