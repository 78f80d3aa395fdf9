"""What all metrics ask of their arrays: shapes that match, label matrices in plain form, scores that are numbers."""

from collections.abc import Sized

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["check_columns", "check_scores", "label_pair", "plain_labels"]


def label_pair(truth: csr_array, predicted: csr_array) -> tuple[csr_array, csr_array]:
    """Both label matrices in plain form (see `plain_labels`).

    Args:
        truth: CSR [documents, L] of bool.
        predicted: The same shape.

    Raises:
        ValueError: If the shapes differ.
    """
    if truth.shape != predicted.shape:
        raise ValueError(f"truth and prediction differ in shape: {truth.shape} and {predicted.shape}")
    return plain_labels(truth), plain_labels(predicted)


def plain_labels(labels: csr_array) -> csr_array:
    """The matrix of bool, its columns sorted, each stored once and none as False; the input is never changed."""
    if labels.dtype == bool and labels.has_canonical_format and labels.data.all():
        return labels
    plain = labels.astype(bool, copy=True)
    plain.sum_duplicates()
    plain.eliminate_zeros()
    return plain


def check_scores(truth: csr_array, scores: NDArray[np.float32]) -> None:
    """Refuse scores that do not belong to the label matrix, or are not numbers.

    Raises:
        ValueError: If the shapes differ, or a score is NaN.
    """
    if truth.shape != scores.shape:
        raise ValueError(f"truth and scores differ in shape: {truth.shape} and {scores.shape}")
    if scores.size and np.isnan(scores.min()):
        raise ValueError("a score is not a number (NaN); the model that gave it is broken")


def check_columns(truth: csr_array, columns: Sized, what: str) -> None:
    """Refuse a sequence that has not one entry for each label.

    Raises:
        ValueError: If the lengths differ; `what` names the sequence.
    """
    if len(columns) != truth.shape[1]:
        raise ValueError(f"there are {truth.shape[1]} labels (columns of truth) but {len(columns)} {what}")
