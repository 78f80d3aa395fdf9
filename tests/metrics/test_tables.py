"""Tables of labels and levels against scikit-learn."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import precision_recall_fscore_support

from taxocaps.metrics.flat import Averages
from taxocaps.metrics.tables import LabelRow, LevelRow, per_label, per_level

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
