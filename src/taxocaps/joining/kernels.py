"""Numba kernels of joining: walking down trees, and looking up neighbours."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import kernel

__all__ = ["nearest", "sum_contributions", "sum_trees"]

Floats = NDArray[np.float32]
Int32s = NDArray[np.int32]


@kernel
def _child(row: Floats, node: int, nodes: Any) -> int:
    """The child of an inner node that a row goes to; a value that is missing goes where training sent those."""
    features, thresholds, missing_left, left, right = nodes
    value = np.float64(row[features[node]])
    goes_left = missing_left[node] != 0 if np.isnan(value) else value <= thresholds[node]
    return left[node] if goes_left else right[node]


@kernel
def sum_trees(rows: Floats, roots: Int32s, nodes: Any, values: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    """Add the value of the leaf of each tree to the sum of each row."""
    left = nodes[3]
    for index in range(len(rows)):
        for root in roots:
            node = root
            while left[node] >= 0:
                node = _child(rows[index], node, nodes)
            sums[index] += values[node]


@kernel
def sum_contributions(
    rows: Floats, roots: Int32s, nodes: Any, values: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Add to each feature of each row how far its splits move the value, from each root to a leaf; [rows, features]."""
    features, left = nodes[0], nodes[3]
    for index in range(len(rows)):
        for root in roots:
            node = root
            while left[node] >= 0:
                child = _child(rows[index], node, nodes)
                sums[index, features[node]] += values[child] - values[node]
                node = child


@kernel
def nearest(
    queries: Any,
    columns: Any,
    query_folds: Int32s,
    folds: Int32s,
    most_documents: int,
    indices: Int32s,
    similarities: Floats,
) -> None:
    """For each query the most similar documents of other folds, in no order; both results are [queries, k].

    Args:
        queries: The CSR arrays (indptr, indices, data) of vectors of length 1.
        columns: The CSC arrays of the documents.
        query_folds: The fold of each query.
        folds: The fold of each document.
        most_documents: Words of more documents than this tell little, and are passed over.
        indices: Filled with indices of documents.
        similarities: Filled with cosines; 0 where there is no further neighbour.
    """
    starts, words, values = queries
    column_starts, documents, weights = columns
    found = np.zeros(len(folds), np.float32)
    for query in range(len(starts) - 1):
        found[:] = 0
        for position in range(starts[query], starts[query + 1]):
            word = words[position]
            if column_starts[word + 1] - column_starts[word] <= most_documents:
                for entry in range(column_starts[word], column_starts[word + 1]):
                    found[documents[entry]] += values[position] * weights[entry]
        worst = 0
        for document in range(len(folds)):
            if found[document] > similarities[query, worst] and folds[document] != query_folds[query]:
                indices[query, worst], similarities[query, worst] = document, found[document]
                worst = np.argmin(similarities[query])
