"""Gradient-boosted trees, fitted by scikit-learn and kept as plain arrays: no pickle, no scikit-learn to predict."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import pays
from taxocaps.config import Between, Config, Search

__all__ = ["Trees", "TreesConfig", "fit_trees"]

_SAVED = 9e-8
"""CPU seconds that compiled code saves for each row and tree."""
_FEW_ROWS = 1_000
"""Rows that plain code sends down all trees at once."""
_WORTH_THREADS = 3_000_000
"""Numbers in all rows from which on several threads fit trees faster than one: each split wakes them anew."""

_MOST_LEAVES = 64
"""Leaves of a tree: compiled code has a bit for each."""


class TreesConfig(Config):
    """Options of the trees that join evidence.

    Attributes:
        learning_rate: Weight of each tree.
        leaves: Leaves of a tree.
        min_pairs: The least number of pairs of a document and a label in a leaf.
        penalty: L2 penalty of the values of leaves.
    """

    section: ClassVar[str] = "join"

    learning_rate: Annotated[float, Between(1e-3, 1), Search(0.02, 0.3, log=True)] = 0.08
    leaves: Annotated[int, Between(2, _MOST_LEAVES), Search(4, _MOST_LEAVES, log=True)] = 15
    min_pairs: Annotated[int, Between(1, 1_000_000), Search(10, 200, log=True)] = 40
    penalty: Annotated[float, Between(0, 1e6), Search(0.5, 50, log=True)] = 5.0


@dataclass(frozen=True, eq=False)
class Trees:
    """The logit of a probability as a sum of trees.

    Attributes:
        roots: int32 [trees], the root of each tree, ascending; its other nodes follow it.
        features: int32 [nodes], the feature that an inner node looks at.
        thresholds: float64 [nodes]; a row whose feature is at most this goes to the left.
        missing_left: uint8 [nodes], whether a row without the feature (NaN) goes to the left.
        left: int32 [nodes], the left child; -1 for a leaf.
        right: int32 [nodes], the right child; -1 for a leaf.
        values: float64 [nodes], the value of a leaf; for an inner node the mean of its leaves, weighted by the rows
            that training had in them.
        baseline: float64 [1], the logit before all trees.
    """

    roots: NDArray[np.int32]
    features: NDArray[np.int32]
    thresholds: NDArray[np.float64]
    missing_left: NDArray[np.uint8]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    values: NDArray[np.float64]
    baseline: NDArray[np.float64]

    def logits(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """The logit of each row of features, float32 [rows, features]."""
        if not pays("taxocaps.joining.kernels:sum_trees", _SAVED * len(rows) * len(self.roots)):
            parts = np.array_split(rows, 1 + len(rows) // _FEW_ROWS)
            return np.concatenate([self._plain_logits(part) for part in parts])
        from taxocaps.joining.kernels import sum_trees

        sums = np.full(len(rows), self.baseline[0])
        sum_trees(np.ascontiguousarray(rows.T, np.float32), self.roots, self._nodes, self.values, sums)
        return sums

    def _plain_logits(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """The twin of `sum_trees`: every row goes down all trees at once."""
        index = np.repeat(np.arange(len(rows)), len(self.roots))  # [rows * trees]
        nodes = np.tile(self.roots, len(rows))
        inner = np.flatnonzero(self.left[nodes] >= 0)  # those that did not come to a leaf yet
        while len(inner):
            node = nodes[inner]
            value = rows[index[inner], self.features[node]]
            goes_left = (value <= self.thresholds[node]) | (np.isnan(value) & (self.missing_left[node] == 1))
            nodes[inner] = node = np.where(goes_left, self.left[node], self.right[node])
            inner = inner[self.left[node] >= 0]
        values = self.values[nodes].reshape(len(rows), len(self.roots))
        baseline = np.broadcast_to(self.baseline, (len(rows), 1))
        return np.concatenate([baseline, values], axis=1).cumsum(axis=1)[:, -1]  # summed in the order of the trees

    def contributions(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """What each feature adds to the logit of each row, [rows, features] (Saabas 2014).

        Going down a tree, the change of the value at a node belongs to the feature that the node looks at. With the
        baseline and the values of all roots, contributions sum to the logit.
        """
        from taxocaps.joining.kernels import sum_contributions

        sums = np.zeros(rows.shape)
        sum_contributions(np.ascontiguousarray(rows, np.float32), self.roots, self._nodes, self.values, sums)
        return sums

    def first(self, count: int) -> "Trees":
        """The first trees alone."""
        if count >= len(self.roots):
            return self
        end = self.roots[count]
        nodes = {name: array[:end] for name, array in self.arrays().items() if name not in ("roots", "baseline")}
        return replace(self, roots=self.roots[:count], **nodes)

    @cached_property
    def _nodes(self) -> tuple[Any, ...]:
        """What kernels read; a number is at most a threshold if it is at most the nearest float32 not above that."""
        near = self.thresholds.astype(np.float32)
        thresholds = np.where(near > self.thresholds, np.nextafter(near, np.float32(-np.inf)), near)
        return self.features, thresholds, self.missing_left, self.left, self.right

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name, to be saved."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], width: int) -> Self:
        """Trees from their arrays, which are checked: a damaged file must not lead outside of them.

        Args:
            arrays: As `arrays` gives them.
            width: The number of features of a row.

        Raises:
            ValueError: If the arrays do not fit together.
        """
        trees = cls(**{field.name: np.ascontiguousarray(arrays[field.name]) for field in fields(cls)})
        if not trees._is_sound(width):
            raise ValueError("the trees do not fit together")
        return trees

    def _is_sound(self, width: int) -> bool:
        """Whether the nodes of each tree follow its root, and each leads to later ones of its own; so walks end."""
        count, index = len(self.values), np.arange(len(self.values))
        wanted: dict[str, Any] = {"roots": np.int32, "features": np.int32, "left": np.int32, "right": np.int32}
        wanted |= {"thresholds": np.float64, "missing_left": np.uint8, "values": np.float64, "baseline": np.float64}
        arrays = self.arrays()
        if any(arrays[name].dtype != kind or arrays[name].ndim != 1 for name, kind in wanted.items()):
            return False
        if any(len(array) != count for name, array in arrays.items() if name not in ("roots", "baseline")):
            return False
        inner = self.left >= 0
        parents, children = np.tile(index[inner], 2), np.concatenate([self.left[inner], self.right[inner]])
        leaves, trees = np.cumsum(~inner), np.append(self.roots, count)
        return bool(
            len(self.baseline) == 1
            and trees[0] == 0
            and (np.diff(trees) > 0).all()
            and (children > parents).all()
            and np.array_equal(np.sort(np.append(children, self.roots)), index)
            and (np.searchsorted(self.roots, children, "right") == np.searchsorted(self.roots, parents, "right")).all()
            and (np.diff(leaves[trees[1:] - 1], prepend=0) <= _MOST_LEAVES).all()
            and ((self.features[inner] >= 0) & (self.features[inner] < width)).all()
            and all(np.abs(one).max(initial=0) <= _GREATEST for one in (self.values, self.baseline))
            and not np.isnan(self.thresholds).any()
        )


_GREATEST = 1e9
"""No leaf has a greater value: the sum of all trees is a number, too."""


def fit_trees(
    rows: NDArray[np.float32],
    truth: NDArray[np.bool_],
    config: TreesConfig,
    count: int,
    *,
    rising: Sequence[bool] | None = None,
    seed: int = 0,
) -> Trees:
    """Fit trees to the logistic loss by gradient boosting over histograms.

    Args:
        rows: float32 [rows, features]; NaN where a feature is missing.
        truth: bool [rows].
        config: The options.
        count: Number of trees.
        rising: For each feature, whether the probability must never fall as it rises.
        seed: Random seed.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    if truth.all() or not truth.any():  # nothing to tell apart: a constant
        share = (truth.sum() + 0.5) / (len(truth) + 1)
        return _assembled([], float(np.log(share / (1 - share))))
    # scikit-learn cannot bin a feature that no row has; a constant is never split on.
    rows = np.where(np.isnan(rows).all(axis=0), np.float32(0), rows)
    model = HistGradientBoostingClassifier(
        max_iter=count,
        learning_rate=config.learning_rate,
        max_leaf_nodes=config.leaves,
        min_samples_leaf=min(config.min_pairs, max(1, len(rows) // 20)),
        l2_regularization=config.penalty,
        max_bins=127,
        monotonic_cst=None if rising is None else [int(one) for one in rising],
        early_stopping=False,
        random_state=seed,
    )
    with nullcontext() if rows.size >= _WORTH_THREADS else threadpool_limits(1, user_api="openmp"):
        model.fit(rows, truth)
    # scikit-learn has no public way to its trees other than pickle; a test compares the predictions.
    nodes = [predictors[0].nodes for predictors in model._predictors]
    return _assembled(nodes, float(np.ravel(model._baseline_prediction)[0]))


_NODE = [
    *((name, np.uint8) for name in ("is_leaf", "missing_go_to_left")),
    *((name, np.int64) for name in ("left", "right", "count", "feature_idx")),
    *((name, np.float64) for name in ("value", "num_threshold")),
]
"""The fields of a node, as scikit-learn calls them."""


def _assembled(trees: list[Any], baseline: float) -> Trees:
    """One set of arrays for the nodes of all trees; children come after their parents, as scikit-learn has them."""
    sizes = np.array([len(nodes) for nodes in trees], np.int64)
    roots = np.cumsum(sizes) - sizes
    nodes, shift = np.concatenate(trees or [np.zeros(0, _NODE)]), np.repeat(roots, sizes)
    is_leaf = nodes["is_leaf"].astype(bool)
    left, right = (np.where(is_leaf, -1, nodes[side].astype(np.int64) + shift) for side in ("left", "right"))
    values = np.where(is_leaf, nodes["value"], 0.0)
    rows = nodes["count"].astype(np.float64)
    for node in np.flatnonzero(~is_leaf)[::-1].tolist():
        below = [left[node], right[node]]
        values[node] = rows[below] @ values[below] / max(rows[below].sum(), 1.0)
    return Trees(
        roots.astype(np.int32),
        nodes["feature_idx"].astype(np.int32),
        nodes["num_threshold"].astype(np.float64),
        nodes["missing_go_to_left"].astype(np.uint8),
        left.astype(np.int32),
        right.astype(np.int32),
        values,
        np.array([baseline]),
    )
