"""Problems in the edges of a taxonomy, including cycles."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxocaps.taxonomy.problems import (
    VIRTUAL_ROOT,
    Edge,
    Problem,
    ScanBuilder,
    find_cycles,
    find_problems,
    name_problem,
    summary,
)
from taxocaps.taxonomy.terms import Term

LABELS = st.sampled_from("abcdef")


def messages(*pairs):
    edges = [Edge(parent, child, line) for line, (parent, child) in enumerate(pairs, 1)]
    return [str(problem) for problem in find_problems(edges)]


@settings(deadline=None)  # the first cycle imports SciPy
@given(st.lists(st.tuples(LABELS, LABELS), max_size=12))
def test_a_list_of_edges_is_sound_if_and_only_if_it_is_an_acyclic_graph_without_repeats(pairs):
    is_sound = len(set(pairs)) == len(pairs) and nx.is_directed_acyclic_graph(nx.DiGraph(pairs))
    assert (messages(*pairs) == []) == is_sound


@settings(deadline=None)  # the first cycle imports SciPy
@given(st.lists(st.tuples(LABELS, LABELS), max_size=12))
def test_every_self_loop_and_every_repeat_is_told_on_its_line(pairs):
    found = messages(*pairs)
    loops = [line for line, (parent, child) in enumerate(pairs, 1) if parent == child]
    repeats = [line for line, pair in enumerate(pairs, 1) if pair in pairs[: line - 1] and pair[0] != pair[1]]
    assert [int(text.split(":")[0][5:]) for text in found if "own parent" in text] == loops
    assert [int(text.split(":")[0][5:]) for text in found if "given twice" in text] == repeats


def test_a_repeat_names_the_first_line():
    assert messages(("a", "b"), ("a", "c"), ("a", "b")) == [
        "line 3: the edge a > b is given twice, first on line 1; remove one of the two"
    ]


def test_a_label_named_twice_is_a_repeat():
    assert messages((None, "a"), (None, "a")) == [
        "line 2: the label a is given twice, first on line 1; remove one of the two"
    ]


def test_a_label_may_be_named_and_have_edges():
    assert messages((None, "a"), ("a", "b"), (None, "b")) == []


def test_a_cycle_names_its_labels_and_lines():
    assert messages(("x", "a"), ("a", "b"), ("b", "c"), ("b", "d"), ("c", "a")) == [
        "line 2: the labels form a cycle: a > b > c > a (lines 2, 3, 5); remove one of these edges"
    ]


def test_each_of_two_cycles_is_told():
    found = messages(("a", "b"), ("p", "q"), ("q", "p"), ("b", "a"))
    assert [text.split(" (")[0] for text in found] == [
        "line 1: the labels form a cycle: a > b > a",
        "line 2: the labels form a cycle: p > q > p",
    ]


def test_a_long_cycle_is_told_in_short():
    labels = [f"label{number}" for number in range(5_000)]
    (found,) = messages(*zip(labels, [*labels[1:], labels[0]], strict=True))
    assert len(found) < 500
    assert "label0 > label1 >" in found
    assert "(4,990 more) > label0" in found


def test_a_name_that_would_break_the_line_is_quoted():
    (found,) = messages(("a\nb", "a\nb"))
    assert found == r"line 1: the label 'a\nb' is its own parent; remove this edge"


def test_problems_without_lines_say_no_line():
    assert [str(problem) for problem in find_problems([Edge("a", "b"), Edge("b", "a"), Edge("a", "b")])] == [
        "the edge a > b is given twice; remove one of the two",
        "the labels form a cycle: a > b > a; remove one of these edges",
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "blank"),
        (" \t", "blank"),
        ("\u00a0", "blank"),
        (VIRTUAL_ROOT, "reserved for"),
        ("a\ud83d", "surrogate"),
        (7, "text"),
    ],
)
def test_bad_names_are_told_in_printable_words(name, reason):
    problem = name_problem(name)
    assert reason in problem
    assert problem.isprintable()
    assert len(find_problems([Edge("a", name, 4)])) == 1
    assert len(find_problems([Edge(name, "a", 4)])) == 1


@pytest.mark.parametrize("name", ["0", "a b", " a", "root", "é\U0001f600", "a\tb"])
def test_other_names_are_good(name):
    assert name_problem(name) is None


def test_the_summary_counts_what_it_leaves_out():
    first, other = Problem(3, "one"), Problem(None, "two")
    assert summary([first]) == "one"
    assert summary([first, other]) == "one (and 1 more problem)"
    assert summary([first, other, other]) == "one (and 2 more problems)"


def test_labels_come_in_order_of_first_mention():
    builder = ScanBuilder()
    builder.add("b", "c", 1)
    builder.add(None, "z", 2, [Term("last")])
    builder.add("a", "c", 3)
    scan = builder.finish()
    assert scan.labels == ("b", "c", "z", "a")
    assert scan.edges == (Edge("b", "c", 1), Edge("a", "c", 3))
    assert scan.terms == {"z": (Term("last"),)}
    assert scan.problems == ()


def test_problems_of_readers_and_of_the_whole_come_by_line():
    builder = ScanBuilder()
    builder.add("a", "a", 5)
    builder.add_problem(7, "odd")
    builder.add_problem(2, "odder")
    assert [problem.line for problem in builder.finish().problems] == [2, 5, 7]


def test_two_preferred_names_for_one_label_are_a_problem():
    builder = ScanBuilder()
    builder.add("a", "c", 1, [Term("one")])
    builder.add("b", "c", 2, [Term("one"), Term("eins", language="de"), Term("two", "alternative")])
    builder.add("d", "c", 3)
    builder.add("e", "c", 4, [Term("two")])
    assert [str(problem) for problem in builder.finish().problems] == [
        "line 4: the label 'c' has two preferred names, 'one' and 'two'; keep one"
    ]


def test_nothing_is_a_problem_but_only_if_there_is_no_other():
    assert [problem.message for problem in ScanBuilder().finish().problems] == [
        "no labels found; a taxonomy needs at least one"
    ]
    builder = ScanBuilder()
    builder.add_problem(1, "odd")
    assert len(builder.finish().problems) == 1


LABELS = st.integers(0, 9).map(str)
EDGES = st.lists(st.tuples(LABELS, LABELS).filter(lambda pair: pair[0] != pair[1]), max_size=25, unique=True)


@settings(deadline=None)  # the first cycle imports SciPy
@given(EDGES)
def test_one_cycle_is_found_in_each_strongly_connected_component(edges):
    graph = nx.DiGraph(edges)
    expected = {frozenset(knot) for knot in nx.strongly_connected_components(graph) if len(knot) > 1}
    cycles = find_cycles(edges)
    assert len(cycles) == len(expected)
    assert {knot for knot in expected for cycle in cycles if set(cycle) <= knot} == expected
    for cycle in cycles:
        assert len(set(cycle)) == len(cycle) > 1
        assert all(graph.has_edge(a, b) for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


@settings(deadline=None)
@given(EDGES)
def test_a_cycle_is_the_shortest_through_its_first_label(edges):
    graph = nx.DiGraph(edges)
    for cycle in find_cycles(edges):
        back = [
            nx.shortest_path_length(graph, child, cycle[0])
            for child in graph[cycle[0]]
            if nx.has_path(graph, child, cycle[0])
        ]
        assert len(cycle) == min(back) + 1


def test_labels_above_and_below_a_cycle_are_not_part_of_it():
    assert find_cycles([("top", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "leaf"), ("leaf", "end")]) == [
        ["a", "b", "c"]
    ]


def test_a_cycle_as_long_as_the_file_is_found():
    labels = [str(number) for number in range(20_000)]
    assert find_cycles(zip(labels, [*labels[1:], labels[0]], strict=True)) == [labels]


def test_an_acyclic_graph_has_none():
    assert find_cycles([("a", "b"), ("a", "c"), ("b", "c")]) == []
    assert find_cycles([]) == []
