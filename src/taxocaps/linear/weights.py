"""The weights of linear classifiers, sparse, and the margins they give."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["LinearWeights", "SparseRow", "sparse_row", "stack"]

SparseRow: TypeAlias = tuple[NDArray[np.int32], NDArray[np.float32]]
"""The columns of a row that are not 0, and what stands there."""

_CELLS = 4_000_000
"""Pairs of a document and a node whose margins are worked out at a time."""


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
        """How far each document lies on the positive side of each classifier: X coef' + intercept.

        Args:
            X: CSR [n, V].

        Returns:
            float32 [n, K]. Beside it, memory is needed for a few million margins only, and for a turned copy of `coef`.
        """
        step = max(1, _CELLS // max(len(self.intercept), 1))
        margins = np.empty((X.shape[0], len(self.intercept)), np.float32)
        for start in range(0, len(margins), step):
            product = X[start : start + step].astype(np.float32) @ self._turned  # [step, K]
            margins[start : start + step] = product.toarray() + self.intercept
        return margins

    @cached_property
    def _turned(self) -> csr_array:
        """CSR [V, K]: a product reads the rows of the words of a document only."""
        return csr_array(self.coef.T)


def sparse_row(values: NDArray[np.floating], cut: float) -> SparseRow:
    """The weights of one classifier, [V], without those of an absolute value below `cut`, and without zeros.

    >>> [part.tolist() for part in sparse_row(np.array([0.5, -0.01, 0.0]), 0.1)]
    [[0], [0.5]]
    """
    kept = np.flatnonzero(np.abs(values) >= max(cut, np.finfo(np.float32).tiny))
    return kept.astype(np.int32), values[kept].astype(np.float32)


def stack(rows: Sequence[SparseRow], width: int) -> csr_array:
    """CSR [rows, width] of float32."""
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(columns) for columns, _ in rows], out=starts[1:])
    columns = np.concatenate([np.empty(0, np.int32), *(columns for columns, _ in rows)])
    values = np.concatenate([np.empty(0, np.float32), *(values for _, values in rows)])
    return csr_array((values, columns, starts), shape=(len(rows), width))
