"""Label vectors and the reconstruction of a taxonomy from them."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from sklearn.metrics.pairwise import cosine_similarity

from taxocaps.taxonomy.embedding import (
    THRESHOLDS,
    LabelVectorsConfig,
    reconstruct,
    train_label_vectors,
    unit_vectors,
)
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


@pytest.mark.slow
def test_the_same_seed_gives_the_same_vectors_in_another_process():
    code = (
        "from taxocaps.taxonomy.embedding import *; from taxocaps.taxonomy.tree import Taxonomy; "
        "from taxocaps.taxonomy.walks import WalkConfig; "
        "t = Taxonomy.from_edges([('r', 'a'), ('r', 'b'), ('a', 'c')]); "
        "print(train_label_vectors(t, WalkConfig(length=20), LabelVectorsConfig(dimension=4), seed=3).tobytes().hex())"
    )
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    )
    assert first == second
    taxonomy = families(2)
    assert not np.array_equal(
        train_label_vectors(taxonomy, SMALL, FEW, seed=1), train_label_vectors(taxonomy, SMALL, FEW, seed=2)
    )


def test_a_hand_worked_example():
    # Labels a, b, c below the root; edges a-b (taxonomy: a > b) and c alone. Cosines: a.b = 0.8, a.c = 0.6, b.c = 0.96.
    taxonomy = Taxonomy.from_edges([("root", "a"), ("a", "b"), ("root", "c")])
    vectors = {"root": [9, 9], "a": [1, 0], "b": [0.8, 0.6], "c": [0.6, 0.8]}
    found = reconstruct(taxonomy, np.array([vectors[name] for name in taxonomy.names], np.float32))
    # Above 0.7: a-b and b-c are joined; one hit, two found, one wanted: F1 = 2/3. By label: a 1, b 2/3, c 0.
    assert found.micro[70] == pytest.approx(2 / 3)
    assert found.macro[70] == pytest.approx((1 + 2 / 3 + 0) / 3)
    # Above 0.9 only b-c: nothing right.
    assert found.micro[90] == found.macro[90] == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10**6), st.sampled_from([0, 17, 50, 99, 100]))
def test_equal_to_a_loop(labels, seed, place):
    generator = np.random.default_rng(seed)
    edges = [(f"l{generator.integers(0, child)}", f"l{child}") for child in range(1, labels)]
    taxonomy = Taxonomy.from_edges([("root", "l0"), *edges])
    vectors = generator.standard_normal((len(taxonomy), 3)).astype(np.float32)
    names = [name for name in taxonomy.names if name != "root"]
    unit = {name: vectors[taxonomy.position(name)] / np.linalg.norm(vectors[taxonomy.position(name)]) for name in names}
    true = np.array([[b in taxonomy.children(a) or a in taxonomy.children(b) for b in names] for a in names])
    threshold = np.float32(THRESHOLDS[place])
    found = np.array([[a != b and float(unit[a] @ unit[b]) > threshold for b in names] for a in names])
    upper = np.triu_indices(labels, 1)
    result = reconstruct(taxonomy, vectors)
    assert result.micro[place] == pytest.approx(
        f1_score(true[upper], found[upper], zero_division=0) if labels > 1 else 0
    )
    by_label = [f1_score(true[row], found[row], zero_division=0) for row in range(labels)]
    assert result.macro[place] == pytest.approx(np.mean(by_label))


def test_a_single_label_has_no_pairs():
    found = reconstruct(Taxonomy.from_edges([], labels=["only"]), np.ones((1, 4), np.float32))
    assert found.micro.tolist() == found.macro.tolist() == [0.0] * 101


def test_zero_vectors_join_nothing():
    taxonomy = Taxonomy.from_edges([("r", "a"), ("a", "b")])
    assert not reconstruct(taxonomy, np.zeros((3, 4), np.float32)).micro.any()


def test_unit_vectors_have_length_one_and_zero_stays_zero():
    vectors = np.random.default_rng(0).standard_normal((9, 4)).astype(np.float32)
    vectors[3] = 0
    unit = unit_vectors(vectors)
    assert unit @ unit.T == pytest.approx(cosine_similarity(vectors), abs=1e-6)
