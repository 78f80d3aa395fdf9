"""What to label next: a batch of unlabelled documents that together teach most.

Three wishes in one greedy choice. *Rare labels first*: a document that probably has a label adds to it, and the more
documents a label has, those of the batch among them, the less one more is worth: log(1 + documents) grows slowly.
*Uncertainty*: a document about which the model is in doubt tells more than one whose labels are known already.
*Diversity*: what is like a chosen document adds little. The first two sum up to a function with diminishing returns, of
which a greedy choice reaches at least 63 % of what the best choice could (Nemhauser, Wolsey and Fisher 1978).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.encoding.bag import BagConfig, BagOfWords
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.scorers.model import FittedModel

__all__ = ["Batch", "choose_next", "next_batch"]

_LEAST = 0.02
"""Labels less probable than this are passed over."""
_CHUNK = 1_024


@dataclass(frozen=True, eq=False)
class Batch:
    """Documents to label, the most valuable first.

    Attributes:
        documents: int64 [n], their rows in the pool.
        labels: int64 [n], for each the column of the label that it was chosen for most; -1 where none is probable.
        scores: float32 [n], the probability of that label.
        doubt: float64 [n], how uncertain the labels of the document are, in bits.
    """

    documents: NDArray[np.int64]
    labels: NDArray[np.int64]
    scores: NDArray[np.float32]
    doubt: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.documents)


def choose_next(model: FittedModel, pool: EncodedDocuments, size: int) -> Batch:
    """Choose documents of a pool to be labelled next, by a model of those that are labelled already.

    Args:
        model: The model; a label is rare if few of its training documents have it.
        pool: Unlabelled documents, as its encoder reads them.
        size: How many are wanted.
    """
    starts = range(0, len(pool), _CHUNK)
    chunks = [pool.select(np.arange(start, min(start + _CHUNK, len(pool)))) for start in starts]
    scores = np.concatenate([np.zeros((0, len(model.classes)), np.float32), *map(model.own_scores, chunks)])
    vectors = BagOfWords.learn(pool, BagConfig(min_documents=1)).transform(pool)
    return next_batch(scores, model.counts, vectors, size)


def next_batch(scores: NDArray[np.float32], counts: NDArray[np.int64], vectors: csr_array, size: int) -> Batch:
    """Choose documents of a pool to be labelled next.

    Args:
        scores: float32 [pool, L], the probabilities of labels.
        counts: int64 [L], the labelled documents that each label has already.
        vectors: CSR [pool, V], the documents as vectors of length 1, which tell how alike two of them are.
        size: How many are wanted; fewer if the pool has not so many.
    """
    known = csr_array(np.where(scores >= _LEAST, scores, 0).astype(np.float64))  # [pool, L]
    value = known.copy()
    value.data = known.data + _bits(known.data)  # it may have the label, and we do not know whether
    have, left = counts.astype(np.float64), np.ones(len(scores))  # left: what likeness to chosen documents leaves
    chosen: list[int] = []
    reasons: list[int] = []
    for _ in range(min(size, len(scores))):
        worth = 1 / (1 + have)
        best = int(np.argmax((value @ worth + _TINY) * left))
        inside = slice(*value.indptr[best : best + 2])
        columns, gains = value.indices[inside], value.data[inside] * worth[value.indices[inside]]
        chosen.append(best)
        reasons.append(int(columns[np.argmax(gains)]) if len(columns) else -1)
        have[columns] += known.data[inside]
        likeness = vectors @ vectors[[best]].toarray().ravel()
        left = np.minimum(left, 1 - np.clip(likeness, 0, 1))
        left[chosen] = -1
    rows, labels = np.array(chosen, np.int64), np.array(reasons, np.int64)
    found = np.where(labels < 0, np.float32(0), scores[rows, labels])
    return Batch(rows, labels, found, _bits(scores[rows].astype(np.float64)).sum(axis=1))


_TINY = 1e-9
"""Even documents of which nothing is known have some worth, so that likeness orders them."""


def _bits(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """The entropy of an event of probability p."""
    inside = np.clip(p, 1e-9, 1 - 1e-9)
    return -(inside * np.log2(inside) + (1 - inside) * np.log2(1 - inside))
