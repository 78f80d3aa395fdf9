"""Label vectors: near labels get near vectors, the same ones for the same seed, for taxonomies of any shape."""

import subprocess
import sys

import numpy as np
import pytest

from taxocaps.taxonomy.embedding import LabelVectorsConfig, train_label_vectors
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.taxonomy.walks import WalkConfig

SMALL = WalkConfig(length=60, per_label=20)
FEW = LabelVectorsConfig(dimension=16, epochs=3)


def families(width):
    return Taxonomy.from_edges([("root", f) for f in "abcd"] + [(f, f"{f}{n}") for f in "abcd" for n in range(width)])


def cosine(vectors):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.parametrize("kind", ["steps", "plain"])
def test_siblings_are_nearer_than_strangers(kind):
    taxonomy = families(5)
    vectors = train_label_vectors(taxonomy, WalkConfig(kind=kind, length=100, per_label=30), FEW)
    similarity = cosine(vectors)
    a, b = ([taxonomy.position(f"{family}{n}") for n in range(5)] for family in "ab")
    assert similarity[np.ix_(a, a)].mean() > similarity[np.ix_(a, b)].mean() + 0.1


@pytest.mark.parametrize(
    "taxonomy",
    [
        families(3),
        Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "x"), ("b", "x")]),
        Taxonomy.from_edges([("a", "x"), ("b", "y")]),
        Taxonomy.from_edges([("a", "b"), ("b", "c")]),
        Taxonomy.from_edges([], labels=["only"]),
    ],
    ids=["tree", "graph", "forest", "chain", "single label"],
)
def test_every_shape_gives_finite_vectors_in_taxonomy_order(taxonomy):
    calls = []
    vectors = train_label_vectors(
        taxonomy, WalkConfig(length=30, per_label=60), FEW, progress=lambda *call: calls.append(call)
    )
    assert vectors.shape == (len(taxonomy), 16)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert calls[-1][0] <= calls[-1][1]


def test_the_same_seed_gives_the_same_vectors_in_another_process():
    code = (
        "from taxocaps.taxonomy.embedding import *; from taxocaps.taxonomy.tree import Taxonomy; "
        "from taxocaps.taxonomy.walks import WalkConfig; "
        "t = Taxonomy.from_edges([('r', 'a'), ('r', 'b'), ('a', 'c')]); "
        "print(train_label_vectors(t, WalkConfig(length=20), LabelVectorsConfig(dimension=4), seed=3).tobytes().hex())"
    )
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    )
    assert first == second
    taxonomy = families(2)
    assert not np.array_equal(
        train_label_vectors(taxonomy, SMALL, FEW, seed=1), train_label_vectors(taxonomy, SMALL, FEW, seed=2)
    )
