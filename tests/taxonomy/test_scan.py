"""What readers find comes out in file order, with the problems by line."""

from taxocaps.taxonomy.problems import Edge
from taxocaps.taxonomy.scan import ScanBuilder


def test_labels_come_in_order_of_first_mention():
    builder = ScanBuilder()
    builder.state("b", "c", 1)
    builder.state(None, "z", 2, title="last")
    builder.state("a", "c", 3)
    scan = builder.finish()
    assert scan.labels == ("b", "c", "z", "a")
    assert scan.edges == (Edge("b", "c", 1), Edge("a", "c", 3))
    assert scan.titles == {"z": "last"}
    assert scan.problems == ()


def test_problems_of_readers_and_of_the_whole_come_by_line():
    builder = ScanBuilder()
    builder.state("a", "a", 5)
    builder.problem(7, "odd")
    builder.problem(2, "odder")
    assert [problem.line for problem in builder.finish().problems] == [2, 5, 7]


def test_two_titles_for_one_label_are_a_problem():
    builder = ScanBuilder()
    builder.state("a", "c", 1, title="one")
    builder.state("b", "c", 2, title="one")
    builder.state("d", "c", 3)
    builder.state("e", "c", 4, title="two")
    assert [str(problem) for problem in builder.finish().problems] == [
        "line 4: the label 'c' has two titles, 'one' and 'two'; keep one"
    ]


def test_nothing_is_a_problem_but_only_if_there_is_no_other():
    assert [problem.message for problem in ScanBuilder().finish().problems] == [
        "there is no label in it; a taxonomy needs at least one"
    ]
    builder = ScanBuilder()
    builder.problem(1, "odd")
    assert len(builder.finish().problems) == 1
