"""The nodes of the taxonomy that matter for some labels, numbered."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from taxocaps.corpus.classes import Classes

__all__ = ["Nodes"]


@dataclass(frozen=True, eq=False)
class Nodes:
    """The labels that are columns and all that is above them, the root left out, in taxonomy order.

    A root that is a column itself is a node like any other, but above none: it says nothing about what is below it.

    Attributes:
        closure: CSR [L, nodes] of bool: in the row of a column, its node and all the nodes above.
        own: int64 [L], the node of each column.
        parents: The nodes directly above each node, which come before it.
    """

    closure: csr_array
    own: NDArray[np.int64]
    parents: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, classes: Classes) -> "Nodes":
        """The nodes of the columns of a model."""
        taxonomy, full = classes.taxonomy, classes.full_closure
        used = np.unique(full.indices)
        number = {taxonomy.names[position]: node for node, position in enumerate(used.tolist())}
        parents = tuple(
            tuple(number[parent] for parent in taxonomy.parents(name) if parent != taxonomy.root) for name in number
        )
        own = np.array([number[name] for name in classes.names], np.int64)
        return cls(csr_array(full[:, used]), own, parents)

    def with_leaves(self) -> "Nodes":
        """The same with a leaf of its own below every column that is an inner node, which then stands for the column.

        For methods in which inner nodes have no documents, but are what their children have in common.
        """
        inner = {parent for above in self.parents for parent in above}
        given = [column for column, node in enumerate(self.own.tolist()) if node in inner]
        own, count = self.own.copy(), len(self)
        own[given] = count + np.arange(len(given))
        leaves = csr_array((np.ones(len(given), bool), (given, np.arange(len(given)))), (len(own), len(given)))
        parents = (*self.parents, *((node,) for node in self.own[given].tolist()))
        return Nodes(csr_array(hstack([self.closure, leaves])), own, parents)

    def __len__(self) -> int:
        return len(self.parents)
