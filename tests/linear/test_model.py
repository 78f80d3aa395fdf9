"""Weights and margins against dense arithmetic; the nodes above some labels."""

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

import taxocaps.linear.model
from taxocaps.corpus.labels import Classes
from taxocaps.linear.model import LinearWeights, Nodes, SparseFactor, documents_by_label, sparse_row, stack
from taxocaps.taxonomy.tree import Taxonomy

EDGES = [("root", "a"), ("root", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("d", "e")]


@pytest.fixture
def weights():
    generator = np.random.default_rng(1)
    coef = random_array((5, 30), density=0.3, format="csr", rng=generator).astype(np.float32)
    return LinearWeights(csr_array(coef), generator.random(5).astype(np.float32))


@pytest.mark.parametrize("cells", [1, 12, 4_000_000])
def test_margins_are_products_whatever_the_chunks(weights, cells, monkeypatch):
    monkeypatch.setattr(taxocaps.linear.model, "_CELLS", cells)
    X = csr_array(random_array((17, 30), density=0.2, format="csr", rng=np.random.default_rng(2)))
    margins = weights.margins(X)
    assert margins.dtype == np.float32
    np.testing.assert_allclose(margins, X.toarray() @ weights.coef.toarray().T + weights.intercept, rtol=1e-5)


def test_no_documents_have_no_margins(weights):
    assert weights.margins(csr_array((0, 30))).shape == (0, 5)


@pytest.mark.parametrize("documents", [0, 1, 40], ids=["none", "document by document", "feature by feature"])
@pytest.mark.parametrize("columns", [0, 1, 2, 7])
def test_compiled_products_equal_those_of_scipy_to_the_last_bit(documents, columns, monkeypatch):
    generator = np.random.default_rng(documents + columns)
    X = random_array((documents, 60), density=0.1, format="csr", rng=generator).astype(np.float32)
    dense = generator.normal(size=(60, columns)) * (generator.random((60, columns)) < np.linspace(0, 1, 60)[:, None])
    factor = SparseFactor(csr_array(dense.astype(np.float32)))  # rows without any weight, with some, and whole ones
    found = []
    for pays in (False, True):
        monkeypatch.setattr(taxocaps.linear.model, "pays", lambda *_, answer=pays: answer)
        found.append(factor.product(csr_array(X)))
    assert found[0].shape == (documents, columns)
    np.testing.assert_array_equal(*found)


def test_at_most_twice_as_many_weights_are_kept_as_there_are():
    matrix = random_array((500, 40), density=0.4, format="csr", rng=np.random.default_rng(3)).astype(np.float32)
    values, columns, starts = SparseFactor(csr_array(matrix))._with_whole_rows
    assert matrix.nnz < len(values) == len(columns) == starts[-1] <= 2 * matrix.nnz


@pytest.mark.parametrize("drop_below", [0.0, 0.2])
def test_small_weights_and_zeros_are_dropped(drop_below):
    coef = np.array([[0.1, -0.3, 0.0], [0.2, 0.0, -0.1]], np.float32)
    expected = np.where(np.abs(coef) < np.float32(drop_below), 0, coef)
    rows = stack([sparse_row(row, drop_below) for row in coef], 3)
    np.testing.assert_array_equal(rows.toarray(), expected)
    assert rows.nnz == np.count_nonzero(expected)


def test_no_rows_can_be_stacked():
    assert stack([], 4).shape == (0, 4)


def test_nodes_without_labels_below_are_left_out():
    nodes = Nodes.of(Classes(("a", "c"), Taxonomy.from_edges(EDGES)))  # the nodes are a, b, c or b, a, c
    assert len(nodes) == 3
    assert nodes.paths.sum(axis=1).tolist() == [1, 3]


def test_parents_are_nodes_that_come_first():
    taxonomy = Taxonomy.from_edges(EDGES)
    nodes = Nodes.of(Classes(("c", "d", "e"), taxonomy))
    names = [name for name in taxonomy.names if name != "root"]
    assert [tuple(names[parent] for parent in parents) for parents in nodes.parents] == [
        tuple(parent for parent in taxonomy.parents(name) if parent != "root") for name in names
    ]
    assert all(parent < node for node, parents in enumerate(nodes.parents) for parent in parents)
    assert [names[node] for node in nodes.own] == ["c", "d", "e"]


@pytest.mark.parametrize("edges", [EDGES, EDGES[2:]])
def test_a_path_has_all_ancestors_but_the_root(edges):
    taxonomy = Taxonomy.from_edges(edges)
    columns = tuple(name for name in taxonomy.names if name != "root")
    nodes = Nodes.of(Classes(columns, taxonomy))
    for column, name in enumerate(columns):
        above = {columns[node] for node in nodes.paths[[column]].indices}
        assert above == {name, *taxonomy.ancestors(name)} - {"root"}


def test_a_root_that_is_a_label_is_the_parent_of_none():
    nodes = Nodes.of(Classes(("root", "a", "b"), Taxonomy.from_edges(EDGES)))
    assert nodes.parents == ((), (), ())
    assert nodes.paths.toarray().tolist() == [[True, False, False], [False, True, False], [False, False, True]]


def test_a_deep_taxonomy_takes_no_more_than_one_of_as_many_labels():
    names = [str(number) for number in range(20_000)]
    classes = Classes(tuple(names[1:]), Taxonomy.from_edges(itertools.pairwise(names)))
    tracemalloc.start()
    nodes = Nodes.of(classes).with_leaves()
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert nodes.parents[:19_999] == ((), *((node,) for node in range(19_998)))
    assert nodes.path(100).tolist() == [*range(101), 19_999 + 100]
    assert used < 20_000 * 1_000  # all pairs of a label and an ancestor would be 200 million


def test_labels_that_are_inner_nodes_can_have_leaves_of_their_own():
    nodes = Nodes.of(Classes(("b", "c", "d", "e"), Taxonomy.from_edges(EDGES)))
    given = nodes.with_leaves()
    assert len(given) == len(nodes) + 2
    for column, is_inner in enumerate([True, False, True, False]):
        if is_inner:
            assert given.parents[given.own[column]] == (nodes.own[column],)
            assert not any(given.own[column] in parents for parents in given.parents)
        else:
            assert given.own[column] == nodes.own[column]
        wanted = {*nodes.paths[[column]].indices.tolist(), int(given.own[column])}
        assert set(given.paths[[column]].indices.tolist()) == wanted


def test_the_documents_of_each_label(tree):
    for label, found in enumerate(documents_by_label(tree.Y)):
        assert found.tolist() == np.flatnonzero(tree.labels[:, label]).tolist()
