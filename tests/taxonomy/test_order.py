"""Orders and reaches agree with networkx and with plain recursion."""

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from taxocaps.taxonomy.order import invert, levels, reachable, taxonomy_order


@st.composite
def graphs(draw):
    """Children by label of a random acyclic graph: edges lead from earlier to later labels of a shuffled list."""
    names = draw(st.permutations([f"n{number}" for number in range(draw(st.integers(1, 10)))]))
    return {
        name: tuple(draw(st.lists(st.sampled_from(names[place + 1 :]), unique=True))) if names[place + 1 :] else ()
        for place, name in enumerate(names)
    }


@st.composite
def trees(draw):
    """Children by label of a random tree with the root n0."""
    children = {"n0": ()}
    for number in range(1, draw(st.integers(1, 15))):
        parent = draw(st.sampled_from(sorted(children)))
        children[parent] += (f"n{number}",)
        children[f"n{number}"] = ()
    return children


def roots_of(children):
    below = {child for found in children.values() for child in found}
    return [name for name in children if name not in below]


def preorder(name, children):
    return [name, *(found for child in children[name] for found in preorder(child, children))]


def reverse_postorder(children):
    finished = []

    def visit(name):
        if name not in finished:
            for child in reversed(children[name]):
                visit(child)
            finished.append(name)

    for root in reversed(roots_of(children)):
        visit(root)
    return tuple(reversed(finished))


@settings(deadline=None)
@given(graphs())
def test_the_order_is_topological_and_the_reverse_postorder(children):
    order = taxonomy_order(roots_of(children), children)
    assert sorted(order) == sorted(children)
    assert all(order.index(name) < order.index(child) for name in children for child in children[name])
    assert order == reverse_postorder(children)


@settings(deadline=None)
@given(trees())
def test_the_order_of_a_tree_is_its_preorder(children):
    assert list(taxonomy_order(["n0"], children)) == preorder("n0", children)


@settings(deadline=None)
@given(graphs())
def test_levels_are_shortest_distances(children):
    graph = nx.DiGraph([(name, child) for name in children for child in children[name]])
    graph.add_edges_from(("above", root) for root in roots_of(children))
    distances = nx.single_source_shortest_path_length(graph, "above")
    found = {name: depth for depth, level in enumerate(levels(roots_of(children), children), 1) for name in level}
    assert {"above": 0, **found} == distances


@settings(deadline=None)
@given(graphs())
def test_parents_and_reaches_agree_with_networkx(children):
    graph = nx.DiGraph([(name, child) for name in children for child in children[name]])
    graph.add_nodes_from(children)
    parents = invert(children, children)
    for name in children:
        assert set(parents[name]) == set(graph.predecessors(name))
        assert list(parents[name]) == sorted(parents[name], key=list(children).index)
        assert reachable(name, children.__getitem__) == nx.descendants(graph, name)
        assert reachable(name, parents.__getitem__) == nx.ancestors(graph, name)
