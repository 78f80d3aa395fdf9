"""Logistic regression and linear SVMs, each label against the rest, without the taxonomy."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.classes import Classes
from taxocaps.linear.binary import Problems, carriers, fit_problems
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.weights import LinearWeights
from taxocaps.progress import Progress, silent

__all__ = ["fit_flat", "scores_flat"]


def fit_flat(
    X: csr_array,
    Y: csr_array,
    classes: Classes,
    config: LinearConfig,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress = silent,
) -> LinearWeights:
    """Minimise 1/2 ||w||^2 + C sum_i loss(y_i w . x_i) for each label, the intercept being part of w.

    The minima are those of scikit-learn's `LinearSVC(C)` and `LogisticRegression(C=C, solver="liblinear")`.
    A label that all training documents carry, or none, always has the same margin.

    Args:
        X: CSR [n, V], the features of the training documents.
        Y: CSR [n, L] of bool, their labels.
        classes: The L labels.
        config: How to fit.
        seed: The same seed gives the same weights.
        threads: Labels that are fitted at the same time.
        progress: Told the number of fitted labels.

    Returns:
        Weights with a row for each label.
    """
    problems = Problems(np.arange(X.shape[0]), tuple(range(len(classes))), carriers(Y))
    constants = np.zeros(len(classes), np.float32)
    return fit_problems(X, [problems], constants, config, seed=seed, threads=threads, progress=progress)


def scores_flat(margins: NDArray[np.float32], classes: Classes) -> NDArray[np.float32]:
    """The logistic function of the margins, float32 [n, L].

    Args:
        margins: float32 [n, L].
        classes: The L labels.
    """
    from scipy.special import expit

    scores: NDArray[np.float32] = expit(margins)
    return scores
