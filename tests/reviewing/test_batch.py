"""What to label next: rare labels, doubt and variety."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.reviewing.batch import next_batch


def apart(count):
    """Documents that have nothing in common."""
    return np.eye(count, dtype=np.float32)


def test_a_rare_label_comes_before_a_frequent_one():
    scores = np.array([[0.5, 0.0], [0.0, 0.5]], np.float32)
    found = next_batch(scores, np.array([100, 1]), apart(2), 2)
    assert found.documents.tolist() == [1, 0]
    assert found.labels.tolist() == [1, 0]
    assert found.scores.tolist() == [0.5, 0.5]


def test_doubt_comes_before_certainty():
    scores = np.array([[0.99], [0.6]], np.float32)
    assert next_batch(scores, np.array([10]), apart(2), 1).documents.tolist() == [1]


def test_a_copy_of_a_chosen_document_comes_last():
    vectors = np.array([[1.0, 0], [1, 0], [0, 1]])
    scores = np.array([[0.6], [0.6], [0.2]], np.float32)
    assert next_batch(scores, np.array([5]), vectors, 3).documents.tolist() == [0, 2, 1]


def test_what_is_like_labelled_documents_comes_last():
    vectors = np.array([[1.0, 0], [0, 1]])
    scores = np.array([[0.6], [0.3]], np.float32)
    assert next_batch(scores, np.array([5]), vectors, 1).documents.tolist() == [0]
    assert next_batch(scores, np.array([5]), vectors, 1, np.array([[1.0, 0]])).documents.tolist() == [1]


def test_a_typical_document_comes_before_an_odd_one():
    vectors = np.array([[0.0, 1, 0], [0.8, 0, 0.6], [1, 0, 0], [0.8, 0, -0.6]])
    assert next_batch(np.full((4, 1), 0.5, np.float32), np.array([1]), vectors, 1).documents.tolist() == [2]


def test_a_batch_covers_labels_of_equal_rarity():
    scores = np.kron(np.eye(4), np.full((5, 1), 0.5)).astype(np.float32)  # five documents of each of four labels
    found = next_batch(scores, np.zeros(4, np.int64), apart(20), 8)
    assert np.bincount(found.labels).tolist() == [2, 2, 2, 2]


@given(seed=st.integers(0, 1000), size=st.integers(1, 15))
def test_no_document_comes_twice_and_the_first_of_a_batch_is_a_smaller_batch(seed, size):
    generator = np.random.default_rng(seed)
    scores = (generator.random((12, 3)) * (generator.random((12, 3)) < 0.4)).astype(np.float32)
    vectors = generator.random((12, 4))
    counts = generator.integers(5, size=3)
    found = next_batch(scores, counts, vectors, size)
    assert len(set(found.documents.tolist())) == len(found) == min(size, 12)
    smaller = next_batch(scores, counts, vectors, max(1, size - 1))
    assert smaller.documents.tolist() == found.documents[: len(smaller)].tolist()
    assert [label >= 0 for label in found.labels] == (scores[found.documents] >= 0.02).any(axis=1).tolist()
