"""What to label next: a batch of unlabelled documents that together teach most.

Documents are chosen one after the other, each time the one with the largest product of two things. *Coverage*: by how
much it brings the labelled documents closer to all of the pool (facility location: every document of the pool counts by
its likeness to the nearest labelled or chosen one), so that no region stays unknown and nothing comes twice. Likeness
is that of latent semantic analysis: related words count, too. *Labels*: a document that may have a label adds to it, by
the probability of the label and the model's doubt about it, divided by one plus the documents that the label has
already, those of the batch among them: rare labels come first. For labels that no document has yet, and that the model
therefore cannot give, the likeness of documents to their names takes the place of probability.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.labels import unseen_labels
from taxocaps.encoding.bag import BagConfig, BagOfWords
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.joining.names import LabelNames, label_terms
from taxocaps.scorers.model import FittedModel
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.text.pipeline import TextConfig

__all__ = [
    "Batch",
    "Choice",
    "choose_next",
    "doubt",
    "latent_vectors",
    "name_scores",
    "next_batch",
    "pool_scores",
    "unmet_labels",
]

_LEAST = 0.02
"""Labels less probable than this are passed over."""
_CHUNK = 1_024
_MOST_COVERED, _CELLS = 1_000, 20_000_000
"""Documents of the pool that are to be covered, and their pairs with all documents, at most."""
_MOST_NAMED = 4_000_000
"""Pairs of a document and a label that are compared by name, at most."""
_DIMENSIONS, _SAMPLE = 100, 5_000
"""Of latent vectors, and the documents that their directions are learned from, at most."""
_BY_NAME, _STEEP = 0.5, 4
"""About half of the documents that fit the name of a label best have it; those that fit less hardly ever do."""


@dataclass(frozen=True)
class Choice:
    """A document to label.

    Attributes:
        document: Its row in the pool.
        label: The label that it was chosen for most; None if none is probable.
        score: The probability of that label; 0 if the model cannot give it.
        label_documents: The training documents that have it.
        doubt: How uncertain the labels of the document are, in bits.
    """

    document: int
    label: str | None
    score: float
    label_documents: int
    doubt: float


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
) -> list[Choice]:
    """Choose documents of a pool to be labelled next, with a model that was trained on the labelled ones.

    Args:
        model: The model; a label is rare if few of its training documents have it.
        pool: Unlabelled documents, as its encoder reads them.
        size: How many are wanted.
        labelled: The documents that are labelled already, if they are at hand: what is like them is worth less.
        scores: What `pool_scores` gives, if that is at hand.

    Returns:
        The documents, the most valuable first.
    """
    own = pool_scores(model, pool) if scores is None else scores
    labels, counts = list(model.classes.names), model.counts
    unmet = unmet_labels(model)[: _MOST_NAMED // max(1, len(pool))]
    by_name = name_scores(model.classes.taxonomy, unmet, pool, model.config.text)
    vectors, known = latent_vectors(pool, labelled)
    found = next_batch(
        np.hstack([own, by_name]), np.append(counts, np.zeros(len(unmet), np.int64)), vectors, size, known
    )
    doubts = doubt(own)
    chosen = []
    for row, column in zip(found.documents.tolist(), found.labels.tolist(), strict=True):
        label = None if column < 0 else (labels + unmet)[column]
        is_met = 0 <= column < len(labels)
        score, count = (float(own[row, column]), int(counts[column])) if is_met else (0.0, 0)
        chosen.append(Choice(row, label, score, count, float(doubts[row])))
    return chosen


def unmet_labels(model: FittedModel) -> list[str]:
    """The leaf labels that the model cannot give, since no document has them yet."""
    names, taxonomy = model.classes.names, model.classes.taxonomy
    met = names if model.config.gives_unseen else [names[column] for column in np.flatnonzero(model.counts)]
    known = frozenset(met)
    return [label for label in unseen_labels(taxonomy) if label not in known and not taxonomy.children(label)]


def name_scores(
    taxonomy: Taxonomy, labels: Sequence[str], pool: EncodedDocuments, text: TextConfig
) -> NDArray[np.float32]:
    """How well documents fit the names of labels, relative to the best documents of the pool; float32 [pool, labels].

    It is 0 for a document that has none of the words of a name.
    """
    if not labels or not len(pool):
        return np.zeros((len(pool), len(labels)), np.float32)
    terms = [label_terms(taxonomy, label, text.language) for label in labels]
    names = LabelNames(terms, [taxonomy.title(label, text.language) for label in labels], text)
    names.fit(pool.select(_some(len(pool), _SAMPLE)))
    evidence = names.evidence(pool)
    has_words = (evidence["coverage"] > 0) | (evidence["full coverage"] > 0)
    total = has_words * sum(evidence[kind] / max(float(evidence[kind].max()), _TINY) for kind in LabelNames.rising)
    fit: NDArray[np.float32] = total / np.maximum(total.max(axis=0), _TINY)
    return (_BY_NAME * fit**_STEEP).astype(np.float32)


def latent_vectors(
    pool: EncodedDocuments, labelled: EncodedDocuments | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Documents as vectors of length 1 over the main directions of the pool's TF-IDF; [pool, D], [labelled, D]."""
    from sklearn.utils.extmath import randomized_svd

    bag = BagOfWords.learn(pool, BagConfig(min_documents=1))
    bags = bag.transform(pool)
    if not min(bags.shape):
        return np.zeros((len(pool), 1), np.float32), None
    sample = bags[_some(len(pool), _SAMPLE)]
    axes = randomized_svd(sample, min(_DIMENSIONS, *sample.shape), n_iter=2, random_state=0)[2]

    def vectors(given: csr_array) -> NDArray[np.float32]:
        found = given @ axes.T
        lengths = np.maximum(np.linalg.norm(found, axis=1, keepdims=True), _TINY)
        return np.asarray(found / lengths, np.float32)

    return vectors(bags), None if labelled is None else vectors(bag.transform(labelled))


def _some(count: int, most: int) -> NDArray[np.int64]:
    """At most `most` of `count` rows, drawn at random, in their order."""
    return np.sort(np.random.default_rng(0).permutation(count)[:most])


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
    vectors: NDArray[np.float32],
    size: int,
    labelled: NDArray[np.float32] | None = None,
) -> Batch:
    """Choose documents of a pool to be labelled next.

    Args:
        scores: float32 [pool, L], the probabilities of labels.
        counts: int64 [L], the labelled documents that each label has already.
        vectors: [pool, D], the documents as vectors of length 1, which tell how alike two of them are.
        size: How many are wanted; fewer if the pool has not so many.
        labelled: [labelled, D], the documents that are labelled already.
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
        gain = (coverage + _TINY) * (value @ worth + _TINY)
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


def _likeness(
    vectors: NDArray[np.float32], labelled: NDArray[np.float32] | None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The similarity of documents to a sample of the pool, [pool, sample], and of that to labelled ones, [sample]."""
    count = max(1, min(_MOST_COVERED, _CELLS // max(1, len(vectors))))
    some = vectors[_some(len(vectors), count)].T
    covered = np.zeros(some.shape[1], np.float32)
    if labelled is not None:
        for start in range(0, len(labelled), _CHUNK):
            covered = np.maximum(covered, (labelled[start : start + _CHUNK] @ some).max(axis=0))
    return np.maximum(vectors @ some, 0), covered


def _bits(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """The entropy of an event of probability p."""
    inside = np.clip(p, 1e-9, 1 - 1e-9)
    return -(inside * np.log2(inside) + (1 - inside) * np.log2(1 - inside))
