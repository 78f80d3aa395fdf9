"""The labels a model can give, its columns, with their places in the taxonomy."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from taxocaps.corpus.labels import label_matrix
from taxocaps.taxonomy.tree import Taxonomy

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Classes"]


@dataclass(frozen=True)
class Classes:
    """The labels of the columns of a model, in taxonomy order, parents before children.

    Attributes:
        names: The labels.
        taxonomy: Has them all.

    >>> topics = Taxonomy.from_edges([("all", "trade"), ("trade", "oil"), ("oil", "crude")])
    >>> Classes(("trade", "crude"), topics).parents
    ((), (0,))
    """

    names: tuple[str, ...]
    taxonomy: Taxonomy

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def closure(self) -> "csr_array":
        """CSR [L, L] of bool: in the row of a label, itself and those of its ancestors that are columns."""
        return label_matrix([(name,) for name in self.names], self.names, self.taxonomy, "add")

    @cached_property
    def full_closure(self) -> "csr_array":
        """CSR [L, labels of the taxonomy] of bool: in the row of a label, itself and all its ancestors but the root."""
        return label_matrix([(name,) for name in self.names], self.taxonomy.names, self.taxonomy, "add")

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """For each label the columns of its nearest ancestors that are columns: its parents, if those are."""
        columns = {name: column for column, name in enumerate(self.names)}
        above: dict[str, frozenset[int]] = {}
        for name in self.taxonomy.names:  # parents come before their children
            found = (
                frozenset({columns[parent]}) if parent in columns else above[parent]
                for parent in self.taxonomy.parents(name)
            )
            above[name] = frozenset().union(*found)
        return tuple(tuple(sorted(above[name])) for name in self.names)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The depth of each label below the root."""
        return tuple(map(self.taxonomy.depth, self.names))

    def is_closed(self, labels: "csr_array") -> bool:
        """Whether every document that carries a label also carries all its ancestors that are columns.

        Args:
            labels: CSR [documents, L] of bool.
        """
        return bool((labels @ self.closure).nnz == labels.nnz)

    def lists(self, chosen: "csr_array") -> list[tuple[str, ...]]:
        """The names of the labels of each document, out of CSR [documents, L]."""
        names = [self.names[column] for column in chosen.indices.tolist()]
        return [tuple(names[start:end]) for start, end in itertools.pairwise(chosen.indptr.tolist())]
