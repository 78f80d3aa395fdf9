"""Weight times value adds up to what decides about a label, whatever the structure."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logit

from taxocaps.linear.config import LinearConfig
from taxocaps.linear.evidence import word_evidence
from taxocaps.linear.methods import METHODS
from taxocaps.linear.nodes import Nodes
from taxocaps.linear.weights import LinearWeights


def random_weights(case, structure):
    nodes, labels = len(Nodes.of(case.classes)), len(case.classes)
    rows = {"flat": labels, "recursive": labels, "top_down": nodes + labels, "structured": nodes}[structure]
    generator = np.random.default_rng(0)
    coef = csr_array(generator.normal(size=(rows, case.X.shape[1])).astype(np.float32))
    return LinearWeights(coef, generator.normal(size=rows).astype(np.float32))


@pytest.mark.parametrize("structure", ["flat", "recursive", "top_down"])
def test_evidence_and_an_intercept_make_the_score(graph, structure):
    weights, config = random_weights(graph, structure), LinearConfig(structure=structure)
    for place in range(10):
        bag = graph.X[[place]]
        scores = METHODS[structure].scores(weights.margins(bag), graph.classes)[0]
        for column in range(len(graph.classes)):
            evidence = word_evidence(weights, bag, column, graph.classes, config)
            intercept = logit(scores[column]) - evidence.sum()
            assert np.abs(weights.intercept - intercept).min() < 1e-3


def test_all_classifiers_on_the_way_add_up(graph):
    weights, config = random_weights(graph, "structured"), LinearConfig(structure="structured")
    names, taxonomy = graph.classes.names, graph.classes.taxonomy
    used = {above for name in names for above in (name, *taxonomy.ancestors(name))}
    nodes = [name for name in taxonomy.names if name in used and name != "root"]
    bag = graph.X[[3]]
    dense = bag.toarray()[0]
    for column, name in enumerate(names):
        on_the_way = [nodes.index(above) for above in {name, *taxonomy.ancestors(name)} - {"root"}]
        wanted = weights.coef.toarray()[on_the_way].sum(axis=0) * dense
        assert np.allclose(word_evidence(weights, bag, column, graph.classes, config), wanted[bag.indices], atol=1e-5)
