"""Steps of one dual variable against minimisation by scipy, sums against products of matrices."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlogy

from taxocaps.linear.recursive_kernels import _hinge_pair, _hinge_step, _logistic_pair, _logistic_step, add_rows

CASES = [
    (-3.0, 0.0, 0.1, 1.0),
    (0.2, 0.7, 2.0, 1.0),
    (4.0, 0.01, 5.0, 0.3),
    (-20.0, 3.0, 40.0, 50.0),
    (30.0, 2.0, 3.0, 2.0),
]


@pytest.mark.parametrize(("margin", "alpha", "curve", "C"), CASES)
def test_a_hinge_step_goes_to_the_minimum(margin, alpha, curve, C):
    def dual(new):
        return curve * (new - alpha) ** 2 / 2 + margin * (new - alpha) + new**2 / (4 * C) - new

    best = minimize_scalar(dual, bounds=(0, 1000), method="bounded", options={"xatol": 1e-10}).x
    assert _hinge_step(margin, alpha, curve, C) == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize(("margin", "alpha", "curve", "C"), CASES)
def test_a_logistic_step_goes_to_the_minimum(margin, alpha, curve, C):
    def dual(new):
        return curve * (new - alpha) ** 2 / 2 + margin * (new - alpha) + xlogy(new, new) + xlogy(C - new, C - new)

    alpha = min(alpha, C)
    best = minimize_scalar(dual, bounds=(0, C), method="bounded", options={"xatol": 1e-10}).x
    assert _logistic_step(margin, alpha, curve, C) == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("pair", [_hinge_pair, _logistic_pair])
@pytest.mark.parametrize("margin", [-2.0, 0.5, 3.0])
def test_a_conjugate_meets_its_loss_at_one_dual_variable(pair, margin):
    gaps = [sum(pair(margin, alpha, 2.0)) + alpha * margin for alpha in np.linspace(0, 2, 2001)]
    if pair is _hinge_pair:
        gaps = [sum(pair(margin, alpha, 2.0)) + alpha * margin for alpha in np.linspace(0, 20, 20001)]
    assert min(gaps) == pytest.approx(0, abs=1e-5)
    assert min(gaps) > -1e-9


def test_rows_are_added_up(tree):
    factors, total = np.random.default_rng(0).normal(size=60), np.zeros(26)
    X = tree.X.astype(np.float32)
    add_rows(X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64), factors, total)
    np.testing.assert_allclose(total, np.append(X.toarray().T @ factors, factors.sum()), rtol=1e-5, atol=1e-6)
