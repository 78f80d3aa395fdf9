"""What all linear methods share: the training task, the nodes of the taxonomy, and the fitted weights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from taxocaps.compiled import pays
from taxocaps.corpus.labels import Classes
from taxocaps.linear.config import LinearConfig
from taxocaps.progress import Progress, silent

__all__ = [
    "KnownWeights",
    "LinearTask",
    "LinearWeights",
    "Nodes",
    "SparseFactor",
    "SparseRow",
    "documents_by_label",
    "sparse_row",
    "stack",
]

SparseRow: TypeAlias = tuple[NDArray[np.int32], NDArray[np.float32]]
"""The columns of the nonzero values of a row, and the values."""

_CELLS = 4_000_000
"""Margins that are computed at a time."""
_SAVED = 1e-8
"""CPU seconds that compiled code saves for each multiplication of sparse matrices."""
_FEW_EACH = 4
"""Documents are read feature by feature, which looks at all features, if they have a number for one in so many."""
_MOST_DENSE = 25_000_000
"""Weights that are kept dense for predicting, zeros included; 100 MB."""


@dataclass(frozen=True, eq=False)
class LinearTask:
    """Training documents, their labels, and how to fit them.

    Attributes:
        X: CSR [n, V], the features of the documents.
        Y: CSR [n, L] of bool, their labels.
        classes: The L labels.
        config: The options.
        seed: Random seed; the same seed gives the same weights with any number of threads.
        threads: Classifiers that are fitted in parallel, by methods that support it.
        progress: Called as fitting proceeds.
        start: What an earlier fit knows of some labels, for methods with one classifier per label.
    """

    X: csr_array
    Y: csr_array
    classes: Classes
    config: LinearConfig
    seed: int = 0
    threads: int = 1
    progress: Progress = silent
    start: "KnownWeights | None" = None

    def of_labels(self, columns: NDArray[np.int64]) -> "LinearTask":
        """The same for some of the labels, given by their sorted columns."""
        start = None if self.start is None else self.start.of_labels(columns)
        return replace(self, Y=self.Y[:, columns], start=start)


@dataclass(frozen=True, eq=False)
class Nodes:
    """The labels of a model and all their ancestors but the root, in taxonomy order.

    A root that is itself a label of the model is a node, but the parent of none.

    Attributes:
        own: int64 [L], the node of each label.
        parents: The parents of each node, which come before it.
    """

    own: NDArray[np.int64]
    parents: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, classes: Classes) -> "Nodes":
        """The nodes for the labels of a model."""
        taxonomy, used = classes.taxonomy, set(classes.names)
        for name in reversed(taxonomy.names):  # children come before their parents
            if name in used:
                used.update(parent for parent in taxonomy.parents(name) if parent != taxonomy.root)
        index = {name: node for node, name in enumerate(name for name in taxonomy.names if name in used)}
        parents = tuple(
            tuple(index[parent] for parent in taxonomy.parents(name) if parent != taxonomy.root) for name in index
        )
        return cls(np.array([index[name] for name in classes.names], np.int64), parents)

    def path(self, label: int) -> NDArray[np.int64]:
        """The node of a label and those of its ancestors, sorted."""
        found: set[int] = set()
        left = [int(self.own[label])]
        while left:
            node = left.pop()
            if node not in found:
                found.add(node)
                left.extend(self.parents[node])
        return np.array(sorted(found), np.int64)

    @cached_property
    def paths(self) -> csr_array:
        """CSR [L, nodes] of bool: the path of each label; as many entries as all labels have ancestors."""
        paths = [self.path(label) for label in range(len(self.own))]
        ends = np.cumsum([0, *map(len, paths)])
        nodes = np.concatenate([np.zeros(0, np.int64), *paths])
        return csr_array((np.ones(len(nodes), bool), nodes, ends), (len(paths), len(self)))

    def with_leaves(self) -> "Nodes":
        """Add a leaf below every label that is an inner node; the leaf becomes the node of the label.

        For methods in which only leaves have documents.
        """
        inner = {parent for parents in self.parents for parent in parents}
        labels = [label for label, node in enumerate(self.own.tolist()) if node in inner]
        own, count = self.own.copy(), len(self)
        own[labels] = count + np.arange(len(labels))
        return Nodes(own, (*self.parents, *((node,) for node in self.own[labels].tolist())))

    def __len__(self) -> int:
        return len(self.parents)


@dataclass(frozen=True, eq=False)
class LinearWeights:
    """The weights of K linear classifiers over V features.

    Attributes:
        coef: CSR [K, V] of float32.
        intercept: float32 [K].
    """

    coef: csr_array
    intercept: NDArray[np.float32]

    def margins(self, X: csr_array) -> NDArray[np.float32]:
        """The decision function of each classifier for each document: X coef' + intercept.

        Args:
            X: CSR [n, V].

        Returns:
            float32 [n, K]. Further memory: a few million margins, a transposed copy of `coef`, and where compiled code
            is used, a second one with up to twice as many weights.
        """
        step = max(1, _CELLS // max(len(self.intercept), 1))
        margins = np.empty((X.shape[0], len(self.intercept)), np.float32)
        for start in range(0, len(margins), step):
            part = (X if step >= len(margins) else X[start : start + step]).astype(np.float32, copy=False)
            margins[start : start + step] = _product(part, self._transposed) + self.intercept
        return margins

    @cached_property
    def _transposed(self) -> "SparseFactor | NDArray[np.float32]":
        """The weights by feature, [V, K]: a product reads only the rows of the words of a document.

        Dense if there are few: adding up whole rows is several times as fast as looking for their nonzero weights.
        """
        transposed = csr_array(self.coef.T)
        return transposed.toarray() if np.prod(transposed.shape) <= _MOST_DENSE else SparseFactor(transposed)


@dataclass(frozen=True, eq=False)
class KnownWeights:
    """The classifiers of some labels by an earlier fit, perhaps to other documents.

    Attributes:
        labels: int64 [K], the sorted columns of these labels.
        weights: Their classifiers, over the features of the task.
    """

    labels: NDArray[np.int64]
    weights: LinearWeights

    def of_labels(self, columns: NDArray[np.int64]) -> "KnownWeights":
        """The same for some of the labels, given by their sorted columns, which are counted anew."""
        kept = np.flatnonzero(np.isin(self.labels, columns))
        weights = LinearWeights(self.weights.coef[kept], self.weights.intercept[kept])
        return KnownWeights(np.searchsorted(columns, self.labels[kept]), weights)


def _product(rows: csr_array, weights: "SparseFactor | NDArray[np.float32]") -> NDArray[np.float32]:
    if isinstance(weights, SparseFactor):
        return weights.product(rows)
    found: NDArray[np.float32] = _by_feature(rows) @ weights
    return found


def _by_feature(rows: csr_array) -> csr_array | csc_array:
    """The same numbers, feature after feature, if there are many.

    Then the weights of each are fetched from memory only once; the sums are the same to the last bit.
    """
    return rows.tocsc() if rows.nnz * _FEW_EACH > rows.shape[1] else rows


@dataclass(frozen=True, eq=False)
class SparseFactor:
    """A matrix that sparse documents are multiplied with, perhaps many times, for dense products.

    Attributes:
        matrix: CSR [V, K] of float32.
    """

    matrix: csr_array

    def product(self, rows: csr_array) -> NDArray[np.float32]:
        """The product of CSR [n, V] of float32 with the matrix; float32 [n, K]."""
        saved = _SAVED * rows.nnz * self.matrix.nnz / max(1, self.matrix.shape[0])
        if not pays("taxocaps.linear.kernels:add_sparse_products", saved):
            product: NDArray[np.float32] = (rows @ self.matrix).toarray()
            return product
        from taxocaps.linear.kernels import add_sparse_products

        total = np.zeros((rows.shape[0], self.matrix.shape[1]), np.float32)
        entries = _by_feature(rows).tocoo()
        places = (entries.row.astype(np.uint32), entries.col.astype(np.uint32))
        add_sparse_products(entries.data, *places, self._with_whole_rows, total)
        return total

    @cached_property
    def _with_whole_rows(self) -> tuple[NDArray[Any], ...]:
        """The matrix with zeros filled in where at least half of a row is there: whole rows need no columns.

        Frequent features, which most products are about, have weights for nearly all labels.
        """
        from taxocaps.linear.kernels import fill_rows

        # Compiled code is faster with indices that cannot be negative.
        columns = self.matrix.indices.astype(np.int32, copy=False).view(np.uint32)
        given, width = (self.matrix.data, columns, self.matrix.indptr.astype(np.uint64)), self.matrix.shape[1]
        counts = np.diff(given[2])
        is_whole = counts * 2 >= width
        if not is_whole.any():
            return given
        starts = np.zeros_like(given[2])
        np.cumsum(np.where(is_whole, width, counts), out=starts[1:])
        found = np.zeros(starts[-1], np.float32), np.zeros(starts[-1], np.uint32), starts
        fill_rows(given, width, found)
        return found


def sparse_row(values: NDArray[np.floating], drop_below: float, most: int | None = None) -> SparseRow:
    """The nonzero weights of one classifier, [V].

    Args:
        values: All its weights.
        drop_below: Weights with a smaller absolute value are left out.
        most: Of more weights than this, only the largest are kept.

    >>> [part.tolist() for part in sparse_row(np.array([0.5, -0.01, 0.0, -0.25]), 0.1)]
    [[0, 3], [0.5, -0.25]]
    >>> [part.tolist() for part in sparse_row(np.array([0.5, -0.01, 0.0, -0.25]), 0.1, most=1)]
    [[0], [0.5]]
    """
    sizes = np.abs(values)
    kept = np.flatnonzero(sizes >= max(drop_below, np.finfo(np.float32).tiny))
    if most is not None and len(kept) > most:
        kept = np.sort(kept[np.argpartition(-sizes[kept], most)[:most]])
    return kept.astype(np.int32), values[kept].astype(np.float32)


def stack(rows: Sequence[SparseRow], width: int) -> csr_array:
    """CSR [rows, width] of float32."""
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(columns) for columns, _ in rows], out=starts[1:])
    columns = np.concatenate([np.empty(0, np.int32), *(columns for columns, _ in rows)])
    values = np.concatenate([np.empty(0, np.float32), *(values for _, values in rows)])
    return csr_array((values, columns, starts), shape=(len(rows), width))


def documents_by_label(Y: csr_array) -> tuple[NDArray[np.integer], ...]:
    """The sorted indices of the documents of each label, for the columns of CSR [n, L]."""
    columns = Y.tocsc()
    columns.sort_indices()
    return tuple(np.split(columns.indices, columns.indptr[1:-1]))
