"""Which linear classifiers decide about a label, and what each word of a document adds to them."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.classes import Classes
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.nodes import Nodes
from taxocaps.linear.weights import LinearWeights

__all__ = ["word_evidence"]


def word_evidence(
    weights: LinearWeights, bag: csr_array, column: int, classes: Classes, config: LinearConfig
) -> NDArray[np.float32]:
    """Weight times value of each word of a document, for one label.

    Flat and recursive models have one classifier for a label. Top-down, the one that decides is the least sure on the
    way to the label: its score is the label's. Structured, all classifiers on the paths to the label add up.

    Args:
        weights: The classifiers.
        bag: CSR [1, V], the document.
        column: The label.
        classes: The L labels.
        config: Tells the structure.

    Returns:
        float32 [words of the document], in the order of `bag.indices`; with the intercepts they add up to the margin.
    """
    rows = _deciding(weights.margins(bag)[0], column, classes, config.structure)
    coef = np.asarray(weights.coef[rows][:, bag.indices].sum(axis=0)).ravel()
    evidence: NDArray[np.float32] = (coef * bag.data).astype(np.float32)
    return evidence


def _deciding(margins: NDArray[np.float32], column: int, classes: Classes, structure: str) -> NDArray[np.int64]:
    if structure not in ("top_down", "structured"):
        return np.array([column])
    nodes = Nodes.of(classes)
    path = nodes.closure[[column]].indices.astype(np.int64)
    return path if structure == "structured" else np.array([_weakest(margins, column, nodes)])


def _weakest(margins: NDArray[np.float32], column: int, nodes: Nodes) -> int:
    """The classifier whose margin is that of the label: the smallest on the best way down."""
    deciding = list(range(len(nodes)))
    for node, parents in enumerate(nodes.parents):  # parents come first
        if parents:
            above = max((deciding[parent] for parent in parents), key=margins.__getitem__)
            deciding[node] = min(node, above, key=margins.__getitem__)
    return int(min(len(nodes) + column, deciding[nodes.own[column]], key=margins.__getitem__))
