"""JSON and YAML keep their lines and their scalars as written."""

import json
import sys

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from taxocaps.taxonomy.markup import ListNode, MappingNode, MarkupError, Scalar, parse_json, parse_yaml

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
        (parse_yaml, "a: &x {b: 1}\nc:\n  <<: *x", 3, "YAML's merge key << is not read here; write the labels out"),
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
    with pytest.raises(MarkupError, match="nested too deep; write such a taxonomy as parent<TAB>child lines"):
        parse(text)


def test_deep_nesting_that_no_one_needs_is_still_read():
    depth = 300
    assert sys.getrecursionlimit() > depth
    assert lines(parse_json("[" * depth + "1" + "]" * depth)) == [("1", 1)]
    assert lines(parse_yaml("- " * depth + "1")) == [("1", 1)]
