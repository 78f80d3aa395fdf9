"""Cuts against trying every threshold in a loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import f1_score

import taxocaps.metrics.cuts
from taxocaps.metrics.cuts import Cut, best_cut, label_cuts
from taxocaps.metrics.flat import flat_metrics


def best_by_trying(truth, scores, limit=None):
    """The highest F1 that any threshold has, and the lowest score that the highest of such thresholds accepts."""
    best = (0.0, None)
    for threshold in sorted(set(scores.ravel().tolist()), reverse=True):
        predicted = scores >= threshold
        f1 = f1_score(truth.ravel(), predicted.ravel(), zero_division=0)
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
    cut = best_cut(csr_array(truth), scores, limit=limit)
    f1, lowest = best_by_trying(truth, scores, limit)
    predicted = scores >= cut.threshold
    assert cut.f1 == pytest.approx(f1)
    if lowest is None:
        assert cut.threshold >= 1
        assert not truth.any() or not predicted.any()
    else:
        assert (predicted == (scores >= np.float32(lowest))).all()
        assert flat_metrics(csr_array(truth), csr_array(predicted)).micro.f1 == pytest.approx(f1)
    if limit is not None and truth.any():
        assert predicted.sum() <= limit


@examples
def test_the_threshold_stands_in_the_middle(seed, documents, labels, decimals, limit):
    truth, scores = draw(seed, documents, labels, decimals)
    cut = best_cut(csr_array(truth), scores, limit=limit)
    accepted, refused = scores[scores >= cut.threshold], scores[scores < cut.threshold]
    if cut.f1 and len(refused):
        assert cut.threshold == pytest.approx((float(accepted.min()) + float(refused.max())) / 2)
    elif cut.f1:
        assert cut.threshold == pytest.approx(accepted.min() / 2)


def test_by_hand():
    truth = csr_array(np.array([[1, 0, 1, 0]], bool))
    scores = np.array([[0.75, 0.5, 0.25, 0.125]], np.float32)
    # Accepting 0.75: 2/3. Down to 0.25: 2 of 3 right, both found: 0.8.
    assert best_cut(truth, scores) == Cut(0.1875, pytest.approx(0.8))
    assert best_cut(truth, scores, limit=2) == Cut(0.625, pytest.approx(2 / 3))
    assert best_cut(truth, scores, limit=0) == Cut(1.0, 0.0)


def test_equal_scores_are_accepted_together():
    truth = csr_array(np.array([[1, 0, 0, 0]], bool))
    scores = np.array([[0.5, 0.5, 0.5, 0.0]], np.float32)
    assert best_cut(truth, scores) == Cut(0.25, 0.5)
    assert best_cut(truth, scores, limit=2) == Cut(1.0, 0.0)
    refused = best_cut(truth, 2 * scores, limit=2)
    assert not (2 * scores >= refused.threshold).any()


def test_no_number_lies_between_neighbours():
    upper = np.float32(0.7)
    lower = np.nextafter(upper, np.float32(0))
    scores = np.array([[upper, lower]])
    cut = best_cut(csr_array(np.array([[True, False]])), scores)
    assert (scores >= cut.threshold).tolist() == [[True, False]]
    assert (scores.astype(np.float64) >= cut.threshold).tolist() == [[True, False]]


def test_all_accepted_and_none_true():
    scores = np.array([[0.5, 0.25]], np.float32)
    assert best_cut(csr_array(np.array([[True, True]])), scores) == Cut(0.125, 1.0)
    assert best_cut(csr_array(np.array([[True, True]])), 0 * scores) == Cut(0.0, 1.0)
    assert best_cut(csr_array((1, 2), dtype=bool), scores) == Cut(1.0, 0.0)
    assert best_cut(csr_array((0, 2), dtype=bool), np.zeros((0, 2), np.float32)) == Cut(1.0, 0.0)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 6), st.sampled_from([0.1, 0.6]), st.integers(1, 30))
def test_label_cuts_follow_the_rules(seed, documents, labels, smallest, pairs):
    truth, scores = draw(seed, documents, labels, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(taxocaps.metrics.cuts, "_PAIRS", pairs)  # several chunks
        thresholds = label_cuts(csr_array(truth), scores, 0.35, smallest)
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
    assert label_cuts(csr_array(truth), scores, 0.5) == pytest.approx([0.9])
    assert label_cuts(csr_array(truth), scores, 0.5, 0.0) == pytest.approx([0.05])


def test_no_documents_leave_the_fallback():
    thresholds = label_cuts(csr_array((0, 3), dtype=bool), np.zeros((0, 3), np.float32), 0.5)
    assert thresholds.tolist() == [0.5, 0.5, 0.5]
    assert label_cuts(csr_array((3, 0), dtype=bool), np.zeros((3, 0), np.float32), 0.5).tolist() == []


def test_what_is_refused():
    truth = csr_array((1, 2), dtype=bool)
    with pytest.raises(ValueError, match="limit must be at least 0; got -1"):
        best_cut(truth, np.zeros((1, 2), np.float32), limit=-1)
    with pytest.raises(ValueError, match="differ in shape"):
        best_cut(truth, np.zeros((1, 3), np.float32))
    with pytest.raises(ValueError, match="differ in shape"):
        label_cuts(truth, np.zeros((1, 3), np.float32), 0.5)
