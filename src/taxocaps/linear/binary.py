"""Many two-class problems over the same documents, solved by liblinear (Fan et al. 2008), one at a time."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.linear.config import LinearConfig
from taxocaps.linear.task import LinearTask
from taxocaps.linear.weights import LinearWeights, SparseRow, sparse_row, stack

__all__ = ["SURE", "Documents", "Problems", "carriers", "fit_problems"]

Documents: TypeAlias = NDArray[np.integer]
"""The numbers of documents, sorted."""

SURE = 30.0
"""The margin of what is always so, and -SURE of what never is; in float32 its logistic function is 1."""

_AT_A_TIME = 16
"""Problems that a process is given at a time."""

_WORTH_PROCESSES = 300_000_000
"""Features times problems, about ten seconds of work, below which starting processes takes longer than it saves."""


@dataclass(frozen=True, eq=False)
class Problems:
    """Problems that have their documents in common.

    Attributes:
        documents: What they are trained on.
        rows: The rows of the weights that they give.
        positives: For each, the documents with the answer yes, which are among `documents`.
    """

    documents: Documents
    rows: tuple[int, ...]
    positives: tuple[Documents, ...]

    def parts(self) -> Iterator["Problems"]:
        """The same in parts that are small enough to share out."""
        for start in range(0, len(self.rows), _AT_A_TIME):
            part = slice(start, start + _AT_A_TIME)
            yield Problems(self.documents, self.rows[part], self.positives[part])


def carriers(Y: csr_array) -> tuple[Documents, ...]:
    """The documents that carry each column of CSR [n, L]."""
    columns = Y.tocsc()
    columns.sort_indices()
    return tuple(np.split(columns.indices, columns.indptr[1:-1]))


def fit_problems(task: LinearTask, problems: Sequence[Problems], constants: NDArray[np.float32]) -> LinearWeights:
    """Solve all problems. A problem with one answer for all documents has the margin `SURE`, or `-SURE`.

    Threads are processes: liblinear lets go of the interpreter's lock, but has one random generator for all threads, so
    that results would depend on their timing. Small tasks stay in this process.

    Args:
        task: The documents; their labels are not looked at.
        problems: What to solve.
        constants: float32 [K], the intercepts of those rows that no problem gives.
    """
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    X = _prepared(task.X)
    parts = [part for group in problems for part in group.parts()]
    rows: list[SparseRow] = [(np.empty(0, np.int32), np.empty(0, np.float32))] * len(constants)
    intercept = constants.copy()
    done, total, unfinished = 0, sum(len(part.rows) for part in parts), 0
    workers = task.threads if X.nnz * total >= _WORTH_PROCESSES else 1
    pool = Parallel(n_jobs=workers, return_as="generator")
    solved = pool(delayed(_solve)(X, part, task.config, task.seed) for part in parts)
    for part, found in zip(parts, solved, strict=True):
        for row, (weights, constant, finished) in zip(part.rows, found, strict=True):
            rows[row], intercept[row] = weights, constant
            unfinished += not finished
        done += len(part.rows)
        task.progress("classifiers", done, total, f"{unfinished} stopped at linear.iterations" if unfinished else "")
    return LinearWeights(stack(rows, X.shape[1]), intercept)


def _prepared(X: csr_array) -> csr_array:
    """The features as liblinear needs them: converted here, once, and not for each problem."""
    X = csr_array(X, dtype=np.float64)
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _solve(X: csr_array, problems: Problems, config: LinearConfig, seed: int) -> list[tuple[SparseRow, float, bool]]:
    """For each problem weights, intercept, and whether the solver came to its end."""
    documents = problems.documents
    part = X if len(documents) == X.shape[0] else _prepared(X[documents])
    if not part.nnz:  # liblinear takes the address of the first feature
        part = csr_array(([0.0], ([0], [0])), shape=part.shape)
        part = _prepared(part)
    return [_solve_one(part, np.isin(documents, found), config, seed) for found in problems.positives]


def _solve_one(X: csr_array, yes: NDArray[np.bool_], config: LinearConfig, seed: int) -> tuple[SparseRow, float, bool]:
    from sklearn import config_context

    if yes.all() or not yes.any():
        return (np.empty(0, np.int32), np.empty(0, np.float32)), SURE if yes.all() else -SURE, True
    solver = _solver(config, seed)
    with warnings.catch_warnings(), config_context(assume_finite=True, skip_parameter_validation=True):
        warnings.simplefilter("ignore")  # that a solver was stopped is told by progress
        solver.fit(X, yes)
    finished = bool(np.max(solver.n_iter_) < config.iterations)
    return sparse_row(solver.coef_[0], config.drop_below), float(solver.intercept_[0]), finished


def _solver(config: LinearConfig, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    options = {"C": config.C, "tol": config.tolerance, "max_iter": config.iterations, "random_state": seed}
    return LogisticRegression(solver="liblinear", **options) if config.loss == "logistic" else LinearSVC(**options)
