"""Where predictions go wrong: what an evaluation cannot tell once the scores are gone."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.metrics.calibration import Reliability, reliability
from taxocaps.metrics.confusions import Confusion, sibling_confusions
from taxocaps.metrics.threshold_curve import ThresholdCurve, threshold_curve

__all__ = ["Diagnosis", "diagnose"]


@dataclass(frozen=True)
class Diagnosis:
    """Small summaries of the scores of some documents, which are too large to keep.

    Attributes:
        reliability: Scores beside the shares of true labels.
        curve: Precision, recall and F1 over one threshold for all labels.
        confusions: Labels that are given instead of a sibling, the most frequent first.
    """

    reliability: Reliability
    curve: ThresholdCurve
    confusions: tuple[Confusion, ...]


def diagnose(
    truth: csr_array, predicted: csr_array, scores: NDArray[np.float32], parents: Sequence[Iterable[Hashable]]
) -> Diagnosis:
    """Summarise the scores and the labels of documents.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        scores: float32 [documents, L], from 0 to 1.
        parents: The parents of each label; see `sibling_confusions`.

    Raises:
        ValueError: If the shapes or lengths differ, or a score is no number from 0 to 1.
    """
    return Diagnosis(
        reliability=reliability(truth, scores),
        curve=threshold_curve(truth, scores),
        confusions=sibling_confusions(truth, predicted, parents),
    )
