"""Small cases that the linear methods share."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.taxonomy.tree import Taxonomy

TREE = [("root", "a"), ("root", "b"), ("a", "c"), ("a", "d"), ("b", "e"), ("d", "f")]


def make_case(edges, names, *, documents=60, features=25, seed=0, closed=False):
    """Documents whose features depend on their labels, most of which carry one or two."""
    generator = np.random.default_rng(seed)
    taxonomy = Taxonomy.from_edges(edges)
    classes = Classes(tuple(sorted(names, key=taxonomy.position)), taxonomy)
    labels = np.zeros((documents, len(classes)), bool)
    for _ in range(2):
        labels[np.arange(documents), generator.integers(0, len(classes), documents)] = True
    if closed:
        labels = (labels.astype(int) @ classes.closure.toarray().astype(int)) > 0
    topics = generator.random((len(classes), features)) * (generator.random((len(classes), features)) < 0.3)
    values = labels @ topics + generator.random((documents, features)) * (generator.random((documents, features)) < 0.3)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    return SimpleNamespace(X=csr_array(values), Y=csr_array(labels), classes=classes, labels=labels, values=values)


@pytest.fixture
def tree():
    """Labels of a tree, inner ones among them, which come without their ancestors."""
    return make_case(TREE, "acdef")


@pytest.fixture
def closed_tree():
    """The same, but labels come with their ancestors."""
    return make_case(TREE, "abcdef", closed=True)


@pytest.fixture
def graph():
    """Labels some of which have two parents."""
    return make_case([*TREE, ("b", "d"), ("b", "f"), ("e", "c")], "acdef")


@pytest.fixture
def flat():
    """Labels directly below the root."""
    return make_case([("root", name) for name in "abc"], "abc")
