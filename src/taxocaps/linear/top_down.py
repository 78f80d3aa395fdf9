"""TD-SVM: a classifier for each node of the taxonomy, applied from the top down (Liu et al. 2005).

T.-Y. Liu, Y. Yang, H. Wan, H.-J. Zeng, Z. Chen, W.-Y. Ma: Support vector machines classification with a very
large-scale taxonomy. SIGKDD Explorations 7(1), 2005.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.linear.model import LinearTask, LinearWeights, Nodes, documents_by_label
from taxocaps.linear.one_vs_rest import CERTAIN, BinaryProblems, Documents, fit_problems
from taxocaps.metrics.calibration import logistic

__all__ = ["fit_top_down", "top_down_scores"]


def fit_top_down(task: LinearTask) -> LinearWeights:
    """Fit a classifier for each node, on the documents of its parents.

    A document belongs to a node if it has the label of the node or of a descendant, so labels may or may not come with
    their ancestors. The classifier of a node separates its documents from the others of its parents (of any parent, if
    there are several; from all others, below the root).

    A label has a second classifier: does a document of its node *have* the label? If all of them do, as always at
    leaves and wherever labels come with their ancestors, the answer is always yes. Otherwise it is fitted on the
    documents of the node, like a further leaf below it.

    Returns:
        Weights with a row for each node of `Nodes.of(classes)`, followed by one for each label.
    """
    nodes = Nodes.of(task.classes)
    everything = np.arange(task.X.shape[0])
    members = _members(nodes, task.Y)
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for node, parents in enumerate(nodes.parents):
        groups[parents].append(node)
    problems = [
        BinaryProblems(_union(members, parents, everything), tuple(group), tuple(members[node] for node in group))
        for parents, group in groups.items()
    ]
    constants = np.zeros(len(nodes) + len(task.classes), np.float32)
    for label, (node, positives) in enumerate(zip(nodes.own.tolist(), documents_by_label(task.Y), strict=True)):
        if len(positives) < len(members[node]):
            problems.append(BinaryProblems(members[node], (len(nodes) + label,), (positives,)))
        else:
            constants[len(nodes) + label] = CERTAIN
    return fit_problems(task, problems, constants)


def top_down_scores(margins: NDArray[np.float32], classes: Classes) -> NDArray[np.float32]:
    """At any threshold, a label is predicted if and only if all nodes of some path from the root to it are.

    s(node) = min(logistic(margin), max over its parents s(parent)); the score of a label is the smaller one of its node
    and of its second classifier.

    Args:
        margins: float32 [n, nodes + L].
        classes: The L labels.

    Returns:
        float32 [n, L], from 0 to 1.
    """
    nodes = Nodes.of(classes)
    scores = np.ascontiguousarray(logistic(margins).T)  # [nodes + L, n]
    for node, parents in enumerate(nodes.parents):  # parents come first
        if parents:
            np.minimum(scores[node], scores[list(parents)].max(axis=0), out=scores[node])
    return np.ascontiguousarray(np.minimum(scores[nodes.own], scores[len(nodes) :]).T)


def _members(nodes: Nodes, Y: csr_array) -> list[Documents]:
    """The documents that have the label of each node or of a descendant."""
    members = [np.zeros(0, np.int64)] * len(nodes)
    for node, documents in zip(nodes.own.tolist(), documents_by_label(Y), strict=True):
        members[node] = documents
    for node in reversed(range(len(nodes))):  # children hand their documents up before their parents do
        for parent in nodes.parents[node]:
            members[parent] = np.union1d(members[parent], members[node])
    return members


def _union(members: Sequence[Documents], nodes: tuple[int, ...], everything: Documents) -> Documents:
    return reduce(np.union1d, [members[node] for node in nodes]) if nodes else everything
