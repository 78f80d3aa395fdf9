"""Labels that look wrong and labels that look forgotten, by what a model says of documents it has not learned from.

Two views of the same scores. *Confident learning* (Northcutt, Jiang and Chuang 2021; for several labels Thyagarajan et
al. 2022) tells how many labels are in doubt: one is, if the model contradicts it as surely as it usually agrees with
others of its kind. What to look at first is told by *odds*. Let p be the probability of a label by the model, f its
share of all documents, m the highest probability of a label that the document is not given, and e a small rate of
errors. Somebody who forgets a label forgets it whatever it is: one that is not given is forgotten with odds
e p / (1 - p). Somebody who gives a label by mistake gives it about as often as it is used, and mostly in place of
another one, so a label is a mistake with odds e f (1 - p) / p, times (m + e) / (1 + e). A rare label that the model
hardly knows is therefore no suspect, which it would be by its probability alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["Suspects", "confident_issues", "confident_thresholds", "document_quality", "find_suspects", "label_odds"]

ERROR_RATE = 0.05
"""The share of labels that are taken to be wrong before anything is known."""

_LEAST = 5e-3
"""Probabilities below this, or as close to 1, are not told apart: so sure is no model."""

_FORGETTING = 0.8
"""How fast the mean of `document_quality` forgets better labels; the value of cleanlab."""

_CELLS = 4_000_000

Scores = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Suspects:
    """Pairs of a document and a label, the most suspicious first.

    Attributes:
        documents: int64 [n], rows of the label matrix.
        labels: int64 [n], its columns.
        is_given: bool [n]: given, and perhaps wrong; or not given, and perhaps forgotten.
        scores: float32 [n], the probability of the label by the model.
        suspicion: float64 [n], the probability that the label is a mistake, or forgotten.
    """

    documents: NDArray[np.int64]
    labels: NDArray[np.int64]
    is_given: NDArray[np.bool_]
    scores: Scores
    suspicion: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.documents)

    def take(self, indices: NDArray[np.intp]) -> "Suspects":
        """Some of them, in the order given."""
        return Suspects(*(getattr(self, name)[indices] for name in self.__dataclass_fields__))

    def first_documents(self, count: int) -> NDArray[np.int64]:
        """At most `count` documents, ordered by their most suspicious label."""
        _, first = np.unique(self.documents, return_index=True)
        return self.documents[np.sort(first)[:count]]


def find_suspects(labels: csr_array, scores: Scores, closure: csr_array | None = None) -> Suspects:
    """All labels that are given, and labels that are missing though they are as probable as given ones; by their odds.

    Args:
        labels: CSR [documents, L] of bool, as given.
        scores: float32 [documents, L], probabilities by models that have not learned from these documents.
        closure: CSR [L, L] of bool: the row of a label marks itself and its ancestors. Of labels above one another that
            are suspicious for the same reason, only the most suspicious one is then kept: one mistake makes all of
            them.

    Returns:
        Suspects, also those that are hardly suspicious: all documents with words are in order.
    """
    shares = np.asarray(labels.sum(axis=0)).ravel() / max(1, labels.shape[0])
    parts = []
    for start, given, part in _chunks(labels, scores):
        odds = label_odds(given, part, shares)
        kept = given | (odds == np.where(given, 0, odds).max(axis=1, keepdims=True)) | (~given & (part >= _PROBABLE))
        kept &= part.any(axis=1, keepdims=True)  # nothing is known about a text without words
        rows, columns = np.nonzero(kept)
        found = odds[rows, columns]
        parts.append((rows + start, columns, given[rows, columns], part[rows, columns], found / (1 + found)))
    joined = Suspects(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    ordered = joined.take(np.lexsort((joined.labels, joined.documents, -joined.suspicion)))
    return ordered if closure is None else ordered.take(_first_of_branches(ordered, closure))


_PROBABLE = 0.1
"""Labels that are not given and less probable than this are suspects only if they are the best of their documents."""


def label_odds(given: NDArray[np.bool_], scores: Scores, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The odds that a given label is a mistake, and that a label that is not given was forgotten.

    Args:
        given: bool [documents, L].
        scores: [documents, L], probabilities.
        shares: float64 [L], the share of all documents that have each label.

    >>> odds = label_odds(np.array([[True, False]]), np.array([[0.01, 0.9]], np.float32), np.array([0.2, 0.2]))
    >>> odds.round(2).tolist()
    [[0.9, 0.45]]
    """
    sure = np.clip(scores.astype(np.float64), _LEAST, 1 - _LEAST)
    forgotten = sure / (1 - sure)
    missing = np.where(given, 0, sure).max(axis=1, keepdims=True)
    in_its_place = (missing + ERROR_RATE) / (1 + ERROR_RATE)
    return ERROR_RATE * np.where(given, shares / forgotten * in_its_place, forgotten)


def confident_thresholds(labels: csr_array, scores: Scores) -> NDArray[np.float64]:
    """The usual confidence of the model: the mean probability of each label where it is not given, and where it is.

    Returns:
        float64 [2, L]: of its absence in documents without it, of its presence in documents with it; 2, which no
        probability reaches, where there is no such document.
    """
    count = np.asarray(labels.sum(axis=0)).ravel()
    total, inside = np.zeros((2, labels.shape[1]))
    for _, given, part in _chunks(labels, scores):
        total += part.sum(axis=0, dtype=np.float64)
        inside += np.where(given, part, 0).sum(axis=0, dtype=np.float64)
    others = labels.shape[0] - count
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.stack([1 - (total - inside) / others, inside / count])
    return np.maximum(np.where(np.isnan(means), 2.0, means), 2 * _ROUNDING)


def confident_issues(labels: csr_array, scores: Scores) -> csr_array:
    """The labels in doubt: the model contradicts them with at least its usual confidence (confident learning).

    Only where that is also more probable than not. The same as the filter `confident_learning` of cleanlab, for each
    label by itself.

    Returns:
        CSR [documents, L] of bool.
    """
    absent, present = confident_thresholds(labels, scores) - _ROUNDING
    rows, columns = [], []
    for start, given, part in _chunks(labels, scores):
        found = np.nonzero(np.where(given, (1 - part >= absent) & (part < 0.5), (part >= present) & (part > 0.5)))
        rows.append(found[0] + start)
        columns.append(found[1])
    places = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.ones(len(places[0]), bool), places), shape=labels.shape)


_ROUNDING = 1e-6
"""Sums of the same numbers may differ by this."""


def document_quality(labels: csr_array, scores: Scores) -> NDArray[np.float64]:
    """How well the labels of each document fit, both given and missing ones, from 0 to 1; float64 [documents].

    The probability of what is said about each label, from the best to the worst, as an exponential moving average, so
    that the worst ones count most (Thyagarajan et al. 2022).
    """
    found = [np.zeros(0)]
    for _, given, part in _chunks(labels, scores):
        descending = -np.sort(-np.where(given, part, 1 - part).astype(np.float64), axis=1)
        average = descending[:, 0]
        for column in descending.T[1:]:
            average = _FORGETTING * column + (1 - _FORGETTING) * average
        found.append(average)
    return np.concatenate(found)


def _chunks(labels: csr_array, scores: Scores) -> Iterator[tuple[int, NDArray[np.bool_], Scores]]:
    """Some documents at a time: the row of the first, their labels as bool, and their scores."""
    step = max(1, _CELLS // max(1, labels.shape[1]))
    for start in range(0, labels.shape[0], step):
        yield start, labels[start : start + step].toarray(), scores[start : start + step]


def _first_of_branches(suspects: Suspects, closure: csr_array) -> NDArray[np.intp]:
    """The suspects whose document has no more suspicious label of the same kind above or below them."""
    above = {
        label: frozenset(closure.indices[closure.indptr[label] : closure.indptr[label + 1]].tolist())
        for label in np.unique(suspects.labels).tolist()
    }
    taken: dict[tuple[int, bool], list[int]] = {}
    kept = []
    pairs = zip(suspects.documents.tolist(), suspects.labels.tolist(), suspects.is_given.tolist(), strict=True)
    for index, (document, label, is_given) in enumerate(pairs):
        earlier = taken.setdefault((document, is_given), [])
        if not any(other in above[label] or label in above[other] for other in earlier):
            earlier.append(label)
            kept.append(index)
    return np.array(kept, np.intp)
