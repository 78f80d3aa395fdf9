"""Precision, recall and F1: flat, hierarchical, per label and per level."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from sklearn.metrics import accuracy_score, hamming_loss, precision_recall_fscore_support

from taxocaps.metrics.classification import (
    AddedLabels,
    Averages,
    Counts,
    LabelRow,
    LevelRow,
    OtherLabels,
    document_counts,
    flat_metrics,
    hierarchical_metrics,
    label_counts,
    new_label_metrics,
    per_label,
    per_level,
)

TRUTH = csr_array(np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]], bool))
PREDICTED = csr_array(np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]], bool))


def random_labels(generator, documents, labels, density):
    return csr_array(generator.random((documents, labels)) < density)


def as_tuple(averages):
    return dataclasses.astuple(averages)


def test_counts_by_hand():
    by_label = label_counts(TRUTH, PREDICTED)
    assert by_label.true_positives.tolist() == [1, 1, 0]
    assert by_label.predicted.tolist() == [1, 1, 1]
    assert by_label.actual.tolist() == [1, 2, 0]
    assert by_label.true_positives.dtype == np.int64
    by_document = document_counts(TRUTH, PREDICTED)
    assert by_document.true_positives.tolist() == [1, 1, 0]
    assert by_document.predicted.tolist() == [2, 1, 0]
    assert by_document.actual.tolist() == [2, 1, 0]


def test_labels_without_training_documents_by_hand():
    found = new_label_metrics(TRUTH, PREDICTED, np.array([True, False, False]))
    assert (found.support, found.predicted) == (2, 2)
    assert as_tuple(found.micro) == (0.5, 0.5, 0.5)
    others = OtherLabels(
        "xy", csr_array([[1, 1], [1, 0], [1, 0]], dtype=bool), csr_array([[0, 1]] + [[0, 0]] * 2, dtype=bool)
    )
    found = new_label_metrics(TRUTH, PREDICTED, np.array([True] * 3), others)
    assert (found.support, found.predicted) == (4, 1)
    assert as_tuple(found.micro) == (1, 0.25, 0.4)
    assert new_label_metrics(TRUTH, PREDICTED, np.array([True] * 3)) is None


def test_metrics_by_hand():
    found = flat_metrics(TRUTH, PREDICTED)
    assert as_tuple(found.micro) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    # Label 0: 1, 1, 1; label 1: 1, 1/2, 2/3; label 2 is predicted but never true: 0, 0, 0.
    assert as_tuple(found.macro) == pytest.approx((2 / 3, 1 / 2, 5 / 9))
    assert found.macro_of_means_f1 == pytest.approx(2 * (2 / 3) * (1 / 2) / (2 / 3 + 1 / 2))
    # Document 0: all 1/2; document 1: all 1; document 2 carries nothing: 0.
    assert as_tuple(found.samples) == pytest.approx((1 / 2, 1 / 2, 1 / 2))
    assert found.subset_accuracy == pytest.approx(2 / 3)
    assert found.hamming_loss == pytest.approx(2 / 9)
    assert found.labels_with_support == 2


@given(st.integers(1, 12), st.integers(2, 9), st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.4, 0.9]))
def test_equal_to_scikit_learn(documents, labels, seed, density):
    generator = np.random.default_rng(seed)
    truth = random_labels(generator, documents, labels, density)
    predicted = random_labels(generator, documents, labels, 0.3)
    found = flat_metrics(truth, predicted)
    y, z = truth.toarray(), predicted.toarray()
    for average in ("micro", "macro", "samples"):
        wanted = precision_recall_fscore_support(y, z, average=average, zero_division=0)[:3]
        assert as_tuple(getattr(found, average)) == pytest.approx(wanted)
    assert found.subset_accuracy == pytest.approx(accuracy_score(y, z))
    assert found.hamming_loss == pytest.approx(hamming_loss(y, z))
    assert found.labels_with_support == y.any(axis=0).sum()
    precision, recall, f1, support = precision_recall_fscore_support(y, z, average=None, zero_division=0)
    by_label = label_counts(truth, predicted)
    assert by_label.precision == pytest.approx(precision)
    assert by_label.recall == pytest.approx(recall)
    assert by_label.f1 == pytest.approx(f1)
    assert by_label.actual.tolist() == support.tolist()
    assert found.macro_of_means_f1 >= found.macro.f1 - 1e-12


@given(st.integers(0, 10**6), st.integers(0, 5))
def test_labels_without_a_column_count_in_all_but_macro_averages(seed, extra):
    generator = np.random.default_rng(seed)
    truth, predicted = (random_labels(generator, 6, 4 + extra, 0.4) for _ in range(2))
    inside = truth[:, :4], predicted[:, :4]
    found = flat_metrics(*inside, others=OtherLabels(range(extra), truth[:, 4:], predicted[:, 4:]))
    wanted, without = flat_metrics(truth, predicted), flat_metrics(*inside)
    assert (found.micro, found.samples) == (wanted.micro, wanted.samples)
    assert (found.subset_accuracy, found.hamming_loss) == (wanted.subset_accuracy, wanted.hamming_loss)
    assert (found.macro, found.labels_with_support) == (without.macro, without.labels_with_support)


def test_labels_without_a_column_are_missed_added_rightly_or_added_wrongly():
    truth = csr_array(np.array([[1, 0, 1], [1, 0, 0]], bool))
    predicted = csr_array(np.array([[1, 1, 0], [0, 0, 0]], bool))
    others = OtherLabels(("x", "y", "z"), truth, predicted)
    assert others.missed == {"x": 1, "z": 1}
    assert others.added == AddedLabels(right=1, wrong=1)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (3, 3)])
def test_nothing_gives_zeros(shape):
    empty = csr_array(shape, dtype=bool)
    found = flat_metrics(empty, empty)
    zero = Averages(0.0, 0.0, 0.0)
    assert found.micro == found.macro == found.samples == zero
    assert found.macro_of_means_f1 == found.hamming_loss == found.labels_with_support == 0
    assert found.subset_accuracy == (1.0 if shape[0] else 0.0)  # a document without labels is told so


def test_untidy_matrices_count_each_label_once():
    untidy = csr_array((np.array([True, True, False]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    tidy = csr_array(np.array([[False, True]]))
    assert flat_metrics(tidy, untidy) == flat_metrics(tidy, tidy)


def test_taking_some_labels():
    counts = Counts(np.array([1, 2, 3]), np.array([4, 5, 6]), np.array([7, 8, 9])).take(np.array([2, 0]))
    assert counts.true_positives.tolist() == [3, 1]
    assert counts.predicted.tolist() == [6, 4]
    assert counts.actual.tolist() == [9, 7]


def test_shapes_must_match():
    with pytest.raises(ValueError, match="differ in shape"):
        flat_metrics(TRUTH, csr_array((3, 4), dtype=bool))


def test_many_labels_need_no_dense_matrix():
    # A dense matrix of this shape would fill 32 gigabytes.
    generator = np.random.default_rng(0)
    labels = csr_array(random_array((2_000_000, 16_000), density=1e-6, rng=generator) > 0)
    assert flat_metrics(labels, labels).micro.f1 == 1


def test_by_hand():
    # Labels 0 and 1 lie below the inner node 3, label 2 below 4; the nodes 3 and 4 have no column.
    closure = csr_array(np.array([[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1]], bool))
    truth = csr_array(np.array([[1, 0, 0], [1, 1, 0]], bool))
    predicted = csr_array(np.array([[0, 1, 0], [1, 0, 1]], bool))
    # Document 0: {0, 3} and {1, 3} share 3. Document 1: {0, 1, 3} and {0, 2, 3, 4} share 0 and 3, which counts once.
    found = hierarchical_metrics(truth, predicted, closure)
    assert dataclasses.astuple(found) == pytest.approx((3 / 6, 3 / 5, 6 / 11))


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 4), st.integers(0, 10**6))
def test_equal_to_sets_in_a_loop(documents, labels, more, seed):
    generator = np.random.default_rng(seed)
    truth, predicted = generator.random((2, documents, labels)) < 0.3
    closure = generator.random((labels, labels + more)) < 0.3
    closure[np.arange(labels), np.arange(labels)] = True
    shared = found = wanted = 0
    for document in range(documents):
        true_set = {a for label in np.flatnonzero(truth[document]) for a in np.flatnonzero(closure[label])}
        found_set = {a for label in np.flatnonzero(predicted[document]) for a in np.flatnonzero(closure[label])}
        shared, found, wanted = shared + len(true_set & found_set), found + len(found_set), wanted + len(true_set)
    precision = shared / found if found else 0
    recall = shared / wanted if wanted else 0
    f1 = 2 * precision * recall / (precision + recall) if shared else 0
    result = hierarchical_metrics(csr_array(truth), csr_array(predicted), csr_array(closure))
    assert dataclasses.astuple(result) == pytest.approx((precision, recall, f1))


def test_without_ancestors_it_is_micro():
    generator = np.random.default_rng(2)
    truth, predicted = (csr_array(part) for part in generator.random((2, 9, 5)) < 0.4)
    alone = csr_array(np.eye(5, dtype=bool))
    assert hierarchical_metrics(truth, predicted, alone) == flat_metrics(truth, predicted).micro


def test_small_integers_count_as_marks():
    # One ancestor of 256 labels: a sum of bytes would come back to 0.
    labels = csr_array(np.ones((1, 256), np.uint8))
    closure = csr_array(np.ones((256, 1), np.uint8))
    assert hierarchical_metrics(labels, labels, closure) == Averages(1.0, 1.0, 1.0)


def test_no_documents_and_wrong_shapes():
    none = csr_array((0, 2), dtype=bool)
    assert hierarchical_metrics(none, none, csr_array(np.eye(2, dtype=bool))) == Averages(0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match=r"there are 2 labels \(columns of truth\) but 3 rows of closure"):
        hierarchical_metrics(none, none, csr_array(np.eye(3, dtype=bool)))
    with pytest.raises(ValueError, match="differ in shape"):
        hierarchical_metrics(none, csr_array((1, 2), dtype=bool), csr_array(np.eye(2, dtype=bool)))


LEVELS = [2, 1, 2, 5, 1, 2]


@pytest.fixture
def pair():
    generator = np.random.default_rng(5)
    truth, predicted = generator.random((2, 30, 6)) < 0.3
    truth[:, 4] = False
    return truth, predicted


def test_rows_of_labels_equal_scikit_learn(pair):
    truth, predicted = pair
    rows = per_label(csr_array(truth), csr_array(predicted), list("abcdef"), LEVELS)
    wanted = precision_recall_fscore_support(truth, predicted, average=None, zero_division=0)
    for row, name, level, times, *figures in zip(rows, "abcdef", LEVELS, predicted.sum(axis=0), *wanted, strict=True):
        assert (row.label, row.level, row.predicted) == (name, level, times)
        assert [row.precision, row.recall, row.f1, row.support] == pytest.approx(figures)


def test_rows_hold_plain_numbers_and_do_without_levels():
    labels = csr_array(np.array([[True]]))
    (row,) = per_label(labels, labels, ["a"])
    assert row == LabelRow("a", None, 1, 1, 1.0, 1.0, 1.0)
    assert [type(value) for value in dataclasses.astuple(row)[2:]] == [int, int, float, float, float]


def test_rows_of_levels_equal_scikit_learn(pair):
    truth, predicted = pair
    rows = per_level(csr_array(truth), csr_array(predicted), LEVELS)
    assert [(row.level, row.labels) for row in rows] == [(1, 2), (2, 3), (5, 1)]
    for row in rows:
        here = np.array(LEVELS) == row.level
        y, z = truth[:, here], predicted[:, here]
        micro = precision_recall_fscore_support(y.ravel(), z.ravel(), average="binary", zero_division=0)[:3]
        assert dataclasses.astuple(row.micro) == pytest.approx(micro)
        one_by_one = [
            precision_recall_fscore_support(a, b, average="binary", zero_division=0)[2]
            for a, b in zip(y.T, z.T, strict=True)
        ]
        assert row.macro_f1 == pytest.approx(np.mean(one_by_one))
        assert row.support == y.sum()


def test_no_documents_give_zeros():
    empty = csr_array((0, 2), dtype=bool)
    assert per_label(empty, empty, ["a", "b"])[1] == LabelRow("b", None, 0, 0, 0.0, 0.0, 0.0)
    assert per_level(empty, empty, [1, 1]) == (LevelRow(1, 2, 0, Averages(0.0, 0.0, 0.0), 0.0),)
    assert per_level(csr_array((2, 0), dtype=bool), csr_array((2, 0), dtype=bool), []) == ()


def test_lengths_must_match():
    labels = csr_array((1, 2), dtype=bool)
    with pytest.raises(ValueError, match="but 1 names"):
        per_label(labels, labels, ["a"])
    with pytest.raises(ValueError, match="but 3 levels"):
        per_label(labels, labels, ["a", "b"], [1, 2, 3])
    with pytest.raises(ValueError, match="but 1 levels"):
        per_level(labels, labels, [1])
