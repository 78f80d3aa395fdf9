"""Figures for each label and for each level of the taxonomy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from taxocaps.metrics.flat import Averages, label_counts
from taxocaps.metrics.inputs import check_columns

__all__ = ["LabelRow", "LevelRow", "per_label", "per_level"]


@dataclass(frozen=True)
class LabelRow:
    """How well one label is predicted.

    Attributes:
        label: Its name.
        level: Its depth in the taxonomy, if there is one.
        support: The documents that carry it.
        predicted: The documents for which it is predicted.
        precision: The share of the predicted that is true; 0 if it is never predicted.
        recall: The share of the true that is predicted; 0 if no document carries it.
        f1: The harmonic mean of the two.
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
    """How well the labels of one level are predicted.

    Attributes:
        level: The depth.
        labels: How many labels lie at that depth.
        support: How often documents carry them.
        micro: Over all pairs of a document and one of the labels.
        macro_f1: The mean F1 of the labels.
    """

    level: int
    labels: int
    support: int
    micro: Averages
    macro_f1: float


def per_label(
    truth: csr_array, predicted: csr_array, names: Sequence[str], levels: Sequence[int] | None = None
) -> tuple[LabelRow, ...]:
    """A row for each label, in the order of the columns.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        names: The L labels.
        levels: The depth of each label, if there is a taxonomy.

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
    """A row for each level that has labels, the lowest number first.

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
