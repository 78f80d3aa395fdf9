"""Nested files: what counts as a label, a parent, a repetition, a mistake."""

import json

import pytest

from taxocaps.taxonomy.markup import parse_json, parse_yaml
from taxocaps.taxonomy.nested import scan_nested

FAMILY = [("A", "A1"), ("A", "A2"), ("Root", "A"), ("Root", "B")]


@pytest.fixture
def scan(tmp_path):
    def read(text, parse=parse_yaml):
        path = tmp_path / "taxonomy"
        path.write_text(text, encoding="utf-8")
        return scan_nested(path, "utf-8", parse)

    return read


def edges(scan):
    return [(edge.parent, edge.child) for edge in scan.edges]


def told(scan):
    return [str(problem) for problem in scan.problems]


@pytest.mark.parametrize(
    "value",
    [
        {"Root": {"A": ["A1", "A2"], "B": None}},
        {"Root": [{"A": ["A1", "A2"]}, "B"]},
        {"Root": {"A": {"A1": None, "A2": []}, "B": {}}},
        {"Root": ["A", "B"], "A": ["A1", "A2"]},
        {
            "name": "Root",
            "children": [{"name": "A", "children": ["A1", {"name": "A2"}]}, {"name": "B", "children": None}],
        },
        [{"name": "Root", "children": {"A": ["A1", "A2"], "B": None}}],
    ],
)
def test_the_same_tree_in_many_ways(scan, value):
    for found in (
        scan(json.dumps(value), parse_json),
        scan(json.dumps(value, indent="\t"), parse_json),
        scan(json.dumps(value)),
    ):
        assert told(found) == []
        assert sorted(edges(found)) == FAMILY
        assert [child for parent, child in edges(found) if parent == "Root"] == ["A", "B"]


def test_one_child_may_be_given_without_a_list(scan):
    assert edges(scan("Root: A\nA: {A1: A11}")) == [("Root", "A"), ("A", "A1"), ("A1", "A11")]


def test_several_roots_stand_in_a_list_or_a_mapping(scan):
    assert scan("[b, {a: [c]}, z]").labels == ("b", "a", "z", "c")
    assert scan("{b: null, a: [c], z: null}").labels == ("b", "a", "z", "c")


def test_titles_belong_to_nodes(scan):
    found = scan(
        '{"name": 2020, "title": "the year", "children": [{"name": "no", "title": 7}, {"name": "x", "title": null}]}'
    )
    assert (edges(found), found.titles, told(found)) == (
        [("2020", "no"), ("2020", "x")],
        {"2020": "the year", "no": "7"},
        [],
    )


def test_names_that_look_like_other_types_are_taken_as_written(scan):
    assert edges(scan("2020: [no, 1.50, true, 'null', 2020-01-01]")) == [
        ("2020", name) for name in ("no", "1.50", "true", "null", "2020-01-01")
    ]


def test_labels_called_like_the_keys_of_nodes_are_labels_when_they_hold_labels(scan):
    assert edges(scan("{top: {name: [x], title: null}}")) == [("top", "name"), ("top", "title"), ("name", "x")]
    assert edges(scan("{children: [toys], adults: [cars]}")) == [("children", "toys"), ("adults", "cars")]


def test_a_label_below_several_parents_has_its_children_in_full_or_not_at_all(scan):
    for second in ("C", "C: null", "C: [D, E]", "C: [E, D]", "C: [{D: null}, E]"):
        found = scan(f"- A: [C: [D, E]]\n- B: [{second}]\n- Z: [C]")
        assert told(found) == [], second
        assert edges(found) == [("A", "C"), ("C", "D"), ("C", "E"), ("B", "C"), ("Z", "C")]
    assert sorted(edges(scan("- A: [C]\n- B: [C: [D, E]]"))) == [("A", "C"), ("B", "C"), ("C", "D"), ("C", "E")]


def test_other_children_in_another_place_are_a_problem(scan):
    assert told(scan("Sports:\n  News: [local]\nPolitics:\n  News: [local, world]\n")) == [
        "line 4: the label 'News' has other children than on line 2 (not in both: 'world'); "
        "give the same children, or none here, or another name if it is another label"
    ]


def test_the_same_child_twice_below_one_parent_is_a_problem(scan):
    assert told(scan("A:\n- b\n- c\n- b\n")) == [
        "line 4: the edge A > b is given twice, first on line 2; remove one of the two"
    ]
    assert told(scan('{"A": {"b": null,\n"b": ["x"]}}', parse_json)) == [
        "line 2: the edge A > b is given twice, first on line 1; remove one of the two"
    ]
    assert told(scan("- A\n- A")) == ["line 2: the label A is given twice, first on line 1; remove one of the two"]


def test_cycles_and_self_loops_are_told_with_lines(scan):
    assert told(scan("a:\n  b:\n  - a\n")) == [
        "line 2: the labels form a cycle: a > b > a (lines 2, 3); remove one of these edges"
    ]
    assert told(scan("a:\n- a\n")) == ["line 2: the label a is its own parent; remove this edge"]
    assert "own parent" in told(scan("&x {a: *x}"))[0]


def test_aliases_repeat_a_family(scan):
    found = scan("A: &kids [x, {y: [z]}]\nB: *kids\nC: *kids\n")
    assert told(found) == []
    assert sorted(edges(found)) == sorted([(p, c) for p in "ABC" for c in "xy"] + [("y", "z")])


def test_aliases_that_multiply_are_read_in_no_time(scan):
    layers = [f"a{n}: &a{n} {{x{n}: *a{n - 1}, y{n}: *a{n - 1}}}" for n in range(1, 60)]
    found = scan("\n".join(["a0: &a0 [end]", *layers]))
    assert told(found) == []
    assert ("x59", "y58") in edges(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:\n- [b, c]\n", "line 2: a list directly inside a list; give the inner one a label"),
        ("a:\n- b\n- null\n", 'line 3: blank label name; if the label is called null, write "null"'),
        ("a:\n- ''\n", "line 2: blank label name; give every label a name"),
        ("a:\n  ? [b, c]\n  : d\n", "line 2: a key that is null, a list or a mapping; a label's name is text"),
        ("a:\n  null: d\n", "line 2: a key that is null, a list or a mapping; a label's name is text"),
        ("- name: a\n  id: 7\n", "line 2: unknown key 'id' beside `name`; allowed: name, title, children"),
        ("- name: a\n  name: b\n", "line 2: the key `name` is given twice for one label; keep one"),
        ("- b\n- name:\n  children: [c]\n", "line 2: the `name` of a label must be text"),
        ("- name: a\n  title: [x]\n", "line 2: the `title` of a label must be text"),
        ("a: [b\n", "line 1: not valid YAML: did not find expected ',' or ']'"),
        ('"\\uD83D": [b]', "line 1: not valid YAML: found invalid Unicode character escape code"),
        ("", "there is no label in it; a taxonomy needs at least one"),
        ("# only a remark\n", "there is no label in it; a taxonomy needs at least one"),
        ("[]", "there is no label in it; a taxonomy needs at least one"),
    ],
)
def test_mistakes_are_told_with_their_line(scan, text, expected):
    assert told(scan(text)) == [expected]


def test_half_a_surrogate_pair_in_json_is_told(scan):
    (found,) = told(scan('{"a": [\n"\\ud83d"]}', parse_json))
    assert found == r"line 2: the label name '\ud83d' holds half a surrogate pair, which is no character; correct it"
