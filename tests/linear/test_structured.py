"""A margin between paths, against a dense solution of the quadratic programme; violations against brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from taxocaps.linear.config import LinearConfig
from taxocaps.linear.kernels import violations
from taxocaps.linear.model import LinearTask, Nodes
from taxocaps.linear.structured import _common, _lists, _rows, fit_structured, structured_scores


def dense(case):
    """Features with a 1, paths [L, nodes], distances [L, L], and examples."""
    X = np.hstack([case.values, np.ones((len(case.values), 1))])
    paths = Nodes.of(case.classes).paths.toarray().astype(float)
    distances = np.abs(paths[:, None] - paths[None]).sum(axis=2)
    return X, paths, distances, np.argwhere(case.labels)


def primal(case, C, W):
    """The objective by its definition; W is [nodes, V + 1]."""
    X, paths, distances, examples = dense(case)
    total = 0.5 * (W**2).sum()
    for document, label in examples:
        f = paths @ W @ X[document]
        allowed = ~case.labels[document]
        allowed[label] = True
        total += C * (distances[label] + f - f[label])[allowed].max()
    return total


def smallest(case, C):
    """The smallest objective: that of its smooth approximation, max by logsumexp, ever sharper."""
    X, paths, distances, examples = dense(case)
    documents, labels = examples.T
    forbidden = case.labels[documents].copy()
    forbidden[np.arange(len(labels)), labels] = False

    def objective(flat, sharp):
        W = flat.reshape(paths.shape[1], -1)
        f = X @ W.T @ paths.T  # [n, L]
        h = distances[labels] + f[documents] - f[documents, labels][:, None]
        h = np.where(forbidden, -np.inf, h) * sharp
        top = h.max(axis=1, keepdims=True)
        shares = np.exp(h - top)
        value = C * ((top[:, 0] + np.log(shares.sum(axis=1))) / sharp).sum()
        shares /= shares.sum(axis=1, keepdims=True)
        shares[np.arange(len(labels)), labels] -= 1
        gradient = W + C * paths.T @ (shares.T @ X[documents])
        return 0.5 * (W**2).sum() + value, gradient.ravel()

    found = np.zeros(paths.shape[1] * X.shape[1])
    for sharp in (1, 10, 100, 1000):
        found = minimize(objective, found, args=(sharp,), jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    return primal(case, C, found.reshape(paths.shape[1], -1))


@pytest.mark.parametrize("C", [0.2, 2.0])
@pytest.mark.parametrize("name", ["tree", "graph", "flat"])
def test_the_objective_is_the_smallest_there_is(name, C, request):
    case = request.getfixturevalue(name)
    config = LinearConfig(structure="structured", C=C, drop_below=0.0, tolerance=1e-5)
    weights = fit_structured(LinearTask(case.X, case.Y, case.classes, config))
    found = primal(case, C, np.hstack([weights.coef.toarray(), weights.intercept[:, None]]))
    assert found == pytest.approx(smallest(case, C), rel=0.01)
    assert found < primal(case, C, np.zeros((len(weights.intercept), 26))) * 0.9


def test_a_pass_more_lowers_the_gap(tree):
    notes = []
    config = LinearConfig(structure="structured", tolerance=1e-5)
    fit_structured(
        LinearTask(
            tree.X,
            tree.Y,
            tree.classes,
            config,
            progress=lambda *reported: notes.append(float(reported[3].split()[-1])),
        )
    )
    assert notes[-1] <= 1e-4 < notes[0]


def test_scores_are_a_softmax_of_the_sums_along_the_paths(graph):
    nodes = Nodes.of(graph.classes)
    margins = np.random.default_rng(0).normal(size=(20, len(nodes))).astype(np.float32)
    scores = structured_scores(margins, graph.classes)
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)
    for document in range(20):
        f = [sum(margins[document, node] for node in path.nonzero()[0]) for path in nodes.paths.toarray()]
        assert np.argsort(f).tolist() == np.argsort(scores[document]).tolist()
        assert np.log(scores[document, 1] / scores[document, 0]) == pytest.approx(2 * (f[1] - f[0]), abs=1e-4)


def test_documents_without_labels_teach_nothing(tree):
    weights = fit_structured(
        LinearTask(tree.X, csr_array(tree.Y.shape, dtype=bool), tree.classes, LinearConfig(structure="structured"))
    )
    assert weights.coef.nnz == 0


def edges_between(taxonomy, first, second):
    """The distance of two labels of a tree, by climbing from both."""
    paths_up = [[name, *reversed(taxonomy.ancestors(name))] for name in (first, second)]
    meeting = next(name for name in paths_up[0] if name in paths_up[1])
    return paths_up[0].index(meeting) + paths_up[1].index(meeting)


@pytest.mark.parametrize("document", range(8))
def test_the_worst_competitor_is_that_of_brute_force(document, tree):
    nodes, taxonomy, names = Nodes.of(tree.classes), tree.classes.taxonomy, tree.classes.names
    weights = np.random.default_rng(document).normal(size=(26, len(nodes))).astype(np.float32)
    paths = nodes.paths.toarray()
    features = np.append(tree.values[document], 1)
    f = [features @ weights[:, path].sum(axis=1) for path in paths]
    X, Y = csr_array(tree.X, dtype=np.float32), csr_array(tree.Y)
    for label in np.flatnonzero(tree.labels[document]):
        expected = [
            -np.inf
            if other != label and tree.labels[document, other]
            else edges_between(taxonomy, names[label], names[other]) + f[other] - f[label]
            for other in range(len(names))
        ]
        found = np.empty(len(names))
        violations(_rows(X), _lists(Y), _lists(nodes.paths), _common(nodes), document, label, weights, found)
        np.testing.assert_allclose(found, expected, atol=1e-4)
        assert found.argmax() == np.argmax(expected)
