"""The curve says what a plain loop over thresholds says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from taxocaps.metrics.cuts import best_cut
from taxocaps.metrics.flat import label_counts
from taxocaps.metrics.threshold_curve import threshold_curve

SHAPE = (6, 4)
# Many scores lie exactly on a threshold: that is where a mistake would show.
SCORES = st.one_of(st.sampled_from(np.linspace(0, 1, 11, dtype=np.float32).tolist()), st.floats(0, 1, width=32))


@given(arrays(np.bool_, SHAPE), arrays(np.float32, SHAPE, elements=SCORES))
def test_it_is_what_a_loop_over_thresholds_counts(truth, scores):
    curve = threshold_curve(csr_array(truth), scores, steps=10)
    assert curve.thresholds.tolist() == np.linspace(0, 1, 11, dtype=np.float32).tolist()
    for place, threshold in enumerate(curve.thresholds):
        predicted = scores >= threshold
        expected = label_counts(csr_array(truth), csr_array(predicted)).pooled()
        assert curve.counts.predicted[place] == predicted.sum()
        assert curve.counts.true_positives[place] == (predicted & truth).sum()
        assert curve.counts.precision[place] == pytest.approx(expected.precision)
        assert curve.counts.recall[place] == pytest.approx(expected.recall)
        assert curve.counts.f1[place] == pytest.approx(expected.f1)


def test_no_point_is_better_than_the_best_cut():
    generator = np.random.default_rng(3)
    truth = csr_array(generator.random((200, 5)) < 0.3)
    scores = (0.5 * generator.random((200, 5)) + 0.4 * truth.toarray()).astype(np.float32)
    best = best_cut(truth, scores)
    f1 = threshold_curve(truth, scores, steps=1000).counts.f1
    assert best.f1 - 0.01 < f1.max() <= best.f1


def test_scores_that_rounding_carried_below_0_reach_no_threshold():
    curve = threshold_curve(csr_array([[True, False]]), np.array([[-1e-6, 0.0]], np.float32), steps=1)
    assert curve.counts.predicted.tolist() == [1, 0]
    assert curve.counts.true_positives.tolist() == [0, 0]


def test_no_documents_give_zeros():
    curve = threshold_curve(csr_array((0, 4), dtype=bool), np.zeros((0, 4), np.float32))
    assert not curve.counts.f1.any()
    assert len(curve.counts.f1) == 101


def test_bad_arguments():
    with pytest.raises(ValueError, match="at least 1 step; got 0"):
        threshold_curve(csr_array([[True]]), np.zeros((1, 1), np.float32), steps=0)
    with pytest.raises(ValueError, match="differ in shape"):
        threshold_curve(csr_array([[True]]), np.zeros((2, 1), np.float32))
    with pytest.raises(ValueError, match="NaN"):
        threshold_curve(csr_array([[True]]), np.full((1, 1), np.nan, np.float32))
