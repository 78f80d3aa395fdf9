"""From texts to bags of words: how often each word stands in a document, weighted by how rare it is (tf-idf)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from taxocaps.config import AtLeast, Config
from taxocaps.encoding.corpus_words import Pipeline, Text
from taxocaps.text.token_chunk import TokenChunk
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["BagConfig", "BagEncoder"]


class BagConfig(Config):
    """How words are counted.

    Attributes:
        counts: Whether a word counts as often as it occurs, one plus the logarithm of that, or once.
        min_documents: The least number of training documents that have a word.
    """

    section: ClassVar[str] = "bag"

    counts: Literal["all", "logarithm", "once"] = "logarithm"
    min_documents: Annotated[int, AtLeast(1)] = 2


_COUNTS: Mapping[str, Callable[[Any], Any]] = {
    "all": lambda counts: counts,
    "logarithm": lambda counts: 1 + np.log(counts),
    "once": np.ones_like,
}


@dataclass(frozen=True)
class BagEncoder:
    """Documents as tf-idf vectors of length 1, against a fixed vocabulary.

    tf-idf is as in scikit-learn: idf(word) = 1 + ln((1 + documents) / (1 + documents with the word)).

    Attributes:
        pipeline: Makes words out of texts.
        vocabulary: The words that count; the column of a word is its number, less the two that are no words.
        idf: The weight of each word; float64 [V].
        config: How words are counted.
    """

    pipeline: Pipeline
    vocabulary: Vocabulary
    idf: NDArray[np.float64]
    config: BagConfig

    @classmethod
    def learn(cls, chunks: Sequence[TokenChunk], pipeline: Pipeline, config: BagConfig) -> "BagEncoder":
        """Choose words and weigh them, from tokenised training documents.

        Args:
            chunks: The training documents.
            pipeline: What made them.
            config: How words are counted.
        """
        documents: dict[str, int] = {}
        for chunk in chunks:
            found = np.bincount(_counts(chunk, np.arange(len(chunk.words))).indices, minlength=len(chunk.words))
            for word, count in zip(chunk.words, found.tolist(), strict=True):
                documents[word] = documents.get(word, 0) + count
        chosen = sorted((-count, word) for word, count in documents.items() if count >= config.min_documents)
        vocabulary = Vocabulary([word for _, word in chosen], [-count for count, _ in chosen])
        total = sum(map(len, chunks))
        idf = 1 + np.log((1 + total) / (1 + np.array(vocabulary.counts, np.float64)))
        return cls(pipeline, vocabulary, idf, config)

    def read(self, texts: Iterable[Text]) -> csr_array:
        """The vectors of some texts; CSR float64 [documents, V]."""
        return self.encode([self.pipeline.chunk(texts)])

    def encode(self, chunks: Sequence[TokenChunk]) -> csr_array:
        """The vectors of tokenised documents; CSR float64 [documents, V]."""
        if not chunks:
            return csr_array((0, len(self.idf)), dtype=np.float64)
        parts = [_counts(chunk, self.vocabulary.ids(chunk.words) - Vocabulary.FIRST, len(self.idf)) for chunk in chunks]
        bags = csr_array(vstack(parts, format="csr"))
        bags.indices, bags.indptr = bags.indices.astype(np.int32), bags.indptr.astype(np.int32)  # as liblinear has them
        bags.data = _COUNTS[self.config.counts](bags.data) * self.idf[bags.indices]
        lengths = np.sqrt(bags.power(2).sum(axis=1))  # [documents]
        bags.data /= np.repeat(lengths, np.diff(bags.indptr))
        return bags


def _counts(chunk: TokenChunk, columns: NDArray[np.integer], width: int | None = None) -> csr_array:
    """How often each word stands in each document; words with a negative column are left out."""
    column = columns[chunk.ids]
    row = np.repeat(np.arange(len(chunk)), np.diff(chunk.offsets))
    kept = column >= 0
    shape = (len(chunk), len(columns) if width is None else width)
    counted = csr_array((np.ones(kept.sum()), (row[kept], column[kept])), shape=shape)
    counted.sum_duplicates()
    return counted
