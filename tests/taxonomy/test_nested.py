"""Nested taxonomies and the parsers of JSON and YAML."""

import json
import sys

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from taxocaps.taxonomy.nested import ListNode, MappingNode, MarkupError, Scalar, parse_json, parse_yaml, scan_nested
from taxocaps.taxonomy.terms import Term

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
    assert (edges(found), found.terms, told(found)) == (
        [("2020", "no"), ("2020", "x")],
        {"2020": (Term("the year"),), "no": (Term("7"),)},
        [],
    )


def test_nodes_have_names_of_all_kinds_and_languages(scan):
    found = scan(
        """
        name: D
        title: dogs
        titles: {DE: Hunde, no: hunder, fr: null}
        alternatives: {"": hounds, de: [Köter, Wauwau]}
        hidden: [dgos, " dogs\ta ", ""]
        notation: 599.77
        """
    )
    assert told(found) == []
    assert found.terms == {
        "D": (
            Term("dogs"),
            Term("Hunde", language="de"),
            Term("hunder", language="no"),
            Term("hounds", "alternative"),
            Term("Köter", "alternative", "de"),
            Term("Wauwau", "alternative", "de"),
            Term("dgos", "hidden"),
            Term("dogs a", "hidden"),
            Term("599.77", "notation"),
        )
    }


def test_a_label_in_several_places_has_the_names_of_all(scan):
    found = scan("- {name: A, children: [{name: C, title: see}]}\n- B: [{name: C, alternatives: [sea]}]")
    assert found.terms == {"C": (Term("see"), Term("sea", "alternative"))}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("title: [x]", "the `title` of a label must be text"),
        ("titles: x", "the `titles` of a label must be a mapping of languages to names"),
        ("titles: {en: [x, y]}", "`titles` must give a name, or a mapping of languages to such values"),
        ("alternatives: [[x]]", "`alternatives` must give a name or a list of names, or a mapping of languages"),
        ("alternatives: {en: {x: y}}", "`alternatives` must give a name or a list of names, or a mapping of languages"),
        ("hidden: {[a]: x}", "`hidden` must give a name or a list of names, or a mapping of languages to such values"),
        (
            "alternatives: {e n: x}",
            "the name 'x' of the label 'b' has the language 'e n'; give a tag such as en or pt-br",
        ),
        ("titles: {en: x, EN: y}", "the label 'b' has two preferred names in 'en', 'x' and 'y'; keep one"),
        (
            "name2: x",
            "unknown key 'name2' beside `name`; allowed: name, title, titles, alternatives, hidden, notation, ",
        ),
    ],
)
def test_wrong_names_are_told_with_their_line(scan, line, expected):
    (found,) = told(scan(f"name: a\nchildren:\n- {{name: b, {line}}}\n"))
    assert found.startswith(f"line 3: {expected}")


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
        ("a:\n  ? [b, c]\n  : d\n", "line 2: a key is null, a list or a mapping; a label's name must be text"),
        ("a:\n  null: d\n", "line 2: a key is null, a list or a mapping; a label's name must be text"),
        ("- name: a\n  name: b\n", "line 2: the key `name` is given twice for one label; keep one"),
        ("- b\n- name:\n  children: [c]\n", "line 2: the `name` of a label must be text"),
        ("- name: a\n  title: [x]\n", "line 2: the `title` of a label must be text"),
        ("a: [b\n", "line 1: not valid YAML: did not find expected ',' or ']'"),
        ('"\\uD83D": [b]', "line 1: not valid YAML: found invalid Unicode character escape code"),
        ("", "no labels found; a taxonomy needs at least one"),
        ("# only a remark\n", "no labels found; a taxonomy needs at least one"),
        ("[]", "no labels found; a taxonomy needs at least one"),
    ],
)
def test_mistakes_are_told_with_their_line(scan, text, expected):
    assert told(scan(text)) == [expected]


def test_half_a_surrogate_pair_in_json_is_told(scan):
    (found,) = told(scan('{"a": [\n"\\ud83d"]}', parse_json))
    assert (
        found == r"line 2: the label name '\ud83d' contains half a surrogate pair, which is not a character; correct it"
    )


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def plain(node):
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    return {plain(key): plain(value) for key, value in node.pairs()}


def lines(node):
    """Every scalar with its line."""
    if isinstance(node, Scalar):
        return [(node.text, node.line)]
    return [found for item in node.items for found in lines(item)]


@settings(deadline=None)
@given(VALUES, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_json_is_read_as_the_standard_library_reads_it(value, indent, is_ascii):
    assert plain(parse_json(json.dumps(value, indent=indent, ensure_ascii=is_ascii))) == value


@settings(deadline=None)
@given(VALUES)
def test_yaml_is_read_as_pyyaml_reads_it(value):
    text = yaml.dump(value, Dumper=yaml.SafeDumper, allow_unicode=True)
    assert plain(parse_yaml(text)) == yaml.safe_load(text)


def test_scalars_stay_as_they_are_written():
    assert plain(parse_json('[1.50, 1e3, -0, true, null, "null", 12345678901234567890]')) == [
        "1.50", "1e3", "-0", "true", None, "null", "12345678901234567890",
    ]  # fmt: skip
    assert plain(parse_yaml("[1.50, 0x1F, no, 2020-01-01, null, ~, 'null', '', !!str null]")) == [
        "1.50", "0x1F", "no", "2020-01-01", None, None, "null", "", "null",
    ]  # fmt: skip


def test_lines_are_counted_from_one():
    assert lines(parse_json('{\n\t"a": [\n\n"b\\n",\r\n1], "c": {}}')) == [("a", 2), ("b\n", 4), ("1", 5), ("c", 5)]
    assert lines(parse_yaml("# top\na:\n- b\n\n- >\n  c\n  d\n- e\n")) == [("a", 2), ("b", 3), ("c d\n", 5), ("e", 8)]
    assert parse_json("\n[\n{\n}\n]").items[0].line == 3
    assert parse_yaml("a:\n- x: 1\n- - 2\n").pairs()[0][1].items[1].line == 3


def test_repeated_keys_are_kept():
    for parse in (parse_json, parse_yaml):
        assert [key.text for key, _ in parse('{"a": 1, "b": 2, "a": 3}').pairs()] == ["a", "b", "a"]


def test_surrogate_pairs_are_one_character_in_json():
    assert parse_json(r'"\ud83d\ude00 \/"').text == "\U0001f600 /"


def test_aliases_stand_for_the_same_node_even_inside_itself():
    node = parse_yaml("&top {a: &x [1], b: *x, c: *top}")
    (_, first), (_, second), (_, third) = node.pairs()
    assert first is second
    assert third is node
    assert isinstance(node, MappingNode)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n...\n", "null"])
def test_empty_yaml_is_null(text):
    assert plain(parse_yaml(text)) is None


@pytest.mark.parametrize(
    ("parse", "text", "line", "message"),
    [
        (parse_json, '{"a": 1,\n"b" 2}', 2, "not valid JSON: Expecting ':' delimiter"),
        (parse_json, "[1]\n]", 2, "not valid JSON: Extra data"),
        (parse_json, "", 1, "not valid JSON: Expecting value"),
        (parse_yaml, "a: [1,\n 2", 2, "not valid YAML: did not find expected ',' or ']'"),
        (parse_yaml, "a:\n\tb: c", 2, "not valid YAML: found character that cannot start any token"),
        (parse_yaml, "é: 1\nb: 2\x07", 2, "not valid YAML: the character #x0007 is not allowed"),
        (parse_yaml, "a\n---\nb", 3, "a second YAML document; keep one in a file"),
        (parse_yaml, "a: 1\nb: *c", 2, "not valid YAML: *c is not defined above"),
        (parse_yaml, "a: &x {b: 1}\nc:\n  <<: *x", 3, "YAML's merge key << is not supported; write the labels out"),
    ],
)
def test_what_is_not_well_formed_is_told_with_its_line(parse, text, line, message):
    with pytest.raises(MarkupError) as caught:
        parse(text)
    assert (caught.value.line, str(caught.value)) == (line, message)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_json, "[" * 100_000 + "]" * 100_000),
        (parse_json, '{"a":' * 100_000 + "1" + "}" * 100_000),
        (parse_yaml, "- " * 100_000 + "a"),
        (parse_yaml, "[" * 100_000 + "]" * 100_000),
        (parse_yaml, "{a: " * 100_000 + "}" * 100_000),
    ],
)
def test_very_deep_nesting_is_refused_and_not_a_crash(parse, text):
    with pytest.raises(MarkupError, match="nested too deep; write this taxonomy as parent<TAB>child lines"):
        parse(text)


def test_deep_nesting_that_no_one_needs_is_still_read():
    depth = 300
    assert sys.getrecursionlimit() > depth
    assert lines(parse_json("[" * depth + "1" + "]" * depth)) == [("1", 1)]
    assert lines(parse_yaml("- " * depth + "1")) == [("1", 1)]
