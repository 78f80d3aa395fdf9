"""Taxonomies from tables with named columns."""

import pytest

from taxocaps.errors import TaxonomyError
from taxocaps.taxonomy.readers import read_taxonomy, scan_taxonomy
from taxocaps.taxonomy.terms import Term
from taxocaps.taxonomy.tree import Taxonomy

SPORTS = Taxonomy.from_edges([("sport", "football"), ("sport", "tennis")])
CODES = Taxonomy.from_edges([("S", "F"), ("S", "T")], titles={"S": "sport", "F": "football", "T": "tennis"})


@pytest.fixture
def read(tmp_path):
    def write_and_read(text, **options):
        path = tmp_path / "x.csv"
        path.write_bytes(text.encode(options.get("encoding", "utf-8")))
        return read_taxonomy(path, **options)

    return write_and_read


@pytest.mark.parametrize(
    "text",
    [
        "parent,child\nsport,football\nsport,tennis\n",
        "sport,football\nsport,tennis\n",
        "child;parent\nfootball;sport\ntennis;sport\n",
        "Label\tParent\r\nfootball\tsport\r\ntennis\tsport\r\n",
        "name|parent_name|notes\nfootball|sport|x\ntennis|sport|y\n",
        "\ufeff Category , Broader Term\n\n football, sport \n,\n tennis ,sport\n",
    ],
)
def test_columns_are_found_by_their_names_or_places(read, text):
    assert set(read(text).edges) == set(SPORTS.edges)


@pytest.mark.parametrize(
    "text",
    [
        "id,name,parent_id\nS,sport,\nF,football,S\nT,tennis,S\n",
        "parent,code,title\n,S,sport\nsport,F,football\nsport,T,tennis\n",  # parents by their names
    ],
)
def test_labels_have_names(read, text):
    assert read(text) == CODES


def test_alternative_names_and_cells_with_delimiters_quotes_and_line_breaks_are_read(read):
    text = 'parent,child,name,alternatives\n,"a, b","say ""yes""","one | two"\n"a, b",c,"d\nwas e"\n,f\n'
    found = read(text)
    assert found.edges == (("a, b", "c"),)
    assert found.terms("a, b") == (Term('say "yes"'), Term("one", "alternative"), Term("two", "alternative"))
    assert "f" in found.names


@pytest.mark.parametrize("text", ["label\narts, crafts\nsport\n", "arts\nsport\n", '"arts, crafts"\n"sport"\n'])
def test_one_column_is_a_list_of_labels(read, text):
    found = read(text)
    assert not found.edges or found.roots == found.names[:1]
    assert "sport" in found.names
    assert {"arts", "arts, crafts"} & set(found.names)
    assert "label" not in found.names


def test_a_label_with_several_parents_has_several_rows(read):
    found = read("id,parent\nx,a\nx,b\n")
    assert set(found.parents("x")) == {"a", "b"}


def test_other_encodings_are_read(read):
    assert "Fußball" in read("parent;child\nSport;Fußball\n", encoding="cp1252").names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\nb,a\n", "line 1: the labels form a cycle"),
        ("parent,child\na,b\na,\n", "line 3: blank label name"),
        ("parent,child\na,b\na,b\n", "line 3: the edge a > b is given twice"),
        ("a,b,c,d,e\n", "line 1: 5 columns without names; name those that matter parent, child, name, alternatives"),
        ("", "no labels found"),
        ('parent,child\na,b\na,"' + "c\nd\n" * 50_000, r"line 3: field larger than field limit .*quotation mark"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(read, text, message):
    with pytest.raises(TaxonomyError, match=message):
        read(text)


def test_lines_are_those_of_the_file_where_cells_have_several(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('\n\nparent,child,name\na,b,"one\ntwo"\na,a,\n')
    assert [problem.line for problem in scan_taxonomy(path).problems] == [6]
