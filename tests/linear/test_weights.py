"""Weights and margins against dense arithmetic."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

import taxocaps.linear.weights
from taxocaps.linear.weights import LinearWeights, sparse_row, stack


@pytest.fixture
def weights():
    generator = np.random.default_rng(1)
    coef = random_array((5, 30), density=0.3, format="csr", rng=generator).astype(np.float32)
    return LinearWeights(csr_array(coef), generator.random(5).astype(np.float32))


@pytest.mark.parametrize("cells", [1, 12, 4_000_000])
def test_margins_are_products_whatever_the_chunks(weights, cells, monkeypatch):
    monkeypatch.setattr(taxocaps.linear.weights, "_CELLS", cells)
    X = csr_array(random_array((17, 30), density=0.2, format="csr", rng=np.random.default_rng(2)))
    margins = weights.margins(X)
    assert margins.dtype == np.float32
    np.testing.assert_allclose(margins, X.toarray() @ weights.coef.toarray().T + weights.intercept, rtol=1e-5)


def test_no_documents_have_no_margins(weights):
    assert weights.margins(csr_array((0, 30))).shape == (0, 5)


@pytest.mark.parametrize("cut", [0.0, 0.2])
def test_small_weights_and_zeros_are_dropped(cut):
    coef = np.array([[0.1, -0.3, 0.0], [0.2, 0.0, -0.1]], np.float32)
    expected = np.where(np.abs(coef) < np.float32(cut), 0, coef)
    rows = stack([sparse_row(row, cut) for row in coef], 3)
    np.testing.assert_array_equal(rows.toarray(), expected)
    assert rows.nnz == np.count_nonzero(expected)


def test_no_rows_can_be_stacked():
    assert stack([], 4).shape == (0, 4)
