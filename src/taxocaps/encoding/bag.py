"""Bags of words: how often each word stands in a document, weighted by how rare it is (tf-idf)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from taxocaps.config import AtLeast, Config
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.text.tokens import Tokens
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["BagConfig", "BagOfWords"]


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


@dataclass(frozen=True, eq=False)
class BagOfWords:
    """Documents as tf-idf vectors of length 1, against a fixed vocabulary.

    tf-idf is as in scikit-learn: idf(word) = 1 + ln((1 + documents) / (1 + documents with the word)).

    Attributes:
        vocabulary: The words that count; the column of a word is its id, less the two special ones.
        idf: The weight of each word; float64 [V].
        config: How words are counted.
    """

    vocabulary: Vocabulary
    idf: NDArray[np.float64]
    config: BagConfig

    @classmethod
    def learn(cls, documents: EncodedDocuments, config: BagConfig) -> "BagOfWords":
        """Choose words and weigh them, from training documents."""
        words = documents.tokens.words
        columns = np.arange(len(words))
        found = np.zeros(len(words), np.int64)  # documents with each word
        for tokens in documents.token_chunks():
            found += np.bincount(_counts(tokens, columns, len(words)).indices, minlength=len(words))
        kept = np.flatnonzero(found >= config.min_documents).tolist()
        chosen = sorted((-int(found[index]), words[index]) for index in kept if words[index])
        vocabulary = Vocabulary([word for _, word in chosen], [-count for count, _ in chosen])
        idf = 1 + np.log((1 + len(documents)) / (1 + np.array(vocabulary.counts, np.float64)))
        return cls(vocabulary, idf, config)

    def transform(self, documents: EncodedDocuments) -> csr_array:
        """The vectors of documents; CSR float64 [documents, V]."""
        columns = self.vocabulary.ids(documents.tokens.words) - Vocabulary.FIRST
        parts = [_counts(tokens, columns, len(self.idf)) for tokens in documents.token_chunks()]
        if not parts:
            return csr_array((0, len(self.idf)), dtype=np.float64)
        bags = csr_array(vstack(parts, format="csr"))
        bags.indices, bags.indptr = bags.indices.astype(np.int32), bags.indptr.astype(np.int32)  # as liblinear has them
        bags.data = _COUNTS[self.config.counts](bags.data) * self.idf[bags.indices]
        lengths = np.sqrt(bags.power(2).sum(axis=1))  # [documents]
        bags.data /= np.repeat(lengths, np.diff(bags.indptr))
        return bags


def _counts(tokens: Tokens, columns: NDArray[np.integer], width: int) -> csr_array:
    """How often each word stands in each document; words with a negative column are left out."""
    column = columns[tokens.ids]
    row = np.repeat(np.arange(len(tokens)), tokens.lengths)
    kept = column >= 0
    counted = csr_array((np.ones(kept.sum()), (row[kept], column[kept])), shape=(len(tokens), width))
    counted.sum_duplicates()
    return counted
