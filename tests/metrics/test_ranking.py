"""Ranking metrics by hand, against a loop over sorted labels and against scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import ndcg_score

import taxocaps.metrics.ranking
from taxocaps.metrics.ranking import ranking_metrics


def by_loop(truth, scores, k):
    """Precision, recall and nDCG at k, read from the definitions."""
    precision, recall, ndcg = [], [], []
    for true, row in zip(truth, scores, strict=True):
        first = sorted(range(len(row)), key=lambda column: (-row[column], column))[:k]
        hits = [bool(true[column]) for column in first]
        precision.append(sum(hits) / k)
        if true.any():
            recall.append(sum(hits) / true.sum())
            gained = sum(hit / math.log2(2 + place) for place, hit in enumerate(hits))
            ndcg.append(gained / sum(1 / math.log2(2 + place) for place in range(min(k, true.sum()))))
    return [float(np.mean(values)) if values else 0.0 for values in (precision, recall, ndcg)]


def test_by_hand():
    truth = csr_array(np.array([[1, 0, 1], [0, 0, 0]], bool))
    scores = np.array([[0.2, 0.9, 0.5], [0.1, 0.2, 0.3]], np.float32)
    found = ranking_metrics(truth, scores, (1, 2, 5))
    # Document 0 ranks 1, 2, 0: wrong, true, true. Document 1 has no labels: nothing is right, and no recall exists.
    assert found.precision == pytest.approx({1: 0, 2: 1 / 4, 5: 1 / 5})
    assert found.recall == pytest.approx({1: 0, 2: 1 / 2, 5: 1})
    best = 1 + 1 / math.log2(3)
    assert found.ndcg == pytest.approx({1: 0, 2: 1 / math.log2(3) / best, 5: (1 / math.log2(3) + 1 / 2) / best})


def test_of_equal_scores_the_earlier_column_stands_first():
    scores = np.array([[0.5, 0.9, 0.5, 0.5]], np.float32)
    for column, wanted in enumerate((1 / 2, 1 / 2, 0, 0)):
        truth = csr_array(([True], ([0], [column])), shape=(1, 4))
        assert ranking_metrics(truth, scores, (2,)).precision == {2: wanted}


@given(st.integers(1, 8), st.integers(1, 9), st.integers(0, 10**6), st.booleans(), st.integers(1, 30))
def test_equal_to_a_loop(documents, labels, seed, ties, pairs):
    generator = np.random.default_rng(seed)
    truth = generator.random((documents, labels)) < 0.3
    scores = generator.random((documents, labels)).astype(np.float32)
    scores = np.round(scores, 1) if ties else scores
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(taxocaps.metrics.ranking, "_PAIRS", pairs)  # several chunks
        found = ranking_metrics(csr_array(truth), scores, (1, 2, 3, 12))
    for k in (1, 2, 3, 12):
        assert [found.precision[k], found.recall[k], found.ndcg[k]] == pytest.approx(by_loop(truth, scores, k))


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_gain_equals_scikit_learn(seed, k):
    generator = np.random.default_rng(seed)
    truth = generator.random((6, 7)) < 0.3
    truth[:, 0] |= ~truth.any(axis=1)  # scikit-learn counts a document without labels as 0
    scores = generator.permuted(np.tile(np.arange(7), (6, 1)), axis=1).astype(np.float32) / 7
    wanted = ndcg_score(truth, scores, k=k)
    assert ranking_metrics(csr_array(truth), scores, (k,)).ndcg[k] == pytest.approx(wanted)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_nothing_gives_zeros(shape):
    found = ranking_metrics(csr_array(shape, dtype=bool), np.zeros(shape, np.float32))
    assert found.precision == found.recall == found.ndcg == {1: 0.0, 3: 0.0, 5: 0.0}


def test_no_k_gives_no_figures():
    found = ranking_metrics(csr_array((1, 2), dtype=bool), np.zeros((1, 2), np.float32), ())
    assert found.precision == found.recall == found.ndcg == {}


def test_what_is_refused():
    truth = csr_array((1, 2), dtype=bool)
    with pytest.raises(ValueError, match="every k must be at least 1; got 1, 0"):
        ranking_metrics(truth, np.zeros((1, 2), np.float32), (1, 0))
    with pytest.raises(ValueError, match="differ in shape"):
        ranking_metrics(truth, np.zeros((1, 3), np.float32))
