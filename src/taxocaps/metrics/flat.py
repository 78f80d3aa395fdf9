"""Precision, recall and F1 of sets of labels, the taxonomy left aside."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.metrics.inputs import label_pair

__all__ = ["Averages", "Counts", "FlatMetrics", "document_counts", "flat_metrics", "label_counts"]


@dataclass(frozen=True)
class Averages:
    """Precision, recall and F1, averaged in some way; a share of nothing (0/0) is 0."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Counts:
    """What precision and recall are made of, for each of n labels (or documents).

    Attributes:
        true_positives: int64 [n], predicted and true.
        predicted: int64 [n].
        actual: int64 [n], true.
    """

    true_positives: NDArray[np.int64]
    predicted: NDArray[np.int64]
    actual: NDArray[np.int64]

    @property
    def precision(self) -> NDArray[np.float64]:
        """The share of the predicted that is true, float64 [n]."""
        return _share(self.true_positives, self.predicted)

    @property
    def recall(self) -> NDArray[np.float64]:
        """The share of the true that is predicted, float64 [n]."""
        return _share(self.true_positives, self.actual)

    @property
    def f1(self) -> NDArray[np.float64]:
        """The harmonic mean of precision and recall, float64 [n]."""
        return _share(2 * self.true_positives, self.predicted + self.actual)

    def take(self, places: NDArray[np.intp]) -> "Counts":
        """The counts of some of the labels."""
        return Counts(self.true_positives[places], self.predicted[places], self.actual[places])

    def mean(self) -> Averages:
        """The means of the n precisions, recalls and F1s; zeros if n is 0."""
        return Averages(_mean(self.precision), _mean(self.recall), _mean(self.f1))

    def pooled(self, missed: int = 0) -> Averages:
        """Precision, recall and F1 of all counts added up.

        Args:
            missed: True labels that none of the n stands for; they count as not predicted.
        """
        totals = (self.true_positives.sum(), self.predicted.sum(), self.actual.sum() + missed)
        total = Counts(*(np.array([number], np.int64) for number in totals))
        return total.mean()


@dataclass(frozen=True)
class FlatMetrics:
    """How well predicted sets of labels agree with the true ones.

    Attributes:
        micro: All pairs of a document and a label pooled.
        macro: The means over labels; a label with 0/0 counts as 0.
        macro_of_means_f1: F1 of the macro precision and the macro recall, as the code of the paper's authors reports.
            It is never below the macro F1.
        samples: The means over documents; a document with 0/0 counts as 0.
        subset_accuracy: The share of documents with exactly the true labels.
        hamming_loss: The share of pairs of a document and a label that are wrong.
        labels_with_support: Labels that some document carries.
    """

    micro: Averages
    macro: Averages
    macro_of_means_f1: float
    samples: Averages
    subset_accuracy: float
    hamming_loss: float
    labels_with_support: int


def flat_metrics(truth: csr_array, predicted: csr_array, *, missed: int = 0) -> FlatMetrics:
    """Compare predicted labels with true ones.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        missed: Labels of the documents that have no column, each counted once for every document that carries it. No
            model can predict them: they are false negatives of `micro`, and enter nothing else.

    Raises:
        ValueError: If the shapes differ.

    >>> truth = csr_array([[True, True], [False, True]])
    >>> flat_metrics(truth, csr_array([[True, False], [False, True]])).micro
    Averages(precision=1.0, recall=0.6666666666666666, f1=0.8)
    """
    by_label = label_counts(truth, predicted)
    by_document = document_counts(truth, predicted)
    macro = by_label.mean()
    wrong = by_label.predicted + by_label.actual - 2 * by_label.true_positives
    exact = (by_document.true_positives == by_document.predicted) & (by_document.true_positives == by_document.actual)
    means = macro.precision + macro.recall
    return FlatMetrics(
        micro=by_label.pooled(missed),
        macro=macro,
        macro_of_means_f1=2 * macro.precision * macro.recall / means if means else 0.0,
        samples=by_document.mean(),
        subset_accuracy=_mean(exact),
        hamming_loss=int(wrong.sum()) / max(truth.shape[0] * truth.shape[1], 1),
        labels_with_support=int(np.count_nonzero(by_label.actual)),
    )


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


def _share(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    share: NDArray[np.float64] = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return share


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else 0.0
