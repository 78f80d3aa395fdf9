"""HR-LR and HR-SVM: recursive regularization of the weights of labels towards their parents (Gopal and Yang 2013).

S. Gopal, Y. Yang: Recursive regularization for large-scale classification with hierarchical and graphical
dependencies. KDD 2013.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.linear.model import LinearTask, LinearWeights, Nodes, documents_by_label, sparse_row, stack

__all__ = ["Mixture", "fit_recursive", "mixtures"]

_PASSES = 3
"""Passes over the documents of a label before the next label."""

_ROUNDS = 5
"""Rounds over the labels of which the first visits all documents, the others only support vectors."""

_GAP_FACTOR = 10
"""The duality gap at which fitting stops, as a multiple of `config.tolerance`; metrics no longer change then."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """The weights of a label as a linear combination: w = own * v + sum_s factors[s] * v_s.

    Attributes:
        own: The factor of the vector that only this label has; 0 for a label with descendants.
        shared: int64 [S], the indices of the vectors that it shares with other labels.
        factors: float64 [S], their factors.
    """

    own: float
    shared: NDArray[np.int64]
    factors: NDArray[np.float64]

    @property
    def scale(self) -> float:
        """The sum of the squared factors: the change of w per unit of a document that is added to its vectors."""
        return self.own**2 + float(self.factors @ self.factors)


def fit_recursive(task: LinearTask) -> LinearWeights:
    """Minimize 1/2 sum_edges ||w_n - w_parent||^2 + C sum_labels sum_i loss(y_i w_label . x_i) over the nodes' weights.

    There is an edge from every node to each of its parents, from the top nodes to the root, and from the root to 0, so
    that the minimum is unique. With `config.root` "zero" the weights of the root are 0. The intercept is part of w.
    Nodes without labels below them change nothing and are left out. As in the publication only leaves have documents; a
    label that is an inner node gets a leaf below it: otherwise its children would be regularized towards what separates
    it from the rest.

    In a tree w is the sum of vectors v, one for each node on the path from the root, and the penalty is
    1/2 sum ||v||^2; `mixtures` finds such vectors for any graph. This makes it one support vector machine (or logistic
    regression) over all pairs of a document and a label, which is solved by dual coordinate descent (Hsieh et al. 2008;
    Yu et al. 2011), label by label. It stops when the duality gap, as estimated during a pass, is below ten times
    `config.tolerance`, relative to the objective.

    Memory: the vectors of inner nodes, float32 [inner nodes, V], and a float32 for each pair of a document and a label.
    The vector of a leaf is recomputed from these when it is needed.

    Departure: the publication alternates between levels and solves each node exactly; with many leaves that follow
    their parent this takes many rounds, and so all are solved together. The SVM's hinge is squared. A node with several
    parents is regularized towards each of them; the publication has trees and undirected graphs.

    Returns:
        Weights with a row for each label.
    """
    config = task.config
    descent = _Descent(task, mixtures(Nodes.of(task.classes).with_leaves(), config.root))
    for done in range(0, config.iterations, _ROUNDS * _PASSES):
        gap = descent.sweep(task.seed + done)
        for extra in range(1, _ROUNDS):
            descent.sweep(task.seed + done + extra, "support")
        task.progress("passes", done + _ROUNDS * _PASSES, None, f"duality gap {gap:.2g}")
        if gap <= _GAP_FACTOR * config.tolerance:
            break
    return descent.weights()


def mixtures(nodes: Nodes, root: str) -> list[Mixture]:
    """The weights of each label as a combination of vectors v, in which the penalty is 1/2 sum ||v||^2.

    The penalty is a quadratic form. Nodes are eliminated one after another, children first, as in a Cholesky
    factorization: a w_n^2 / 2 - w_n sum_p c_p w_p becomes (w_n - sum_p c_p / a w_p)^2 a / 2, minus the remainder of the
    square. In a tree all factors are 1.
    """
    rows = _eliminated(nodes, root)
    inner = sorted({above for node, row in enumerate(rows) for above in row if above != node})
    index = {node: vector for vector, node in enumerate(inner)}
    mixed = []
    for node in nodes.own.tolist():
        shared = sorted(above for above in rows[node] if above in index)
        vectors, factors = [index[above] for above in shared], [rows[node][above] for above in shared]
        own = 0.0 if node in index else rows[node][node]
        mixed.append(Mixture(own, np.array(vectors, np.int64), np.array(factors, np.float64)))
    return mixed


def _eliminated(nodes: Nodes, root: str) -> list[dict[int, float]]:
    """For each node the vectors of its weights and their factors; the root, if it is learned, comes last."""
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
    """Eliminate a node from the quadratic form; this links its parents, later ones to earlier ones."""
    top = len(links) - 1
    above = sorted(links[node].items(), key=lambda item: -1 if item[0] == top else item[0])  # the root comes first
    for i, (first, link) in enumerate(above):
        diagonal[first] -= link**2 / diagonal[node]
        for second, other in above[i + 1 :]:
            links[second][first] = links[second].get(first, 0.0) + link * other / diagonal[node]


class _Descent:
    """The state of dual coordinate descent."""

    def __init__(self, task: LinearTask, mixed: list[Mixture]) -> None:
        X = csr_array(task.X, dtype=np.float32)
        self.rows = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))
        self.lengths = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel() + 1
        self.positives = documents_by_label(task.Y)
        self.mixed, self.config = mixed, task.config
        n_shared = 1 + max((int(mixture.shared.max(initial=-1)) for mixture in mixed), default=-1)
        self.shared = np.zeros((n_shared, X.shape[1] + 1), np.float32)
        self.alphas = np.zeros((len(mixed), X.shape[0]), np.float32)

    def sweep(self, seed: int, documents: Literal["all", "support"] = "all") -> float:
        """Optimize each label once; returns the relative duality gap, as estimated during the pass.

        Args:
            seed: Random seed of the order of the documents.
            documents: The documents to visit: all, or the support vectors.
        """
        penalty, gap, cost = 0.0, 0.0, 0.0
        for label in range(len(self.mixed)):
            own = self._own(label)
            penalty += float(np.square(own).sum()) / 2  # not by BLAS: its threads would wait for one another
            label_gap, label_cost = self._optimize(label, own, seed, documents == "all")
            gap, cost = gap + label_gap, cost + label_cost
        penalty += float(np.einsum("sv,sv->", self.shared, self.shared)) / 2
        return gap / max(penalty + cost, np.finfo(float).tiny)

    def weights(self) -> LinearWeights:
        """The weights of all labels; only one row at a time is dense."""
        rows, intercept = [], np.zeros(len(self.mixed), np.float32)
        for label, mixture in enumerate(self.mixed):
            w = self._mix(mixture, self._own(label))
            rows.append(sparse_row(w[:-1], self.config.drop_below))
            intercept[label] = w[-1]
        return LinearWeights(stack(rows, self.shared.shape[1] - 1), intercept)

    def _optimize(self, label: int, own: NDArray[np.float64], seed: int, everything: bool) -> tuple[float, float]:
        from taxocaps.linear.kernels import descend_label

        config, mixture, alphas = self.config, self.mixed[label], self.alphas[label]
        visited = np.arange(len(alphas)) if everything else np.flatnonzero(alphas)
        before = self._mix(mixture, own)
        w = before.copy()
        start = np.uint64(seed) << np.uint64(32) | np.uint64(label)
        fixed = (mixture.scale, config.C, config.loss == "logistic", visited, _PASSES, start)
        result: tuple[Any, Any] = descend_label(*self.rows, self.lengths, self._signs(label), alphas, w, *fixed)
        change = ((w - before) / mixture.scale).astype(np.float32)
        for vector, factor in zip(mixture.shared.tolist(), mixture.factors.tolist(), strict=True):
            self.shared[vector] += np.float32(factor) * change
        return result

    def _own(self, label: int) -> NDArray[np.float64]:
        """The vector that only this label has, [V + 1]."""
        from taxocaps.linear.kernels import add_rows

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
        signs[self.positives[label]] = 1
        return signs
