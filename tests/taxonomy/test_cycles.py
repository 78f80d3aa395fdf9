"""Cycles are found where networkx finds them."""

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from taxocaps.taxonomy.cycles import find_cycles

LABELS = st.integers(0, 9).map(str)
EDGES = st.lists(st.tuples(LABELS, LABELS).filter(lambda pair: pair[0] != pair[1]), max_size=25, unique=True)


@settings(deadline=None)  # the first cycle imports SciPy
@given(EDGES)
def test_one_cycle_is_found_in_each_strongly_connected_component(edges):
    graph = nx.DiGraph(edges)
    expected = {frozenset(knot) for knot in nx.strongly_connected_components(graph) if len(knot) > 1}
    cycles = find_cycles(edges)
    assert len(cycles) == len(expected)
    assert {knot for knot in expected for cycle in cycles if set(cycle) <= knot} == expected
    for cycle in cycles:
        assert len(set(cycle)) == len(cycle) > 1
        assert all(graph.has_edge(a, b) for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


@settings(deadline=None)
@given(EDGES)
def test_a_cycle_is_the_shortest_through_its_first_label(edges):
    graph = nx.DiGraph(edges)
    for cycle in find_cycles(edges):
        back = [
            nx.shortest_path_length(graph, child, cycle[0])
            for child in graph[cycle[0]]
            if nx.has_path(graph, child, cycle[0])
        ]
        assert len(cycle) == min(back) + 1


def test_labels_above_and_below_a_cycle_are_not_part_of_it():
    assert find_cycles([("top", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "leaf"), ("leaf", "end")]) == [
        ["a", "b", "c"]
    ]


def test_a_cycle_as_long_as_the_file_is_found():
    labels = [str(number) for number in range(20_000)]
    assert find_cycles(zip(labels, [*labels[1:], labels[0]], strict=True)) == [labels]


def test_an_acyclic_graph_has_none():
    assert find_cycles([("a", "b"), ("a", "c"), ("b", "c")]) == []
    assert find_cycles([]) == []
