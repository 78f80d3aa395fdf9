"""Labels that deserve a look as a whole: too rare to learn, or given where a label below them should be."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, identity

from taxocaps.corpus.labels import Classes

__all__ = ["FEW_DOCUMENTS", "Childless", "parents_without_child"]

FEW_DOCUMENTS = 10
"""Labels with fewer documents are too rare to be learned or measured well."""


@dataclass(frozen=True, eq=False)
class Childless:
    """Documents with a parent label but none of its children, although most documents with that parent have one.

    Attributes:
        documents: int64 [n], their rows; where a label below is most probable come first.
        parents: int64 [n], the columns of these labels.
        children: int64 [n], the most probable label below each.
        scores: float32 [n], its probability.
    """

    documents: NDArray[np.int64]
    parents: NDArray[np.int64]
    children: NDArray[np.int64]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.documents)


def parents_without_child(labels: csr_array, scores: NDArray[np.float32], classes: Classes) -> Childless:
    """Find documents whose labels end too high in the taxonomy.

    A parent counts only if more than half of the documents with it have a label below it: elsewhere it is used as a
    label of its own.

    Args:
        labels: CSR [documents, L] of bool.
        scores: float32 [documents, L], out-of-fold probabilities.
        classes: The labels of the columns.
    """
    below = csr_array(csr_array(classes.closure.T).astype(np.int32) - csr_array(identity(len(classes), np.int32)))
    below.eliminate_zeros()
    given = labels.astype(np.int32)
    with_child = given.multiply((given @ below.T).astype(bool))  # what is above another label of the document
    is_expected = 2 * with_child.sum(axis=0) > given.sum(axis=0)
    without = csr_array(given - with_child).tocoo()
    is_found = (without.data > 0) & (np.diff(below.indptr) > 0)[without.col] & is_expected[without.col]
    rows, parents = without.row[is_found].astype(np.int64), without.col[is_found].astype(np.int64)
    children = np.zeros(len(rows), np.int64)
    for index, (row, parent) in enumerate(zip(rows.tolist(), parents.tolist(), strict=True)):
        columns = below.indices[below.indptr[parent] : below.indptr[parent + 1]]
        children[index] = columns[np.argmax(scores[row, columns])]
    found = scores[rows, children]
    order = np.lexsort((parents, rows, -found))
    return Childless(rows[order], parents[order], children[order], found[order])
