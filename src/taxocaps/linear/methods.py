"""The linear methods by how they use the taxonomy, and the contribution of words to their decisions.

Fitting imports scikit-learn or numba; scores and contributions need neither.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.model import LinearTask, LinearWeights, Nodes
from taxocaps.linear.one_vs_rest import OneVsRest, logistic_scores
from taxocaps.linear.recursive import fit_recursive
from taxocaps.linear.structured import fit_structured, structured_scores
from taxocaps.linear.top_down import fit_top_down, top_down_scores

__all__ = ["METHODS", "Classifiers", "Method", "word_contributions"]


class Classifiers(Protocol):
    """The classifiers of all labels over the same documents."""

    def fit(self) -> LinearWeights:
        """The weights of classifiers fitted to all documents."""

    def margins_without(self, left_out: NDArray[np.int64]) -> NDArray[np.float32]:
        """The margins of some documents by classifiers fitted to all others; float32 [left out, K]."""


@dataclass(frozen=True)
class _Refitted:
    """The classifiers of a method that begins anew for each set of documents."""

    task: LinearTask
    method: Callable[[LinearTask], LinearWeights]

    def fit(self) -> LinearWeights:
        return self.method(self.task)

    def margins_without(self, left_out: NDArray[np.int64]) -> NDArray[np.float32]:
        rest = np.setdiff1d(np.arange(self.task.X.shape[0]), left_out, assume_unique=True)
        weights = self.method(replace(self.task, X=self.task.X[rest], Y=self.task.Y[rest]))
        return weights.margins(self.task.X[left_out])


@dataclass(frozen=True)
class Method:
    """A linear method.

    Attributes:
        prepare: Takes a task; its classifiers have K rows of weights, and what they stand for depends on the method.
        scores: Turns margins, [n, K], into scores, float32 [n, L], from 0 to 1.
        rows: The number of classifiers, K, for some labels.
    """

    prepare: Callable[[LinearTask], Classifiers]
    scores: Callable[[NDArray[np.float32], Classes], NDArray[np.float32]]
    rows: Callable[[Classes], int] = len

    def fit(self, task: LinearTask) -> LinearWeights:
        """The weights of classifiers fitted to all documents of a task."""
        return self.prepare(task).fit()


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "flat": Method(OneVsRest, logistic_scores),
        "top_down": Method(
            partial(_Refitted, method=fit_top_down), top_down_scores, lambda all: len(Nodes.of(all)) + len(all)
        ),
        "recursive": Method(partial(_Refitted, method=fit_recursive), logistic_scores),
        "structured": Method(
            partial(_Refitted, method=fit_structured), structured_scores, lambda all: len(Nodes.of(all))
        ),
    }
)
"""The methods, by `LinearConfig.structure`."""


def word_contributions(
    weights: LinearWeights, bag: csr_array, label: int, classes: Classes, config: LinearConfig
) -> NDArray[np.float32]:
    """The contribution of each word of a document to a label: weight times value.

    Flat and recursive models have one classifier per label. Top-down, the classifier that decides is the one with the
    smallest margin on the best path to the label: its score is the label's. In the structured method the classifiers of
    all nodes on the path of the label are summed.

    Args:
        weights: The classifiers.
        bag: CSR [1, V], the document.
        label: The column of the label.
        classes: The L labels.
        config: The options; the structure is used.

    Returns:
        float32 [words of the document], in the order of `bag.indices`; with the intercepts they sum to the margin.
    """
    rows = _deciding_rows(weights.margins(bag)[0], label, classes, config.structure)
    coef = np.asarray(weights.coef[rows][:, bag.indices].sum(axis=0)).ravel()
    contributions: NDArray[np.float32] = (coef * bag.data).astype(np.float32)
    return contributions


def _deciding_rows(margins: NDArray[np.float32], label: int, classes: Classes, structure: str) -> NDArray[np.int64]:
    if structure not in ("top_down", "structured"):
        return np.array([label])
    nodes = Nodes.of(classes)
    if structure == "structured":
        return nodes.path(label)
    return np.array([_bottleneck(margins, label, nodes)])


def _bottleneck(margins: NDArray[np.float32], label: int, nodes: Nodes) -> int:
    """The row of the classifier with the smallest margin on the best path to the label."""
    deciding = list(range(len(nodes)))
    for node, parents in enumerate(nodes.parents):  # parents come first
        if parents:
            above = max((deciding[parent] for parent in parents), key=margins.__getitem__)
            deciding[node] = min(node, above, key=margins.__getitem__)
    return int(min(len(nodes) + label, deciding[nodes.own[label]], key=margins.__getitem__))
