"""The nodes above some labels."""

import pytest

from taxocaps.corpus.classes import Classes
from taxocaps.linear.nodes import Nodes
from taxocaps.taxonomy.tree import Taxonomy

EDGES = [("root", "a"), ("root", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("d", "e")]


def test_nodes_without_columns_below_are_left_out():
    nodes = Nodes.of(Classes(("a", "c"), Taxonomy.from_edges(EDGES)))  # the nodes are a, b, c or b, a, c
    assert len(nodes) == 3
    assert nodes.closure.sum(axis=1).tolist() == [1, 3]


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
def test_a_closure_holds_all_ancestors_but_the_root(edges):
    taxonomy = Taxonomy.from_edges(edges)
    columns = tuple(name for name in taxonomy.names if name != "root")
    nodes = Nodes.of(Classes(columns, taxonomy))
    for column, name in enumerate(columns):
        above = {columns[node] for node in nodes.closure[[column]].indices}
        assert above == {name, *taxonomy.ancestors(name)} - {"root"}


def test_a_root_that_is_a_column_is_above_none():
    nodes = Nodes.of(Classes(("root", "a", "b"), Taxonomy.from_edges(EDGES)))
    assert nodes.parents == ((), (), ())
    assert nodes.closure.toarray().tolist() == [[True, False, False], [False, True, False], [False, False, True]]


def test_columns_that_are_inner_nodes_can_have_leaves_of_their_own():
    nodes = Nodes.of(Classes(("b", "c", "d", "e"), Taxonomy.from_edges(EDGES)))
    given = nodes.with_leaves()
    assert len(given) == len(nodes) + 2
    for column, is_inner in enumerate([True, False, True, False]):
        if is_inner:
            assert given.parents[given.own[column]] == (nodes.own[column],)
            assert not any(given.own[column] in parents for parents in given.parents)
        else:
            assert given.own[column] == nodes.own[column]
        wanted = {*nodes.closure[[column]].indices.tolist(), int(given.own[column])}
        assert set(given.closure[[column]].indices.tolist()) == wanted
