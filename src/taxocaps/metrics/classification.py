"""Precision, recall and F1 of predicted labels: flat, hierarchical, per label and per level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from taxocaps.metrics.inputs import canonical_labels, check_columns, label_pair

__all__ = [
    "AddedLabels",
    "Averages",
    "Counts",
    "FlatMetrics",
    "LabelRow",
    "LevelRow",
    "NewLabels",
    "OtherLabels",
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
class OtherLabels:
    """True labels without a column: a model never learned them, but may have added them as ancestors of others.

    Attributes:
        names: The names of the U labels.
        truth: CSR [documents, U] of bool.
        predicted: CSR [documents, U] of bool, where they were added.
    """

    names: Sequence[str]
    truth: csr_array
    predicted: csr_array

    @property
    def missed(self) -> dict[str, int]:
        """The number of documents in which each label was missed, if it was in any."""
        counts = label_counts(self.truth, self.predicted)
        missed = (counts.actual - counts.true_positives).tolist()
        return {name: number for name, number in zip(self.names, missed, strict=True) if number}

    @property
    def added(self) -> AddedLabels:
        """How often they were added."""
        counts = label_counts(self.truth, self.predicted)
        right = int(counts.true_positives.sum())
        return AddedLabels(right, int(counts.predicted.sum()) - right)

    def beside(self, truth: csr_array, predicted: csr_array) -> tuple[csr_array, csr_array]:
        """True and predicted labels with columns, [documents, L], with these as further columns, [documents, L + U]."""
        return hstack([truth, self.truth], "csr"), hstack([predicted, self.predicted], "csr")


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

    def pooled(self) -> Averages:
        """Precision, recall and F1 of the summed counts."""
        totals = (self.true_positives.sum(), self.predicted.sum(), self.actual.sum())
        return Counts(*(np.array([number], np.int64) for number in totals)).mean()


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
    others: OtherLabels | None = None,
    averaged: NDArray[np.bool_] | None = None,
) -> FlatMetrics:
    """Compare predicted labels with true ones.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        others: Labels without a column; they count in everything but macro-averages.
        averaged: bool [L], the labels that macro-averages are over; by default all.

    Raises:
        ValueError: If the shapes differ.

    >>> truth = csr_array([[True, True], [False, True]])
    >>> flat_metrics(truth, csr_array([[True, False], [False, True]])).micro
    Averages(precision=1.0, recall=0.6666666666666666, f1=0.8)
    """
    columns = truth.shape[1]
    learned = np.arange(columns) if averaged is None else np.flatnonzero(averaged)
    if others is not None:
        truth, predicted = others.beside(truth, predicted)
    by_label = label_counts(truth, predicted)
    by_document = document_counts(truth, predicted)
    macro = by_label.take(learned).mean()
    wrong = by_label.predicted + by_label.actual - 2 * by_label.true_positives
    exact = (by_document.true_positives == by_document.predicted) & (by_document.true_positives == by_document.actual)
    means = macro.precision + macro.recall
    return FlatMetrics(
        micro=by_label.pooled(),
        macro=macro,
        macro_of_means_f1=2 * macro.precision * macro.recall / means if means else 0.0,
        samples=by_document.mean(),
        subset_accuracy=_mean(exact),
        hamming_loss=int(wrong.sum()) / max(truth.shape[0] * truth.shape[1], 1),
        labels_with_support=int(np.count_nonzero(by_label.actual[:columns])),
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
    others: OtherLabels | None = None,
) -> NewLabels | None:
    """Compare predicted labels with true ones, for the labels that no training document carries.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        learned: bool [L], the labels with training documents.
        others: Labels without a column, which are such labels, too.

    Returns:
        The metrics; None if no such label is carried or predicted.

    Raises:
        ValueError: If the shapes differ.
    """
    if others is not None:
        truth, predicted = others.beside(truth, predicted)
    is_new = np.ones(truth.shape[1], bool)
    is_new[: len(learned)] = ~learned
    counts = label_counts(truth, predicted).take(np.flatnonzero(is_new))
    support, given = int(counts.actual.sum()), int(counts.predicted.sum())
    return NewLabels(support, given, counts.pooled()) if support or given else None


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
