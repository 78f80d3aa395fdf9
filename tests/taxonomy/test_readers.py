"""Reading taxonomies from files, mappings and graphs."""

import gzip
import lzma
import re
from collections.abc import Mapping
from pathlib import Path

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxocaps.errors import ConfigError, FileError, TaxonomyError
from taxocaps.taxonomy.problems import Edge
from taxocaps.taxonomy.readers import (
    as_taxonomy,
    read_taxonomy,
    scan_taxonomy,
    taxonomy_format,
)
from taxocaps.taxonomy.statements import Statement, parse_hier, parse_tsv
from taxocaps.taxonomy.terms import Term
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.taxonomy.writers import format_hier, format_tsv

EXPECTED = Taxonomy.from_edges([("Root", "A"), ("Root", "Bé"), ("A", "A1")], titles={"A": "First"})
TSV = "# topics\nRoot\tA\tFirst\n\nRoot\tBé\nA\tA1\n"
TEXTS = {
    "x.tsv": TSV,
    "x.csv": "parent,child,name\n,Root,\nRoot,A,First\nRoot,Bé,\n\nA,A1\n",
    "x.hier": (
        "parent: None child: Root child-description: Root\nparent: Root  child: A  child-description: First\n"
        "parent: Root  child: Bé  child-description: Bé\nparent: A  child: A1  child-description: A1\n"
    ),
    "x.json": '{"name": "Root", "children": [{"name": "A", "title": "First", "children": "A1"}, "B\\u00e9"]}',
    "x.yaml": "name: Root\nchildren:\n- {name: A, title: First, children: [A1]}\n- Bé\n",
    "x.ttl": (
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<Root> skos:narrower <A>, <Bé> . <A> skos:narrower <A1> ; skos:prefLabel "First" .\n'
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_format_is_told_by_its_suffix(tmp_path, name):
    path = tmp_path / name
    path.write_text(TEXTS[name], encoding="utf-8")
    assert read_taxonomy(path) == EXPECTED
    assert read_taxonomy(str(path)) == EXPECTED


@pytest.mark.parametrize("name", TEXTS)
def test_every_format_may_be_packed(tmp_path, name):
    for suffix, pack in ((".gz", gzip.compress), (".xz", lzma.compress)):
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(pack(TEXTS[name].encode("utf-8")))
        assert read_taxonomy(path) == EXPECTED


def test_a_named_format_wins_over_the_suffix(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(TSV, encoding="utf-8")
    assert read_taxonomy(path, format="tsv") == EXPECTED
    with pytest.raises(ConfigError, match="must be one of"):
        read_taxonomy(path, format="toml")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings_can_be_named(tmp_path, encoding):
    path = tmp_path / "x.tsv"
    path.write_text(TSV, encoding=encoding)
    assert read_taxonomy(path, encoding=encoding) == EXPECTED
    with pytest.raises(FileError, match=r"x\.tsv, line \d: not valid UTF-8"):
        read_taxonomy(path)


def test_another_encoding_is_told_with_the_command_that_makes_it_utf_8(tmp_path):
    for suffix, text in {"tsv": "Öl\tGas\n", "json": '{"Öl": ["Gas"]}'}.items():
        path = tmp_path / f"x.{suffix}"
        path.write_text(text, encoding="latin-1")
        remedy = f"save it as UTF-8: taxocaps taxonomy convert {path} NEW --encoding latin-1"
        with pytest.raises(FileError, match=re.escape(f"x.{suffix}, line 1: not valid UTF-8; {remedy}")):
            as_taxonomy(path)


def test_windows_line_ends_and_a_byte_order_mark_are_no_part_of_names(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_bytes(b"\xef\xbb\xbf" + TSV.replace("\n", "\r\n").encode("utf-8"))
    assert read_taxonomy(path) == EXPECTED


def test_roots_stand_in_file_order(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("b\tx\nz\na\tx\n")
    assert read_taxonomy(path).roots == ("b", "z", "a")


def test_the_first_problem_is_told_with_file_and_line_and_the_others_are_counted(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("a\tb\na\tb\nc\tc\n")
    with pytest.raises(TaxonomyError) as caught:
        read_taxonomy(path)
    assert str(caught.value) == (
        f"{path}, line 2: the edge a > b is given twice, first on line 1; remove one of the two (and 1 more problem); "
        f"list them with: taxocaps taxonomy check {path}"
    )
    path.write_text("a\tb\nc\tc\n")
    with pytest.raises(TaxonomyError) as caught:
        read_taxonomy(path)
    assert str(caught.value) == f"{path}, line 2: the label c is its own parent; remove this edge"


def test_a_scan_gives_everything_at_once(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("a\tb\tBee\na\tb\nc\tc\nz\n")
    scan = scan_taxonomy(path)
    assert scan.edges == (Edge("a", "b", 1), Edge("a", "b", 2), Edge("c", "c", 3))
    assert scan.labels == ("a", "b", "c", "z")
    assert scan.terms == {"b": (Term("Bee"),)}
    assert [problem.line for problem in scan.problems] == [2, 3]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("text", ["", "\n \n"])
def test_an_empty_file_is_an_error(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TaxonomyError) as caught:
        read_taxonomy(path)
    assert str(caught.value) == f"{path}: no labels found; a taxonomy needs at least one"


@pytest.mark.parametrize("name", TEXTS)
def test_missing_files_directories_and_broken_packing_are_told(tmp_path, name):
    with pytest.raises(FileError, match="no such file; check the path"):
        read_taxonomy(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(FileError, match="is a directory; give a file"):
        read_taxonomy(tmp_path / name)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(TEXTS[name].encode("utf-8"))[:-12])
    with pytest.raises(FileError, match="cut off"):
        read_taxonomy(packed)


def test_skos_options_reach_the_reader(tmp_path):
    path = tmp_path / "x.ttl"
    path.write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<a> skos:narrower <b> ; skos:notation "1" ; skos:prefLabel "Tier"@de .\n'
        '<b> skos:notation "2" ; skos:prefLabel "Hund"@de, "dog"@en .'
    )
    assert read_taxonomy(path, skos_label="notation").names == ("1", "2")
    assert read_taxonomy(path, skos_label="label", language="de").names == ("Tier", "Hund")
    assert [read_taxonomy(path).title("b", language) for language in ("de", "en")] == ["Hund", "dog"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.tsv", "tsv"),
        ("a.TSV.gz", "tsv"),
        ("a.txt", "tsv"),
        ("a.csv", "csv"),
        ("rcv1.topics.hier", "hier"),
        ("rcv1.topics.hier.orig", "hier"),
        ("a.json.zst", "json"),
        ("a.yml", "yaml"),
        ("a.yaml.xz", "yaml"),
        ("a.ttl", "skos"),
        ("a.rdf", "skos"),
        ("a.jsonld", "skos"),
    ],
)
def test_the_suffix_tells_the_format(name, expected):
    assert taxonomy_format(Path(name)) == expected


def test_a_format_that_is_named_wins():
    assert taxonomy_format(Path("a.json"), "skos") == "skos"
    assert taxonomy_format(Path("a"), "tsv") == "tsv"


def test_unknown_suffixes_and_names_are_refused_with_what_is_allowed():
    with pytest.raises(
        FileError,
        match=r"^a\.toml: '\.toml' is not the suffix of a taxonomy format; .*tsv, csv, hier, json, yaml, skos",
    ):
        taxonomy_format(Path("a.toml"))
    with pytest.raises(FileError, match="is not the suffix of a taxonomy format"):
        taxonomy_format(Path("a.gz"))
    with pytest.raises(ConfigError, match="must be one of tsv, csv, hier, json, yaml, skos; got 'toml'"):
        taxonomy_format(Path("a.tsv"), "toml")
    with pytest.raises(FileError, match=r"^a\.xlsx: .*save the sheet as CSV"):
        taxonomy_format(Path("a.xlsx"))


WORDS = st.from_regex(r"[a-zé0-9]+( [a-zé0-9]+)?", fullmatch=True).filter(lambda word: "child" not in word)
STATEMENTS = st.builds(Statement, st.none() | WORDS, WORDS, st.just("") | WORDS).filter(lambda s: s.title != s.child)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a\tb", Statement("a", "b")),
        ("a\tb\tthe title", Statement("a", "b", "the title")),
        ("a\tb\t", Statement("a", "b")),
        (" a x \t\u00a0b", Statement("a x", "b")),
        ("a", Statement(None, "a")),
        ("\ta\tthe title", Statement(None, "a", "the title")),
        ("\ta", Statement("", "a")),
        ("a\t", Statement("a", "")),
        ("", None),
        (" \t ", None),
        ("# a\tb", None),
        ("a\t#b", Statement("a", "#b")),
    ],
)
def test_tsv_lines(line, expected):
    assert parse_tsv(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("parent: None  child: Root            child-description: Root", Statement(None, "Root")),
        (
            "parent: Root  child: CCAT  child-description: CORPORATE/INDUSTRIAL ",
            Statement("Root", "CCAT", "CORPORATE/INDUSTRIAL"),
        ),
        ("parent: Root  child: CCAT", Statement("Root", "CCAT")),
        ("parent: a b child: c d child-description: e: f", Statement("a b", "c d", "e: f")),
        ("parent:  child: a", Statement("", "a")),
        ("  ", None),
    ],
)
def test_hier_lines(line, expected):
    assert parse_hier(line) == expected


@settings(deadline=None)
@given(STATEMENTS)
def test_lines_are_read_as_they_were_written(statement):
    assert parse_tsv(format_tsv(statement)) == statement
    assert parse_hier(format_hier(statement)) == statement


def test_all_problems_of_a_tsv_file_are_told_with_their_lines(tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_text("# topics\na\tb\n\ta\nb\tc\td\te\tf\nc\tc\n\na\tb\nb\t \nb\ta\n", encoding="utf-8")
    assert [str(problem) for problem in scan_taxonomy(path).problems] == [
        "line 2: the labels form a cycle: a > b > a (lines 2, 9); remove one of these edges",
        "line 3: blank label name; give every label a name",
        "line 4: 5 fields between tabs; give parent, child and at most a name and alternatives",
        "line 5: the label c is its own parent; remove this edge",
        "line 7: the edge a > b is given twice, first on line 2; remove one of the two",
        "line 8: blank label name; give every label a name",
    ]


def test_a_first_line_of_a_tsv_file_may_name_its_columns(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("id\ttitle\tparent\nD\tdogs\tA\nA\tanimals\t\n", encoding="utf-8")
    assert read_taxonomy(path) == Taxonomy.from_edges([("A", "D")], titles={"A": "animals", "D": "dogs"})


@pytest.mark.parametrize("mark", [",", ";"])
def test_a_tsv_file_with_another_delimiter_is_refused(tmp_path, mark):
    path = tmp_path / "x.tsv"
    path.write_text(f"sport{mark}football\nsport{mark}tennis\n", encoding="utf-8")
    with pytest.raises(TaxonomyError, match=rf"line 1: no line has a tab, and 'sport{mark}football' .*suffix .csv"):
        read_taxonomy(path)
    assert read_taxonomy(path, format="csv").edges == (("sport", "football"), ("sport", "tennis"))
    path.write_text("sport, outdoors\nhealth; safety\n", encoding="utf-8")
    assert read_taxonomy(path).names[-2:] == ("sport, outdoors", "health; safety")


def test_a_hier_file_is_read_line_by_line(tmp_path):
    path = tmp_path / "rcv1.topics.hier.orig"
    path.write_text(
        "parent: None child: Root child-description: Root\nnonsense\nparent: Root child: A child-description: x\n"
    )
    scan = scan_taxonomy(path)
    assert scan.edges == (Edge("Root", "A", 3),)
    assert scan.labels == ("Root", "A")
    assert scan.terms == {"A": (Term("x"),)}
    assert [str(problem) for problem in scan.problems] == [
        "line 2: not of the form `parent: X child: Y child-description: Z`; correct the line"
    ]


def test_a_blank_child_is_blank_and_not_its_description():
    assert parse_hier("parent: A child: child-description: q") == Statement("A", "", "q")


TOPICS = Taxonomy.from_edges([("Root", "a"), ("Root", "b"), ("a", "c"), ("b", "c")])
SOURCES = {
    "taxonomy": TOPICS,
    "flat": {"Root": ["a", "b"], "a": ["c"], "b": ("c",)},
    "flat, children first": {"b": ["c"], "a": ["c"], "Root": ["a", "b"]},
    "flat, sets": {"Root": {"b", "a"}, "a": {"c"}, "b": {"c"}},
    "nested": {"Root": {"a": {"c": {}}, "b": {"c": {}}}},
    "nested, short": {"Root": {"a": "c", "b": {"c": None}}},
    "nodes": {"name": "Root", "children": [{"name": "a", "children": ["c"]}, {"b": ["c"]}]},
    "networkx": networkx.DiGraph([("Root", "a"), ("Root", "b"), ("a", "c"), ("b", "c")]),
}


@pytest.mark.parametrize("read", [as_taxonomy, read_taxonomy])
@pytest.mark.parametrize("name", SOURCES)
def test_mappings_and_graphs_are_read(name, read):
    assert read(SOURCES[name]) == TOPICS


def test_a_path_is_read(tmp_path):
    path = tmp_path / "topics.json"
    path.write_text('{"Root": ["a", "b"], "a": ["c"], "b": ["c"]}')
    assert as_taxonomy(path) == as_taxonomy(str(path)) == TOPICS


def test_names_become_text():
    assert as_taxonomy({1: [2, 3.5], 2: [4]}).edges == (("1", "2"), ("1", "3.5"), ("2", "4"))
    assert as_taxonomy(networkx.DiGraph([(1, 2), (2, 4)])).edges == (("1", "2"), ("2", "4"))


def test_titles_come_from_nodes():
    graph = networkx.DiGraph([("Root", "a"), ("Root", "b")])
    graph.nodes["a"]["title"] = "First"
    found = as_taxonomy({"name": "Root", "children": [{"name": "a", "title": "First"}, "b"]})
    assert as_taxonomy(graph) == found
    assert found.titles == {"a": "First"}


def test_names_come_from_the_attributes_of_a_graph():
    graph = networkx.DiGraph([("Root", "a")])
    graph.nodes["a"].update(title=7, alternatives={"de": ["Erste"]}, notation="1", colour="red")
    assert as_taxonomy(graph).terms("a") == (Term("7"), Term("Erste", "alternative", "de"), Term("1", "notation"))
    graph.nodes["a"]["title"] = ["x"]
    with pytest.raises(TaxonomyError, match=r"^taxonomy: the `title` of a label must be text$"):
        as_taxonomy(graph)


def test_labels_without_edges_are_kept():
    graph = networkx.DiGraph([("a", "b")])
    graph.add_node("c")
    assert as_taxonomy(graph) == as_taxonomy({"a": ["b"], "c": []})
    assert as_taxonomy(graph).roots == ("a", "c")


def test_children_may_be_made_on_the_fly():
    class Numbers(Mapping):
        def __iter__(self):
            return iter(["all", "odd", "even"])

        def __len__(self):
            return 3

        def __getitem__(self, name):
            return {"all": ["odd", "even"], "odd": ["1", "3"], "even": ["2", "4"]}[name].copy()

    assert as_taxonomy(Numbers()).names == ("all", "odd", "1", "3", "even", "2", "4")


def test_a_mapping_may_be_deep_or_inside_itself():
    deep: dict = {}
    inner = deep
    for number in range(5_000):
        inner[f"n{number}"] = inner = {}
    assert len(as_taxonomy(deep)) == 5_000
    loop: dict = {}
    loop["a"] = {"b": loop}
    with pytest.raises(
        TaxonomyError, match=r"^taxonomy: the labels form a cycle: a > b > a; remove one of these edges$"
    ):
        as_taxonomy(loop)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "b"), ("b", "a")], "the labels form a cycle: a > b > a; remove one of these edges"),
        ([("a", "b"), ("b", "b")], "the label b is its own parent; remove this edge"),
        ([("a", " ")], "blank label name; give every label a name"),
        ([("(root)", "a")], "the name (root) is reserved for the common root of several roots; rename the label"),
        ([], "no labels found; a taxonomy needs at least one"),
    ],
)
def test_invalid_mappings_and_graphs_are_refused(edges, message):
    mapping: dict = {}
    for parent, child in edges:
        mapping.setdefault(parent, []).append(child)
    for value in (mapping, networkx.DiGraph(edges)):
        with pytest.raises(TaxonomyError) as caught:
            as_taxonomy(value)
        first, _, _ = str(caught.value).partition(" (and ")
        assert first == f"taxonomy: {message}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (networkx.Graph([("a", "b")]), "taxonomy: the graph is undirected; give a networkx.DiGraph with edges parent"),
        (networkx.MultiDiGraph([("a", "b"), ("a", "b")]), "taxonomy: the edge a > b is given twice; remove one"),
        ({"a": [None]}, "taxonomy: blank label name"),
        ({None: ["a"]}, "taxonomy: a key is null, a list or a mapping; a label's name must be text"),
        ({("a", "b"): ["c"]}, "taxonomy: a key is null, a list or a mapping; a label's name must be text"),
        (
            {"a": {"b": ["c"]}, "b": ["d"]},
            "taxonomy: the label 'b' has other children than before (not in both: 'c', 'd')",
        ),
        (7, "a taxonomy must be a file, a mapping, a networkx.DiGraph or a Taxonomy; got int"),
        (None, "a taxonomy must be a file, a mapping, a networkx.DiGraph or a Taxonomy; got NoneType"),
    ],
)
def test_other_values_are_refused(value, message):
    with pytest.raises(TaxonomyError) as caught:
        as_taxonomy(value)
    assert str(caught.value).startswith(message)
