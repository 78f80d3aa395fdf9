"""Reconstruction against a loop over pairs and scikit-learn's F1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from taxocaps.taxonomy.reconstruction import THRESHOLDS, reconstruct
from taxocaps.taxonomy.tree import Taxonomy


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
