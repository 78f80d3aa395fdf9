"""Binary problems, and one-vs-rest classifiers against scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import taxocaps.linear.one_vs_rest
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.model import KnownWeights, LinearTask, LinearWeights, documents_by_label
from taxocaps.linear.one_vs_rest import (
    CERTAIN,
    BinaryProblems,
    OneVsRest,
    fit_one_vs_rest,
    fit_problems,
    logistic_scores,
)
from taxocaps.progress import silent


def fitted(X, problems, constants, threads=1, progress=silent, **options):
    task = LinearTask(X, None, None, LinearConfig(**options), threads=threads, progress=progress)
    return fit_problems(task, problems, np.array(constants, np.float32))


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_threads_change_nothing(loss, tree):
    problems = [
        BinaryProblems(np.arange(60), tuple(range(5)), documents_by_label(tree.Y)),
        BinaryProblems(np.arange(30), (5,), (np.arange(9),)),
    ]
    one, two = (fitted(tree.X, problems, np.zeros(6), threads, loss=loss) for threads in (1, 2))
    assert (one.coef != two.coef).nnz == 0
    assert one.intercept.tolist() == two.intercept.tolist()


def test_problems_with_positives_or_negatives_only_are_certain(tree):
    everything = np.arange(60)
    weights = fitted(tree.X, [BinaryProblems(everything, (0, 2), (everything, everything[:0]))], [0, 7, 0])
    assert weights.coef.nnz == 0
    assert weights.intercept.tolist() == [CERTAIN, 7, -CERTAIN]
    assert expit(np.float32(CERTAIN)) == 1


def test_documents_that_are_left_out_do_not_count(tree):
    documents = np.arange(10, 40)
    labels = documents_by_label(tree.Y)
    chosen = tuple(np.intersect1d(found, documents) for found in labels)
    part = fitted(tree.X, [BinaryProblems(documents, tuple(range(5)), chosen)], np.zeros(5))
    alone = fitted(
        csr_array(tree.X[10:40]),
        [BinaryProblems(np.arange(30), tuple(range(5)), documents_by_label(tree.Y[10:40]))],
        np.zeros(5),
    )
    assert part.coef.nnz > 0
    np.testing.assert_array_equal(part.coef.toarray(), alone.coef.toarray())


def test_documents_without_any_feature_leave_the_intercept():
    problems = [BinaryProblems(np.arange(4), (0, 1), (np.array([0]), np.array([0, 1, 2])))]
    weights = fitted(csr_array((4, 3)), problems, [0, 0])
    assert weights.coef.nnz == 0
    assert weights.intercept[0] < 0 < weights.intercept[1]


def test_solvers_that_did_not_converge_are_reported(tree):
    notes = []
    problems = [BinaryProblems(np.arange(60), (0,), (documents_by_label(tree.Y)[0],))]
    fitted(tree.X, problems, [0], progress=lambda *told: notes.append(told[3]), iterations=1)
    assert notes == ["1 stopped at linear.iterations"]


def test_documents_may_be_many_and_in_the_order_of_their_labels():
    generator = np.random.default_rng(0)
    labels = np.sort(generator.integers(4, size=20_000))  # more than a descent draws from at a time
    dense = generator.random((20_000, 12), np.float32) < np.where(np.arange(12) % 4 == labels[:, None], 0.4, 0.2)
    X, positives = csr_array(dense.astype(np.float32)), np.flatnonzero(labels == 1)
    notes = []
    problems = [BinaryProblems(np.arange(len(labels)), (0,), (positives,))]
    weights = fitted(X, problems, [0], progress=lambda *told: notes.append(told[3]), C=1.0, tolerance=1e-6)
    model = LinearSVC(C=1.0, tol=1e-8).fit(X, labels == 1)
    assert notes == [""]
    np.testing.assert_allclose(weights.coef.toarray(), model.coef_, atol=2e-3)


@pytest.mark.parametrize("C", [0.3, 5.0])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_margins_are_those_of_scikit_learn(loss, C, tree):
    model = LinearSVC(C=C, tol=1e-8) if loss == "hinge" else LogisticRegression(C=C, solver="liblinear", tol=1e-8)
    expected = OneVsRestClassifier(model).fit(tree.values, tree.labels.astype(int)).decision_function(tree.values)
    config = LinearConfig(loss=loss, C=C, drop_below=0.0, tolerance=1e-9)
    margins = fit_one_vs_rest(LinearTask(tree.X, tree.Y, tree.classes, config)).margins(tree.X)
    np.testing.assert_allclose(margins, expected, atol=2e-4)


def test_scores_are_the_logistic_function_of_margins(tree):
    margins = np.linspace(-5, 5, 10, dtype=np.float32).reshape(2, 5)
    np.testing.assert_allclose(logistic_scores(margins, tree.classes), expit(margins), rtol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_products_of_documents_lead_to_the_same_weights_as_features(loss, tree, monkeypatch):
    task = LinearTask(tree.X, tree.Y, tree.classes, LinearConfig(loss=loss, drop_below=0.0, tolerance=1e-9))
    monkeypatch.setattr(taxocaps.linear.one_vs_rest, "_MOST_PRODUCTS", 0)
    by_features = fit_one_vs_rest(task)
    monkeypatch.setattr(taxocaps.linear.one_vs_rest, "_MOST_PRODUCTS", 10**6)
    monkeypatch.setattr(taxocaps.linear.one_vs_rest._Solver, "_is_wide", lambda self, problems: True)
    by_products = fit_one_vs_rest(task)
    np.testing.assert_allclose(by_products.coef.toarray(), by_features.coef.toarray(), atol=2e-4)
    np.testing.assert_allclose(by_products.intercept, by_features.intercept, atol=2e-4)


@pytest.mark.parametrize("is_wide", [False, True])
def test_of_more_weights_than_allowed_each_label_keeps_the_largest(is_wide, tree, monkeypatch):
    monkeypatch.setattr(taxocaps.linear.one_vs_rest._Solver, "_is_wide", lambda self, problems: is_wide)
    task = LinearTask(tree.X, tree.Y, tree.classes, LinearConfig(drop_below=0.0))
    weights = fit_one_vs_rest(task)
    few = fit_one_vs_rest(replace(task, config=task.config.replace(max_weights=2 * len(weights.intercept) + 1)))
    assert np.array_equal(few.intercept, weights.intercept)
    for all_of, kept in zip(weights.coef.toarray(), few.coef.toarray(), strict=True):
        largest = np.argsort(-np.abs(all_of))[:2]
        assert sorted(np.flatnonzero(kept)) == sorted(largest)
        assert np.array_equal(kept[largest], all_of[largest])


@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("is_fitted", [False, True])
def test_left_out_documents_are_scored_by_what_was_learned_from_the_others(is_wide, is_fitted, tree, monkeypatch):
    monkeypatch.setattr(taxocaps.linear.one_vs_rest._Solver, "_is_wide", lambda self, problems: is_wide)
    task = LinearTask(tree.X, tree.Y, tree.classes, LinearConfig(tolerance=1e-6, drop_below=0.0))
    classifiers = OneVsRest(task)
    if is_fitted:  # the others begin with these weights
        classifiers.fit()
    for left_out in (np.arange(0, 60, 2), np.arange(30)):
        rest = np.setdiff1d(np.arange(60), left_out)
        alone = fit_one_vs_rest(replace(task, X=tree.X[rest], Y=tree.Y[rest]))
        found = classifiers.margins_without(left_out)
        np.testing.assert_allclose(found, alone.margins(tree.X[left_out]), atol=0.01)


def test_a_label_without_documents_among_the_others_is_certainly_not_theirs(tree):
    task = LinearTask(tree.X, tree.Y, tree.classes, LinearConfig())
    left_out = documents_by_label(tree.Y)[0]
    assert (OneVsRest(task).margins_without(left_out)[:, 0] == -CERTAIN).all()


def test_without_any_document_no_label_is_certain(tree):
    task = LinearTask(tree.X, tree.Y, tree.classes, LinearConfig())
    assert (OneVsRest(task).margins_without(np.arange(60)) == -CERTAIN).all()


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_known_weights_are_a_head_start_and_no_other_minimum(loss, tree):
    task = LinearTask(tree.X, tree.Y, None, LinearConfig(loss=loss, tolerance=1e-7, drop_below=0.0))
    anew = OneVsRest(task)
    weights = anew.fit()
    again = OneVsRest(replace(task, start=KnownWeights(np.arange(5), weights)))
    for row, dual in again._duals.items():  # what belongs to the minimum is the minimum of the dual problem
        found = anew._duals[row]
        ours, theirs = np.zeros(60), np.zeros(60)
        ours[dual.documents], theirs[found.documents] = dual.alphas, found.alphas
        assert np.allclose(ours, theirs, atol=1e-2)
    assert np.allclose(again.fit().coef.toarray(), weights.coef.toarray(), atol=1e-3)
    assert np.allclose(again.margins_without(np.arange(9)), anew.margins_without(np.arange(9)), atol=1e-2)


def test_a_known_label_without_documents_keeps_its_weights(tree):
    labels = tree.Y.toarray()
    labels[:, 3] = False
    known = fit_one_vs_rest(LinearTask(tree.X, tree.Y, None, LinearConfig()))
    start = KnownWeights(np.array([1, 3]), LinearWeights(known.coef[[1, 3]], known.intercept[[1, 3]]))
    classifiers = OneVsRest(LinearTask(tree.X, csr_array(labels), None, LinearConfig(), start=start))
    found = classifiers.fit()
    assert np.array_equal(found.coef[[3]].toarray(), known.coef[[3]].toarray())
    assert found.intercept[3] == known.intercept[3]
    assert np.allclose(classifiers.margins_without(np.arange(4))[:, 3], known.margins(tree.X[:4])[:, 3], atol=1e-5)
