"""Recursive regularization against dense minimization and scikit-learn; its steps against scipy."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, xlogy
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from taxocaps.linear.config import LinearConfig
from taxocaps.linear.kernels import _hinge_pair, _hinge_step, _logistic_pair, _logistic_step, add_rows
from taxocaps.linear.model import LinearTask, Nodes
from taxocaps.linear.recursive import fit_recursive, mixtures

CASES = [
    (-3.0, 0.0, 0.1, 1.0),
    (0.2, 0.7, 2.0, 1.0),
    (4.0, 0.01, 5.0, 0.3),
    (-20.0, 3.0, 40.0, 50.0),
    (30.0, 2.0, 3.0, 2.0),
]


def edges_of(nodes, root):
    """Pairs of node and parent; the root comes after the nodes, and None stands for weights that are 0."""
    top = len(nodes)
    pairs = [(node, parent) for node, parents in enumerate(nodes.parents) for parent in parents or [top]]
    return [*pairs, (top, None)] if root == "learned" else [(n, None if p == top else p) for n, p in pairs]


def incidence(nodes, root):
    """[edges, nodes + 1]: the penalty is 1/2 || incidence @ W ||^2."""
    edges = edges_of(nodes, root)
    matrix = np.zeros((len(edges), len(nodes) + 1))
    for row, (node, parent) in enumerate(edges):
        matrix[row, node] = 1
        if parent is not None:
            matrix[row, parent] = -1
    return matrix if root == "learned" else matrix[:, :-1]


def data_term(case, config, margins):
    """The cost of errors and its gradient by the margins, [n, L]."""
    signs = np.where(case.labels, 1, -1)
    if config.loss == "logistic":
        return config.C * np.logaddexp(0, -signs * margins).sum(), -config.C * signs * expit(-signs * margins)
    short = np.maximum(0, 1 - signs * margins)
    return config.C * (short**2).sum(), -2 * config.C * signs * short


def reference(case, config):
    """The smallest objective, and the margins there, by L-BFGS on dense arrays."""
    nodes = Nodes.of(case.classes).with_leaves()
    matrix = incidence(nodes, config.root)
    X = np.hstack([case.values, np.ones((len(case.values), 1))])

    def objective(flat):
        W = flat.reshape(matrix.shape[1], -1)
        cost, slope = data_term(case, config, X @ W[nodes.own].T)
        gradient = matrix.T @ (matrix @ W)
        np.add.at(gradient, nodes.own, slope.T @ X)
        return 0.5 * ((matrix @ W) ** 2).sum() + cost, gradient.ravel()

    start = np.zeros(matrix.shape[1] * X.shape[1])
    found = minimize(
        objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-13, "gtol": 1e-8}
    )
    return found.fun, X @ found.x.reshape(matrix.shape[1], -1)[nodes.own].T


def objective_of(weights, case, config):
    """The objective, the inner nodes being where they are best for the weights of the labels."""
    nodes = Nodes.of(case.classes).with_leaves()
    matrix = incidence(nodes, config.root)
    known = np.hstack([weights.coef.toarray(), weights.intercept[:, None]]).astype(float)  # [L, V + 1]
    free = np.setdiff1d(np.arange(matrix.shape[1]), nodes.own)
    fixed = matrix[:, nodes.own] @ known
    inner = np.linalg.lstsq(matrix[:, free], -fixed, rcond=None)[0]
    penalty = 0.5 * ((fixed + matrix[:, free] @ inner) ** 2).sum()
    return penalty + data_term(case, config, weights.margins(case.X).astype(float))[0]


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("root", ["learned", "zero"])
@pytest.mark.parametrize("name", ["tree", "closed_tree", "graph"])
def test_the_objective_is_the_smallest_there_is(name, root, loss, request):
    case = request.getfixturevalue(name)
    config = LinearConfig(structure="recursive", loss=loss, root=root, C=2.0, drop_below=0.0, tolerance=1e-6)
    smallest, margins = reference(case, config)
    weights = fit_recursive(LinearTask(case.X, case.Y, case.classes, config))
    assert objective_of(weights, case, config) == pytest.approx(smallest, rel=1e-3)
    np.testing.assert_allclose(weights.margins(case.X), margins, atol=0.02)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_flat_taxonomy_with_its_root_at_zero_is_the_ordinary_classifier(loss, flat):
    model = LinearSVC(C=3, tol=1e-8) if loss == "hinge" else LogisticRegression(C=3, solver="liblinear", tol=1e-8)
    expected = OneVsRestClassifier(model).fit(flat.values, flat.labels.astype(int)).decision_function(flat.values)
    config = LinearConfig(structure="recursive", loss=loss, root="zero", C=3.0, drop_below=0.0, tolerance=1e-9)
    margins = fit_recursive(LinearTask(flat.X, flat.Y, flat.classes, config)).margins(flat.X)
    np.testing.assert_allclose(margins, expected, atol=2e-3)


@pytest.mark.parametrize("root", ["learned", "zero"])
@pytest.mark.parametrize("name", ["tree", "graph"])
def test_mixtures_have_the_covariance_of_the_penalty(name, root, request):
    nodes = Nodes.of(request.getfixturevalue(name).classes)
    matrix = incidence(nodes, root)
    covariance = np.linalg.inv(matrix.T @ matrix)[np.ix_(nodes.own, nodes.own)]
    mixed = mixtures(nodes, root)
    for first, second in itertools.product(range(len(mixed)), repeat=2):
        one, two = (dict(zip(m.shared.tolist(), m.factors, strict=True)) for m in (mixed[first], mixed[second]))
        found = sum(one[vector] * two.get(vector, 0) for vector in one)
        found += mixed[first].own ** 2 * (first == second)
        assert found == pytest.approx(covariance[first, second])
    assert [mixture.scale for mixture in mixed] == pytest.approx(np.diag(covariance))


def test_in_a_tree_weights_are_sums_along_the_path(tree):
    for name, mixture in zip(tree.classes.names, mixtures(Nodes.of(tree.classes), "learned"), strict=True):
        assert mixture.own in (0, 1)
        assert mixture.factors.tolist() == [1] * len(mixture.factors)
        assert mixture.own + len(mixture.factors) == tree.classes.taxonomy.depth(name) + 1  # the root is on it


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
