"""Precision, recall and F1 of predicted labels: flat, hierarchical, per label and per level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.metrics.inputs import canonical_labels, check_columns, label_pair

__all__ = [
    "AddedLabels",
    "Averages",
    "Counts",
    "FlatMetrics",
    "LabelRow",
    "LevelRow",
    "NewLabels",
    "document_counts",
    "flat_metrics",
    "hierarchical_metrics",
    "label_counts",
    "new_label_metrics",
    "per_label",
    "per_level",
]


@dataclass(frozen=True)
class Averages:
    """Averaged precision, recall and F1; 0/0 is 0."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class AddedLabels:
    """How many labels without a column were predicted all the same, as ancestors of others: rightly and wrongly."""

    right: int = 0
    wrong: int = 0


@dataclass(frozen=True)
class Counts:
    """Counts for precision and recall of n labels (or documents).

    Attributes:
        true_positives: int64 [n], both predicted and true.
        predicted: int64 [n].
        actual: int64 [n], true.
    """

    true_positives: NDArray[np.int64]
    predicted: NDArray[np.int64]
    actual: NDArray[np.int64]

    @property
    def precision(self) -> NDArray[np.float64]:
        """True positives / predicted, float64 [n]."""
        return _ratio(self.true_positives, self.predicted)

    @property
    def recall(self) -> NDArray[np.float64]:
        """True positives / actual, float64 [n]."""
        return _ratio(self.true_positives, self.actual)

    @property
    def f1(self) -> NDArray[np.float64]:
        """The harmonic mean of precision and recall, float64 [n]."""
        return _ratio(2 * self.true_positives, self.predicted + self.actual)

    def take(self, indices: NDArray[np.intp]) -> "Counts":
        """The counts at some indices."""
        return Counts(self.true_positives[indices], self.predicted[indices], self.actual[indices])

    def mean(self) -> Averages:
        """Mean precision, recall and F1; zeros if n is 0."""
        return Averages(_mean(self.precision), _mean(self.recall), _mean(self.f1))

    def pooled(self, missed: int = 0, added: AddedLabels | None = None) -> Averages:
        """Precision, recall and F1 of the summed counts.

        Args:
            missed: Additional false negatives.
            added: Additional true and false positives.
        """
        added = added or AddedLabels()
        totals = (
            self.true_positives.sum() + added.right,
            self.predicted.sum() + added.right + added.wrong,
            self.actual.sum() + added.right + missed,
        )
        total = Counts(*(np.array([number], np.int64) for number in totals))
        return total.mean()


@dataclass(frozen=True)
class FlatMetrics:
    """Agreement of predicted and true labels, without regard to the taxonomy.

    Attributes:
        micro: Over all (document, label) pairs.
        macro: Means over labels; 0/0 counts as 0.
        macro_of_means_f1: F1 of macro precision and macro recall, as reported by the code of the paper's authors; never
            below the macro F1.
        samples: Means over documents; 0/0 counts as 0.
        subset_accuracy: Fraction of documents with exactly the true labels.
        hamming_loss: Fraction of (document, label) pairs that are wrong.
        labels_with_support: Number of labels with at least one document.
    """

    micro: Averages
    macro: Averages
    macro_of_means_f1: float
    samples: Averages
    subset_accuracy: float
    hamming_loss: float
    labels_with_support: int


def flat_metrics(
    truth: csr_array,
    predicted: csr_array,
    *,
    missed: int = 0,
    added: AddedLabels | None = None,
    averaged: NDArray[np.bool_] | None = None,
) -> FlatMetrics:
    """Compare predicted labels with true ones.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        missed: Number of true labels without a column, over all documents. They are false negatives of `micro` and do
            not affect the other metrics.
        added: Predicted labels without a column, over all documents; likewise for `micro` only.
        averaged: bool [L], the labels that macro-averages are over; by default all.

    Raises:
        ValueError: If the shapes differ.

    >>> truth = csr_array([[True, True], [False, True]])
    >>> flat_metrics(truth, csr_array([[True, False], [False, True]])).micro
    Averages(precision=1.0, recall=0.6666666666666666, f1=0.8)
    """
    by_label = label_counts(truth, predicted)
    by_document = document_counts(truth, predicted)
    macro = by_label.mean() if averaged is None else by_label.take(np.flatnonzero(averaged)).mean()
    wrong = by_label.predicted + by_label.actual - 2 * by_label.true_positives
    exact = (by_document.true_positives == by_document.predicted) & (by_document.true_positives == by_document.actual)
    means = macro.precision + macro.recall
    return FlatMetrics(
        micro=by_label.pooled(missed, added),
        macro=macro,
        macro_of_means_f1=2 * macro.precision * macro.recall / means if means else 0.0,
        samples=by_document.mean(),
        subset_accuracy=_mean(exact),
        hamming_loss=int(wrong.sum()) / max(truth.shape[0] * truth.shape[1], 1),
        labels_with_support=int(np.count_nonzero(by_label.actual)),
    )


@dataclass(frozen=True)
class NewLabels:
    """How well labels are given that no training document carries.

    Attributes:
        support: Number of times that documents carry such labels.
        predicted: Number of times that such labels, also others, are predicted.
        micro: Over all (document, label) pairs of such labels.
    """

    support: int
    predicted: int
    micro: Averages


def new_label_metrics(
    truth: csr_array,
    predicted: csr_array,
    learned: NDArray[np.bool_],
    *,
    missed: int = 0,
    added: AddedLabels | None = None,
) -> NewLabels | None:
    """Compare predicted labels with true ones, for the labels that no training document carries.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        learned: bool [L], the labels with training documents.
        missed: Number of true labels without a column, over all documents.
        added: Predicted labels without a column, over all documents.

    Returns:
        The metrics; None if no such label is carried or predicted.

    Raises:
        ValueError: If the shapes differ.
    """
    counts = label_counts(truth, predicted).take(np.flatnonzero(~learned))
    added = added or AddedLabels()
    support = int(counts.actual.sum()) + added.right + missed
    given = int(counts.predicted.sum()) + added.right + added.wrong
    if not support and not given:
        return None
    return NewLabels(support, given, counts.pooled(missed, added))


def label_counts(truth: csr_array, predicted: csr_array) -> Counts:
    """The counts of each label, [L].

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.

    Raises:
        ValueError: If the shapes differ.
    """
    truth, predicted = label_pair(truth, predicted)
    parts = (truth.multiply(predicted), predicted, truth)
    return Counts(*(np.bincount(part.indices, minlength=truth.shape[1]) for part in parts))


def document_counts(truth: csr_array, predicted: csr_array) -> Counts:
    """The counts of each document, [documents]; see `label_counts`."""
    truth, predicted = label_pair(truth, predicted)
    parts = (truth.multiply(predicted), predicted, truth)
    return Counts(*(np.diff(part.indptr).astype(np.int64) for part in parts))


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    ratio: NDArray[np.float64] = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return ratio


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else 0.0


def hierarchical_metrics(truth: csr_array, predicted: csr_array, closure: csr_array) -> Averages:
    """Micro precision, recall and F1 of labels together with their ancestors.

    The hierarchical measure of Kiritchenko, Matwin and Famili (2005): a sibling of the true label is partly correct,
    because it shares its ancestors. An ancestor of several labels counts once per document.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        closure: CSR [L, A] of bool; the row of a label marks itself and its ancestors. A may exceed L, for ancestors
            without a column of their own. The root should not be included.

    Raises:
        ValueError: If the shapes do not fit.

    >>> closure = csr_array([[True, False, True], [False, True, True]])  # two labels and their parent
    >>> hierarchical_metrics(csr_array([[True, False]]), csr_array([[False, True]]), closure)
    Averages(precision=0.5, recall=0.5, f1=0.5)
    """
    truth, predicted = label_pair(truth, predicted)
    if closure.shape[0] != truth.shape[1]:
        raise ValueError(f"there are {truth.shape[1]} labels (columns of truth) but {closure.shape[0]} rows of closure")
    closure = canonical_labels(closure)  # products of bool cannot overflow
    return document_counts(truth @ closure, predicted @ closure).pooled()


@dataclass(frozen=True)
class LabelRow:
    """Metrics of one label.

    Attributes:
        label: Its name.
        level: Its depth in the taxonomy, if known.
        support: Number of documents with the label.
        predicted: Number of documents for which it is predicted.
        precision: 0 if it is never predicted.
        recall: 0 if no document has the label.
        f1: Harmonic mean of precision and recall.
    """

    label: str
    level: int | None
    support: int
    predicted: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class LevelRow:
    """Metrics of one level of the taxonomy.

    Attributes:
        level: The depth.
        labels: Number of labels at that depth.
        support: Number of (document, label) pairs that are true.
        micro: Over all (document, label) pairs of the level.
        macro_f1: Mean F1 of the labels.
    """

    level: int
    labels: int
    support: int
    micro: Averages
    macro_f1: float


def per_label(
    truth: csr_array, predicted: csr_array, names: Sequence[str], levels: Sequence[int] | None = None
) -> tuple[LabelRow, ...]:
    """The metrics of each label, in the order of the columns.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        names: The L labels.
        levels: The depth of each label, if known.

    Raises:
        ValueError: If the shapes or lengths differ.
    """
    check_columns(truth, names, "names")
    if levels is not None:
        check_columns(truth, levels, "levels")
    counts = label_counts(truth, predicted)
    columns = zip(
        names,
        levels if levels is not None else [None] * len(names),
        counts.actual.tolist(),
        counts.predicted.tolist(),
        counts.precision.tolist(),
        counts.recall.tolist(),
        counts.f1.tolist(),
        strict=True,
    )
    return tuple(LabelRow(name, None if level is None else int(level), *rest) for name, level, *rest in columns)


def per_level(truth: csr_array, predicted: csr_array, levels: Sequence[int]) -> tuple[LevelRow, ...]:
    """The metrics of each level, in ascending order.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        levels: The depth of each label.

    Raises:
        ValueError: If the shapes or lengths differ.
    """
    check_columns(truth, levels, "levels")
    counts = label_counts(truth, predicted)
    depths = np.asarray(levels, np.int64)
    rows = []
    for level in np.unique(depths):
        members = counts.take(np.flatnonzero(depths == level))
        rows.append(
            LevelRow(
                level=int(level),
                labels=len(members.actual),
                support=int(members.actual.sum()),
                micro=members.pooled(),
                macro_f1=members.mean().f1,
            )
        )
    return tuple(rows)
