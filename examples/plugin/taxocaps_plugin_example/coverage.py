"""A metric: how much of the taxonomy the predictions make use of."""

import numpy as np

from taxocaps.metrics.evaluation import Evaluated

__all__ = ["label_coverage"]


def label_coverage(evaluated: Evaluated) -> float:
    """The share of the labels carried by some document that were also predicted for some document."""
    carried = np.asarray(evaluated.truth.sum(axis=0)).ravel() > 0
    predicted = np.asarray(evaluated.chosen.sum(axis=0)).ravel() > 0
    return float((carried & predicted).sum() / max(1, carried.sum()))
