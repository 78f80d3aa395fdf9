"""SKOS in its notations, and the ways in which such files go wrong."""

import logging
import sys

import pytest
import rdflib

from taxocaps.errors import ConfigError, FileError, MissingExtraError
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.skos import scan_skos
from taxocaps.taxonomy.terms import Term, sorted_terms

PREFIX = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix : <http://x.org/> .\n"
THESAURUS = (
    PREFIX
    + """
:scheme a skos:ConceptScheme ; skos:hasTopConcept :animals .
:animals a skos:Concept ; skos:notation "1" ; skos:prefLabel "Tiere"@de, "animals"@en ; skos:narrower :dogs .
:dogs a skos:Concept ; skos:notation "1.1" ; skos:prefLabel "Hunde"@de ; skos:broader :animals .
:cats a skos:Concept ; skos:notation "1.2" ; skos:prefLabel "cats"@en, "Katzen"@de, "felines" ; skos:broader :animals .
:alone a skos:Concept ; skos:notation "2" ; skos:prefLabel "alone" ; skos:topConceptOf :scheme .
"""
)


@pytest.fixture
def write(tmp_path):
    def write_text(text, name="x.ttl"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_text


def edges(scan):
    return [(edge.parent, edge.child) for edge in scan.edges]


def told(scan):
    return [str(problem) for problem in scan.problems]


def test_broader_and_narrower_are_edges_and_concepts_are_labels_by_uri(write):
    scan = scan_skos(write(THESAURUS))
    base = "http://x.org/"
    assert scan.labels == (f"{base}animals", f"{base}alone", f"{base}dogs", f"{base}cats")
    assert edges(scan) == [(f"{base}animals", f"{base}dogs"), (f"{base}animals", f"{base}cats")]
    assert told(scan) == []


@pytest.mark.parametrize(
    ("language", "titles"),
    [
        ("en", ["animals", "alone", "Hunde", "cats"]),
        ("de", ["Tiere", "alone", "Hunde", "Katzen"]),
        ("fr", ["animals", "alone", "Hunde", "felines"]),
    ],
)
def test_titles_come_in_the_language_or_else_in_another(write, language, titles):
    taxonomy = read_taxonomy(write(THESAURUS))
    assert [taxonomy.title(f"http://x.org/{name}", language) for name in ("animals", "alone", "dogs", "cats")] == titles


def test_names_of_all_kinds_and_languages_are_read(write):
    text = """
:dogs a skos:Concept ; skos:notation "599.77", "D"^^:code ; skos:prefLabel "dogs"@en, "Hunde"@de-AT, "hounds"@EN ;
    skos:altLabel "canines"@en, "Köter"@de ; skos:hiddenLabel "dgos" .
"""
    (terms,) = scan_skos(write(PREFIX + text)).terms.values()
    assert sorted_terms(terms) == (
        Term("Hunde", language="de-at"),
        Term("dogs", language="en"),
        Term("Köter", "alternative", "de"),
        Term("hounds", "alternative", "en"),  # a second preferred name in one language
        Term("canines", "alternative", "en"),
        Term("dgos", "hidden"),
        Term("599.77", "notation"),
        Term("D", "notation"),
    )


def test_labels_may_be_named_by_notation_or_label(write):
    assert edges(scan_skos(write(THESAURUS), "notation")) == [("1", "1.1"), ("1", "1.2")]
    assert edges(scan_skos(write(THESAURUS), "label", "de")) == [("Tiere", "Hunde"), ("Tiere", "Katzen")]
    with pytest.raises(ConfigError, match="named by uri, notation, label; got 'name'"):
        scan_skos(write(THESAURUS), "name")


@pytest.mark.parametrize(
    ("name", "syntax"),
    [
        ("x.rdf", "xml"),
        ("x.xml", "xml"),
        ("x.nt", "nt"),
        ("x.n3", "n3"),
        ("x.jsonld", "json-ld"),
        ("x.json", "json-ld"),
        ("x.skos", "turtle"),
    ],
)
def test_every_notation_says_the_same(write, name, syntax):
    graph = rdflib.Graph().parse(data=THESAURUS, format="turtle")
    other = scan_skos(write(graph.serialize(format=syntax), name), "notation")
    expected = scan_skos(write(THESAURUS), "notation")
    assert set(edges(other)) == set(edges(expected))
    assert {name: set(terms) for name, terms in other.terms.items()} == {
        name: set(terms) for name, terms in expected.terms.items()
    }
    assert told(other) == []


def test_siblings_keep_the_order_of_the_file(write):
    names = [f"n{number * 7 % 50}" for number in range(50)]
    text = PREFIX + "".join(f":{name} a skos:Concept ; skos:broader :top .\n" for name in names)
    assert [child.removeprefix("http://x.org/") for _, child in edges(scan_skos(write(text)))] == names


def test_relative_uris_are_names_and_say_nothing_of_where_the_file_lies(write):
    assert edges(scan_skos(write(PREFIX + "<a%20b> skos:narrower <#c> ."))) == [("a b", "#c")]


def test_two_concepts_of_one_name_are_a_problem(write):
    text = PREFIX + ':a skos:notation "1" ; skos:narrower :b . :b skos:notation "1" .'
    assert told(scan_skos(write(text), "notation")) == [
        "the concepts <http://x.org/a> and <http://x.org/b> are both called '1'; "
        "correct one, or name labels by their URIs"
    ]


def test_concepts_without_a_name_are_a_problem(write):
    text = PREFIX + ':a skos:notation "1" ; skos:narrower :b .'
    assert told(scan_skos(write(text), "notation")) == [
        "the concept <http://x.org/b> has no skos:notation; add it or choose another name property"
    ]
    assert "has no URI" in told(scan_skos(write(PREFIX + ":a skos:narrower [] .")))[0]


def test_cycles_self_loops_and_texts_for_concepts_are_problems(write):
    text = PREFIX + ':a skos:broader :b . :b skos:broader :a . :c skos:broader :c . :d skos:broader "x" .'
    assert told(scan_skos(write(text))) == [
        "the text 'x' is used as a concept; give the concept's URI",
        "the label http://x.org/c is its own parent; remove this edge",
        "the labels form a cycle: http://x.org/b > http://x.org/a > http://x.org/b; remove one of these edges",
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("x.ttl", PREFIX + "\n:a skos:broader b:c .", "line 4: not valid turtle: "),
        ("x.rdf", "<a>\n<b></a>", "line 2: not valid xml: "),
        ("x.jsonld", '{\n"@id" 7}', "line 2: not valid json-ld: "),
        ("x.nt", "<urn:a> <urn:b <urn:c> .", "not valid nt: "),
        ("x.jsonld", "[" * 100_000, "not valid json-ld: "),
    ],
)
def test_wrong_syntax_is_told_on_one_short_line(write, name, text, expected):
    (found,) = told(scan_skos(write(text, name)))
    assert found.startswith(expected)
    assert "\n" not in found
    assert len(found) < 300


@pytest.mark.parametrize(
    "context",
    [
        '"http://localhost:9/c"',
        '["http://localhost:9/c"]',
        '{"@import": "http://localhost:9/c"}',
        '{"a": {"@context": "c"}}',
    ],
)
def test_nothing_is_fetched(write, context):
    path = write(f'{{"@context": {context}, "@id": "urn:a"}}', "x.jsonld")
    assert told(scan_skos(path)) == [
        "its @context is outside the file and is not downloaded; put the context into the file"
    ]


def test_external_entities_are_not_read(write, tmp_path):
    (tmp_path / "secret").write_text("hidden")
    text = (
        f'<!DOCTYPE r [<!ENTITY e SYSTEM "{(tmp_path / "secret").as_uri()}">]>'
        '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="http://www.w3.org/2004/02/skos/core#">'
        '<s:Concept r:about="urn:a"><s:prefLabel>&e;</s:prefLabel></s:Concept></r:RDF>'
    )
    assert "hidden" not in str(scan_skos(write(text, "x.rdf")))


def test_odd_literals_and_uris_leave_no_traceback_in_the_log(write, caplog):
    text = PREFIX + ':a skos:notation "x"^^<http://www.w3.org/2001/XMLSchema#integer> ; skos:narrower <b c> .'
    with caplog.at_level(logging.DEBUG):
        assert edges(scan_skos(write(text))) == [("http://x.org/a", "b c")]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert not logging.getLogger("rdflib.term").disabled


@pytest.mark.parametrize("text", ["", " \n", PREFIX, PREFIX + ":a :b :c ."])
def test_a_file_without_concepts_holds_no_label(write, text):
    assert told(scan_skos(write(text))) == ["no labels found; a taxonomy needs at least one"]


def test_a_missing_file_and_a_missing_library_are_told(write, tmp_path, monkeypatch):
    with pytest.raises(FileError, match="no such file"):
        scan_skos(tmp_path / "none.ttl")
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingExtraError, match=r"rdflib.*pip install 'taxocaps\[skos\]'"):
        scan_skos(write(THESAURUS))


def test_entities_of_entities_are_refused(tmp_path):
    """Eight such lines would grow to a hundred million words."""
    path = tmp_path / "bomb.rdf"
    lines = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 9))
    path.write_text(
        f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY e0 "x">{lines}]>'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description>&e8;</rdf:Description></rdf:RDF>'
    )
    (problem,) = scan_skos(path).problems
    assert "the entity 'e1' is not a short text" in problem.message
