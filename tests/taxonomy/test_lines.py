"""The line formats: what each line says, and which lines are refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxocaps.taxonomy.lines import Statement, format_hier, format_tsv, parse_hier, parse_tsv, scan_lines
from taxocaps.taxonomy.problems import Edge

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
    path.write_text("# topics\na\tb\n\ta\nb\tc\td\te\nc\tc\n\na\tb\nb\t \nb\ta\n", encoding="utf-8")
    assert [str(problem) for problem in scan_lines(path, "utf-8", parse_tsv).problems] == [
        "line 2: the labels form a cycle: a > b > a (lines 2, 9); remove one of these edges",
        "line 3: blank label name; give every label a name",
        "line 4: 4 fields between tabs; give parent, child and at most a title",
        "line 5: the label c is its own parent; remove this edge",
        "line 7: the edge a > b is given twice, first on line 2; remove one of the two",
        "line 8: blank label name; give every label a name",
    ]


def test_a_hier_file_is_read_line_by_line(tmp_path):
    path = tmp_path / "rcv1.topics.hier.orig"
    path.write_text(
        "parent: None child: Root child-description: Root\nnonsense\nparent: Root child: A child-description: x\n"
    )
    scan = scan_lines(path, "utf-8", parse_hier)
    assert scan.edges == (Edge("Root", "A", 3),)
    assert scan.labels == ("Root", "A")
    assert scan.titles == {"A": "x"}
    assert [str(problem) for problem in scan.problems] == [
        "line 2: not of the form `parent: X child: Y child-description: Z`; correct the line"
    ]


def test_a_blank_child_is_blank_and_not_its_description():
    assert parse_hier("parent: A child: child-description: q") == Statement("A", "", "q")
