"""What the metrics refuse, and label matrices that are stored untidily."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from taxocaps.metrics.inputs import canonical_labels, check_columns, check_scores, label_pair


def test_canonical_labels_are_handed_on_as_they_are():
    labels = csr_array(np.array([[True, False], [True, True]]))
    assert canonical_labels(labels) is labels


def test_untidy_labels_are_tidied_in_a_copy():
    # Row 0 stores column 1 twice and column 0 as False, out of order; row 1 stores nothing.
    labels = csr_array((np.array([True, True, False]), np.array([1, 1, 0]), np.array([0, 3, 3])), shape=(2, 2))
    plain = canonical_labels(labels)
    assert plain.dtype == bool
    assert plain.indices.tolist() == [1]
    assert plain.indptr.tolist() == [0, 1, 1]
    assert labels.indices.tolist() == [1, 1, 0]
    assert labels.data.tolist() == [True, True, False]


def test_a_label_stored_twice_is_one_label():
    labels = csr_array((np.array([True, True]), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    assert canonical_labels(labels).indices.tolist() == [1]
    assert labels.nnz == 2


def test_a_false_that_is_stored_is_dropped():
    labels = csr_array((np.array([True, False]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert canonical_labels(labels).indices.tolist() == [0]
    assert labels.nnz == 2


def test_numbers_become_marks():
    labels = canonical_labels(csr_array(np.array([[3, 0, 1]])))
    assert labels.dtype == bool
    assert labels.toarray().tolist() == [[True, False, True]]


def test_shapes_must_match():
    truth = csr_array((3, 2), dtype=bool)
    with pytest.raises(ValueError, match=r"truth and prediction differ in shape: \(3, 2\) and \(3, 4\)"):
        label_pair(truth, csr_array((3, 4), dtype=bool))
    with pytest.raises(ValueError, match=r"truth and scores differ in shape: \(3, 2\) and \(2, 3\)"):
        check_scores(truth, np.zeros((2, 3), np.float32))
    with pytest.raises(ValueError, match=r"there are 2 labels \(columns of truth\) but 1 names"):
        check_columns(truth, ["a"], "names")
    check_columns(truth, ["a", "b"], "names")


def test_scores_must_be_numbers():
    truth = csr_array((1, 2), dtype=bool)
    with pytest.raises(ValueError, match="NaN"):
        check_scores(truth, np.array([[0.5, np.nan]], np.float32))
    check_scores(csr_array((0, 2), dtype=bool), np.zeros((0, 2), np.float32))
