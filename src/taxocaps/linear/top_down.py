"""TD-SVM: from the top of the taxonomy down, a classifier for each node (Liu et al. 2005).

T.-Y. Liu, Y. Yang, H. Wan, H.-J. Zeng, Z. Chen, W.-Y. Ma: Support vector machines classification with a very
large-scale taxonomy. SIGKDD Explorations 7(1), 2005.
"""

from collections import defaultdict
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.classes import Classes
from taxocaps.linear.binary import SURE, Documents, Problems, carriers, fit_problems
from taxocaps.linear.nodes import Nodes
from taxocaps.linear.task import LinearTask
from taxocaps.linear.weights import LinearWeights

__all__ = ["fit_top_down", "scores_top_down"]


def fit_top_down(task: LinearTask) -> LinearWeights:
    """Fit a classifier for each node, on the documents of its parents.

    A document belongs to a node if it carries the node or anything below it, so labels may come with their ancestors or
    without. The classifier of a node tells its documents from the others of its parents (of any parent, if there are
    several; of all, below the root).

    A column asks one thing more: does a document that belongs to the node *carry* it? Where all of them do, as always
    at leaves and wherever labels come with their ancestors, the answer is yes. Elsewhere the column has a classifier of
    its own on the documents of the node, like a further leaf below it.

    Returns:
        Weights with a row for each node of `Nodes.of(classes)`, then one for each column.
    """
    nodes = Nodes.of(task.classes)
    everything = np.arange(task.X.shape[0])
    below = carriers(csr_array(task.Y.astype(bool) @ nodes.closure))
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for node, parents in enumerate(nodes.parents):
        groups[parents].append(node)
    problems = [
        Problems(_union(below, parents, everything), tuple(members), tuple(below[node] for node in members))
        for parents, members in groups.items()
    ]
    constants = np.zeros(len(nodes) + len(task.classes), np.float32)
    for column, (node, carrying) in enumerate(zip(nodes.own.tolist(), carriers(task.Y), strict=True)):
        if len(carrying) < len(below[node]):
            problems.append(Problems(below[node], (len(nodes) + column,), (carrying,)))
        else:
            constants[len(nodes) + column] = SURE
    return fit_problems(task, problems, constants)


def scores_top_down(margins: NDArray[np.float32], classes: Classes) -> NDArray[np.float32]:
    """At any cut, exactly those labels are given to which a way down leads whose nodes are all accepted.

    s(node) = min(logistic(margin), max over its parents s(parent)); the score of a column is the smaller of that of its
    node and that of its own classifier.

    Args:
        margins: float32 [n, nodes + L].
        classes: The L labels.

    Returns:
        float32 [n, L], from 0 to 1.
    """
    from scipy.special import expit

    nodes = Nodes.of(classes)
    scores = np.ascontiguousarray(expit(margins).T)  # [nodes + L, n]
    for node, parents in enumerate(nodes.parents):  # parents come first
        if parents:
            np.minimum(scores[node], scores[list(parents)].max(axis=0), out=scores[node])
    return np.ascontiguousarray(np.minimum(scores[nodes.own], scores[len(nodes) :]).T)


def _union(below: tuple[Documents, ...], nodes: tuple[int, ...], everything: Documents) -> Documents:
    return reduce(np.union1d, [below[node] for node in nodes]) if nodes else everything
