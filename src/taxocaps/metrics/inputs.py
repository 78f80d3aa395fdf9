"""Validation of the inputs of metrics: shapes, label matrices in canonical form, scores without NaN."""

from collections.abc import Sized

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["canonical_labels", "check_columns", "check_scores", "label_pair"]


def label_pair(truth: csr_array, predicted: csr_array) -> tuple[csr_array, csr_array]:
    """Both label matrices in canonical form (see `canonical_labels`).

    Args:
        truth: CSR [documents, L] of bool.
        predicted: The same shape.

    Raises:
        ValueError: If the shapes differ.
    """
    if truth.shape != predicted.shape:
        raise ValueError(f"truth and prediction differ in shape: {truth.shape} and {predicted.shape}")
    return canonical_labels(truth), canonical_labels(predicted)


def canonical_labels(labels: csr_array) -> csr_array:
    """The matrix as bool, with sorted indices and without duplicates or explicit zeros; the input is not changed."""
    if labels.dtype == bool and labels.has_canonical_format and labels.data.all():
        return labels
    canonical = labels.astype(bool, copy=True)
    canonical.sum_duplicates()
    canonical.eliminate_zeros()
    return canonical


def check_scores(truth: csr_array, scores: NDArray[np.float32]) -> None:
    """Check that scores have the shape of the label matrix and are not NaN.

    Raises:
        ValueError: If the shapes differ, or a score is NaN.
    """
    if truth.shape != scores.shape:
        raise ValueError(f"truth and scores differ in shape: {truth.shape} and {scores.shape}")
    if scores.size and np.isnan(scores.min()):
        raise ValueError("a score is NaN; the model that produced it is broken")


def check_columns(truth: csr_array, columns: Sized, what: str) -> None:
    """Check that a sequence has one entry per label.

    Raises:
        ValueError: If the lengths differ; `what` names the sequence.
    """
    if len(columns) != truth.shape[1]:
        raise ValueError(f"there are {truth.shape[1]} labels (columns of truth) but {len(columns)} {what}")
