"""Diagnosis and confusions between siblings."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from taxocaps.metrics.calibration import calibration_error, reliability
from taxocaps.metrics.diagnosis import Confusion, diagnose, sibling_confusions
from taxocaps.metrics.thresholds import threshold_curve


@pytest.fixture
def example():
    generator = np.random.default_rng(6)
    scores = generator.random((40, 3)).astype(np.float32)
    return csr_array(generator.random((40, 3)) < 0.4), csr_array(scores > 0.5), scores


def test_everything_is_there(example):
    truth, predicted, scores = example
    found = diagnose(truth, predicted, scores, ["x", "x", "y"])
    assert found.confusions == sibling_confusions(truth, predicted, ["x", "x", "y"])
    assert found.confusions
    assert (found.curve.counts.f1 == threshold_curve(truth, scores).counts.f1).all()
    assert (found.reliability.count == reliability(truth, scores).count).all()


def test_the_calibration_error_of_all_scores_can_be_read_off(example):
    truth, predicted, scores = example
    bins = diagnose(truth, predicted, scores, ["x", "x", "y"]).reliability
    error = np.average(np.abs(bins.observed - bins.mean_score), weights=bins.count)
    assert error == pytest.approx(calibration_error(truth, scores, above=-1))


SHAPE = (9, 5)
PARENTS = [("x",), ("x", "y"), ("x", "y"), ("y",), ()]  # labels 1 and 2 have two parents in common, 4 has none


def counted_by_a_loop(truth, predicted, parents):
    found = []
    for a, b in itertools.permutations(range(truth.shape[1]), 2):
        if not set(parents[a]) & set(parents[b]):
            continue
        count = support = 0
        for carried, given_ in zip(truth, predicted, strict=True):
            if carried[a] and not carried[b]:
                support += 1
                count += bool(given_[b] and not given_[a])
        if count:
            found.append(Confusion(a, b, count, support))
    return sorted(found, key=lambda one: (-one.count, one.label, one.predicted))


@given(arrays(np.bool_, SHAPE), arrays(np.bool_, SHAPE), st.integers(0, 12))
def test_it_is_what_a_loop_counts(truth, predicted, most):
    found = sibling_confusions(csr_array(truth), csr_array(predicted), PARENTS, most)
    assert list(found) == counted_by_a_loop(truth, predicted, PARENTS)[:most]


def test_many_documents_do_not_overflow():
    truth = np.tile([True, False], (70_000, 1))
    (found,) = sibling_confusions(csr_array(truth), csr_array(~truth), ["x", "x"])
    assert found == Confusion(0, 1, 70_000, 70_000)
    assert found.rate == 1


def test_labels_of_different_parents_are_not_siblings():
    truth = csr_array([[True, False]])
    predicted = csr_array([[False, True]])
    assert sibling_confusions(truth, predicted, [("x",), ("y",)]) == ()
    assert len(sibling_confusions(truth, predicted, [("x",), ("y", "x")])) == 1


def test_a_label_given_beside_the_right_one_is_no_confusion():
    both = csr_array([[True, True]])
    assert sibling_confusions(csr_array([[True, False]]), both, ["x", "x"]) == ()
    assert sibling_confusions(both, csr_array([[False, True]]), ["x", "x"]) == ()


def test_nothing_in_nothing_out():
    empty = csr_array((0, 2), dtype=bool)
    assert sibling_confusions(empty, empty, ["x", "x"]) == ()


def test_shapes_must_match():
    one = csr_array([[True, False]])
    with pytest.raises(ValueError, match=r"2 labels .* but 1 lists of parents"):
        sibling_confusions(one, one, ["x"])
    with pytest.raises(ValueError, match="differ in shape"):
        sibling_confusions(one, csr_array([[True]]), ["x", "x"])
