"""Reading from real files of every format, packed or not, good or bad."""

import gzip
import lzma

import pytest

from taxocaps.errors import ConfigError, FileError, TaxonomyError
from taxocaps.taxonomy import Edge, Taxonomy
from taxocaps.taxonomy.readers import read_taxonomy, scan_taxonomy

EXPECTED = Taxonomy.from_edges([("Root", "A"), ("Root", "Bé"), ("A", "A1")], titles={"A": "First"})
TSV = "# topics\nRoot\tA\tFirst\n\nRoot\tBé\nA\tA1\n"
TEXTS = {
    "x.tsv": TSV,
    "x.hier": (
        "parent: None child: Root child-description: Root\nparent: Root  child: A  child-description: First\n"
        "parent: Root  child: Bé  child-description: Bé\nparent: A  child: A1  child-description: A1\n"
    ),
    "x.json": '{"name": "Root", "children": [{"name": "A", "title": "First", "children": "A1"}, "B\\u00e9"]}',
    "x.yaml": "name: Root\nchildren:\n- {name: A, title: First, children: [A1]}\n- Bé\n",
    "x.ttl": (
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<Root> skos:narrower <A>, <Bé> . <A> skos:narrower <A1> ; skos:prefLabel "First"@en .\n'
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
    assert scan.titles == {"b": "Bee"}
    assert [problem.line for problem in scan.problems] == [2, 3]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("text", ["", "\n \n"])
def test_an_empty_file_is_an_error(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TaxonomyError) as caught:
        read_taxonomy(path)
    assert str(caught.value) == f"{path}: there is no label in it; a taxonomy needs at least one"


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
    assert read_taxonomy(path, language="de").titles == {"a": "Tier", "b": "Hund"}
