"""Which labels are given in the place of a sibling."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from taxocaps.metrics.inputs import check_columns, label_pair

__all__ = ["Confusion", "sibling_confusions"]


@dataclass(frozen=True)
class Confusion:
    """A label that was given instead of its sibling.

    Attributes:
        label: The column of label a, which the documents carry.
        instead: The column of label b, which they do not carry.
        count: Documents that carry a and not b, and were given b and not a.
        carriers: Documents that carry a and not b, whatever they were given; never fewer than `count`.
    """

    label: int
    instead: int
    count: int
    carriers: int

    @property
    def share(self) -> float:
        """The share of the documents with a and not b that were given b instead of a."""
        return self.count / self.carriers


def sibling_confusions(
    truth: csr_array, predicted: csr_array, parents: Sequence[Iterable[Hashable]], most: int = 50
) -> tuple[Confusion, ...]:
    """Count, for all ordered pairs (a, b) of siblings, the documents that were given b instead of a.

    Siblings are two labels with a parent in common. A document counts for (a, b) if it carries a, does not carry b, was
    given b, and was not given a. One document may count for several pairs, and (b, a) is a pair of its own. Two labels
    with several parents in common are one pair.

    Args:
        truth: CSR [documents, L] of bool.
        predicted: CSR [documents, L] of bool.
        parents: The parents of each of the L labels, by any names; labels without a parent have no siblings.
        most: The pairs to return.

    Returns:
        The pairs that occur, those with most documents first, among equals in the order of the columns a and b.

    Raises:
        ValueError: If the shapes or lengths differ.

    >>> given = csr_array([[False, True, False], [True, False, False]])
    >>> sibling_confusions(csr_array([[True, False, False], [True, False, False]]), given, ["x", "x", "y"])
    (Confusion(label=0, instead=1, count=1, carriers=2),)
    """
    truth, predicted = label_pair(truth, predicted)
    check_columns(truth, parents, "lists of parents")
    both = truth.multiply(predicted).astype(np.int32)
    missed = csc_array(truth.astype(np.int32) - both)
    wrong = csc_array(predicted.astype(np.int32) - both)
    counts: dict[tuple[int, int], int] = {}
    for family in _families(parents):
        counts.update(_pairs(missed, wrong, family, most))
    first = sorted(counts, key=lambda pair: (-counts[pair], pair))[:most]
    columns = truth.tocsc()
    return tuple(Confusion(*pair, counts[pair], _carriers(columns, *pair)) for pair in first)


def _families(parents: Sequence[Iterable[Hashable]]) -> list[NDArray[np.int64]]:
    """The columns below each parent that has several."""
    below: dict[Hashable, list[int]] = {}
    for column, above in enumerate(parents):
        for parent in set(above):
            below.setdefault(parent, []).append(column)
    return [np.array(columns, np.int64) for columns in below.values() if len(columns) > 1]


def _pairs(missed: csc_array, wrong: csc_array, family: NDArray[np.int64], most: int) -> dict[tuple[int, int], int]:
    """The documents of the first pairs of a family; a label that is missed is not wrong in the same document."""
    found = (missed[:, family].T @ wrong[:, family]).tocoo()
    a, b = family[found.row], family[found.col]
    first = np.lexsort((b, a, -found.data))[:most]  # a model that gives everything has millions of pairs
    return {(int(a[place]), int(b[place])): int(found.data[place]) for place in first if found.data[place]}


def _carriers(truth: csc_array, a: int, b: int) -> int:
    """Documents that carry a and not b."""
    with_a, with_b = (truth.indices[truth.indptr[one] : truth.indptr[one + 1]] for one in (a, b))
    return len(np.setdiff1d(with_a, with_b, assume_unique=True))
