"""The twenty methods that the paper compares with: one row each, with its publication."""

from collections.abc import Mapping
from typing import Any

from taxocaps.catalogue.model import Model

__all__ = ["BASELINES"]


def _linear(row: tuple[str, str, str, str], loss: str, structure: str, **usual: Any) -> Model:
    axes = {"family": "linear", "linear": {"loss": loss, "structure": structure}}
    return Model(row[0], "linear", *row[1:], axes, {"linear": usual})


def _network(row: tuple[str, str, str, str], axes: Mapping[str, Any], **usual: Any) -> Model:
    return Model(row[0], "sequence", *row[1:], {"family": "network", "network": axes}, {**_USUAL, **usual})


def _graph(row: tuple[str, str, str, str], **usual: Any) -> Model:
    axes = {"family": "network", "network": {"kind": "dgcnn"}, "graph": {"row_order": "unordered"}}
    return Model(row[0], "graph", *row[1:], axes, {**_USUAL, "loss": {**_CROSS_ENTROPY, **usual}})


_CROSS_ENTROPY = {"kind": "cross-entropy", "label_weights": "uniform"}
_USUAL = {"loss": _CROSS_ENTROPY}
_MARGIN = {"kind": "margin", "label_weights": "uniform", "down": 0.5}
_CHARACTERS = {
    "tokens": {"unit": "characters", "length": 1014},
    "vocabulary": {"min_count": 1, "max_size": 100},
    "vectors": {"source": "none", "dimension": 16},
    "training": {"vectors_rate": 1.0, "vectors_epsilon": 1e-8},  # no character is rare
}
_FAN, _GOPAL, _PENG, _ZHAO = "Fan et al. 2008", "Gopal and Yang 2013", "Peng et al. 2018", "Zhao et al. 2018"

BASELINES = (
    _linear(
        (
            "LR",
            "logistic regression, one label against the rest",
            _FAN,
            "where scores should be probabilities; much like SVM",
        ),
        "logistic",
        "flat",
        C=30.0,
    ),
    _linear(
        (
            "SVM",
            "linear support vector machine, one label against the rest",
            _FAN,
            "first of all: hard to beat on small data, and trained in seconds",
        ),
        "hinge",
        "flat",
    ),
    _linear(
        (
            "TD-SVM",
            "a linear SVM at every node, from the top down",
            "Liu et al. 2005",
            "many labels in a deep taxonomy: each node looks at few documents",
        ),
        "hinge",
        "top_down",
    ),
    _linear(
        (
            "HSVM",
            "large margin over paths of the taxonomy",
            "Tsochantaridis et al. 2005",
            "where a near miss in the taxonomy is better than a far one; one label a document",
        ),
        "hinge",
        "structured",
        C=3.0,
    ),
    _linear(
        ("HR-LR", "logistic regression, each label near its parent", _GOPAL, "rare labels below frequent ones"),
        "logistic",
        "recursive",
        C=10.0,
    ),
    _linear(
        ("HR-SVM", "linear SVM, each label near its parent", _GOPAL, "rare labels below frequent ones"),
        "hinge",
        "recursive",
    ),
    _network(
        ("LSTM", "the last state of an LSTM", "Hochreiter and Schmidhuber 1997", "short texts; to compare with"),
        {"kind": "lstm", "directions": 1},
    ),
    _network(
        ("BiLSTM", "the last states of an LSTM each way", "Graves 2005", "short texts; to compare with"),
        {"kind": "lstm", "directions": 2},
    ),
    _network(
        (
            "HLSTM",
            "an LSTM over words, another over sentences",
            "Tang et al. 2015; Chen et al. 2016",
            "texts of many sentences; to compare with",
        ),
        {"kind": "hierarchical", "pooling": "last", "cell": "lstm", "directions": 1},
        network={"units": 200},
    ),
    _network(
        (
            "CNN-non-static",
            "n-gram features, the greatest of each",
            "Kim 2014",
            "a quick network for single phrases that tell",
        ),
        {"kind": "kim-cnn"},
    ),
    _network(
        ("RCNN", "each word between its contexts, the greatest of each feature", "Lai et al. 2015", "to compare with"),
        {"kind": "rcnn"},
    ),
    _network(
        (
            "XML-CNN",
            "n-gram features, the greatest of each part, a bottleneck",
            "Liu et al. 2017",
            "news, and thousands of labels: the best network on Reuters",
        ),
        {"kind": "xml-cnn"},
    ),
    _graph(("DGCNN-3", "convolutions over the subgraphs of ranked words", _PENG, "to compare with")),
    _graph(("HR-DGCNN-3", "the same, each label near its parent", _PENG, "to compare with"), recursive=1e-4),
    _network(
        ("HAN", "attention to words, then to sentences", "Yang et al. 2016", "texts of many sentences"),
        {"kind": "hierarchical", "pooling": "attention", "cell": "gru", "directions": 2},
    ),
    _network(
        ("Bi-BloSAN", "self-attention in blocks, both ways", "Shen et al. 2018", "to compare with"),
        {"kind": "bi-blosan"},
    ),
    _network(
        ("SGM+GE", "labels one after another", "Yang et al. 2018", "labels that come together; costly to predict with"),
        {"kind": "sgm"},
    ),
    _network(
        ("DCNN", "a very deep network over characters", "Conneau et al. 2016", "hundreds of thousands of documents"),
        {"kind": "vdcnn"},
        **_CHARACTERS,
    ),
    _network(
        ("Capsule-A", "n-gram capsules, dynamic routing", _ZHAO, "to compare with"),
        {"kind": "capsule-text", "branches": (3,)},
        loss=_MARGIN,
    ),
    _network(
        ("Capsule-B", "n-gram capsules of three widths side by side", _ZHAO, "to compare with"),
        {"kind": "capsule-text", "branches": (3, 4, 5)},
        loss=_MARGIN,
    ),
)
"""All methods."""
