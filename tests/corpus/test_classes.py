"""The columns of a model and what stands above them, against networkx."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from taxocaps.corpus.classes import Classes
from taxocaps.taxonomy.tree import Taxonomy

TOPICS = Taxonomy.from_edges(
    [("all", "trade"), ("trade", "oil"), ("oil", "crude"), ("all", "energy"), ("energy", "oil"), ("all", "art")]
)


@st.composite
def classes(draw):
    """Some of the labels of a random graph, sometimes with several roots, in its order."""
    size = draw(st.integers(1, 9))
    pairs = [(f"n{a}", f"n{b}") for a in range(size) for b in range(a + 1, size)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    taxonomy = Taxonomy.from_edges(edges, labels=[f"n{number}" for number in range(size)])
    kept = draw(st.sets(st.sampled_from(taxonomy.names), min_size=1))
    return Classes(tuple(name for name in taxonomy.names if name in kept), taxonomy)


def graph_of(taxonomy):
    """The labels, with edges from children to parents."""
    graph = networkx.DiGraph((child, parent) for parent, child in taxonomy.edges)
    graph.add_nodes_from(taxonomy.names)
    return graph


def rows(matrix, names):
    dense = matrix.toarray()
    assert dense.dtype == bool
    return [{names[column] for column in np.flatnonzero(row)} for row in dense]


@given(classes())
def test_closures_are_the_ancestors_without_the_root(made):
    taxonomy, graph = made.taxonomy, graph_of(made.taxonomy)
    above = [({name} | networkx.descendants(graph, name)) - ({taxonomy.root} - {name}) for name in made.names]
    assert rows(made.closure, made.names) == [names & set(made.names) for names in above]
    assert rows(made.full_closure, taxonomy.names) == above


@given(classes())
def test_parents_are_the_nearest_columns_above(made):
    graph = graph_of(made.taxonomy)
    for name, parents in zip(made.names, made.parents, strict=True):
        # A column is nearest if some way up to it meets no other column.
        free = graph.subgraph((set(graph) - set(made.names)) | {name})
        passed = {name} | networkx.descendants(free, name)
        nearest = {parent for label in passed for parent in graph[label] if parent in made.names}
        assert {made.names[column] for column in parents} == nearest
        assert list(parents) == sorted(set(parents))
        assert all(column < made.names.index(name) for column in parents)


@given(classes())
def test_levels_are_distances_from_the_root(made):
    graph = graph_of(made.taxonomy).reverse()
    graph.add_edges_from((made.taxonomy.root, root) for root in made.taxonomy.roots if root != made.taxonomy.root)
    depths = networkx.single_source_shortest_path_length(graph, made.taxonomy.root)
    assert made.levels == tuple(depths[name] for name in made.names)


@given(classes(), st.data())
def test_closed_labels_carry_all_their_ancestors(made, data):
    chosen = data.draw(st.lists(st.sets(st.sampled_from(made.names)), max_size=4))
    labels = csr_array(
        np.array([[name in names for name in made.names] for names in chosen], bool).reshape(-1, len(made))
    )
    wanted = all(set(made.taxonomy.close(names)) & set(made.names) <= names for names in chosen)
    assert made.is_closed(labels) == wanted


def test_by_hand():
    made = Classes(("trade", "crude", "energy", "art"), TOPICS)
    assert len(made) == 4
    # "oil" has no column: above "crude" stand both parents of "oil".
    assert made.parents == ((), (0, 2), (), ())
    assert made.levels == (1, 3, 1, 1)
    assert rows(made.closure, made.names) == [{"trade"}, {"trade", "crude", "energy"}, {"energy"}, {"art"}]
    assert rows(made.full_closure, TOPICS.names)[1] == {"trade", "energy", "oil", "crude"}
    assert made.is_closed(csr_array(np.array([[1, 1, 1, 0], [0, 0, 0, 1]], bool)))
    assert not made.is_closed(csr_array(np.array([[1, 1, 0, 0]], bool)))


def test_names_of_chosen_labels():
    made = Classes(("trade", "crude", "energy", "art"), TOPICS)
    chosen = csr_array(np.array([[0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]], bool))
    assert made.lists(chosen) == [("crude", "art"), (), ("trade",)]
    assert made.lists(chosen[:0]) == []


def test_a_root_that_is_carried_is_a_column():
    made = Classes(("all", "trade"), TOPICS)
    assert made.parents == ((), (0,))
    assert made.levels == (0, 1)
    # Nobody is given the root for carrying something below it.
    assert rows(made.closure, made.names) == [{"all"}, {"trade"}]


def test_a_long_chain_without_columns():
    chain = Taxonomy.from_edges([(f"n{number}", f"n{number + 1}") for number in range(3_000)])
    assert Classes(("n1", "n3000"), chain).parents == ((), (0,))


def test_classes_are_values():
    assert Classes(("art",), TOPICS) == Classes(("art",), Taxonomy.from_edges(TOPICS.edges))
    with pytest.raises(AttributeError):
        Classes(("art",), TOPICS).names = ()
