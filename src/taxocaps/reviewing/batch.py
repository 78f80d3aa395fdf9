"""What to label next: a batch of unlabelled documents that together teach most.

Documents are chosen one after the other, each time the one with the largest product of two things. *Coverage*: by how
much it brings the labelled documents closer to all of the pool (facility location: every document of the pool counts by
its likeness to the nearest labelled or chosen one), so that no region stays unknown and nothing comes twice. *Labels*:
a document that may have a label adds to it, by the probability of the label and the model's doubt about it, divided by
one plus the documents that the label has already, those of the batch among them: rare labels come first. The root of
this sum is taken, so that neither outweighs the other.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.encoding.bag import BagConfig, BagOfWords
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.scorers.model import FittedModel

__all__ = ["Batch", "choose_next", "doubt", "next_batch", "pool_scores"]

_LEAST = 0.02
"""Labels less probable than this are passed over."""
_CHUNK = 1_024
_MOST_COVERED, _CELLS = 1_000, 20_000_000
"""Documents of the pool that are to be covered, and their pairs with all documents, at most."""


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


def choose_next(
    model: FittedModel,
    pool: EncodedDocuments,
    size: int,
    labelled: EncodedDocuments | None = None,
    scores: NDArray[np.float32] | None = None,
) -> Batch:
    """Choose documents of a pool to be labelled next, by a model of those that are labelled already.

    Args:
        model: The model; a label is rare if few of its training documents have it.
        pool: Unlabelled documents, as its encoder reads them.
        size: How many are wanted.
        labelled: The documents that are labelled already, if they are at hand: what is like them is worth less.
        scores: What `pool_scores` gives, if that is at hand.
    """
    found = pool_scores(model, pool) if scores is None else scores
    bag = BagOfWords.learn(pool, BagConfig(min_documents=1))
    known = bag.transform(labelled) if labelled is not None else None
    return next_batch(found, model.counts, bag.transform(pool), size, known)


def pool_scores(model: FittedModel, pool: EncodedDocuments) -> NDArray[np.float32]:
    """The probabilities of labels for a pool of documents, float32 [pool, L]."""
    starts = range(0, len(pool), _CHUNK)
    chunks = [pool.select(np.arange(start, min(start + _CHUNK, len(pool)))) for start in starts]
    return np.concatenate([np.zeros((0, len(model.classes)), np.float32), *map(model.own_scores, chunks)])


def doubt(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """How uncertain the labels of each document are, in bits; float64 [pool]."""
    return np.asarray(_bits(scores.astype(np.float64)).sum(axis=1))


def next_batch(
    scores: NDArray[np.float32],
    counts: NDArray[np.int64],
    vectors: csr_array,
    size: int,
    labelled: csr_array | None = None,
) -> Batch:
    """Choose documents of a pool to be labelled next.

    Args:
        scores: float32 [pool, L], the probabilities of labels.
        counts: int64 [L], the labelled documents that each label has already.
        vectors: CSR [pool, V], the documents as vectors of length 1, which tell how alike two of them are.
        size: How many are wanted; fewer if the pool has not so many.
        labelled: CSR [labelled, V], the documents that are labelled already.
    """
    likeness, covered = _likeness(vectors, labelled)
    known = csr_array(np.where(scores >= _LEAST, scores, 0).astype(np.float64))  # [pool, L]
    value = known.copy()
    value.data = known.data + _bits(known.data)  # it may have the label, and we do not know whether
    have, is_left = counts.astype(np.float64), np.ones(len(scores), bool)
    chosen: list[int] = []
    reasons: list[int] = []
    for _ in range(min(size, len(scores))):
        worth = 1 / (1 + have)
        coverage = np.maximum(likeness - covered, 0).sum(axis=1)
        gain = (coverage + _TINY) * np.sqrt(value @ worth + _TINY)
        best = int(np.argmax(np.where(is_left, gain, -1)))
        inside = slice(*value.indptr[best : best + 2])
        columns = value.indices[inside]
        chosen.append(best)
        reasons.append(int(columns[np.argmax(value.data[inside] * worth[columns])]) if len(columns) else -1)
        is_left[best] = False
        have[columns] += known.data[inside]
        covered = np.maximum(covered, likeness[best])
    rows, labels = np.array(chosen, np.int64), np.array(reasons, np.int64)
    found = np.where(labels < 0, np.float32(0), scores[rows, labels])
    return Batch(rows, labels, found, doubt(scores[rows]))


_TINY = 1e-9
"""Even documents of which nothing is known have some worth."""


def _likeness(vectors: csr_array, labelled: csr_array | None) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How like each document is to some of the pool, at random, [pool, some], and those to labelled ones, [some]."""
    count = max(1, min(_MOST_COVERED, _CELLS // max(1, vectors.shape[0])))
    some = vectors[np.sort(np.random.default_rng(0).permutation(vectors.shape[0])[:count])].T
    covered = np.zeros(some.shape[1], np.float32)
    if labelled is not None:
        for start in range(0, labelled.shape[0], _CHUNK):
            covered = np.maximum(covered, (labelled[start : start + _CHUNK] @ some).toarray().max(axis=0))
    return (vectors @ some).toarray().astype(np.float32), covered.astype(np.float32)


def _bits(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """The entropy of an event of probability p."""
    inside = np.clip(p, 1e-9, 1 - 1e-9)
    return -(inside * np.log2(inside) + (1 - inside) * np.log2(1 - inside))
