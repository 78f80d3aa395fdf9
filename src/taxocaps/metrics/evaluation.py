"""Evaluation: all metrics of a prediction in one object, those of other packages included."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.errors import TaxoCapsError
from taxocaps.metrics.calibration import CLEAR_NEGATIVE, ReliabilityBin, ScoreBand, reliability, score_band
from taxocaps.metrics.classification import (
    AddedLabels,
    Averages,
    FlatMetrics,
    LabelRow,
    LevelRow,
    NewLabels,
    OtherLabels,
    flat_metrics,
    hierarchical_metrics,
    new_label_metrics,
    per_label,
    per_level,
)
from taxocaps.metrics.ranking import RankingMetrics, ranking_metrics
from taxocaps.notebook import table
from taxocaps.registry import Registry
from taxocaps.results import plain

__all__ = ["METRICS", "Evaluated", "Evaluation", "evaluate"]


@dataclass(frozen=True)
class Evaluated:
    """The input of a metric.

    Attributes:
        truth: CSR [documents, L] of bool, the true labels.
        chosen: CSR [documents, L] of bool, the predicted labels.
        scores: float32 [documents, L], from 0 to 1, or None if only the predicted labels are known.
        names: The names of the L labels.
    """

    truth: csr_array
    chosen: csr_array
    scores: NDArray[np.float32] | None
    names: tuple[str, ...]


METRICS: Registry[Callable[[Evaluated], float]] = Registry("metric", "taxocaps.metrics", {})
"""The metrics that other packages add to those of `Evaluation`, by entry points of the group `taxocaps.metrics`.

A metric returns NaN if it is not defined for its input, for example because there are no scores.
"""


@dataclass(frozen=True)
class Evaluation:
    """The quality of predicted labels.

    Attributes:
        documents: Number of documents.
        labels: Number of labels that can be predicted.
        flat: Precision, recall and F1 of the labels as they are.
        hierarchical: Precision, recall and F1 of the labels with their ancestors, if the taxonomy is known.
        ranking: Metrics of the labels with the highest scores, if scores are known.
        calibration_error: Expected calibration error over scores above 0.05, if scores are known.
        reliability: The bins of scores that it is the mean of.
        nearly_sure: How many labels with scores around 0.9 are true, if scores are known.
        label_rows: Metrics of each label, in the order of the columns.
        level_rows: Metrics of each level, if the taxonomy is known.
        unseen: True labels without a column, with the number of documents in which they were missed. They count in
            `flat`, but not in its macro-averages.
        added: Such labels where they were predicted, as ancestors of others; likewise.
        new_labels: Metrics of the labels that no training document carries, with a column or without, if it is known
            which these are and any of them is carried or predicted.
        extra: Metrics of other packages, by name (see `METRICS`).
    """

    documents: int
    labels: int
    flat: FlatMetrics
    hierarchical: Averages | None = None
    ranking: RankingMetrics | None = None
    calibration_error: float | None = None
    reliability: tuple[ReliabilityBin, ...] = ()
    nearly_sure: ScoreBand | None = None
    label_rows: tuple[LabelRow, ...] = ()
    level_rows: tuple[LevelRow, ...] = ()
    unseen: Mapping[str, int] = field(default_factory=dict)
    added: AddedLabels = field(default_factory=AddedLabels)
    new_labels: NewLabels | None = None
    extra: Mapping[str, float] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        averages = {"all labels (micro)": self.flat.micro, "mean of labels (macro)": self.flat.macro}
        averages |= {f"level {row.level}, {row.labels:,} labels": row.micro for row in self.level_rows}
        rows = [(name, one.precision, one.recall, one.f1) for name, one in averages.items()]
        return table(("", "precision", "recall", "F1"), rows, f"{self.documents:,} documents, {self.labels:,} labels")

    def as_dict(self) -> dict[str, Any]:
        """The evaluation as nested dicts and lists, ready for JSON; the k of ranking metrics become text."""
        found: dict[str, Any] = plain(self)
        return found


def evaluate(  # noqa: PLR0913 - everything that metrics are computed from
    truth: csr_array,
    predicted: csr_array,
    *,
    names: Sequence[str],
    levels: Sequence[int] | None = None,
    closure: csr_array | None = None,
    scores: NDArray[np.float32] | None = None,
    others: OtherLabels | None = None,
    averaged: NDArray[np.bool_] | None = None,
) -> Evaluation:
    """Compute all metrics that the arguments allow, including those of other packages.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        names: The L labels.
        levels: The depth of each label in the taxonomy.
        closure: CSR [L, A] of bool, each label's ancestors and itself; see `hierarchical_metrics`.
        scores: float32 [documents, L], from 0 to 1.
        others: True labels without a column.
        averaged: bool [L], the labels with training documents, which macro-averages are over; by default all.

    Raises:
        ValueError: If shapes or lengths do not match, or a score is not between 0 and 1.
        TaxoCapsError: If a metric of another package fails.
    """
    calibration = None if scores is None else reliability(truth, scores, above=CLEAR_NEGATIVE)
    learned = np.ones(truth.shape[1], bool) if averaged is None else averaged
    return Evaluation(
        documents=int(truth.shape[0]),
        labels=int(truth.shape[1]),
        flat=flat_metrics(truth, predicted, others=others, averaged=averaged),
        hierarchical=None if closure is None else hierarchical_metrics(truth, predicted, closure),
        ranking=None if scores is None else ranking_metrics(truth, scores),
        calibration_error=None if calibration is None else calibration.error,
        reliability=() if calibration is None else calibration.bins,
        nearly_sure=None if scores is None else score_band(truth, scores),
        label_rows=per_label(truth, predicted, names, levels),
        level_rows=() if levels is None else per_level(truth, predicted, levels),
        unseen={} if others is None else others.missed,
        added=AddedLabels() if others is None else others.added,
        new_labels=new_label_metrics(truth, predicted, learned, others),
        extra=_external_metrics(Evaluated(truth, predicted, scores, tuple(names))),
    )


def _external_metrics(evaluated: Evaluated) -> dict[str, float]:
    """The metrics of other packages, without those that are not defined for the input."""
    found = {name: _external_metric(name, evaluated) for name in METRICS}
    return {name: value for name, value in found.items() if not math.isnan(value)}


def _external_metric(name: str, evaluated: Evaluated) -> float:
    metric = METRICS[name]
    try:
        return float(metric(evaluated))
    except Exception as error:  # code of others may raise anything
        reason = " ".join(str(error).split())
        raise TaxoCapsError(
            f"the metric {name!r} of another package failed: {type(error).__name__}: {reason}; "
            "correct or uninstall that package"
        ) from error
