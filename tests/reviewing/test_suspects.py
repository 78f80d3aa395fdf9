"""Suspicious labels: confident learning as cleanlab has it, and odds that put first what is worth a look."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.reviewing.suspects import (
    ERROR_RATE,
    confident_issues,
    confident_thresholds,
    document_quality,
    find_suspects,
    label_odds,
)
from taxocaps.taxonomy import Taxonomy


def example(seed, documents=60, labels=5):
    """Labels, and scores that mostly agree with them; the last label is given to nobody."""
    generator = np.random.default_rng(seed)
    given = generator.random((documents, labels)) < 0.3
    given[:, -1] = False
    scores = np.clip(0.6 * given + 0.5 * generator.random(given.shape), 0, 1).astype(np.float32)
    flipped = generator.random(given.shape) < 0.08
    flipped[:, -1] = False
    return csr_array(given ^ flipped), scores


def lists(labels):
    return [row.nonzero()[0].tolist() for row in labels.toarray()]


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_are_those_of_cleanlab(seed):
    from cleanlab.count import get_confident_thresholds

    labels, scores = example(seed)
    ours = confident_thresholds(labels, scores)
    for column in range(labels.shape[1]):
        given, part = labels.toarray()[:, column].astype(int), scores[:, column].astype(np.float64)
        theirs = get_confident_thresholds(given, np.stack([1 - part, part], axis=1))
        np.testing.assert_allclose(ours[:, column], theirs, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_labels_in_doubt_are_those_of_cleanlab(seed):
    from cleanlab.filter import find_label_issues

    labels, scores = example(seed)
    ours = confident_issues(labels, scores).toarray()
    assert ours.any()
    for column in range(labels.shape[1] - 1):
        given, part = labels.toarray()[:, column].astype(int), scores[:, column].astype(np.float64)
        both = np.stack([1 - part, part], axis=1)
        theirs = find_label_issues(given, both, filter_by="confident_learning", n_jobs=1)
        np.testing.assert_array_equal(ours[:, column], theirs)


@pytest.mark.parametrize("seed", range(5))
def test_the_quality_of_documents_is_that_of_cleanlab(seed):
    from cleanlab.multilabel_classification import get_label_quality_scores

    labels, scores = example(seed)
    theirs = get_label_quality_scores(lists(labels), scores.astype(np.float64))
    np.testing.assert_allclose(document_quality(labels, scores), theirs, atol=1e-6)


@given(seed=st.integers(0, 1000))
def test_odds_are_those_of_the_formula_in_a_plain_loop(seed):
    labels, scores = example(seed, documents=12)
    given, shares = labels.toarray(), labels.toarray().mean(axis=0)
    odds = label_odds(given, scores, shares)
    for row in range(len(given)):
        clipped = [min(max(float(p), 0.005), 0.995) for p in scores[row]]
        missing = max((p for p, has in zip(clipped, given[row], strict=True) if not has), default=0.0)
        for column, p in enumerate(clipped):
            wrong = shares[column] * (1 - p) / p * (missing + ERROR_RATE) / (1 + ERROR_RATE)
            expected = ERROR_RATE * (wrong if given[row, column] else p / (1 - p))
            assert odds[row, column] == pytest.approx(expected, rel=1e-6)


def test_a_flipped_label_comes_first_and_a_rare_label_that_the_model_does_not_know_does_not():
    given = np.zeros((100, 3), bool)
    given[:50, 0] = given[50:, 1] = True
    given[99, 2] = True  # the only document of a label that nobody could learn
    scores = np.where(given, 0.97, 0.02).astype(np.float32)
    scores[99, 2] = 0.001
    given[7] = (False, True, False)  # it was the first label, and the model still says so
    found = find_suspects(csr_array(given), scores)
    assert set(zip(found.documents[:2].tolist(), found.labels[:2].tolist(), strict=True)) == {(7, 0), (7, 1)}
    assert found.first_documents(1).tolist() == [7]
    rare = np.flatnonzero((found.documents == 99) & (found.labels == 2))
    assert found.suspicion[rare] < 0.05


@given(seed=st.integers(0, 1000))
def test_suspects_are_in_order_and_every_document_with_words_has_its_place(seed):
    labels, scores = example(seed)
    scores[3] = 0  # no words
    found = find_suspects(labels, scores)
    assert (np.diff(found.suspicion) <= 0).all()
    assert set(found.first_documents(1000).tolist()) == set(range(60)) - {3}
    np.testing.assert_array_equal(found.scores, scores[found.documents, found.labels])
    np.testing.assert_array_equal(found.is_given, labels.toarray()[found.documents, found.labels])


def test_of_labels_above_one_another_only_the_most_suspicious_is_listed():
    tree = Taxonomy.from_edges([("all", "a"), ("a", "b"), ("all", "c")])
    classes = Classes(("a", "b", "c"), tree)
    given = np.array([[True, True, False]] + [[False, False, True]] * 9)
    scores = np.where(given, 0.9, 0.1).astype(np.float32)
    scores[0] = (0.01, 0.01, 0.9)
    found = find_suspects(csr_array(given), scores, classes.closure)
    wrong = found.is_given & (found.documents == 0)
    assert found.labels[wrong].tolist() == [0]
    assert len(find_suspects(csr_array(given), scores).documents) > len(found)
