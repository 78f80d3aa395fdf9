"""What is written is read back as an equal taxonomy."""

import json
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
import rdflib
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from taxocaps.errors import FileError, TaxonomyError
from taxocaps.taxonomy import Taxonomy, Term, read_taxonomy, write_taxonomy
from taxocaps.taxonomy.problems import name_problem
from taxocaps.taxonomy.readers import read_flat_nodes
from taxocaps.taxonomy.writers import flat_nodes

TOPICS = Taxonomy.from_edges(
    [("Root", "A"), ("Root", "B"), ("A", "C"), ("B", "C"), ("C", "D")], titles={"Root": "All", "C": "See"}
)
TRICKY = [
    "null",
    "no",
    "2020",
    "~",
    "<<",
    "name",
    "#tag",
    "a: b",
    "- a",
    "None",
    "http://x.org/a b",
    "http://x.org/ab",
    "urn:x:y",
]
PLAIN_NAMES = st.from_regex(r"[A-Za-zé0-9.]{1,6}( [A-Z])?", fullmatch=True).filter(lambda name: name != "None")
ANY_NAMES = (st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.sampled_from(TRICKY)).filter(
    lambda name: name_problem(name) is None
)


@st.composite
def taxonomies(draw, names):
    """A random acyclic graph with some titles."""
    labels = draw(st.lists(names, min_size=1, max_size=8, unique=True))
    pairs = [(parent, child) for place, parent in enumerate(labels) for child in labels[place + 1 :]]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    titles = draw(st.dictionaries(st.sampled_from(labels), st.text(max_size=12)))
    return Taxonomy.from_edges(edges, labels=draw(st.permutations(labels)), titles=titles)


TERMS = st.builds(
    Term,
    st.text(max_size=12),
    st.sampled_from(["alternative", "hidden", "notation"]),
    st.sampled_from([None, "de", "no", "pt-br"]),
) | st.builds(Term, st.text(max_size=12), st.just("preferred"), st.sampled_from([None, "de", "no", "pt-br"]))


@st.composite
def named_taxonomies(draw):
    """A taxonomy whose labels have names of all kinds and languages."""
    taxonomy = draw(taxonomies(ANY_NAMES))
    terms = {}
    for name in taxonomy:
        found = {
            (term.kind, term.language, "" if term.kind == "preferred" else term.text): term
            for term in draw(st.lists(TERMS, max_size=6))
        }
        terms[name] = [term for term in found.values() if (term.kind, term.language) != ("preferred", None)]
    return Taxonomy.from_edges(taxonomy.edges, labels=taxonomy.roots, titles=taxonomy.titles, terms=terms)


def read_back(taxonomy, name):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_taxonomy(taxonomy, path)
        return read_taxonomy(path)


@pytest.mark.parametrize("name", ["x.tsv", "x.csv", "x.hier", "x.tsv.gz"])
@given(taxonomy=taxonomies(PLAIN_NAMES))
def test_line_formats_give_back_what_was_written(name, taxonomy):
    assert read_back(taxonomy, name) == taxonomy


@pytest.mark.parametrize("name", ["x.json", "x.yaml", "x.ttl", "x.json.zst", "x.yaml.xz"])
@given(taxonomy=taxonomies(ANY_NAMES))
def test_other_formats_give_back_any_name(name, taxonomy):
    assert read_back(taxonomy, name) == taxonomy


@pytest.mark.parametrize("name", ["x.json", "x.yaml", "x.ttl"])
@given(taxonomy=named_taxonomies())
def test_names_of_all_kinds_and_languages_come_back(name, taxonomy):
    assert read_back(taxonomy, name) == taxonomy


@given(taxonomy=named_taxonomies())
def test_flat_nodes_are_read_back_by_both_readers(taxonomy):
    text = json.dumps(flat_nodes(taxonomy), ensure_ascii=False)
    assert read_flat_nodes(json.loads(text)) == taxonomy
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "taxonomy.json"
        path.write_text(text, encoding="utf-8")
        assert read_taxonomy(path) == taxonomy


@pytest.mark.parametrize("name", ["x.tsv", "x.csv", "x.hier"])
@settings(deadline=None, max_examples=100)
@given(taxonomy=taxonomies(ANY_NAMES))
def test_line_formats_give_back_what_was_written_or_refuse_it(name, taxonomy):
    try:
        found = read_back(taxonomy, name)
    except TaxonomyError as error:
        assert "cannot be written in this format" in str(error)
    else:
        assert found == taxonomy


def test_labels_that_would_be_read_as_two_are_not_written_as_tsv(tmp_path):
    roots = Taxonomy.from_edges([], labels=["news,sport", "news,art"])
    with pytest.raises(TaxonomyError, match=r"cannot be written in this format .* such as 'news,sport'.* write csv"):
        write_taxonomy(roots, tmp_path / "x.tsv")
    write_taxonomy(roots, tmp_path / "x.csv")
    assert read_taxonomy(tmp_path / "x.csv") == roots
    named = Taxonomy.from_edges(
        [], labels=["news,sport", "news,art"], titles={"news,art": "Art", "news,sport": "Sport"}
    )
    write_taxonomy(named, tmp_path / "x.tsv")
    assert read_taxonomy(tmp_path / "x.tsv") == named


@settings(deadline=None, max_examples=30)
@given(taxonomies(PLAIN_NAMES))
def test_skos_gives_back_names_by_notation_too(taxonomy):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.ttl"
        write_taxonomy(taxonomy, path)
        assert read_taxonomy(path, skos_label="notation") == taxonomy


def test_the_files_are_plain_to_read(tmp_path):
    for name in ("x.tsv", "x.csv", "x.hier", "x.json", "x.yaml"):
        write_taxonomy(TOPICS, tmp_path / name)
    assert (tmp_path / "x.tsv").read_text() == "\tRoot\tAll\nRoot\tA\nRoot\tB\nA\tC\tSee\nB\tC\tSee\nC\tD\n"
    assert (tmp_path / "x.csv").read_text() == (
        "parent,child,name,alternatives\n,Root,All,\nRoot,A,,\nRoot,B,,\nA,C,See,\nB,C,See,\nC,D,,\n"
    )
    assert (tmp_path / "x.hier").read_text().splitlines()[:2] == [
        "parent: None child: Root child-description: All",
        "parent: Root child: A child-description: A",
    ]
    nested = {
        "name": "Root",
        "title": "All",
        "children": [
            {"name": "A", "children": [{"name": "C", "title": "See", "children": ["D"]}]},
            {"name": "B", "children": ["C"]},
        ],
    }
    assert json.loads((tmp_path / "x.json").read_text()) == nested
    assert yaml.safe_load((tmp_path / "x.yaml").read_text()) == nested


def test_letters_of_any_language_stay_readable(tmp_path):
    taxonomy = Taxonomy.from_edges([("права", "Menschenwürde"), ("права", "人权")])
    for name in ("x.tsv", "x.json", "x.yaml"):
        write_taxonomy(taxonomy, tmp_path / name)
        assert all(label in (tmp_path / name).read_text(encoding="utf-8") for label in taxonomy)


def test_the_turtle_is_skos_for_other_readers(tmp_path):
    write_taxonomy(TOPICS, tmp_path / "x.ttl")
    graph = rdflib.Graph().parse(tmp_path / "x.ttl")
    skos = rdflib.SKOS
    name = {
        concept: str(graph.value(concept, skos.notation)) for concept in graph.subjects(rdflib.RDF.type, skos.Concept)
    }
    assert sorted(name.values()) == sorted(TOPICS)
    assert {(name[a], name[b]) for a, b in graph.subject_objects(skos.narrower)} == set(TOPICS.edges)
    assert {(name[b], name[a]) for a, b in graph.subject_objects(skos.broader)} == set(TOPICS.edges)
    assert [name[top] for top in graph.objects(None, skos.hasTopConcept)] == ["Root"]
    assert {name[concept]: str(title) for concept, title in graph.subject_objects(skos.prefLabel)} == {
        label: TOPICS.title(label) for label in TOPICS
    }


@pytest.mark.parametrize("bad", ["a\tb", "a\nb", "a\rb", " a", "a\u00a0", "#a", "\ufeffa"])
def test_names_that_tsv_cannot_hold_are_refused_and_nothing_is_written(tmp_path, bad):
    path = tmp_path / "x.tsv"
    path.write_text("before")
    with pytest.raises(TaxonomyError) as caught:
        write_taxonomy(Taxonomy.from_edges([("r", "ok"), (bad, "ok")]), path)
    assert str(caught.value).startswith(f"{path}: the label {bad!r} or 'ok' cannot be written in this format")
    assert str(caught.value).isprintable()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_that_makes_too_many_fields_is_refused(tmp_path):
    with pytest.raises(TaxonomyError, match=r"the label 'a\\tb' cannot be written in this format"):
        write_taxonomy(Taxonomy.from_edges([], labels=["a\tb"], titles={"a\tb": "x"}), tmp_path / "x.tsv")


@pytest.mark.parametrize("bad", ["None", "a child: b", "a\nb"])
def test_names_that_hier_cannot_hold_are_refused(tmp_path, bad):
    with pytest.raises(TaxonomyError, match="cannot be written in this format"):
        write_taxonomy(Taxonomy.from_edges([(bad, "x")]), tmp_path / "x.hier")


@pytest.mark.parametrize("length", [64, 65, 1_200])
@pytest.mark.parametrize("name", ["x.tsv", "x.hier", "x.ttl", "x.json", "x.yaml"])
def test_a_long_chain_is_written_by_every_format(name, length):
    names = [f"n{number}" for number in range(length)]
    chain = Taxonomy.from_edges([*pairwise(names), ("n0", f"n{length - 1}")], titles={"n1": "one"})
    assert read_back(chain, name) == chain


NAMED = Taxonomy.from_edges(
    [("Root", "D")],
    terms={
        "Root": [Term("all", "alternative")],
        "D": [
            Term("dogs", language="en"),
            Term("Hunde", language="de"),
            Term("hounds", "alternative"),
            Term("dgos", "hidden"),
            Term("599.77", "notation"),
        ],
    },
)


def test_tsv_holds_one_name_and_alternatives_without_languages(tmp_path):
    write_taxonomy(NAMED, tmp_path / "x.tsv")
    assert (tmp_path / "x.tsv").read_text() == "\tRoot\t\tall\nRoot\tD\tdogs\tHunde|hounds\n"
    found = read_taxonomy(tmp_path / "x.tsv")
    assert found.terms("D") == (Term("dogs"), Term("Hunde", "alternative"), Term("hounds", "alternative"))
    bad = Taxonomy.from_edges([("r", "a")], terms={"a": [Term("b|c", "alternative")]})
    with pytest.raises(TaxonomyError, match=r"cannot be written in this format .* such as # or \|\)"):
        write_taxonomy(bad, tmp_path / "x.tsv")


def test_json_has_the_names_by_kind_and_language(tmp_path):
    write_taxonomy(NAMED, tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text())["children"] == [
        {
            "name": "D",
            "titles": {"de": "Hunde", "en": "dogs"},
            "alternatives": ["hounds"],
            "hidden": ["dgos"],
            "notation": ["599.77"],
        }
    ]


def test_other_readers_find_the_names_in_the_turtle(tmp_path):
    write_taxonomy(NAMED, tmp_path / "x.ttl")
    graph = rdflib.Graph().parse(tmp_path / "x.ttl")
    concept = graph.value(None, rdflib.SKOS.notation, rdflib.Literal("599.77"))
    names = {name: set(graph.objects(concept, rdflib.SKOS[name])) for name in ("prefLabel", "altLabel", "hiddenLabel")}
    assert names == {
        "prefLabel": {rdflib.Literal("dogs", lang="en"), rdflib.Literal("Hunde", lang="de")},
        "altLabel": {rdflib.Literal("hounds")},
        "hiddenLabel": {rdflib.Literal("dgos")},
    }


def test_formats_that_cannot_be_written_are_told(tmp_path):
    with pytest.raises(FileError, match=r"written as Turtle only; give the file the suffix \.ttl"):
        write_taxonomy(TOPICS, tmp_path / "x.rdf")
    with pytest.raises(FileError, match="is not the suffix of a taxonomy format"):
        write_taxonomy(TOPICS, tmp_path / "x.toml")
    with pytest.raises(FileError):
        write_taxonomy(TOPICS, tmp_path)
    write_taxonomy(TOPICS, tmp_path / "x", format="skos")
    assert read_taxonomy(tmp_path / "x", format="skos") == TOPICS
