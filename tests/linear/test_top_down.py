"""From the top down: scores against an explicit descent, classifiers against scikit-learn."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from taxocaps.corpus.labels import Classes
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.model import LinearTask, Nodes
from taxocaps.linear.one_vs_rest import CERTAIN
from taxocaps.linear.top_down import fit_top_down, top_down_scores

CONFIG = LinearConfig(structure="top_down", drop_below=0.0, tolerance=1e-8)


def names_of_nodes(classes: Classes):
    used = {above for name in classes.names for above in (name, *classes.taxonomy.ancestors(name))}
    return [name for name in classes.taxonomy.names if name in used and name != "root"]


def descend(classes, accepted_nodes, accepted_columns):
    """The labels of one document: go down from the root, through accepted nodes only."""
    taxonomy, reached, waiting = classes.taxonomy, set(), list(classes.taxonomy.children("root"))
    while waiting:
        name = waiting.pop()
        if name in accepted_nodes and name not in reached:
            reached.add(name)
            waiting += taxonomy.children(name)
    return {name for name in classes.names if name in reached and name in accepted_columns}


@pytest.mark.parametrize("name", ["tree", "graph"])
@pytest.mark.parametrize("threshold", [0.2, 0.4, 0.5, 0.7])
def test_a_label_is_given_if_a_chain_of_accepted_nodes_leads_to_it(name, threshold, request):
    classes = request.getfixturevalue(name).classes
    nodes = names_of_nodes(classes)
    margins = np.random.default_rng(0).normal(0.5, 1, (200, len(nodes) + len(classes))).astype(np.float32)
    given = top_down_scores(margins, classes) >= threshold
    accepted = margins >= np.log(threshold / (1 - threshold))
    for document in range(len(margins)):
        yes = {node for node, fine in zip(nodes, accepted[document], strict=False) if fine}
        own = {label for label, fine in zip(classes.names, accepted[document, len(nodes) :], strict=True) if fine}
        found = {label for label, fine in zip(classes.names, given[document], strict=True) if fine}
        assert found == descend(classes, yes, own)


@pytest.mark.parametrize("name", ["tree", "closed_tree", "graph"])
def test_nodes_are_trained_on_the_documents_of_their_parents(name, request):
    case = request.getfixturevalue(name)
    taxonomy, weights = case.classes.taxonomy, fit_top_down(LinearTask(case.X, case.Y, case.classes, CONFIG))
    columns = list(case.classes.names)

    def below(node):
        members = [columns.index(label) for label in (node, *taxonomy.descendants(node)) if label in columns]
        return case.labels[:, members].any(axis=1)

    compared = 0
    for number, node in enumerate(names_of_nodes(case.classes)):
        parents = [below(parent) for parent in taxonomy.parents(node) if parent != "root"]
        documents = np.logical_or.reduce(parents) if parents else np.ones(len(case.labels), bool)
        if below(node)[documents].all():
            assert weights.intercept[number] == CERTAIN
            continue
        model = LinearSVC(tol=1e-8).fit(case.values[documents], below(node)[documents])
        np.testing.assert_allclose(weights.coef[[number]].toarray(), model.coef_, atol=1e-4)
        compared += 1
    assert compared >= 4


def test_a_label_with_its_ancestors_needs_no_leaf_of_its_own(closed_tree):
    weights = fit_top_down(LinearTask(closed_tree.X, closed_tree.Y, closed_tree.classes, CONFIG))
    assert weights.intercept[len(Nodes.of(closed_tree.classes)) :].tolist() == [CERTAIN] * 6


def test_an_inner_label_that_only_some_carry_has_a_leaf_of_its_own(tree):
    weights = fit_top_down(LinearTask(tree.X, tree.Y, tree.classes, CONFIG))
    columns = list(tree.classes.names)
    start = len(Nodes.of(tree.classes))
    leafless = [name for row, name in enumerate(columns, start) if weights.intercept[row] != CERTAIN]
    assert leafless == ["a", "d"]
    documents = tree.labels[:, [columns.index(name) for name in "df"]].any(axis=1)
    model = LinearSVC(tol=1e-8).fit(tree.values[documents], tree.labels[documents, columns.index("d")])
    row = start + columns.index("d")
    np.testing.assert_allclose(weights.coef[[row]].toarray(), model.coef_, atol=1e-4)
