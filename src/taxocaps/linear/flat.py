"""Logistic regression and linear SVMs, each label against the rest, without the taxonomy."""

import numpy as np
from numpy.typing import NDArray

from taxocaps.corpus.classes import Classes
from taxocaps.linear.binary import Problems, carriers, fit_problems
from taxocaps.linear.task import LinearTask
from taxocaps.linear.weights import LinearWeights

__all__ = ["fit_flat", "scores_flat"]


def fit_flat(task: LinearTask) -> LinearWeights:
    """Minimise 1/2 ||w||^2 + C sum_i loss(y_i w . x_i) for each label, the intercept being part of w.

    The minima are those of scikit-learn's `LinearSVC(C)` and `LogisticRegression(C=C, solver="liblinear")`.
    A label that all training documents carry, or none, always has the same margin.

    Returns:
        Weights with a row for each label.
    """
    count = len(task.classes)
    problems = Problems(np.arange(task.X.shape[0]), tuple(range(count)), carriers(task.Y))
    return fit_problems(task, [problems], np.zeros(count, np.float32))


def scores_flat(margins: NDArray[np.float32], classes: Classes) -> NDArray[np.float32]:
    """The logistic function of the margins, float32 [n, L].

    Args:
        margins: float32 [n, L].
        classes: The L labels.
    """
    from scipy.special import expit

    scores: NDArray[np.float32] = expit(margins)
    return scores
