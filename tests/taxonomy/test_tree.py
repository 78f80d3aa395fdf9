"""The taxonomy: order, levels, ancestors, statistics, errors."""

import dataclasses
import os
import pickle
import subprocess
import sys
import time
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxocaps.errors import TaxonomyError
from taxocaps.taxonomy.terms import Term
from taxocaps.taxonomy.tree import VIRTUAL_ROOT, Taxonomy, TaxonomyStatistics

TOPICS = Taxonomy.from_edges(
    [("Root", "CCAT"), ("Root", "ECAT"), ("CCAT", "C15"), ("C15", "C151"), ("ECAT", "E21"), ("E21", "C151")],
    titles={"C15": "performance", "C151": "accounts\nand  earnings", "ECAT": "ECAT", "E21": " ", "unknown": "x"},
)
FOREST = Taxonomy.from_edges([("a", "c"), ("b", "c"), ("b", "d")], labels=["z", "a"])


@st.composite
def edge_lists(draw):
    """Edges of a random acyclic graph with at least one label, and its labels."""
    names = draw(st.permutations([f"n{number}" for number in range(draw(st.integers(1, 12)))]))
    pairs = [(parent, child) for place, parent in enumerate(names) for child in names[place + 1 :]]
    return (draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []), names


def as_networkx(taxonomy):
    graph = nx.DiGraph(taxonomy.edges)
    graph.add_nodes_from(taxonomy.names)
    return graph


@settings(deadline=None)
@given(edge_lists())
def test_edges_and_relations_agree_with_networkx(case):
    edges, names = case
    taxonomy, graph = Taxonomy.from_edges(edges, labels=names), nx.DiGraph(edges)
    graph.add_nodes_from(names)
    assert set(taxonomy.edges) == set(edges)
    assert len(taxonomy.edges) == len(edges)
    assert sorted(taxonomy) == sorted(names)
    for name in names:
        assert set(taxonomy.ancestors(name)) == nx.ancestors(graph, name)
        assert set(taxonomy.descendants(name)) == nx.descendants(graph, name)
        assert set(taxonomy.parents(name)) == set(graph.predecessors(name))
        assert list(taxonomy.children(name)) == [child for parent, child in edges if parent == name]
    assert set(taxonomy.leaves) == {name for name in names if graph.out_degree(name) == 0}
    assert set(taxonomy.roots) == {name for name in names if graph.in_degree(name) == 0}


@settings(deadline=None)
@given(edge_lists())
def test_everything_is_listed_in_topological_order(case):
    edges, names = case
    taxonomy = Taxonomy.from_edges(edges, labels=names)
    place = {name: taxonomy.position(name) for name in taxonomy}
    assert [taxonomy.names[position] for position in place.values()] == list(taxonomy)
    assert all(place[parent] < place[child] for parent, child in edges)
    listings = [taxonomy.roots, taxonomy.leaves, *taxonomy.levels, taxonomy.with_ancestors(names)]
    listings += [
        relation(name) for name in names for relation in (taxonomy.ancestors, taxonomy.descendants, taxonomy.parents)
    ]
    for listing in listings:
        assert list(listing) == sorted(listing, key=place.__getitem__)


@settings(deadline=None)
@given(edge_lists())
def test_depths_levels_and_paths_are_shortest(case):
    edges, names = case
    taxonomy = Taxonomy.from_edges(edges, labels=names)
    graph = as_networkx(taxonomy)
    if taxonomy.root == VIRTUAL_ROOT:
        graph.add_edges_from((VIRTUAL_ROOT, root) for root in taxonomy.roots)
    distances = nx.single_source_shortest_path_length(graph, taxonomy.root)
    for name in names:
        path = taxonomy.path(name)
        assert taxonomy.depth(name) == distances[name] == len(path)
        assert name in taxonomy.levels[taxonomy.depth(name)]
        assert nx.is_path(graph, [taxonomy.root, *path])
        assert [taxonomy.root, *path][-1] == name
    assert sum(map(len, taxonomy.levels)) == len(taxonomy)


@settings(deadline=None)
@given(edge_lists())
def test_paths_are_all_paths_the_shortest_first(case):
    edges, names = case
    taxonomy = Taxonomy.from_edges(edges, labels=names)
    graph = as_networkx(taxonomy)
    if taxonomy.root == VIRTUAL_ROOT:
        graph.add_edges_from((VIRTUAL_ROOT, root) for root in taxonomy.roots)
    for name in set(names) - {taxonomy.root}:
        paths = taxonomy.paths(name)
        expected = [tuple(path[1:]) for path in nx.all_simple_paths(graph, taxonomy.root, name)]
        assert len(paths) == min(len(expected), 20)
        assert set(paths) <= set(expected)
        assert list(map(len, paths)) == sorted(map(len, expected))[:20]
        assert taxonomy.path(name) == paths[0]


def test_paths_of_equal_length_are_in_the_order_of_the_parents():
    taxonomy = Taxonomy.from_edges([("r", "b"), ("r", "a"), ("b", "x"), ("a", "x"), ("x", "y"), ("r", "y")])
    assert taxonomy.paths("y") == (("y",), ("b", "x", "y"), ("a", "x", "y"))
    assert taxonomy.paths("r") == ()


def test_few_of_very_many_paths_are_found_in_no_time():
    ladder = [(f"{above}{level}", f"{below}{level + 1}") for level in range(200) for above in "ab" for below in "ab"]
    taxonomy = Taxonomy.from_edges([("r", "a0"), ("r", "b0"), *ladder])
    started = time.perf_counter()
    paths = taxonomy.paths("a200")
    assert time.perf_counter() - started < 2
    assert len(set(paths)) == 20
    assert {len(path) for path in paths} == {201}


@settings(deadline=None)
@given(edge_lists(), st.data())
def test_closing_adds_all_ancestors_but_not_the_root(case, data):
    edges, names = case
    taxonomy = Taxonomy.from_edges(edges, labels=names)
    given_labels = data.draw(st.lists(st.sampled_from(names)))
    expected = set(given_labels).union(*(nx.ancestors(as_networkx(taxonomy), name) for name in given_labels))
    if taxonomy.root not in given_labels:
        expected -= {taxonomy.root}
    found = taxonomy.with_ancestors(given_labels)
    assert set(found) == expected
    assert len(found) == len(expected)
    assert taxonomy.with_ancestors(found) == found


@settings(deadline=None)
@given(edge_lists())
def test_a_taxonomy_is_the_same_if_made_again_from_its_own_edges(case):
    edges, names = case
    taxonomy = Taxonomy.from_edges(edges, labels=names, titles={names[0]: "first"})
    again = Taxonomy.from_edges(taxonomy.edges, labels=taxonomy.roots, titles=taxonomy.titles)
    assert again == taxonomy
    assert again.fingerprint == taxonomy.fingerprint
    assert hash(again) == hash(taxonomy)


@settings(deadline=None)
@given(edge_lists())
def test_new_labels_come_last_and_below_the_root(case):
    edges, names = case
    taxonomy = Taxonomy.from_edges(edges, labels=names)
    wider = taxonomy.with_labels(["new", names[0], "newer", "new"])
    assert wider.names == (*taxonomy.names, "new", "newer")
    assert wider.root == taxonomy.root
    assert wider.depth("new") == wider.depth("newer") == 1
    assert set(wider.edges) - set(taxonomy.edges) == (
        set() if taxonomy.root == VIRTUAL_ROOT else {(taxonomy.root, "new"), (taxonomy.root, "newer")}
    )


def test_a_tree_is_listed_depth_first_with_siblings_in_file_order():
    edges = [("r", "b"), ("a", "a2"), ("r", "a"), ("a", "a1"), ("b", "b1"), ("a2", "x")]
    assert Taxonomy.from_edges(edges).names == ("r", "b", "b1", "a", "a2", "x", "a1")


def test_one_root_is_real_and_several_have_a_virtual_one():
    assert TOPICS.root == "Root"
    assert [TOPICS.depth(name) for name in ("Root", "CCAT", "C15", "C151")] == [0, 1, 2, 3]
    assert TOPICS.levels == (("Root",), ("CCAT", "ECAT"), ("C15", "E21"), ("C151",))
    assert (FOREST.root, FOREST.roots) == (VIRTUAL_ROOT, ("z", "a", "b"))
    assert FOREST.levels == ((), ("z", "a", "b"), ("c", "d"))
    assert VIRTUAL_ROOT not in FOREST
    assert FOREST.children(FOREST.root) == FOREST.roots
    assert FOREST.ancestors("c") == ("a", "b")


def test_the_root_is_in_no_path_and_is_added_to_nothing():
    assert TOPICS.path("C151") == ("CCAT", "C15", "C151")
    assert TOPICS.path("Root") == ()
    assert FOREST.path("c") == ("a", "c")
    assert TOPICS.with_ancestors(["C151"]) == ("CCAT", "C15", "ECAT", "E21", "C151")
    assert TOPICS.with_ancestors(["Root", "CCAT"]) == ("Root", "CCAT")
    assert TOPICS.with_ancestors([]) == ()


def test_titles_are_clean_and_fall_back_to_names():
    assert TOPICS.titles == {"C15": "performance", "C151": "accounts and earnings"}
    assert TOPICS.title("C15") == "performance"
    assert TOPICS.title("E21") == "E21"
    assert Taxonomy.from_edges([], labels=["a"], titles={"a": "x\ud800"}).title("a") == "x?"


def test_it_is_a_collection_of_names():
    assert len(TOPICS) == 6
    assert "C15" in TOPICS
    assert "c15" not in TOPICS
    assert None not in TOPICS
    assert list(TOPICS) == list(TOPICS.names)
    assert repr(TOPICS) == "Taxonomy(5 labels, 3 levels)"
    assert repr(FOREST) == "Taxonomy(5 labels, 2 levels)"
    assert repr(Taxonomy.from_edges([("a", "b")])) == "Taxonomy(1 label, 1 level)"


HUNDE = {"D": [Term("Hunde", language="de"), Term("dogs", language="en-GB"), Term("hounds", "alternative")]}


@pytest.mark.parametrize(
    ("language", "title"), [("de", "Hunde"), ("DE-at", "Hunde"), ("en", "dogs"), ("fr", "dogs"), (None, "dogs")]
)
def test_the_title_is_the_preferred_name_in_a_language(language, title):
    assert Taxonomy.from_edges([("all", "D")], terms=HUNDE).title("D", language) == title


def test_a_title_without_a_language_goes_before_other_languages():
    taxonomy = Taxonomy.from_edges([("all", "D")], titles={"D": "canis"}, terms=HUNDE)
    assert [taxonomy.title("D", language) for language in (None, "fr", "de")] == ["canis", "canis", "Hunde"]
    assert taxonomy.title("all", "de") == "all"


def test_terms_are_in_order_of_kind_and_language():
    taxonomy = Taxonomy.from_edges([("all", "D")], titles={"D": "canis"}, terms=HUNDE)
    assert taxonomy.terms("D") == (
        Term("canis"),
        Term("Hunde", language="de"),
        Term("dogs", language="en-gb"),
        Term("hounds", "alternative"),
    )
    assert taxonomy.terms("all") == ()
    assert taxonomy.with_labels(["new"]).terms("D") == taxonomy.terms("D")


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ([Term("a"), Term("b")], "the label 'D' has two preferred names, 'a' and 'b'; keep one"),
        (
            [Term("a", language="x y")],
            "the name 'a' of the label 'D' has the language 'x y'; give a tag such as en or pt",
        ),
        (
            [Term("a", "other")],
            "the name 'a' of the label 'D' must be one of preferred, alternative, hidden, notation; got",
        ),
    ],
)
def test_invalid_terms_are_refused(terms, message):
    with pytest.raises(TaxonomyError, match=f"^{message}"):
        Taxonomy.from_edges([], labels=["D"], terms={"D": terms})


def test_equality_sees_order_edges_and_titles():
    same = Taxonomy.from_edges([("r", "a"), ("r", "b")])
    assert same == Taxonomy.from_edges([("r", "a"), ("r", "b")], labels=["a"])
    for other in (
        Taxonomy.from_edges([("r", "b"), ("r", "a")]),
        Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "b")]),
        Taxonomy.from_edges([("r", "a"), ("r", "b")], titles={"a": "A"}),
        Taxonomy.from_edges([("r", "a"), ("r", "b")], terms={"a": [Term("A", "alternative")]}),
        Taxonomy.from_edges([("r", "a"), ("r", "b")], terms={"a": [Term("A", language="de")]}),
        "r",
    ):
        assert same != other


def test_it_cannot_be_changed_and_can_be_pickled():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TOPICS.names = ()
    assert pickle.loads(pickle.dumps(TOPICS)) == TOPICS


def test_the_fingerprint_is_the_same_in_every_process():
    code = (
        "from taxocaps.taxonomy import Taxonomy;"
        "print(Taxonomy.from_edges([('b', 'é'), ('a', 'é')], titles={'a': 'A'}).fingerprint)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {Taxonomy.from_edges([("b", "é"), ("a", "é")], titles={"a": "A"}).fingerprint + "\n"}


def test_importing_the_package_imports_no_heavy_library():
    code = (
        "import sys, taxocaps.taxonomy;"
        "heavy = {'torch', 'numba', 'gensim', 'sklearn', 'networkx', 'rich', 'scipy', 'numpy', 'yaml', 'rdflib'};"
        "print(*heavy & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


@pytest.mark.parametrize(
    "ask", ["parents", "children", "ancestors", "descendants", "depth", "path", "paths", "position", "terms", "title"]
)
def test_an_unknown_label_is_named_with_the_nearest(ask):
    with pytest.raises(TaxonomyError, match=r"^unknown label 'C152'; did you mean 'C15\d?'\?$"):
        getattr(TOPICS, ask)("C152")
    with pytest.raises(
        TaxonomyError, match=r"^unknown label 'quite other'; it is not one of the 6 labels of the taxonomy$"
    ):
        TOPICS.with_ancestors(["quite other"])
    assert TOPICS.nearest("quite other") is None


def test_adding_ancestors_names_the_first_unknown_label():
    with pytest.raises(TaxonomyError, match="'no 1'"):
        TOPICS.with_ancestors(["CCAT", "no 1", "no 2"])


def test_the_virtual_root_is_no_label():
    for ask in (FOREST.position, FOREST.depth, FOREST.parents):
        with pytest.raises(TaxonomyError, match=r"unknown label '\(root\)'"):
            ask(VIRTUAL_ROOT)
    with pytest.raises(TaxonomyError, match="unknown label"):
        TOPICS.children(VIRTUAL_ROOT)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([], "a taxonomy needs at least one label; got none"),
        ([("a", "a")], "the label a is its own parent; remove this edge"),
        ([("a", "b"), ("b", "a")], "the labels form a cycle: a > b > a; remove one of these edges"),
        (
            [("a", "b"), ("a", "b"), ("c", "c"), ("a", "")],
            "the edge a > b is given twice; remove one of the two (and 2 more problems)",
        ),
    ],
)
def test_what_is_no_taxonomy_is_refused(edges, message):
    with pytest.raises(TaxonomyError) as caught:
        Taxonomy.from_edges(edges)
    assert str(caught.value) == message


def test_new_labels_are_checked_and_old_ones_change_nothing():
    assert TOPICS.with_labels(["CCAT"]) is TOPICS
    assert TOPICS.with_labels(["new"]).titles == TOPICS.titles
    with pytest.raises(TaxonomyError, match="blank"):
        TOPICS.with_labels([" "])


def test_a_chain_of_20000_labels_works():
    names = [f"n{number}" for number in range(20_000)]
    chain = Taxonomy.from_edges(pairwise(names))
    assert chain.names == tuple(names)
    assert chain.depth(names[-1]) == 19_999
    assert chain.ancestors(names[-1]) == tuple(names[:-1])
    assert len(chain.descendants(names[0])) == 19_999
    assert chain.with_ancestors(names[-1:]) == chain.path(names[-1]) == tuple(names[1:])


def test_long_lists_of_ancestors_are_not_kept():
    names = [f"n{number}" for number in range(1_200)]
    chain = Taxonomy.from_edges(pairwise(names))
    for name in names[900:]:
        chain.ancestors(name)
    assert max(len(found) for found in chain._known_ancestors.values()) == 1_000


def test_a_taxonomy_of_the_size_of_eurovoc_is_fast():
    """7,465 labels, most with one parent, some with two: read, with all ancestors, in a fraction of a second."""
    edges = [("Root", f"d{n}") for n in range(21)]
    edges += [(f"d{n % 21}", f"m{n}") for n in range(127)]
    edges += [(f"m{n % 127}", f"c{n}") for n in range(7_317)]
    edges += [(f"c{n}", f"c{n + 1_000}") for n in range(700)]
    begin = time.process_time()
    taxonomy = Taxonomy.from_edges(edges)
    assert time.process_time() - begin < 1.0
    assert len(taxonomy) == 7_466
    begin = time.process_time()
    for n in range(7_317):
        taxonomy.with_ancestors((f"c{n}", f"c{(n * 7) % 7_317}"))
    assert time.process_time() - begin < 2.0


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


def taxonomy_of(children):
    return Taxonomy.from_edges([(name, child) for name in children for child in children[name]], labels=children)


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
    order = taxonomy_of(children).names
    assert sorted(order) == sorted(children)
    assert all(order.index(name) < order.index(child) for name in children for child in children[name])
    assert order == reverse_postorder(children)


@settings(deadline=None)
@given(trees())
def test_the_order_of_a_tree_is_its_preorder(children):
    assert list(taxonomy_of(children).names) == preorder("n0", children)


@settings(deadline=None)
@given(graphs())
def test_levels_are_shortest_distances(children):
    graph = nx.DiGraph([(name, child) for name in children for child in children[name]])
    graph.add_edges_from(("above", root) for root in roots_of(children))
    distances = nx.single_source_shortest_path_length(graph, "above")
    taxonomy = taxonomy_of(children)
    offset = 0 if taxonomy.root == VIRTUAL_ROOT else 1
    assert {"above": 0, **{name: taxonomy.depth(name) + offset for name in taxonomy}} == distances


@settings(deadline=None)
@given(graphs())
def test_parents_and_reaches_agree_with_networkx(children):
    graph = nx.DiGraph([(name, child) for name in children for child in children[name]])
    graph.add_nodes_from(children)
    taxonomy = taxonomy_of(children)
    for name in children:
        assert taxonomy.parents(name) == tuple(sorted(graph.predecessors(name), key=taxonomy.position))
        assert set(taxonomy.descendants(name)) == nx.descendants(graph, name)
        assert set(taxonomy.ancestors(name)) == nx.ancestors(graph, name)


def test_a_single_root_is_no_label():
    taxonomy = Taxonomy.from_edges([("r", "a"), ("r", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("a", "e")])
    assert taxonomy.statistics() == TaxonomyStatistics(
        labels=5,
        edges=6,
        roots=1,
        leaves=3,
        depth=2,
        labels_per_level=(2, 3),
        multiple_parents=1,
        most_children=3,
        most_children_of="a",
    )


def test_several_roots_are_labels_of_the_first_level():
    taxonomy = Taxonomy.from_edges([("a", "c")], labels=["a", "b"])
    assert taxonomy.statistics() == TaxonomyStatistics(
        labels=3,
        edges=1,
        roots=2,
        leaves=2,
        depth=2,
        labels_per_level=(2, 1),
        multiple_parents=0,
        most_children=1,
        most_children_of="a",
    )
