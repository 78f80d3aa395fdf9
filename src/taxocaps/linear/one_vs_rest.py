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
        n = self._X.shape[0]
        return n <= _MOST_PRODUCTS and 2 * problems > n

    @cached_property
    def _features(self) -> "_Features":
        return _Features(self._X)

    @cached_property
    def _products(self) -> "_Products":
        return _Products(self._X)

    def _solve(self, space: "_Features | _Products", problems: BinaryProblems) -> list[tuple[SparseRow, float, bool]]:
        """The weights and the intercept of each problem, and whether the solver converged."""
        documents = problems.documents.astype(np.int64)
        return [self._solve_one(space, documents, positives) for positives in problems.positives]

    def _solve_one(
        self, space: "_Features | _Products", documents: NDArray[np.int64], positives: Documents
    ) -> tuple[SparseRow, float, bool]:
        if len(positives) in (0, len(documents)):
            return (np.empty(0, np.int32), np.empty(0, np.float32)), CERTAIN if len(positives) else -CERTAIN, True
        config, has_converged = self._task.config, False
        signs, alphas = np.full(self._X.shape[0], -1.0), np.zeros(self._X.shape[0], np.float32)
        signs[positives] = 1
        w = space.start()
        for turn in range(0, config.iterations, _PASSES):
            penalty = space.penalty(w, signs, alphas)
            gap, cost = space.descend(w, signs, alphas, documents, config, self._seed(turn))
            if gap <= _GAP_FACTOR * config.tolerance * (penalty + cost):
                has_converged = True
                break
            space.descend(w, signs, alphas, np.flatnonzero(alphas), config, self._seed(turn + 1))  # support vectors
        weights = space.weights(w, signs, alphas)
        return sparse_row(weights[:-1], config.drop_below), float(weights[-1]), has_converged

    def _seed(self, turn: int) -> np.uint64:
        return np.uint64(self._task.seed) << np.uint64(32) | np.uint64(turn)


class _Features:
    """Descent over features: the state is the weights, float64 [V + 1], the intercept last."""

    def __init__(self, X: csr_array) -> None:
        self._rows = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))
        self._lengths = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel() + 1  # with the 1 of the intercept
        self._width = X.shape[1] + 1

    def start(self) -> NDArray[np.float64]:
        return np.zeros(self._width)

    @staticmethod
    def penalty(w: NDArray[np.float64], signs: NDArray[np.float64], alphas: NDArray[np.float32]) -> float:
        return float(np.square(w).sum()) / 2  # not by BLAS: its threads would wait for one another

    def descend(self, w: Any, signs: Any, alphas: Any, visited: Any, config: LinearConfig, seed: Any) -> Any:
        from taxocaps.linear.kernels import descend_label

        fixed = (1.0, config.C, config.loss == "logistic", visited, _PASSES, seed)
        return descend_label(*self._rows, self._lengths, signs, alphas, w, *fixed)

    @staticmethod
    def weights(w: NDArray[np.float64], signs: NDArray[np.float64], alphas: NDArray[np.float32]) -> NDArray[np.float64]:
        return w


class _Products:
    """Descent over the products of all documents: the state is their products with the weights, float32 [n]."""

    def __init__(self, X: csr_array) -> None:
        self._rows = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))
        self._width = X.shape[1] + 1
        self._gram: NDArray[np.float32] = (X @ X.T).toarray() + np.float32(1)  # with the 1 of the intercept

    def start(self) -> NDArray[np.float32]:
        return np.zeros(len(self._gram), np.float32)

    @staticmethod
    def penalty(products: NDArray[np.float32], signs: NDArray[np.float64], alphas: NDArray[np.float32]) -> float:
        return float((signs * alphas * products).sum()) / 2

    def descend(self, products: Any, signs: Any, alphas: Any, visited: Any, config: LinearConfig, seed: Any) -> Any:
        from taxocaps.linear.kernels import descend_gram

        fixed = (config.C, config.loss == "logistic", visited, _PASSES, seed)
        return descend_gram(self._gram, signs, alphas, products, *fixed)

    def weights(
        self, products: NDArray[np.float32], signs: NDArray[np.float64], alphas: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        from taxocaps.linear.kernels import add_rows

        w = np.zeros(self._width)
        add_rows(*self._rows, signs * alphas, w)
        return w
