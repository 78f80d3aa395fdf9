"""Trees as arrays: the same predictions as scikit-learn's, contributions that add up, and damage that is noticed."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from taxocaps.joining import trees as module
from taxocaps.joining.trees import Trees, TreesConfig, fit_trees


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(1_500, 5)).astype(np.float32)
    rows[generator.random(rows.shape) < 0.1] = np.nan
    truth = np.nan_to_num(rows[:, 0]) + np.nan_to_num(rows[:, 1]) * np.nan_to_num(rows[:, 2]) > 0.3
    return rows, truth


@pytest.fixture(scope="module")
def trees(data):
    return fit_trees(*data, TreesConfig(), 20)


def test_logits_are_those_of_scikit_learn(data, trees):
    rows, truth = data
    options = {"learning_rate": 0.08, "max_leaf_nodes": 15, "min_samples_leaf": 40, "l2_regularization": 5.0}
    peer = HistGradientBoostingClassifier(max_iter=20, max_bins=127, early_stopping=False, random_state=0, **options)
    peer.fit(rows, truth)
    unseen = np.random.default_rng(1).normal(size=(300, 5)).astype(np.float32)
    unseen[::7, 2] = np.nan
    np.testing.assert_allclose(trees.logits(unseen), peer.decision_function(unseen), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("leaves", [2, 15, 64])
@pytest.mark.parametrize("count", [0, 1, 2_500])
def test_compiled_trees_give_exactly_what_numpy_gives(data, monkeypatch, count, leaves):
    trees = fit_trees(*data, TreesConfig(leaves=leaves, min_pairs=1), 20)
    assert np.add.reduceat(trees.left < 0, trees.roots).max() == leaves
    generator = np.random.default_rng(2)
    rows = generator.normal(size=(count, 5)).astype(np.float32)
    rows[::2] = generator.choice(trees.thresholds[trees.left >= 0], rows[::2].shape)  # as near as can be
    rows[::5, 1] = np.nan
    found = []
    for is_compiled in (False, True):
        monkeypatch.setattr(module, "pays", lambda *_, answer=is_compiled: answer)
        found.append([some.logits(rows).tolist() for some in (trees, trees.first(7), trees.first(0))])
    assert found[0] == found[1]


def test_contributions_sum_to_the_logit(data, trees):
    rows = data[0][:200]
    start = trees.baseline[0] + trees.values[trees.roots].sum()
    np.testing.assert_allclose(start + trees.contributions(rows).sum(axis=1), trees.logits(rows), atol=1e-9)


def test_features_without_influence_contribute_nothing(data, trees):
    found = np.abs(trees.contributions(data[0])).mean(axis=0)
    assert found[:3].min() > 5 * found[3:].max()


def test_saved_arrays_give_the_same_logits(data, trees):
    again = Trees.from_arrays(trees.arrays(), width=5)
    assert np.array_equal(again.logits(data[0]), trees.logits(data[0]))


@pytest.mark.parametrize(
    "damage",
    [
        {"left": lambda array: np.where(array >= 0, 0, array)},  # a walk that would never end
        {"right": lambda array: np.where(array >= 0, 10**6, array)},
        {"features": lambda array: array + 5},
        {"features": lambda array: array - 9},
        {"roots": lambda array: array - 1},
        {"roots": lambda array: array[::-1].copy()},
        {"roots": lambda array: array[:1]},  # more leaves than a tree may have
        {"right": lambda array: np.where(array >= 0, array.max(), array)},  # two ways to a node
        {"values": lambda array: array[:-1]},
        {"values": lambda array: array * np.nan},
        {"thresholds": lambda array: array.astype(np.float32)},
        {"baseline": lambda array: np.zeros(0)},
    ],
)
def test_damaged_arrays_are_refused(trees, damage):
    arrays = trees.arrays()
    for name, change in damage.items():
        arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match="fit together"):
        Trees.from_arrays(arrays, width=5)


def test_the_same_seed_gives_the_same_trees(data, trees):
    again = fit_trees(*data, TreesConfig(), 20)
    assert all(np.array_equal(array, again.arrays()[name]) for name, array in trees.arrays().items())


@pytest.mark.parametrize(("worth_threads", "expected"), [(10**9, 1), (0, 2)])
def test_few_rows_are_left_to_one_thread(data, monkeypatch, worth_threads, expected):
    threads = []

    class Watched(HistGradientBoostingClassifier):
        def fit(self, *given):
            threads.append({one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp"})
            return super().fit(*given)

    monkeypatch.setattr("sklearn.ensemble.HistGradientBoostingClassifier", Watched)
    monkeypatch.setattr(module, "_WORTH_THREADS", worth_threads)
    with threadpool_limits(2, user_api="openmp"):
        fit_trees(*data, TreesConfig(), 2)
    assert threads == [{expected}]


def test_features_that_no_row_has_do_no_harm(data):
    rows, truth = data
    wide = np.concatenate([rows, np.full((len(rows), 1), np.nan, np.float32)], axis=1)
    one, other = (fit_trees(found, truth, TreesConfig(), 5).logits(found) for found in (wide, rows))
    np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("truth", [np.zeros(0, bool), np.ones(3, bool), np.zeros(4, bool)])
def test_without_anything_to_tell_apart_the_logit_is_constant(truth):
    trees = fit_trees(np.zeros((len(truth), 2), np.float32), truth, TreesConfig(), 5)
    (logit,) = Trees.from_arrays(trees.arrays(), 2).logits(np.ones((1, 2), np.float32))
    assert np.sign(logit) == np.sign(truth.sum() - (~truth).sum())


def test_a_rising_feature_never_lowers_the_logit(data):
    rows, truth = data
    trees = fit_trees(rows, truth, TreesConfig(), 20, rising=[True, False, False, False, False])
    grid = np.repeat(rows[:50], 9, axis=0)
    grid[:, 0] = np.tile(np.linspace(-2, 2, 9), 50)
    assert (np.diff(trees.logits(grid).reshape(50, 9), axis=1) >= -1e-9).all()
