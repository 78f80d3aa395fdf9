"""Weights of negatives on a hand-worked example, and against a loop and scikit-learn."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.metrics.pairwise import cosine_similarity as reference

from taxocaps.taxonomy.weights import cosine_similarity, negative_weights


def test_similarity_equals_scikit_learn():
    vectors = np.random.default_rng(0).standard_normal((9, 4)).astype(np.float32)
    vectors[3] = 0
    assert cosine_similarity(vectors) == pytest.approx(reference(vectors), abs=1e-6)


def test_weights_by_hand():
    similarity = np.array([[1, 0.5, -0.2], [0.5, 1, 0.3], [-0.2, 0.3, 1]], np.float32)
    labels = csr_array(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]], bool))
    # Document 1 carries label 0: distances 0, 0.5, 1.2 (clipped to 1). Document 2 carries 0 and 1: the nearer counts.
    assert negative_weights(labels, similarity) == pytest.approx(np.array([[0, 0.5, 1], [0, 0, 0.7], [1, 1, 1]]))


def test_equal_to_a_loop():
    generator = np.random.default_rng(1)
    similarity = cosine_similarity(generator.standard_normal((30, 5)).astype(np.float32))
    labels = csr_array(random_array((40, 30), density=0.05, rng=generator) > 0)
    weights = negative_weights(labels, similarity)
    dense = labels.toarray()
    for document in range(40):
        carried = np.flatnonzero(dense[document])
        for label in range(30):
            nearest = max((similarity[t, label] for t in carried), default=0.0)
            assert weights[document, label] == pytest.approx(min(max(1 - nearest, 0), 1), abs=1e-6)
