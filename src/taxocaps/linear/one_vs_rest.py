"""One-vs-rest classifiers: binary problems over the same documents."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from taxocaps.corpus.labels import Classes
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.model import (
    KnownWeights,
    LinearTask,
    LinearWeights,
    SparseFactor,
    SparseRow,
    documents_by_label,
    sparse_row,
    stack,
)
from taxocaps.metrics.calibration import logistic

__all__ = [
    "CERTAIN",
    "BinaryProblems",
    "Documents",
    "OneVsRest",
    "fit_one_vs_rest",
    "fit_problems",
    "logistic_scores",
]

T = TypeVar("T")

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
_FEW_DOCUMENTS, _FEWEST_PROBLEMS, _STEPS_PER_CHANGE = 3_000, 32, 64
"""For so few documents, from so many problems on, products pay even if there are more documents than problems (with
7,770 documents they did not); and how much less a product takes in descent than a feature."""

_GAP_FACTOR = 10
"""The relative duality gap at which a solver stops, as a multiple of `linear.tolerance`."""


def fit_one_vs_rest(task: LinearTask) -> LinearWeights:
    """Minimize 1/2 ||w||^2 + C sum_i loss(y_i w . x_i) for each label, the intercept being part of w.

    The minima are those of scikit-learn's `LinearSVC(C)` and `LogisticRegression(C=C, solver="liblinear")`.
    The margin of a label of all training documents, or of none, is constant.

    Returns:
        Weights with a row for each label.
    """
    return OneVsRest(task).fit()


class OneVsRest:
    """The classifiers of all labels, fitted to all documents or to all but some; what these share is prepared once."""

    def __init__(self, task: LinearTask) -> None:
        """Prepare the documents of a task, and begin with what an earlier fit knows of their labels.

        A label that an earlier fit knows and that none of the documents carries keeps its weights.
        """
        self._task, self._solver, self._positives = task, _Solver(task), documents_by_label(task.Y)
        self._documents = np.arange(task.X.shape[0])
        self._duals: dict[int, _Dual] = {}
        self._kept = KnownWeights(np.zeros(0, np.int64), _no_weights(task.X.shape[1]))
        if task.start is not None:
            idle = np.flatnonzero([not len(found) for found in self._positives])
            kept = task.start.of_labels(idle)
            self._kept = KnownWeights(idle[kept.labels], kept.weights)
            self._duals = dict(self._known_duals(task.start))

    def fit(self) -> LinearWeights:
        """The weights that `fit_one_vs_rest` finds; later fits without some documents begin with them."""
        constants = np.zeros(len(self._positives), np.float32)
        found = self._solver.fit([self._problems(self._documents)], constants, self._duals)
        return self._with_kept(found)

    def margins_without(self, left_out: Documents) -> NDArray[np.float32]:
        """The margins of some documents by classifiers that were fitted to all others; float32 [left out, L].

        Args:
            left_out: The sorted indices of these documents.
        """
        rest = np.setdiff1d(self._documents, left_out, assume_unique=True)
        margins = self._solver.margins(self._problems(rest), left_out, self._duals)
        if len(self._kept.labels):
            margins[:, self._kept.labels] = self._kept.weights.margins(self._task.X[left_out])
        return margins

    def _known_duals(self, start: KnownWeights) -> Iterator[tuple[int, "_Dual"]]:
        """The dual variables that belong to weights: at the minimum, each is the slope of its document's loss."""
        C, is_logistic = self._task.config.C or 1.0, self._task.config.loss == "logistic"
        for begin in range(0, len(start.labels), _PROBLEMS_PER_CALL):
            part = start.of_labels(start.labels[begin : begin + _PROBLEMS_PER_CALL]).weights
            margins = part.margins(self._task.X)  # [n, part]
            for row, column in zip(start.labels[begin:].tolist(), margins.T, strict=False):
                signs = np.full(len(column), -1, np.float32)
                signs[self._positives[row]] = 1
                slopes = C * logistic(-signs * column) if is_logistic else 2 * C * np.maximum(0, 1 - signs * column)
                support = np.flatnonzero(slopes)
                yield row, _Dual(support, slopes[support].astype(np.float32))

    def _with_kept(self, found: LinearWeights) -> LinearWeights:
        if not len(self._kept.labels):
            return found
        rows = {row: self._kept.weights.coef[[place]] for place, row in enumerate(self._kept.labels.tolist())}
        coef = vstack([rows.get(row, found.coef[[row]]) for row in range(len(found.intercept))], format="csr")
        intercept = found.intercept.copy()
        intercept[self._kept.labels] = self._kept.weights.intercept
        return LinearWeights(csr_array(coef), intercept)

    def _problems(self, documents: Documents) -> "BinaryProblems":
        chosen = tuple(np.intersect1d(found, documents, assume_unique=True) for found in self._positives)
        return BinaryProblems(documents, tuple(range(len(chosen))), chosen)


def _no_weights(width: int) -> LinearWeights:
    return LinearWeights(csr_array((0, width), dtype=np.float32), np.zeros(0, np.float32))


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

    @property
    def constants(self) -> list[float | None]:
        """The margins of problems with positives or negatives only; None for others."""
        certain = {len(self.documents): CERTAIN, 0: -CERTAIN}  # no documents are none of a label
        return [certain.get(len(found)) for found in self.positives]

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
    return _Solver(task).fit(problems, constants, {})


class _Solver:
    """Solves binary problems over the same features."""

    def __init__(self, task: LinearTask) -> None:
        self._X = csr_array(task.X, dtype=np.float32)
        self._task = task

    def fit(
        self, problems: Sequence[BinaryProblems], constants: NDArray[np.float32], duals: dict[int, "_Dual"]
    ) -> LinearWeights:
        """Solve problems, see `fit_problems`; `duals` are start values, replaced by what was found, by row."""
        rows: list[SparseRow] = [(np.empty(0, np.int32), np.empty(0, np.float32))] * len(constants)
        intercept, config = constants.copy(), self._task.config
        limits = config.drop_below, max(1, config.max_weights // max(1, len(constants)))

        def finish(space: _Space, solved: list[_Descent]) -> list[tuple[SparseRow, float, _Dual]]:
            found = space.rows(solved, *limits)
            return [(*row, one.dual) for row, one in zip(found, solved, strict=True)]

        for part, found in self._solved(problems, duals, finish):
            for row, constant, (weights, offset, dual) in zip(part.rows, part.constants, found, strict=True):
                rows[row], duals[row] = weights, dual
                intercept[row] = offset if constant is None else constant
        return LinearWeights(stack(rows, self._X.shape[1]), intercept)

    def margins(
        self, problems: BinaryProblems, documents: Documents, duals: Mapping[int, "_Dual"]
    ) -> NDArray[np.float32]:
        """The margins of some documents for each problem, in the order of the rows; `duals` are start values."""
        margins = np.empty((len(documents), len(problems.rows)), np.float32)

        def finish(space: _Space, solved: list[_Descent]) -> NDArray[np.float32]:
            return space.margins(solved, documents)

        for part, found in self._solved([problems], duals, finish):
            margins[:, part.rows] = found
            for row, constant in zip(part.rows, part.constants, strict=True):
                if constant is not None:
                    margins[:, row] = constant
        return margins

    def _solved(
        self,
        problems: Sequence[BinaryProblems],
        duals: Mapping[int, "_Dual"],
        finish: Callable[["_Space", list["_Descent"]], T],
    ) -> Iterator[tuple[BinaryProblems, T]]:
        """Parts of the problems with what `finish` makes of their solutions; parallel threads do both."""
        parts = [part for group in problems for part in group.parts()]
        done, total, unfinished = 0, sum(len(part.rows) for part in parts), 0
        space = self._products if self._is_wide(total) else self._features

        def solve(part: BinaryProblems) -> tuple[T, int]:
            solved = self._solve(space, part, duals)
            return finish(space, solved), sum(not descent.has_converged for descent in solved)

        with ThreadPoolExecutor(self._task.threads) as pool:
            for part, (found, failed) in zip(parts, pool.map(solve, parts), strict=True):
                yield part, found
                done += len(part.rows)
                unfinished += failed
                note = f"{unfinished} stopped at linear.iterations" if unfinished else ""
                self._task.progress("classifiers", done, total, note)

    def _is_wide(self, problems: int) -> bool:
        """Whether the products of all documents save time: these are few, with many features, and problems many.

        A step over products looks at one number, and changes n of them if it changes anything, which few steps do; a
        step over features looks at all those of a document.
        """
        n = int(self._X.shape[0])
        is_worth_it = problems >= _FEWEST_PROBLEMS and self._X.nnz * _STEPS_PER_CHANGE > n * n
        return n <= _MOST_PRODUCTS and (2 * problems > n or (n <= _FEW_DOCUMENTS and is_worth_it))

    @cached_property
    def _features(self) -> "_Features":
        return _Features(self._X)

    @cached_property
    def _products(self) -> "_Products":
        return _Products(self._X)

    def _solve(self, space: "_Space", problems: BinaryProblems, duals: Mapping[int, "_Dual"]) -> list["_Descent"]:
        documents = problems.documents.astype(np.int64)
        return [
            self._descend(space, documents, positives, duals.get(row))
            for row, positives in zip(problems.rows, problems.positives, strict=True)
        ]

    def _descend(
        self,
        space: "_Space",
        documents: NDArray[np.int64],
        positives: Documents,
        dual: "_Dual | None",
    ) -> "_Descent":
        """Solve one problem."""
        config, n = self._task.config, self._X.shape[0]
        signs, alphas = np.full(n, -1.0), np.zeros(n, np.float32)
        signs[positives] = 1
        if len(positives) in (0, len(documents)):
            return _Descent(signs, alphas, space.start(alphas))
        if dual is not None:
            inside = np.isin(dual.documents, documents, assume_unique=True)
            alphas[dual.documents[inside]] = dual.alphas[inside]
        descent = _Descent(signs, alphas, space.start(signs * alphas))
        for turn in range(0, config.iterations, _PASSES):
            penalty = space.penalty(descent)
            gap, cost = space.descend(descent, documents, config, self._seed(turn))
            if gap <= _GAP_FACTOR * config.tolerance * (penalty + cost):
                return descent
            space.descend(descent, np.flatnonzero(descent.alphas), config, self._seed(turn + 1))  # support vectors
        return replace(descent, has_converged=False)

    def _seed(self, turn: int) -> np.uint64:
        return np.uint64(self._task.seed) << np.uint64(32) | np.uint64(turn)


@dataclass(frozen=True, eq=False)
class _Descent:
    """The state of one problem.

    Attributes:
        signs: float64 [n], 1 for positives, -1 for negatives.
        alphas: float32 [n], the dual variables.
        state: The weights, or the products of all documents with them.
        has_converged: Whether the solver got to the end.
    """

    signs: NDArray[np.float64]
    alphas: NDArray[np.float32]
    state: NDArray[Any]
    has_converged: bool = True

    @property
    def dual(self) -> "_Dual":
        """What another problem can begin with."""
        support = np.flatnonzero(self.alphas)
        return _Dual(support, self.alphas[support])


@dataclass(frozen=True, eq=False)
class _Dual:
    """The support vectors of a problem, as sorted indices of documents, and their dual variables."""

    documents: NDArray[np.int64]
    alphas: NDArray[np.float32]


class _Features:
    """Descent over features: the state is the weights, float64 [V + 1], the intercept last."""

    def __init__(self, X: csr_array) -> None:
        self._X = X
        self._rows = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))
        self._lengths = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel() + 1  # with the 1 of the intercept
        self._width = X.shape[1] + 1

    def start(self, factors: NDArray[Any]) -> NDArray[np.float64]:
        """The weights that are the sum of all documents times their factors."""
        from taxocaps.linear.kernels import add_rows

        weights = np.zeros(self._width)
        add_rows(*self._rows, factors.astype(np.float64), weights)
        return weights

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

    def margins(self, descents: Sequence[_Descent], documents: Documents) -> NDArray[np.float32]:
        """The margins of some documents for each problem; [documents, problems]."""
        weights = np.stack([one.state for one in descents], axis=1).astype(np.float32)
        found: NDArray[np.float32] = self._X[documents] @ weights[:-1] + weights[-1]
        return found

    @staticmethod
    def rows(descents: Sequence[_Descent], drop_below: float, most: int) -> list[tuple[SparseRow, float]]:
        """The weights and the intercept of each problem."""
        return [(sparse_row(one.state[:-1], drop_below, most), float(one.state[-1])) for one in descents]


class _Products:
    """Descent over the products of all documents: the state is their products with the weights, float32 [n]."""

    def __init__(self, X: csr_array) -> None:
        self._X = X
        self._gram = SparseFactor(csr_array(X.T)).product(X) + np.float32(1)  # with the 1 of the intercept

    def start(self, factors: NDArray[Any]) -> NDArray[np.float32]:
        """The products with the weights that are the sum of all documents times their factors."""
        from taxocaps.linear.kernels import add_products

        products = np.zeros(len(self._gram))
        add_products(self._gram, factors.astype(np.float64), products)
        return products.astype(np.float32)

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

    @staticmethod
    def margins(descents: Sequence[_Descent], documents: Documents) -> NDArray[np.float32]:
        """The margins of some documents for each problem; [documents, problems]."""
        return np.stack([one.state[documents] for one in descents], axis=1)

    def rows(self, descents: Sequence[_Descent], drop_below: float, most: int) -> list[tuple[SparseRow, float]]:
        """The weights and the intercept of each problem: the sums of its support vectors."""
        factors = csr_array(np.stack([one.signs * one.alphas for one in descents]).astype(np.float32))
        weights = csr_array(factors @ self._X)
        weights.sort_indices()
        found = []
        for start, end, one in zip(weights.indptr[:-1], weights.indptr[1:], descents, strict=True):
            kept, values = sparse_row(weights.data[start:end], drop_below, most)
            row = (weights.indices[start:end][kept].astype(np.int32), values)
            found.append((row, float((one.signs * one.alphas).sum())))
        return found


_Space: TypeAlias = _Features | _Products
