"""Hierarchical precision and recall against sets of ancestors in a loop."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from taxocaps.metrics.flat import Averages, flat_metrics
from taxocaps.metrics.hierarchical import hierarchical_metrics


def test_by_hand():
    # Labels 0 and 1 lie below the inner node 3, label 2 below 4; the nodes 3 and 4 have no column.
    closure = csr_array(np.array([[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1]], bool))
    truth = csr_array(np.array([[1, 0, 0], [1, 1, 0]], bool))
    predicted = csr_array(np.array([[0, 1, 0], [1, 0, 1]], bool))
    # Document 0: {0, 3} and {1, 3} share 3. Document 1: {0, 1, 3} and {0, 2, 3, 4} share 0 and 3, which counts once.
    found = hierarchical_metrics(truth, predicted, closure)
    assert dataclasses.astuple(found) == pytest.approx((3 / 6, 3 / 5, 6 / 11))


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 4), st.integers(0, 10**6))
def test_equal_to_sets_in_a_loop(documents, labels, more, seed):
    generator = np.random.default_rng(seed)
    truth, predicted = generator.random((2, documents, labels)) < 0.3
    closure = generator.random((labels, labels + more)) < 0.3
    closure[np.arange(labels), np.arange(labels)] = True
    shared = found = wanted = 0
    for document in range(documents):
        true_set = {a for label in np.flatnonzero(truth[document]) for a in np.flatnonzero(closure[label])}
        found_set = {a for label in np.flatnonzero(predicted[document]) for a in np.flatnonzero(closure[label])}
        shared, found, wanted = shared + len(true_set & found_set), found + len(found_set), wanted + len(true_set)
    precision = shared / found if found else 0
    recall = shared / wanted if wanted else 0
    f1 = 2 * precision * recall / (precision + recall) if shared else 0
    result = hierarchical_metrics(csr_array(truth), csr_array(predicted), csr_array(closure))
    assert dataclasses.astuple(result) == pytest.approx((precision, recall, f1))


def test_without_ancestors_it_is_micro():
    generator = np.random.default_rng(2)
    truth, predicted = (csr_array(part) for part in generator.random((2, 9, 5)) < 0.4)
    alone = csr_array(np.eye(5, dtype=bool))
    assert hierarchical_metrics(truth, predicted, alone) == flat_metrics(truth, predicted).micro


def test_small_integers_count_as_marks():
    # One ancestor of 256 labels: a sum of bytes would come back to 0.
    labels = csr_array(np.ones((1, 256), np.uint8))
    closure = csr_array(np.ones((256, 1), np.uint8))
    assert hierarchical_metrics(labels, labels, closure) == Averages(1.0, 1.0, 1.0)


def test_no_documents_and_wrong_shapes():
    none = csr_array((0, 2), dtype=bool)
    assert hierarchical_metrics(none, none, csr_array(np.eye(2, dtype=bool))) == Averages(0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match=r"there are 2 labels \(columns of truth\) but 3 rows of closure"):
        hierarchical_metrics(none, none, csr_array(np.eye(3, dtype=bool)))
    with pytest.raises(ValueError, match="differ in shape"):
        hierarchical_metrics(none, csr_array((1, 2), dtype=bool), csr_array(np.eye(2, dtype=bool)))
