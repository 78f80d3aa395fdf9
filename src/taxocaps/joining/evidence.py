"""Evidence about pairs of a document and a label, for the few labels of each document that may be true."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.joining.names import LabelNames
from taxocaps.metrics.calibration import logit

__all__ = ["EvidenceMaker", "Pairs"]

Dense = NDArray[np.float32]

_FURTHER = 10
"""Candidates of each source beyond three times the mean number of labels of a document."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Some pairs of documents and labels with their evidence.

    Attributes:
        documents: int64 [pairs], ascending.
        labels: int64 [pairs], columns; ascending for each document.
        rows: float32 [pairs, features], NaN where there is no such evidence.
    """

    documents: NDArray[np.int64]
    labels: NDArray[np.int64]
    rows: Dense

    def __len__(self) -> int:
        return len(self.documents)


@dataclass(frozen=True, eq=False)
class EvidenceMaker:
    """Makes pairs out of the scores of members and the names of labels.

    Attributes:
        members: The names of the members.
        names: The measurements of names; none without them.
        classes: The labels of the columns.
        candidates: Labels of each document that are looked at for each source of evidence.
    """

    members: tuple[str, ...]
    names: tuple[str, ...]
    classes: Classes
    candidates: int

    @staticmethod
    def candidates_for(labels: csr_array) -> int:
        """How many labels of a document may be true, from the labels of training documents."""
        return int(np.ceil(3 * labels.nnz / max(1, labels.shape[0]))) + _FURTHER

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns of `Pairs.rows`."""
        relations = ("parent", "child", "sibling", *(("parent's name",) if self.names else ()))
        likeness = ("likeness to best",) if self.names else ()
        return (*self.members, *_OF_SCORES, "frequency", *self.names, *likeness, *relations, "length")

    @property
    def rising(self) -> list[bool]:
        """For each feature whether it only ever speaks for a label, as scores and what a name has in common do."""
        known = {*self.members, "mean", *LabelNames.rising}
        return [feature in known for feature in self.features]

    @cached_property
    def groups(self) -> Mapping[str, str]:
        """The kind of evidence of each feature: a member, `name`, `frequency`, `rank`, `taxonomy` or `length`."""
        kinds = {member: member for member in self.members}
        kinds |= {"frequency": "frequency", "length": "length", "mean": "members together"}
        kinds |= dict.fromkeys((*self.names, "likeness to best", "parent's name"), "name")
        kinds |= dict.fromkeys(("to best", "best", "second", "rank"), "rank")
        kinds |= dict.fromkeys(("parent", "child", "sibling"), "taxonomy")
        return {feature: kinds[feature] for feature in self.features}

    def pairs(
        self, scores: Sequence[Dense], names: Mapping[str, Dense], counts: NDArray[Any], lengths: NDArray[Any]
    ) -> Pairs:
        """The pairs of some documents.

        Args:
            scores: The scores of each member, float32 [documents, L] from 0 to 1.
            names: The measurements of names, float32 [documents, L] each.
            counts: Training documents of each label, [L] or [documents, L]; members know nothing of one without any.
            lengths: The number of words of each document, [documents].
        """
        counts = np.broadcast_to(counts, scores[0].shape)
        is_read = np.any([one.any(axis=1) for one in scores], axis=0)  # by some member
        is_known = (counts > 0) & is_read[:, None]
        logits = [np.where(is_known, logit(one), np.float32(np.nan)) for one in scores]
        mean = np.mean(logits, axis=0)  # NaN for a label without training documents
        found = self._candidates(mean, names)
        documents, labels = np.nonzero(found)
        columns = [one[documents, labels] for one in logits]
        columns += self._of_scores(mean, documents, labels)
        columns.append(np.log1p(counts[documents, labels]))
        columns += [names[name][documents, labels] for name in self.names]
        if self.names:
            likeness = names["likeness"]
            columns.append(likeness[documents, labels] - likeness.max(axis=1)[documents])
        columns += [_best_of(related, mean, documents, labels) for related in self._relatives]
        if self.names:
            columns.append(_best_of(self._relatives[0], names["coverage"], documents, labels))
        columns.append(np.log1p(lengths)[documents])
        return Pairs(documents, labels, np.stack(columns, axis=1).astype(np.float32))

    def _candidates(self, mean: Dense, names: Mapping[str, Dense]) -> NDArray[np.bool_]:
        """The labels with the best scores of members, and those with the best names; bool [documents, L]."""
        found = _best(np.where(np.isnan(mean), -np.inf, mean), self.candidates)
        if self.names:
            alike = names["coverage"] + names["likeness"] + 0.5 * (names["phrases"] > 0)
            found |= _best(np.where(alike > 0, alike, -np.inf), _FURTHER)
        return found

    @staticmethod
    def _of_scores(mean: Dense, documents: NDArray[np.int64], labels: NDArray[np.int64]) -> list[Dense]:
        """The mean score of a label, and how it compares with those of other labels of the document."""
        known = np.where(np.isnan(mean), -np.inf, mean)
        top = -np.partition(-known, min(1, known.shape[1] - 1), axis=1)[:, :2]
        best, second = top[:, 0], top[:, -1]
        ranks = np.argsort(np.argsort(-known, axis=1, kind="stable"), axis=1, kind="stable")
        values = mean[documents, labels]
        finite = [np.where(np.isfinite(one), one, np.nan) for one in (best, second)]
        return [
            values,
            values - finite[0][documents],
            *(one[documents] for one in finite),
            np.log1p(ranks[documents, labels]),
        ]

    @cached_property
    def _relatives(self) -> tuple[csr_array, ...]:
        """The parents, children and siblings of each label, CSR [L, L] of bool."""
        parents = _relation(self.classes.parents, len(self.classes))
        children = csr_array(parents.T)
        siblings = csr_array(parents @ children)
        siblings.setdiag(False)
        siblings.eliminate_zeros()
        return parents, children, siblings


_OF_SCORES = ("mean", "to best", "best", "second", "rank")


def _relation(lists: Sequence[Sequence[int]], count: int) -> csr_array:
    starts = np.cumsum([0, *map(len, lists)])
    indices = np.array([label for found in lists for label in found], np.int64)
    return csr_array((np.ones(len(indices), bool), indices, starts), shape=(count, count))


def _best(values: Dense, count: int) -> NDArray[np.bool_]:
    """The so many largest finite values of each row."""
    found = np.zeros(values.shape, bool)
    count = min(count, values.shape[1])
    best = np.argpartition(-values, count - 1, axis=1)[:, :count]
    np.put_along_axis(found, best, True, axis=1)
    found &= np.isfinite(values)
    return found


def _best_of(related: csr_array, values: Dense, documents: NDArray[np.int64], labels: NDArray[np.int64]) -> Dense:
    """For each pair the largest value among the labels related to its own; NaN if there is none.

    Args:
        related: CSR [L, L], the related labels of each label; only the first few hundred are looked at.
        values: [documents, L].
        documents: [pairs].
        labels: [pairs].
    """
    starts = related.indptr[labels]
    repeats = np.minimum(related.indptr[labels + 1] - starts, _MOST_RELATIVES)
    ends = np.cumsum(repeats)
    which = np.repeat(starts - (ends - repeats), repeats) + np.arange(ends[-1] if len(ends) else 0)
    found = values[np.repeat(documents, repeats), related.indices[which]]
    result = np.full(len(labels), np.nan, np.float32)
    some = repeats > 0
    if some.any():
        found = np.where(np.isnan(found), -np.inf, found)
        best = np.maximum.reduceat(found, (ends - repeats)[some])
        result[some] = np.where(np.isfinite(best), best, np.nan)
    return result


_MOST_RELATIVES = 300
