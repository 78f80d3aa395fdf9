"""How taxonomies change: by id, by name, and where labels stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.corpus.label_changes import LabelChange, TaxonomyChanges
from taxocaps.taxonomy.terms import Term
from taxocaps.taxonomy.tree import Taxonomy

OLD = Taxonomy.from_edges(
    [("all", "food"), ("all", "goods"), ("food", "corn"), ("food", "rye"), ("goods", "metal"), ("goods", "boat")],
    terms={"corn": [Term("maize", "alternative")], "rye": [Term("Rye")], "metal": [Term("Metals")]},
)


def changes(edges, terms=None):
    found = TaxonomyChanges(OLD, Taxonomy.from_edges(edges, terms=terms or {}))
    return {(one.kind, one.old, one.new): one for one in found.changes}


REST = [("all", "food"), ("all", "goods"), ("food", "corn"), ("food", "rye"), ("goods", "metal"), ("goods", "boat")]


def without(*labels):
    return [edge for edge in REST if edge[1] not in labels]


@pytest.mark.parametrize(
    ("edges", "terms", "expected"),
    [
        (REST, {"rye": [Term("Rye")], "metal": [Term("Metals")]}, []),
        ([*REST, ("food", "oats")], {}, [("added", (), ("oats",))]),
        (without("boat"), {}, [("removed", ("boat",), ())]),
        (REST, {"rye": [Term("Secale")]}, [("renamed", ("rye",), ("rye",))]),
        ([*without("corn"), ("food", "c1")], {"c1": [Term("Maize")]}, [("renamed", ("corn",), ("c1",))]),
        ([*without("metal"), ("food", "metal")], {}, [("moved", ("metal",), ("metal",))]),
        (
            without("boat"),
            {"metal": [Term("Metals"), Term("Boat", "alternative")]},
            [("merged", ("metal", "boat"), ("metal",))],
        ),
        (
            [*without("metal"), ("goods", "gold"), ("goods", "tin")],
            {"gold": [Term("metals", "alternative")], "tin": [Term("metals", "alternative")]},
            [("split", ("metal",), ("gold", "tin"))],
        ),
    ],
)
def test_what_became_of_labels(edges, terms, expected):
    names = {"rye": [Term("Rye")], "metal": [Term("Metals")], **terms}
    known = {child for _, child in edges}
    assert list(changes(edges, {label: found for label, found in names.items() if label in known})) == expected


def test_a_renamed_parent_moves_no_child_and_a_renamed_root_nobody():
    edges = [("top" if parent == "all" else parent, child) for parent, child in REST]
    edges = [tuple("F" if one == "food" else one for one in edge) for edge in edges]
    terms = {"F": [Term("food")], "rye": [Term("Rye")], "metal": [Term("Metals")]}
    assert list(changes(edges, terms)) == [("renamed", ("food",), ("F",))]


def test_where_labels_were_and_are():
    found = changes([*without("metal"), ("food", "metal")], {"rye": [Term("Rye")], "metal": [Term("Metals")]})
    assert found == {("moved", ("metal",), ("metal",)): LabelChange("moved", ("metal",), ("metal",), "goods", "food")}


def test_of_merged_labels_the_most_frequent_is_the_origin():
    new = Taxonomy.from_edges([("all", "A")], terms={"A": [Term("corn", "alternative"), Term("rye", "alternative")]})
    found = TaxonomyChanges(OLD, new)
    assert found.origins(["corn", "rye"], [3, 5]) == {"A": "rye"}
    assert found.origins(["corn", "metal"], [3, 5]) == {"A": "corn"}


@given(st.sets(st.sampled_from("abcdefg"), min_size=1), st.sets(st.sampled_from("abcdefg"), min_size=1))
def test_every_label_is_the_same_added_or_removed_if_there_are_only_ids(before, after):
    old, new = (Taxonomy.from_edges([], labels=["root", *sorted(one)]) for one in (before, after))
    found = TaxonomyChanges(old, new)
    assert {label for one in found.changes if one.kind == "added" for label in one.new} == after - before
    assert {label for one in found.changes if one.kind == "removed" for label in one.old} == before - after
    assert set(found.counts) <= {"added", "removed"}
