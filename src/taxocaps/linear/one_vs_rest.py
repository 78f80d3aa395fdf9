"""One-vs-rest classifiers: binary problems over the same documents, solved by liblinear (Fan et al. 2008)."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.model import LinearTask, LinearWeights, SparseRow, documents_by_label, sparse_row, stack
from taxocaps.metrics.calibration import logistic

__all__ = ["CERTAIN", "BinaryProblems", "Documents", "fit_one_vs_rest", "fit_problems", "logistic_scores"]

Documents: TypeAlias = NDArray[np.integer]
"""The sorted indices of documents."""

CERTAIN = 30.0
"""The margin of a problem with positives only; -CERTAIN with negatives only. Its logistic function is 1 in float32."""

_PROBLEMS_PER_CALL = 16
"""Problems that a process is given at a time."""

_MIN_PARALLEL_WORK = 300_000_000
"""Features times problems, about ten seconds; with less, starting processes takes longer than it saves."""


def fit_one_vs_rest(task: LinearTask) -> LinearWeights:
    """Minimize 1/2 ||w||^2 + C sum_i loss(y_i w . x_i) for each label, the intercept being part of w.

    The minima are those of scikit-learn's `LinearSVC(C)` and `LogisticRegression(C=C, solver="liblinear")`.
    The margin of a label of all training documents, or of none, is constant.

    Returns:
        Weights with a row for each label.
    """
    count = len(task.classes)
    problems = BinaryProblems(np.arange(task.X.shape[0]), tuple(range(count)), documents_by_label(task.Y))
    return fit_problems(task, [problems], np.zeros(count, np.float32))


def logistic_scores(margins: NDArray[np.float32], classes: Classes) -> NDArray[np.float32]:
    """The logistic function of the margins, float32 [n, L].

    Args:
        margins: float32 [n, L].
        classes: The L labels.
    """
    return logistic(margins).astype(np.float32)


@dataclass(frozen=True, eq=False)
class BinaryProblems:
    """Binary problems over the same documents.

    Attributes:
        documents: The training documents.
        rows: The row of the weights that each problem fills.
        positives: The positive documents of each problem, a subset of `documents`.
    """

    documents: Documents
    rows: tuple[int, ...]
    positives: tuple[Documents, ...]

    def parts(self) -> Iterator["BinaryProblems"]:
        """The same in parts that are small enough for parallel processes."""
        for start in range(0, len(self.rows), _PROBLEMS_PER_CALL):
            part = slice(start, start + _PROBLEMS_PER_CALL)
            yield BinaryProblems(self.documents, self.rows[part], self.positives[part])


def fit_problems(task: LinearTask, problems: Sequence[BinaryProblems], constants: NDArray[np.float32]) -> LinearWeights:
    """Solve all problems; one with positives only has the margin `CERTAIN`, one with negatives only `-CERTAIN`.

    Threads are processes: liblinear releases the interpreter's lock, but has one random generator for all threads, so
    that results would depend on timing. Small tasks are solved in this process.

    Args:
        task: The documents; their labels are not used.
        problems: The problems.
        constants: float32 [K], the intercepts of the rows that no problem fills.
    """
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    X = _prepared(task.X)
    parts = [part for group in problems for part in group.parts()]
    rows: list[SparseRow] = [(np.empty(0, np.int32), np.empty(0, np.float32))] * len(constants)
    intercept = constants.copy()
    done, total, unfinished = 0, sum(len(part.rows) for part in parts), 0
    workers = task.threads if X.nnz * total >= _MIN_PARALLEL_WORK else 1
    pool = Parallel(n_jobs=workers, return_as="generator")
    solved = pool(delayed(_solve)(X, part, task.config, task.seed) for part in parts)
    for part, solutions in zip(parts, solved, strict=True):
        for row, (weights, constant, has_converged) in zip(part.rows, solutions, strict=True):
            rows[row], intercept[row] = weights, constant
            unfinished += not has_converged
        done += len(part.rows)
        task.progress("classifiers", done, total, f"{unfinished} stopped at linear.iterations" if unfinished else "")
    return LinearWeights(stack(rows, X.shape[1]), intercept)


def _prepared(X: csr_array) -> csr_array:
    """The features in the types of liblinear: converted once, not for each problem."""
    X = csr_array(X, dtype=np.float64)
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _solve(
    X: csr_array, problems: BinaryProblems, config: LinearConfig, seed: int
) -> list[tuple[SparseRow, float, bool]]:
    """The weights and the intercept of each problem, and whether the solver converged."""
    documents = problems.documents
    part = X if len(documents) == X.shape[0] else _prepared(X[documents])
    if not part.nnz:  # liblinear needs at least one feature
        part = csr_array(([0.0], ([0], [0])), shape=part.shape)
        part = _prepared(part)
    return [_solve_one(part, np.isin(documents, positives), config, seed) for positives in problems.positives]


def _solve_one(
    X: csr_array, is_positive: NDArray[np.bool_], config: LinearConfig, seed: int
) -> tuple[SparseRow, float, bool]:
    from sklearn import config_context

    if is_positive.all() or not is_positive.any():
        return (np.empty(0, np.int32), np.empty(0, np.float32)), CERTAIN if is_positive.all() else -CERTAIN, True
    solver = _solver(config, seed)
    with warnings.catch_warnings(), config_context(assume_finite=True, skip_parameter_validation=True):
        warnings.simplefilter("ignore")  # solvers that did not converge are reported by progress
        solver.fit(X, is_positive)
    has_converged = bool(np.max(solver.n_iter_) < config.iterations)
    return sparse_row(solver.coef_[0], config.drop_below), float(solver.intercept_[0]), has_converged


def _solver(config: LinearConfig, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    options = {"C": config.C, "tol": config.tolerance, "max_iter": config.iterations, "random_state": seed}
    return LogisticRegression(solver="liblinear", **options) if config.loss == "logistic" else LinearSVC(**options)
