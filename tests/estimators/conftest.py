"""Toy documents and models as small as can be, fitted once for all tests of a process."""

import numpy as np
import pytest
from taxocaps.estimators.config import ModelConfig
from taxocaps.estimators.scorers import make_scorer

from taxocaps.config import resolve
from taxocaps.corpus.labels import Classes, collect_classes, label_matrix
from taxocaps.datasets import toy
from taxocaps.scorers.base import FitReport, Labelled, TextScorer, Work
from taxocaps.scorers.model import ModelName, fit_model

SMALL = {
    "vocabulary": {"min_count": 1},
    "graph": {"window": 3, "N": 10, "K": 25, "T": 11, "radius": 5},
    "vectors": {"source": "skip-gram", "dimension": 8, "epochs": 1},
    "network": {
        "filters": (8, 8),
        "units": 8,
        "channels": 4,
        "capsule_size": 4,
        "label_capsule_size": 4,
        "hidden": (8,),
        "head_filters": 8,
        "iterations": 2,
        "gain": 5.0,
        "normalization": "none",
        "dropout": 0.0,
        "word_dropout": 0.0,
    },
    "loss": {"p": 1.0, "floor": 0.0, "upper": 0.9, "lower": 0.1, "down": 0.5},
    "walks": {"length": 20},
    "label_vectors": {"dimension": 8},
    "training": {
        "epochs": 2,
        "batch_size": 4,
        "learning_rate": 0.002,
        "vectors_rate": 1.0,
        "vectors_epsilon": 1e-8,
        "weight_decay": 0.0,
        "patience": 5,
        "device": "cpu",
    },
}
"""All that matters is named, whatever the defaults may be."""

SMALL_NETWORKS = {
    "words-matrix": SMALL["network"],
    "dgcnn": {"filters": (8, 8), "width": 1, "hidden": (16,), "dropout": 0.0},
    "lstm": {"units": 8, "dropout": 0.0},
    "kim-cnn": {"filters": 8, "dropout": 0.0},
    "rcnn": {"context": 8, "hidden": 8, "dropout": 0.0},
    "xml-cnn": {"filters": 8, "chunks": 2, "bottleneck": 8, "dropout": 0.0},
    "hierarchical": {"units": 8, "attention_size": 8, "dropout": 0.0},
    "bi-blosan": {"units": 8, "block": 3, "dropout": 0.0},
    "sgm": {"units": 8, "layers": 1, "label_size": 8, "beam": 2, "dropout": 0.0},
    "vdcnn": {"filters": (8, 8, 16, 16), "k": 4, "hidden": 16},
    "capsule-text": {"filters": 16, "channels": 8, "capsule_size": 8, "iterations": 2},
}
"""Sizes of every kind of network, as small as can be."""


@pytest.fixture(scope="session")
def small():
    """Options of a tiny model."""
    return SMALL


@pytest.fixture(scope="session")
def small_networks():
    """Options of the tiny networks of every kind."""
    return SMALL_NETWORKS


@pytest.fixture(scope="session")
def toys():
    """The twelve toy documents, with their labels as a matrix, and the classes."""
    data = toy.load()
    documents = [document for _, document in data.documents()]
    names = collect_classes([document.labels for document in documents], data.taxonomy)
    labels = label_matrix([document.labels for document in documents], names)
    return Labelled([document.text for document in documents], labels), Classes(names, data.taxonomy)


@pytest.fixture(scope="session")
def fit(toys, tmp_path_factory):
    """Fit a tiny model to the toy documents, with further options."""

    def fit_it(*layers, seed=0, **work):
        documents, classes = toys
        scorer = make_scorer(resolve(ModelConfig, SMALL, *layers), classes, seed)
        name = ModelName("a model", "default", seed)
        return fit_model(name, scorer, documents, documents, Work(tmp_path_factory.mktemp("work"), **work))

    return fit_it


@pytest.fixture(scope="session")
def fit_network(toys, tmp_path_factory):
    """Fit a tiny network of any kind to the toy documents, for one epoch."""

    def fit_it(kind, **sections):
        documents, classes = toys
        network = {"kind": kind, **SMALL_NETWORKS[kind]}
        training = {**SMALL["training"], "epochs": 1}
        config = resolve(ModelConfig, {**SMALL, "network": network, "training": training, "loss": {}}, sections)
        work = Work(tmp_path_factory.mktemp("work"))
        return fit_model(ModelName(kind, "default", 0), make_scorer(config, classes, 0), documents, documents, work)

    return fit_it


@pytest.fixture(scope="session")
def fitted(fit):
    return fit()


class Keywords(TextScorer):
    """Gives each label the share of the words of a text that are its name."""

    def fit(self, training, validation, work):
        return FitReport()

    def predict_scores(self, texts):
        words = [text.lower().split() for text in texts]
        shares = [[found.count(name.lower()) / max(1, len(found)) for name in self.classes.names] for found in words]
        return np.array(shares, np.float32).reshape(len(texts), len(self.classes))

    def save(self, folder):
        (folder / "keywords.txt").write_text("none", encoding="utf-8")

    def load(self, folder):
        return self

    @property
    def parameters(self):
        return 0


@pytest.fixture(scope="session")
def keywords():
    return Keywords
