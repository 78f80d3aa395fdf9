"""One-vs-rest classifiers: binary problems over the same documents."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.model import LinearTask, LinearWeights, SparseRow, documents_by_label, sparse_row, stack
from taxocaps.metrics.calibration import logistic

__all__ = [
    "CERTAIN",
    "BinaryProblems",
    "Documents",
    "fit_each_one_vs_rest",
    "fit_one_vs_rest",
    "fit_problems",
    "logistic_scores",
]

Documents: TypeAlias = NDArray[np.integer]
"""The sorted indices of documents."""

CERTAIN = 30.0
"""The margin of a problem with positives only; -CERTAIN with negatives only. Its logistic function is 1 in float32."""

_Solution: TypeAlias = tuple[SparseRow, float, bool]
"""The weights and the intercept of a problem, and whether the solver converged."""

_PROBLEMS_PER_CALL = 16
"""Problems that a thread is given at a time."""

_PASSES = 5
"""Passes over the documents, or those that still change, between two looks at the duality gap."""

_MOST_PRODUCTS = 8_192
"""Documents whose products are kept: 256 MB."""

_GAP_FACTOR = 10
"""The relative duality gap at which a solver stops, as a multiple of `linear.tolerance`."""


def fit_one_vs_rest(task: LinearTask) -> LinearWeights:
    """Minimize 1/2 ||w||^2 + C sum_i loss(y_i w . x_i) for each label, the intercept being part of w.

    The minima are those of scikit-learn's `LinearSVC(C)` and `LogisticRegression(C=C, solver="liblinear")`.
    The margin of a label of all training documents, or of none, is constant.

    Returns:
        Weights with a row for each label.
    """
    (weights,) = fit_each_one_vs_rest(task, [np.arange(task.X.shape[0])])
    return weights


def fit_each_one_vs_rest(task: LinearTask, subsets: Iterable[Documents]) -> Iterator[LinearWeights]:
    """The same for several subsets of the documents, such as all but one fold; what they share is prepared once."""
    count, positives = len(task.classes), documents_by_label(task.Y)
    solver = _Solver(task)
    for documents in subsets:
        chosen = tuple(np.intersect1d(found, documents, assume_unique=True) for found in positives)
        yield solver.fit([BinaryProblems(documents, tuple(range(count)), chosen)], np.zeros(count, np.float32))


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
    return _Solver(task).fit(problems, constants)


class _Solver:
    """Solves binary problems over the same features."""

    def __init__(self, task: LinearTask) -> None:
        self._X = csr_array(task.X, dtype=np.float32)
        self._task = task

    def fit(self, problems: Sequence[BinaryProblems], constants: NDArray[np.float32]) -> LinearWeights:
        """Solve problems; see `fit_problems`."""
        parts = [part for group in problems for part in group.parts()]
        rows: list[SparseRow] = [(np.empty(0, np.int32), np.empty(0, np.float32))] * len(constants)
        intercept = constants.copy()
        done, total, unfinished = 0, sum(len(part.rows) for part in parts), 0
        space = self._products if self._is_wide(total) else self._features
        with ThreadPoolExecutor(self._task.threads) as pool:
            for part, solutions in zip(parts, pool.map(partial(self._solve, space), parts), strict=True):
                for row, (weights, constant, has_converged) in zip(part.rows, solutions, strict=True):
                    rows[row], intercept[row] = weights, constant
                    unfinished += not has_converged
                done += len(part.rows)
                note = f"{unfinished} stopped at linear.iterations" if unfinished else ""
                self._task.progress("classifiers", done, total, note)
        return LinearWeights(stack(rows, self._X.shape[1]), intercept)

    def _is_wide(self, problems: int) -> bool:
        """Whether documents are so few, and problems so many, that the products of all documents save time."""
        n = int(self._X.shape[0])
        return n <= _MOST_PRODUCTS and 2 * problems > n

    @cached_property
    def _features(self) -> "_Features":
        return _Features(self._X)

    @cached_property
    def _products(self) -> "_Products":
        return _Products(self._X)

    def _solve(self, space: "_Features | _Products", problems: BinaryProblems) -> list[_Solution]:
        documents = problems.documents.astype(np.int64)
        solved = [self._solve_one(space, documents, positives) for positives in problems.positives]
        rows = space.rows([descent for descent, _ in solved], self._task.config.drop_below)
        return [
            (row, _constant(positives, documents, intercept), has_converged)
            for positives, (row, intercept), (_, has_converged) in zip(problems.positives, rows, solved, strict=True)
        ]

    def _solve_one(
        self, space: "_Features | _Products", documents: NDArray[np.int64], positives: Documents
    ) -> tuple["_Descent", bool]:
        """The dual variables and the state of a problem, and whether the solver converged."""
        config = self._task.config
        descent = _Descent(np.full(self._X.shape[0], -1.0), np.zeros(self._X.shape[0], np.float32), space.start())
        descent.signs[positives] = 1
        if len(positives) in (0, len(documents)):
            return descent, True
        for turn in range(0, config.iterations, _PASSES):
            penalty = space.penalty(descent)
            gap, cost = space.descend(descent, documents, config, self._seed(turn))
            if gap <= _GAP_FACTOR * config.tolerance * (penalty + cost):
                return descent, True
            space.descend(descent, np.flatnonzero(descent.alphas), config, self._seed(turn + 1))  # support vectors
        return descent, False

    def _seed(self, turn: int) -> np.uint64:
        return np.uint64(self._task.seed) << np.uint64(32) | np.uint64(turn)


def _constant(positives: Documents, documents: Documents, intercept: float) -> float:
    """The intercept; that of a problem with positives or negatives only is certain."""
    if len(positives) in (0, len(documents)):
        return CERTAIN if len(positives) else -CERTAIN
    return intercept


@dataclass(frozen=True, eq=False)
class _Descent:
    """The state of one problem.

    Attributes:
        signs: float64 [n], 1 for positives, -1 for negatives.
        alphas: float32 [n], the dual variables.
        state: The weights, or the products of all documents with them.
    """

    signs: NDArray[np.float64]
    alphas: NDArray[np.float32]
    state: NDArray[Any]


class _Features:
    """Descent over features: the state is the weights, float64 [V + 1], the intercept last."""

    def __init__(self, X: csr_array) -> None:
        self._rows = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))
        self._lengths = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel() + 1  # with the 1 of the intercept
        self._width = X.shape[1] + 1

    def start(self) -> NDArray[np.float64]:
        return np.zeros(self._width)

    @staticmethod
    def penalty(descent: _Descent) -> float:
        return float(np.square(descent.state).sum()) / 2  # not by BLAS: its threads would wait for one another

    def descend(
        self, descent: _Descent, visited: NDArray[np.int64], config: LinearConfig, seed: np.uint64
    ) -> tuple[float, float]:
        """Some passes over documents; returns the duality gap and the cost of errors that the first one met."""
        from taxocaps.linear.kernels import descend_label

        variables = (self._lengths, descent.signs, descent.alphas, descent.state)
        fixed = (1.0, config.C, config.loss == "logistic", visited, _PASSES, seed)
        found: tuple[float, float] = descend_label(*self._rows, *variables, *fixed)
        return found

    @staticmethod
    def rows(descents: Sequence[_Descent], drop_below: float) -> list[tuple[SparseRow, float]]:
        """The weights and the intercept of each problem."""
        return [(sparse_row(one.state[:-1], drop_below), float(one.state[-1])) for one in descents]


class _Products:
    """Descent over the products of all documents: the state is their products with the weights, float32 [n]."""

    def __init__(self, X: csr_array) -> None:
        self._X = X
        self._gram: NDArray[np.float32] = (X @ X.T).toarray() + np.float32(1)  # with the 1 of the intercept

    def start(self) -> NDArray[np.float32]:
        return np.zeros(len(self._gram), np.float32)

    @staticmethod
    def penalty(descent: _Descent) -> float:
        return float((descent.signs * descent.alphas * descent.state).sum()) / 2

    def descend(
        self, descent: _Descent, visited: NDArray[np.int64], config: LinearConfig, seed: np.uint64
    ) -> tuple[float, float]:
        """Some passes over documents; returns the duality gap and the cost of errors that the first one met."""
        from taxocaps.linear.kernels import descend_gram

        fixed = (config.C, config.loss == "logistic", visited, _PASSES, seed)
        found: tuple[float, float] = descend_gram(self._gram, descent.signs, descent.alphas, descent.state, *fixed)
        return found

    def rows(self, descents: Sequence[_Descent], drop_below: float) -> list[tuple[SparseRow, float]]:
        """The weights and the intercept of each problem: the sums of its support vectors."""
        factors = csr_array(np.stack([one.signs * one.alphas for one in descents]).astype(np.float32))
        weights = csr_array(factors @ self._X)
        weights.sort_indices()
        kept = np.abs(weights.data) >= max(drop_below, np.finfo(np.float32).tiny)
        found = []
        for start, end, one in zip(weights.indptr[:-1], weights.indptr[1:], descents, strict=True):
            inside = np.arange(start, end)[kept[start:end]]
            row = (weights.indices[inside].astype(np.int32), weights.data[inside])
            found.append((row, float((one.signs * one.alphas).sum())))
        return found
