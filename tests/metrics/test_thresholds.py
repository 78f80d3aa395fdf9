"""Thresholds tuned for F1, and the threshold curve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

import taxocaps.metrics.thresholds
from taxocaps.metrics.classification import flat_metrics, label_counts
from taxocaps.metrics.thresholds import BestThreshold, best_threshold, label_thresholds, threshold_curve


def best_by_trying(truth, scores, limit=None):
    """The highest F1 that any threshold has, and the lowest score that the highest of such thresholds accepts."""
    best = (0.0, None)
    for threshold in sorted(set(scores.ravel().tolist()), reverse=True):
        predicted = scores >= threshold
        f1 = 2 * (truth & predicted).sum() / max(1, truth.sum() + predicted.sum())  # scikit-learn takes 1 ms for it
        if (limit is None or predicted.sum() <= limit) and f1 > best[0] + 1e-12:
            best = (f1, threshold)
    return best


def draw(seed, documents, labels, decimals):
    generator = np.random.default_rng(seed)
    truth = generator.random((documents, labels)) < 0.3
    scores = np.clip(0.4 * truth + 0.6 * generator.random(truth.shape), 0, 1)
    return truth, np.round(scores, decimals).astype(np.float32)


examples = given(
    st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 6), st.sampled_from([1, 7]), st.none() | st.integers(0, 20)
)


@examples
def test_no_threshold_is_better(seed, documents, labels, decimals, limit):
    truth, scores = draw(seed, documents, labels, decimals)
    best = best_threshold(csr_array(truth), scores, limit=limit)
    f1, lowest = best_by_trying(truth, scores, limit)
    predicted = scores >= best.threshold
    assert best.f1 == pytest.approx(f1)
    if lowest is None:
        assert best.threshold >= 1
        assert not truth.any() or not predicted.any()
    else:
        assert (predicted == (scores >= np.float32(lowest))).all()
        assert flat_metrics(csr_array(truth), csr_array(predicted)).micro.f1 == pytest.approx(f1)
    if limit is not None and truth.any():
        assert predicted.sum() <= limit


@examples
def test_the_threshold_stands_in_the_middle(seed, documents, labels, decimals, limit):
    truth, scores = draw(seed, documents, labels, decimals)
    best = best_threshold(csr_array(truth), scores, limit=limit)
    accepted, refused = scores[scores >= best.threshold], scores[scores < best.threshold]
    if best.f1 and len(refused):
        assert best.threshold == pytest.approx((float(accepted.min()) + float(refused.max())) / 2)
    elif best.f1:
        assert best.threshold == pytest.approx(accepted.min() / 2)


def test_by_hand():
    truth = csr_array(np.array([[1, 0, 1, 0]], bool))
    scores = np.array([[0.75, 0.5, 0.25, 0.125]], np.float32)
    # Accepting 0.75: 2/3. Down to 0.25: 2 of 3 right, both found: 0.8.
    assert best_threshold(truth, scores) == BestThreshold(0.1875, pytest.approx(0.8))
    assert best_threshold(truth, scores, limit=2) == BestThreshold(0.625, pytest.approx(2 / 3))
    assert best_threshold(truth, scores, limit=0) == BestThreshold(1.0, 0.0)


def test_equal_scores_are_accepted_together():
    truth = csr_array(np.array([[1, 0, 0, 0]], bool))
    scores = np.array([[0.5, 0.5, 0.5, 0.0]], np.float32)
    assert best_threshold(truth, scores) == BestThreshold(0.25, 0.5)
    assert best_threshold(truth, scores, limit=2) == BestThreshold(1.0, 0.0)
    refused = best_threshold(truth, 2 * scores, limit=2)
    assert not (2 * scores >= refused.threshold).any()


def test_no_number_lies_between_neighbours():
    upper = np.float32(0.7)
    lower = np.nextafter(upper, np.float32(0))
    scores = np.array([[upper, lower]])
    best = best_threshold(csr_array(np.array([[True, False]])), scores)
    assert (scores >= best.threshold).tolist() == [[True, False]]
    assert (scores.astype(np.float64) >= best.threshold).tolist() == [[True, False]]


def test_all_accepted_and_none_true():
    scores = np.array([[0.5, 0.25]], np.float32)
    assert best_threshold(csr_array(np.array([[True, True]])), scores) == BestThreshold(0.125, 1.0)
    assert best_threshold(csr_array(np.array([[True, True]])), 0 * scores) == BestThreshold(0.0, 1.0)
    assert best_threshold(csr_array((1, 2), dtype=bool), scores) == BestThreshold(1.0, 0.0)
    assert best_threshold(csr_array((0, 2), dtype=bool), np.zeros((0, 2), np.float32)) == BestThreshold(1.0, 0.0)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 6), st.sampled_from([0.1, 0.6]), st.integers(1, 30))
def test_label_thresholds_follow_the_rules(seed, documents, labels, smallest, pairs):
    truth, scores = draw(seed, documents, labels, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(taxocaps.metrics.thresholds, "_PAIRS", pairs)  # several chunks
        thresholds = label_thresholds(csr_array(truth), scores, 0.35, smallest)
    assert thresholds.dtype == np.float32
    for label, threshold in enumerate(thresholds):
        f1, lowest = best_by_trying(truth[:, label], scores[:, label])
        if not truth[:, label].any():
            assert threshold == np.float32(0.35)
        elif f1 < smallest - 1e-12:
            assert threshold == scores[:, label].max()
        elif f1 > smallest + 1e-12:
            assert ((scores[:, label] >= threshold) == (scores[:, label] >= np.float32(lowest))).all()


def test_a_poor_label_keeps_only_its_highest_score():
    scores = np.linspace(0.9, 0.1, 40, dtype=np.float32)[:, None]
    truth = np.zeros((40, 1), bool)
    truth[-1] = True  # the one positive stands last: accepting all 40 has F1 2/41
    assert label_thresholds(csr_array(truth), scores, 0.5) == pytest.approx([0.9])
    assert label_thresholds(csr_array(truth), scores, 0.5, 0.0) == pytest.approx([0.05])


def test_no_documents_leave_the_fallback():
    thresholds = label_thresholds(csr_array((0, 3), dtype=bool), np.zeros((0, 3), np.float32), 0.5)
    assert thresholds.tolist() == [0.5, 0.5, 0.5]
    assert label_thresholds(csr_array((3, 0), dtype=bool), np.zeros((3, 0), np.float32), 0.5).tolist() == []


def test_what_is_refused():
    truth = csr_array((1, 2), dtype=bool)
    with pytest.raises(ValueError, match="limit must be at least 0; got -1"):
        best_threshold(truth, np.zeros((1, 2), np.float32), limit=-1)
    with pytest.raises(ValueError, match="differ in shape"):
        best_threshold(truth, np.zeros((1, 3), np.float32))
    with pytest.raises(ValueError, match="differ in shape"):
        label_thresholds(truth, np.zeros((1, 3), np.float32), 0.5)


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


def test_no_point_is_better_than_the_best_threshold():
    generator = np.random.default_rng(3)
    truth = csr_array(generator.random((200, 5)) < 0.3)
    scores = (0.5 * generator.random((200, 5)) + 0.4 * truth.toarray()).astype(np.float32)
    best = best_threshold(truth, scores)
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
