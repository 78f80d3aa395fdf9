"""Calibration error by hand, against a loop and against scikit-learn's calibration curve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.calibration import calibration_curve

import taxocaps.metrics.calibration
from taxocaps.metrics.calibration import ReliabilityBin, ScoreBand, calibration_error, reliability, score_band


def test_by_hand():
    truth = csr_array(np.array([[1, 0], [1, 0]], bool))
    scores = np.array([[1.0, 0.0], [0.5, 0.25]], np.float32)
    found = reliability(truth, scores, bins=2)
    assert found.centres.tolist() == [0.25, 0.75]
    assert found.mean_score.tolist() == [0.125, 0.75]  # 0.5 lies in the upper bin
    assert found.observed.tolist() == [0, 1]
    assert found.count.tolist() == [2, 2]
    assert found.bins == (ReliabilityBin(0.25, 0.125, 0, 2), ReliabilityBin(0.75, 0.75, 1, 2))
    assert found.error == pytest.approx((0.125 + 0.25) / 2)
    assert calibration_error(truth, scores, bins=2, above=-1) == pytest.approx((0.125 + 0.25) / 2)
    assert calibration_error(truth, scores, bins=2) == pytest.approx(0.25)  # without the score of 0


def test_scores_around_nine_tenths():
    truth = csr_array(np.array([[1, 0, 1], [1, 1, 0]], bool))
    scores = np.array([[0.9, 0.86, 0.97], [0.9, 0.2, 0.9]], np.float32)
    assert score_band(truth, scores) == ScoreBand(0.85, 0.95, 4, 0.5)
    assert score_band(truth, scores, 0.3, 0.4) == ScoreBand(0.3, 0.4, 0, 0)


def test_only_scores_above_a_bound_count():
    truth = csr_array(np.array([[1, 1, 0, 1]], bool))
    scores = np.array([[0.05, 0.25, 0.25, 0.75]], np.float32)
    found = reliability(truth, scores, bins=2, above=0.25)
    assert found.count.tolist() == [0, 1]
    assert (found.observed.tolist(), found.mean_score.tolist()) == ([0, 1], [0, 0.75])
    assert reliability(truth, scores, bins=2, above=0.2).count.tolist() == [2, 1]
    assert reliability(truth, scores, bins=2).count.tolist() == [3, 1]
    assert calibration_error(truth, scores, bins=2, above=0.2) == pytest.approx((2 * 0.25 + 0.25) / 3)
    assert calibration_error(truth, scores, above=0.75) == 0  # none


def test_clear_negatives_do_not_hide_the_error():
    generator = np.random.default_rng(5)
    scores = generator.random((100, 10)).astype(np.float32)
    truth = generator.random(scores.shape) < scores**2
    many = np.concatenate([scores, np.full((100, 990), 0.001, np.float32)], axis=1)
    padded = csr_array(np.concatenate([truth, np.zeros((100, 990), bool)], axis=1))
    assert calibration_error(padded, many) == pytest.approx(calibration_error(csr_array(truth), scores))
    assert calibration_error(padded, many, above=-1) < calibration_error(padded, many) / 10


@given(
    st.integers(1, 9),
    st.integers(1, 7),
    st.integers(1, 20),
    st.integers(0, 10**6),
    st.integers(1, 30),
    st.sampled_from([-1.0, 0.05, 0.3]),
)
def test_equal_to_a_loop(documents, labels, bins, seed, pairs, above):
    generator = np.random.default_rng(seed)
    truth = generator.random((documents, labels)) < 0.4
    scores = generator.random((documents, labels)).astype(np.float32)
    counted = [(float(s), t) for s, t in zip(scores.ravel(), truth.ravel(), strict=True) if s > above]
    error = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [(s, t) for s, t in counted if low <= s < high]
        if inside:
            gap = abs(np.mean([s for s, _ in inside]) - np.mean([t for _, t in inside]))
            error += len(inside) / len(counted) * gap
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(taxocaps.metrics.calibration, "_PAIRS", pairs)  # several chunks
        assert calibration_error(csr_array(truth), scores, bins, above) == pytest.approx(error, abs=1e-9)


def test_the_curve_equals_that_of_scikit_learn():
    generator = np.random.default_rng(3)
    scores = (generator.random((200, 11)) ** 4).astype(np.float32)
    truth = generator.random(scores.shape) < scores
    found = reliability(csr_array(truth), scores, bins=12)
    observed, mean_score = calibration_curve(truth.ravel(), scores.ravel(), n_bins=12)
    filled = found.count > 0
    assert found.observed[filled] == pytest.approx(observed)
    assert found.mean_score[filled] == pytest.approx(mean_score, rel=1e-5)
    assert found.count.sum() == scores.size


def test_true_probabilities_are_calibrated_and_others_are_not():
    generator = np.random.default_rng(4)
    scores = generator.random((2_000, 50)).astype(np.float32)
    truth = csr_array(generator.random(scores.shape) < scores)
    assert calibration_error(truth, scores) < 0.01
    assert calibration_error(truth, np.sqrt(scores)) > 0.1


def test_nothing_gives_zeros():
    empty = csr_array((0, 3), dtype=bool)
    found = reliability(empty, np.zeros((0, 3), np.float32), bins=4)
    assert not found.count.any()
    assert not found.observed.any()
    assert not found.mean_score.any()
    assert calibration_error(empty, np.zeros((0, 3), np.float32)) == 0
    assert calibration_error(csr_array((3, 0), dtype=bool), np.zeros((3, 0), np.float32)) == 0


def test_what_is_refused():
    truth = csr_array((1, 2), dtype=bool)
    with pytest.raises(ValueError, match="calibration needs scores from 0 to 1; got -3 to 0"):
        calibration_error(truth, np.array([[-3, 0]], np.float32))
    with pytest.raises(ValueError, match="at least 1 bin; got 0"):
        calibration_error(truth, np.zeros((1, 2), np.float32), 0)
    with pytest.raises(ValueError, match="differ in shape"):
        calibration_error(truth, np.zeros((2, 2), np.float32))


def test_a_length_rounded_past_one_is_one():
    truth = csr_array(np.array([[True]]))
    assert calibration_error(truth, np.array([[1.0000002]], np.float32)) == pytest.approx(0, abs=1e-6)
