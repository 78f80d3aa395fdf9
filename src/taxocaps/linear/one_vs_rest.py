"""One-vs-rest classifiers: binary problems over the same documents."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.linear.model import LinearTask, LinearWeights, SparseRow, documents_by_label, sparse_row, stack
from taxocaps.metrics.calibration import logistic

__all__ = ["CERTAIN", "BinaryProblems", "Documents", "fit_one_vs_rest", "fit_problems", "logistic_scores"]

Documents: TypeAlias = NDArray[np.integer]
"""The sorted indices of documents."""

CERTAIN = 30.0
"""The margin of a problem with positives only; -CERTAIN with negatives only. Its logistic function is 1 in float32."""

_PROBLEMS_PER_CALL = 16
"""Problems that a thread is given at a time."""

_PASSES = 5
"""Passes over the documents, or those that still change, between two looks at the duality gap."""

_GAP_FACTOR = 10
"""The relative duality gap at which a solver stops, as a multiple of `linear.tolerance`."""


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
        """The same in parts that are small enough for parallel threads."""
        for start in range(0, len(self.rows), _PROBLEMS_PER_CALL):
            part = slice(start, start + _PROBLEMS_PER_CALL)
            yield BinaryProblems(self.documents, self.rows[part], self.positives[part])


def fit_problems(task: LinearTask, problems: Sequence[BinaryProblems], constants: NDArray[np.float32]) -> LinearWeights:
    """Solve all problems; one with positives only has the margin `CERTAIN`, one with negatives only `-CERTAIN`.

    By dual coordinate descent (Hsieh et al. 2008, Yu et al. 2011), the algorithm of liblinear, over one copy of the
    features: compiled code releases the interpreter's lock, and problems are solved in parallel threads.

    Args:
        task: The documents; their labels are not used.
        problems: The problems.
        constants: float32 [K], the intercepts of the rows that no problem fills.
    """
    solver = _Solver(task)
    parts = [part for group in problems for part in group.parts()]
    rows: list[SparseRow] = [(np.empty(0, np.int32), np.empty(0, np.float32))] * len(constants)
    intercept = constants.copy()
    done, total, unfinished = 0, sum(len(part.rows) for part in parts), 0
    with ThreadPoolExecutor(task.threads) as pool:
        for part, solutions in zip(parts, pool.map(solver.solve, parts), strict=True):
            for row, (weights, constant, has_converged) in zip(part.rows, solutions, strict=True):
                rows[row], intercept[row] = weights, constant
                unfinished += not has_converged
            done += len(part.rows)
            note = f"{unfinished} stopped at linear.iterations" if unfinished else ""
            task.progress("classifiers", done, total, note)
    return LinearWeights(stack(rows, task.X.shape[1]), intercept)


class _Solver:
    """Solves binary problems over the same features."""

    def __init__(self, task: LinearTask) -> None:
        X = csr_array(task.X, dtype=np.float32)
        self._rows = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))
        self._lengths = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel() + 1  # with the 1 of the intercept
        self._width, self._config, self._seed = X.shape[1], task.config, task.seed

    def solve(self, problems: BinaryProblems) -> list[tuple[SparseRow, float, bool]]:
        """The weights and the intercept of each problem, and whether the solver converged."""
        return [self._solve_one(problems.documents.astype(np.int64), found) for found in problems.positives]

    def _solve_one(self, documents: NDArray[np.int64], positives: Documents) -> tuple[SparseRow, float, bool]:
        if len(positives) in (0, len(documents)):
            return (np.empty(0, np.int32), np.empty(0, np.float32)), CERTAIN if len(positives) else -CERTAIN, True
        signs = np.full(len(self._lengths), -1.0)
        signs[positives] = 1
        alphas, w = np.zeros(len(signs), np.float32), np.zeros(self._width + 1)
        has_converged = False
        for done in range(0, self._config.iterations, _PASSES):
            penalty = float(np.square(w).sum()) / 2  # not by BLAS: its threads would wait for one another
            gap, cost = self._descend(signs, alphas, w, documents, done)
            if gap <= _GAP_FACTOR * self._config.tolerance * (penalty + cost):
                has_converged = True
                break
            self._descend(signs, alphas, w, np.flatnonzero(alphas), done + 1)  # the support vectors alone
        return sparse_row(w[:-1], self._config.drop_below), float(w[-1]), has_converged

    def _descend(
        self,
        signs: NDArray[np.float64],
        alphas: NDArray[np.float32],
        w: NDArray[np.float64],
        visited: NDArray[np.int64],
        turn: int,
    ) -> tuple[float, float]:
        """Some passes over documents; returns the duality gap and the cost of errors that the first one met."""
        from taxocaps.linear.kernels import descend_label

        config, seed = self._config, np.uint64(self._seed) << np.uint64(32) | np.uint64(turn)
        fixed = (1.0, config.C, config.loss == "logistic", visited, _PASSES, seed)
        found: tuple[float, float] = descend_label(*self._rows, self._lengths, signs, alphas, w, *fixed)
        return found
