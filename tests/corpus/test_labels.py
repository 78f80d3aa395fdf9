"""Labels, classes and label matrices."""

import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise

import networkx
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.preprocessing import MultiLabelBinarizer

from taxocaps.corpus.labels import Classes, LabelConfig, collect_classes, label_matrix, resolve_labels
from taxocaps.errors import ConfigError, CorpusError, TaxonomyError
from taxocaps.taxonomy.terms import Term
from taxocaps.taxonomy.tree import Taxonomy

TREE = Taxonomy.from_edges(
    [("all", "sport"), ("sport", "tennis"), ("sport", "football"), ("all", "art"), ("art", "film")]
)
LISTS = [("film", "sport"), (), ("tennis",), None]


@st.composite
def labelled(draw):
    """A random graph of labels, sometimes with several roots, and documents labelled with them."""
    size = draw(st.integers(2, 8))
    pairs = [(a, b) for a in range(size) for b in range(a + 1, size)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True))
    names = [f"n{n}" for n in range(size)]
    taxonomy = Taxonomy.from_edges([(names[a], names[b]) for a, b in edges], labels=names)
    lists = draw(st.lists(st.none() | st.lists(st.sampled_from(names), max_size=4), max_size=6))
    return taxonomy, lists


def closed(taxonomy, labels):
    graph = nx.DiGraph(taxonomy.edges)
    graph.add_nodes_from(taxonomy.names)
    above = set(labels).union(*(nx.ancestors(graph, label) for label in labels))
    return above - ({taxonomy.root} - set(labels))


@given(labelled(), st.sampled_from(["as-given", "add"]))
def test_matrices_are_those_of_scikit_learn_over_closed_sets(case, ancestors):
    taxonomy, lists = case
    full = [closed(taxonomy, labels or []) if ancestors == "add" else set(labels or []) for labels in lists]
    classes = collect_classes(lists, taxonomy, ancestors)
    assert classes == tuple(name for name in taxonomy.names if any(name in labels for labels in full))
    matrix = label_matrix(lists, classes, taxonomy, ancestors)
    expected = MultiLabelBinarizer(classes=list(classes)).fit_transform(full) if lists else np.zeros((0, 0))
    assert np.array_equal(matrix.toarray(), expected.astype(bool))
    assert isinstance(matrix, csr_array)
    assert matrix.dtype == bool
    assert matrix.has_canonical_format
    assert matrix.data.all()


def test_classes_come_in_taxonomy_order_without_the_root():
    assert collect_classes(LISTS, TREE) == ("sport", "tennis", "film")
    assert collect_classes(LISTS, TREE, "add") == ("sport", "tennis", "art", "film")
    assert collect_classes([("all", "art")], TREE, "add") == ("all", "art")
    assert collect_classes(LISTS) == ("film", "sport", "tennis")


def test_unknown_labels_cannot_be_classes():
    with pytest.raises(TaxonomyError, match="tenis"):
        collect_classes([["tenis"]], TREE)


def test_labels_without_a_column_leave_their_ancestors():
    matrix = label_matrix([("football",), ("tennis",)], ("sport", "tennis"), TREE, "add")
    assert matrix.toarray().tolist() == [[True, False], [True, True]]
    assert label_matrix([("football", "other")], ("sport",)).nnz == 0


@pytest.mark.parametrize("lists", [[], [None], [()], [("x",)]])
def test_matrices_of_nothing_have_their_shape(lists):
    assert label_matrix(lists, ("a", "b")).shape == (len(lists), 2)
    assert label_matrix(lists, ()).shape == (len(lists), 0)


def test_ancestors_need_a_taxonomy():
    for action in (lambda: collect_classes(LISTS, None, "add"), lambda: label_matrix(LISTS, ("film",), None, "add")):
        with pytest.raises(ConfigError, match="--ancestors add needs a taxonomy"):
            action()


def test_known_labels_pass():
    resolved = resolve_labels(LISTS, TREE)
    assert resolved.labels == (("film", "sport"), (), ("tennis",), ())
    assert resolved.taxonomy is TREE
    assert resolved.unknown == {}


def test_an_unknown_label_names_document_neighbour_and_choices():
    with pytest.raises(CorpusError) as caught:
        resolve_labels([("sport",), ("film", "tenis", "zz")], TREE, ids=["a", "b"])
    assert str(caught.value) == (
        "document 'b': the label 'tenis' is not in the taxonomy (nearest: 'tennis'), nor is 1 other label; "
        "correct them, or say --unknown-labels add or drop"
    )
    with pytest.raises(CorpusError, match=r"^document 2: the label 'qqq' is not in the taxonomy; "):
        resolve_labels([(), ("qqq",)], TREE)


def test_unknown_labels_may_be_dropped():
    resolved = resolve_labels([("x", "film", "y"), ("y",)], TREE, "drop")
    assert resolved.labels == (("film",), ())
    assert resolved.taxonomy is TREE
    assert resolved.unknown == {"x": 1, "y": 2}


def test_unknown_labels_may_be_added_under_the_root():
    resolved = resolve_labels([("y", "film"), ("x",)], TREE, "add")
    assert resolved.labels == (("y", "film"), ("x",))
    assert resolved.taxonomy.parents("x") == ("all",)
    assert resolved.taxonomy.names == (*TREE.names, "x", "y")
    assert resolved.unknown == {"x": 1, "y": 1}


NAMED = Taxonomy.from_edges(
    [("all", "S"), ("all", "F"), ("S", "T")],
    terms={
        "S": [Term("Sports"), Term("1", "notation"), Term("games", "alternative")],
        "F": [Term("Film"), Term("Straße", "alternative", "de"), Term("flim", "hidden"), Term("GAMES", "alternative")],
        "T": [Term("F", language="de"), Term("1"), Term("film", "alternative")],
    },
)


@pytest.mark.parametrize(
    ("text", "label", "named_by"),
    [
        ("S", "S", "id"),
        ("F", "F", "id"),  # also the preferred name of T
        ("1", "S", "notation"),  # also the preferred name of T
        (" sports ", "S", "preferred"),
        ("FILM", "F", "preferred"),  # also an alternative name of T
        ("f", "T", "preferred"),
        ("STRASSE", "F", "alternative"),
    ],
)
def test_labels_are_found_by_id_notation_and_names(text, label, named_by):
    resolved = resolve_labels([(text,)], NAMED)
    assert resolved.labels == ((label,),)
    assert +Counter(resolved.named_by) == {named_by: 1}


def test_a_document_has_a_label_once_by_whatever_names():
    resolved = resolve_labels([("Sports", "T", "S", "1"), None, ("F",)], NAMED)
    assert resolved.labels == (("S", "T"), (), ("F",))
    assert resolved.named_by == {"id": 3, "preferred": 1, "notation": 1}


def test_hidden_names_are_unknown():
    assert resolve_labels([("flim",)], NAMED, "drop").unknown == {"flim": 1}


def test_a_name_of_several_labels_is_ambiguous():
    with pytest.raises(CorpusError) as caught:
        resolve_labels([("S",), ("Games",)], NAMED, ids=["a", "b"])
    assert str(caught.value) == (
        "document 'b': the label 'Games' is ambiguous, the alternative name of 'S' and 'F'; "
        "give the id, or say --unknown-labels add or drop"
    )
    dropped = resolve_labels([("S", "Games")], NAMED, "drop")
    assert (dropped.labels, dropped.unknown) == ((("S",),), {"Games": 1})
    assert "Games" in resolve_labels([("S", "Games")], NAMED, "add").taxonomy


@given(st.lists(st.lists(st.sampled_from(["sport", "film", "x", "y", "z"]), max_size=4), max_size=5))
def test_counts_are_documents(lists):
    expected = Counter(label for labels in lists for label in set(labels) if label in "xyz")
    assert resolve_labels(lists, TREE, "drop").unknown == dict(expected)


@pytest.mark.parametrize("options", [{"ancestors": "yes"}, {"unknown": "ignore"}])
def test_bad_settings_are_refused_by_name(options):
    with pytest.raises(ConfigError, match=rf"^labels\.{next(iter(options))} must be one of"):
        LabelConfig(**options)


def test_many_documents_are_quick():
    generator = np.random.default_rng(0)
    lists = [tuple(labels) for labels in generator.choice(TREE.names[1:], size=(200_000, 3))]
    start = time.process_time()
    matrix = label_matrix(lists, TREE.names, TREE, "add")
    assert time.process_time() - start < 3  # takes 0.2 s
    assert matrix.shape == (200_000, 6)


def test_importing_the_corpus_is_light():
    program = (
        "import sys, taxocaps.corpus, taxocaps.datasets.pydocs\n"
        "heavy = {'torch', 'numba', 'gensim', 'sklearn', 'networkx', 'rich', 'scipy', 'numpy', 'pyarrow'}\n"
        "print(heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


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
    wanted = all(set(made.taxonomy.with_ancestors(names)) & set(made.names) <= names for names in chosen)
    assert made.has_all_ancestors(labels) == wanted


def test_by_hand():
    made = Classes(("trade", "crude", "energy", "art"), TOPICS)
    assert len(made) == 4
    # "oil" has no column: above "crude" stand both parents of "oil".
    assert made.parents == ((), (0, 2), (), ())
    assert made.levels == (1, 3, 1, 1)
    assert rows(made.closure, made.names) == [{"trade"}, {"trade", "crude", "energy"}, {"energy"}, {"art"}]
    assert rows(made.full_closure, TOPICS.names)[1] == {"trade", "energy", "oil", "crude"}
    assert made.has_all_ancestors(csr_array(np.array([[1, 1, 1, 0], [0, 0, 0, 1]], bool)))
    assert not made.has_all_ancestors(csr_array(np.array([[1, 1, 0, 0]], bool)))


@given(classes(), st.data())
def test_closures_of_some_labels_leave_out_the_others(made, data):
    columns = data.draw(st.sets(st.sampled_from(range(len(made)))) if len(made) else st.just(set()))
    full, some = made.full_closure.toarray(), made.full_closure_of(columns).toarray()
    assert some.tolist() == [
        row if column in columns else [False] * len(row) for column, row in enumerate(full.tolist())
    ]


def test_the_ancestors_of_few_labels_are_few_however_deep_the_taxonomy():
    sizes = []
    for depth in (300, 3_000):
        names = tuple(f"l{level}" for level in range(depth))
        chain = Classes(names, Taxonomy.from_edges([("root", "l0"), *pairwise(names)]))
        sizes.append(chain.full_closure_of([depth - 1, depth // 2]).nnz)
    assert np.log10(sizes[1] / sizes[0]) <= 1.1


def test_names_of_chosen_labels():
    made = Classes(("trade", "crude", "energy", "art"), TOPICS)
    chosen = csr_array(np.array([[0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]], bool))
    assert made.label_lists(chosen) == [("crude", "art"), (), ("trade",)]
    assert made.label_lists(chosen[:0]) == []


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
