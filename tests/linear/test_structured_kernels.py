"""Violations against brute force over all labels."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from taxocaps.linear.nodes import Nodes
from taxocaps.linear.structured import _common, _lists, _rows
from taxocaps.linear.structured_kernels import violations


def edges_between(taxonomy, first, second):
    """The distance of two labels of a tree, by climbing from both."""
    ways = [[name, *reversed(taxonomy.ancestors(name))] for name in (first, second)]
    meeting = next(name for name in ways[0] if name in ways[1])
    return ways[0].index(meeting) + ways[1].index(meeting)


@pytest.mark.parametrize("document", range(8))
def test_the_worst_competitor_is_that_of_brute_force(document, tree):
    nodes, taxonomy, names = Nodes.of(tree.classes), tree.classes.taxonomy, tree.classes.names
    weights = np.random.default_rng(document).normal(size=(26, len(nodes))).astype(np.float32)
    paths = nodes.closure.toarray()
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
        violations(_rows(X), _lists(Y), _lists(nodes.closure), _common(nodes), document, label, weights, found)
        np.testing.assert_allclose(found, expected, atol=1e-4)
        assert found.argmax() == np.argmax(expected)
