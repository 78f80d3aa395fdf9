"""Precision, recall and F1 that forgive a near miss: labels are compared together with their ancestors."""

from scipy.sparse import csr_array

from taxocaps.metrics.flat import Averages, document_counts
from taxocaps.metrics.inputs import label_pair, plain_labels

__all__ = ["hierarchical_metrics"]


def hierarchical_metrics(truth: csr_array, predicted: csr_array, closure: csr_array) -> Averages:
    """Compare predicted labels and their ancestors with true labels and their ancestors, all documents pooled.

    The hierarchical measure of Kiritchenko, Matwin and Famili (2005): a sibling of the true label shares its ancestors
    and so is partly right, a label from elsewhere is all wrong. An ancestor of several labels counts once a document.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        closure: CSR [L, A] of bool; the row of a label marks itself and its ancestors. A may exceed L, for ancestors
            that are no labels themselves. The root says nothing about a document: leave it out.

    Raises:
        ValueError: If the shapes do not fit.

    >>> closure = csr_array([[True, False, True], [False, True, True]])  # two labels and their parent
    >>> hierarchical_metrics(csr_array([[True, False]]), csr_array([[False, True]]), closure)
    Averages(precision=0.5, recall=0.5, f1=0.5)
    """
    truth, predicted = label_pair(truth, predicted)
    if closure.shape[0] != truth.shape[1]:
        raise ValueError(f"there are {truth.shape[1]} labels (columns of truth) but {closure.shape[0]} rows of closure")
    closure = plain_labels(closure)  # sums of bool stay bool, those of small integers may overflow
    return document_counts(truth @ closure, predicted @ closure).pooled()
