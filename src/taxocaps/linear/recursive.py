"""HR-LR and HR-SVM: the weights of a label are drawn towards those of its parents (Gopal and Yang 2013).

S. Gopal, Y. Yang: Recursive regularization for large-scale classification with hierarchical and graphical
dependencies. KDD 2013.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.linear.binary import carriers
from taxocaps.linear.nodes import Nodes
from taxocaps.linear.task import LinearTask
from taxocaps.linear.weights import LinearWeights, sparse_row, stack

__all__ = ["Mixture", "fit_recursive", "mixtures"]

_PASSES = 3
"""Passes over the documents of a label before the next label has its turn."""

_ROUNDS = 5
"""After this many rounds over the labels all documents are visited again, and not those with a part in w alone."""

_LOOSER = 10
"""How many times `config.tolerance` the duality gap may be; the figures of merit move no more by then."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """How the weights of a label are mixed: w = own * v + sum_s factors[s] * v_s.

    Attributes:
        own: The factor of a vector that only this label has; 0 for a label that others are below.
        shared: int64 [S], the numbers of vectors that it has in common with others.
        factors: float64 [S].
    """

    own: float
    shared: NDArray[np.int64]
    factors: NDArray[np.float64]

    @property
    def scale(self) -> float:
        """What w gains for each unit that a document adds to the vectors, and so to w by all of them."""
        return self.own**2 + float(self.factors @ self.factors)


def fit_recursive(task: LinearTask) -> LinearWeights:
    """Minimise 1/2 sum_edges ||w_n - w_parent||^2 + C sum_labels sum_i loss(y_i w_label . x_i) over the nodes' weights.

    Edges join every node to each of its parents, the nodes at the top to the root, and the root to 0, so that there is
    one minimum. With `config.root` "zero" the root stays at 0. The intercept is part of w. Nodes below which there is
    no column change nothing and are left out. As in the publication only leaves have documents; a label that is an
    inner node has a leaf of its own below it: else its children would be drawn towards what tells it from the rest.

    In a tree w is the sum of vectors v, one for each node on the way from the root, and the penalty is
    1/2 sum ||v||^2; `mixtures` finds such vectors for any graph. Then this is a support vector machine (or a logistic
    regression) over all pairs of a document and a label at once, and it is solved as such, by dual coordinate descent
    (Hsieh et al. 2008; Yu et al. 2011), label by label. It ends when the duality gap is below ten times
    `config.tolerance` of the objective, as far as can be told without a further pass.

    Memory: the vectors of inner nodes, float32 [inner nodes, V], and a float32 for each pair of a document and a label.
    The vector of a leaf is made anew from these when its turn comes.

    Departure: the publication alternates between levels and solves each node exactly; with many leaves that follow
    their parent this takes many rounds, for which reason all are solved together. The SVM's hinge is squared. A node
    with several parents is drawn towards each of them; the publication has trees and undirected graphs.

    Returns:
        Weights with a row for each label.
    """
    config = task.config
    descent = _Descent(task, mixtures(Nodes.of(task.classes).with_leaves(), config.root))
    for done in range(0, config.iterations, _ROUNDS * _PASSES):
        gap = descent.sweep(task.seed + done)
        for number in range(1, _ROUNDS):
            descent.sweep(task.seed + done + number, "support")
        task.progress("passes", done + _ROUNDS * _PASSES, None, f"duality gap {gap:.2g}")
        if gap <= _LOOSER * config.tolerance:
            break
    return descent.weights()


def mixtures(nodes: Nodes, root: str) -> list[Mixture]:
    """Vectors v of the nodes, by which the penalty is 1/2 sum ||v||^2, and how the weights of each column arise.

    The penalty is a quadratic form. Nodes are eliminated one after the other, children first, as in a Cholesky
    factorisation: a w_n^2 / 2 - w_n sum_p c_p w_p becomes (w_n - sum_p c_p / a w_p)^2 a / 2, less what the square has
    too much. In a tree all numbers are 1.
    """
    rows = _eliminated(nodes, root)
    inner = sorted({above for node, row in enumerate(rows) for above in row if above != node})
    place = {node: number for number, node in enumerate(inner)}
    found = []
    for node in nodes.own.tolist():
        shared = sorted(above for above in rows[node] if above in place)
        numbers, factors = [place[above] for above in shared], [rows[node][above] for above in shared]
        own = 0.0 if node in place else rows[node][node]
        found.append(Mixture(own, np.array(numbers, np.int64), np.array(factors, np.float64)))
    return found


def _eliminated(nodes: Nodes, root: str) -> list[dict[int, float]]:
    """For each node the vectors that its weights are mixed of, and their factors; the root comes last, if it is one."""
    top = len(nodes)
    parents = [above or ((top,) if root == "learned" else ()) for above in nodes.parents]
    diagonal = [float(max(len(above), 1)) for above in parents] + [1.0]
    links: list[dict[int, float]] = [dict.fromkeys(above, 1.0) for above in parents] + [{}]
    for above in parents:
        for parent in above:
            diagonal[parent] += 1
    for node in reversed(range(top)):
        _eliminate(node, links, diagonal)
    rows: list[dict[int, float]] = [{} for _ in range(top)] + [{top: diagonal[top] ** -0.5}]
    for node in range(top):
        rows[node] = {node: diagonal[node] ** -0.5}
        for parent, link in links[node].items():
            for vector, factor in rows[parent].items():
                rows[node][vector] = rows[node].get(vector, 0.0) + link / diagonal[node] * factor
    return rows


def _eliminate(node: int, links: list[dict[int, float]], diagonal: list[float]) -> None:
    """Take the square of a node out of the form; its parents become linked, the later ones to the earlier."""
    top = len(links) - 1
    above = sorted(links[node].items(), key=lambda item: -1 if item[0] == top else item[0])  # the root comes first
    for place, (first, link) in enumerate(above):
        diagonal[first] -= link**2 / diagonal[node]
        for second, other in above[place + 1 :]:
            links[second][first] = links[second].get(first, 0.0) + link * other / diagonal[node]


class _Descent:
    """The state of dual coordinate descent."""

    def __init__(self, task: LinearTask, mixed: list[Mixture]) -> None:
        X = csr_array(task.X, dtype=np.float32)
        self.rows = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))
        self.lengths = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel() + 1
        self.carriers = carriers(task.Y)
        self.mixed, self.config = mixed, task.config
        n_shared = 1 + max((int(mixture.shared.max(initial=-1)) for mixture in mixed), default=-1)
        self.shared = np.zeros((n_shared, X.shape[1] + 1), np.float32)
        self.alphas = np.zeros((len(mixed), X.shape[0]), np.float32)

    def sweep(self, seed: int, documents: Literal["all", "support"] = "all") -> float:
        """Give each label a turn; returns the duality gap as a share of the objective, as it was seen on the way.

        Args:
            seed: Of the order of the documents.
            documents: Which to visit: all, or those with a part in w.
        """
        penalty, gap, cost = 0.0, 0.0, 0.0
        for label in range(len(self.mixed)):
            own = self._own(label)
            penalty += float(np.square(own).sum()) / 2  # not by BLAS, whose threads wait for one another
            found = self._turn(label, own, seed, documents == "all")
            gap, cost = gap + found[0], cost + found[1]
        penalty += float(np.einsum("sv,sv->", self.shared, self.shared)) / 2
        return gap / max(penalty + cost, np.finfo(float).tiny)

    def weights(self) -> LinearWeights:
        """The weights of all labels; one row is dense at a time."""
        rows, intercept = [], np.zeros(len(self.mixed), np.float32)
        for label, mixture in enumerate(self.mixed):
            w = self._mix(mixture, self._own(label))
            rows.append(sparse_row(w[:-1], self.config.drop_below))
            intercept[label] = w[-1]
        return LinearWeights(stack(rows, self.shared.shape[1] - 1), intercept)

    def _turn(self, label: int, own: NDArray[np.float64], seed: int, everything: bool) -> tuple[float, float]:
        from taxocaps.linear.recursive_kernels import descend

        config, mixture, alphas = self.config, self.mixed[label], self.alphas[label]
        visited = np.arange(len(alphas)) if everything else np.flatnonzero(alphas)
        before = self._mix(mixture, own)
        w = before.copy()
        start = np.uint64(seed) << np.uint64(32) | np.uint64(label)
        fixed = (mixture.scale, config.C, config.loss == "logistic", visited, _PASSES, start)
        found: tuple[Any, Any] = descend(*self.rows, self.lengths, self._signs(label), alphas, w, *fixed)
        gained = ((w - before) / mixture.scale).astype(np.float32)
        for vector, factor in zip(mixture.shared.tolist(), mixture.factors.tolist(), strict=True):
            self.shared[vector] += np.float32(factor) * gained
        return found

    def _own(self, label: int) -> NDArray[np.float64]:
        """The vector that only this label has, [V + 1]."""
        from taxocaps.linear.recursive_kernels import add_rows

        own = np.zeros(self.shared.shape[1])
        if self.mixed[label].own:
            add_rows(*self.rows, self.mixed[label].own * self._signs(label) * self.alphas[label], own)
        return own

    def _mix(self, mixture: Mixture, own: NDArray[np.float64]) -> NDArray[np.float64]:
        w = mixture.own * own
        for vector, factor in zip(mixture.shared.tolist(), mixture.factors.tolist(), strict=True):
            w += factor * self.shared[vector]
        return w

    def _signs(self, label: int) -> NDArray[np.float64]:
        signs = np.full(len(self.lengths), -1.0)
        signs[self.carriers[label]] = 1
        return signs
