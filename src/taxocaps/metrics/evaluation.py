"""All figures of a prediction in one object."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.metrics.calibration import calibration_error
from taxocaps.metrics.flat import Averages, FlatMetrics, flat_metrics
from taxocaps.metrics.hierarchical import hierarchical_metrics
from taxocaps.metrics.ranking import RankingMetrics, ranking_metrics
from taxocaps.metrics.tables import LabelRow, LevelRow, per_label, per_level

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """How good predicted labels are.

    Attributes:
        documents: How many there are.
        labels: How many labels can be predicted.
        flat: Precision, recall and F1 of the labels as they are.
        hierarchical: Precision, recall and F1 of the labels with their ancestors, if the taxonomy is known.
        ranking: Figures for the labels with the highest scores, if scores are known.
        calibration_error: How far the scores are from probabilities, if scores are known.
        label_rows: Figures for each label, in the order of the columns.
        level_rows: Figures for each level, if the taxonomy is known.
        unseen: True labels that cannot be predicted, with the number of documents that carry them. They count as missed
            in `flat.micro`, and only there.
    """

    documents: int
    labels: int
    flat: FlatMetrics
    hierarchical: Averages | None = None
    ranking: RankingMetrics | None = None
    calibration_error: float | None = None
    label_rows: tuple[LabelRow, ...] = ()
    level_rows: tuple[LevelRow, ...] = ()
    unseen: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain nested dicts and lists, ready for JSON; the k of ranking figures become text."""
        plain: dict[str, Any] = _plain(self)
        return plain


def evaluate(
    truth: csr_array,
    predicted: csr_array,
    *,
    names: Sequence[str],
    levels: Sequence[int] | None = None,
    closure: csr_array | None = None,
    scores: NDArray[np.float32] | None = None,
    unseen: Mapping[str, int] | None = None,
) -> Evaluation:
    """Compare predicted labels with true ones in every way that the arguments allow.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        names: The L labels.
        levels: The depth of each label in the taxonomy.
        closure: CSR [L, A] of bool, each label's ancestors and itself; see `hierarchical_metrics`.
        scores: float32 [documents, L], from 0 to 1.
        unseen: True labels without a column, with the number of documents that carry them; see `Evaluation`.

    Raises:
        ValueError: If shapes or lengths do not fit, or a score is no number from 0 to 1.
    """
    unseen = {str(name): int(number) for name, number in (unseen or {}).items()}
    return Evaluation(
        documents=int(truth.shape[0]),
        labels=int(truth.shape[1]),
        flat=flat_metrics(truth, predicted, missed=sum(unseen.values())),
        hierarchical=None if closure is None else hierarchical_metrics(truth, predicted, closure),
        ranking=None if scores is None else ranking_metrics(truth, scores),
        calibration_error=None if scores is None else calibration_error(truth, scores),
        label_rows=per_label(truth, predicted, names, levels),
        level_rows=() if levels is None else per_level(truth, predicted, levels),
        unseen=unseen,
    )


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
