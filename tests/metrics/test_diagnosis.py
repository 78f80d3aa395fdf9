"""A diagnosis holds what the single summaries say."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from taxocaps.metrics.calibration import calibration_error, reliability
from taxocaps.metrics.confusions import sibling_confusions
from taxocaps.metrics.diagnosis import diagnose
from taxocaps.metrics.threshold_curve import threshold_curve


@pytest.fixture
def arrays():
    generator = np.random.default_rng(6)
    scores = generator.random((40, 3)).astype(np.float32)
    return csr_array(generator.random((40, 3)) < 0.4), csr_array(scores > 0.5), scores


def test_everything_is_there(arrays):
    truth, predicted, scores = arrays
    found = diagnose(truth, predicted, scores, ["x", "x", "y"])
    assert found.confusions == sibling_confusions(truth, predicted, ["x", "x", "y"])
    assert found.confusions
    assert (found.curve.counts.f1 == threshold_curve(truth, scores).counts.f1).all()
    assert (found.reliability.count == reliability(truth, scores).count).all()


def test_the_calibration_error_can_be_read_off(arrays):
    truth, predicted, scores = arrays
    bins = diagnose(truth, predicted, scores, ["x", "x", "y"]).reliability
    error = np.average(np.abs(bins.observed - bins.mean_score), weights=bins.count)
    assert error == pytest.approx(calibration_error(truth, scores))
