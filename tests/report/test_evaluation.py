"""Evaluations as people see them."""

import io
import re

import numpy as np
import pytest
from rich.console import Console
from scipy.sparse import csr_array

from taxocaps.metrics.evaluation import evaluate
from taxocaps.report.evaluation import evaluation_markdown, evaluation_tables

NAMES = ("[red]rare[/red]", "often", "a label whose name is much longer than any window would like to show in full")


def printed(table, width=100):
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


@pytest.fixture
def evaluation():
    truth = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 1, 0]], bool)
    scores = np.array([[0.9, 0.8, 0.1], [0.2, 0.7, 0.6], [0.1, 0.3, 0.8], [0.2, 0.9, 0.2]], np.float32)
    return evaluate(
        csr_array(truth),
        csr_array(scores >= 0.5),
        names=NAMES,
        levels=[1, 1, 2],
        closure=csr_array(np.eye(3, dtype=bool)),
        scores=scores,
        unseen={"new": 2},
    )


@pytest.fixture
def bare():
    labels = csr_array(np.array([[True, False]]))
    return evaluate(labels, labels, names=["a", "b"])


def test_the_summary_shows_every_figure(evaluation):
    summary = printed(evaluation_tables(evaluation)[0])
    rows = {line[:20].strip(): line[20:].split() for line in summary.splitlines()}
    # 5 right of 6 predicted, 6 true and 2 that the model does not know: 5/6, 5/8, 10/14.
    assert rows["micro"] == ["0.8333", "0.6250", "0.7143"]
    for name in ("macro", "samples", "hierarchical"):
        assert len(rows[name]) == 3
    assert len(rows["macro, F1 of means"]) == 1
    ranking = evaluation.ranking
    for k in (1, 3, 5):
        figures = (ranking.precision[k], ranking.recall[k], ranking.ndcg[k])
        assert rows[f"@{k}"] == [f"{figure:.4f}" for figure in figures]
    assert f"calibration error: {evaluation.calibration_error:.5f}" in summary
    assert "documents: 4" in summary
    assert "does not know: 1, missed 2 times" in re.sub(r"\s+", " ", summary)


def test_what_was_not_measured_is_not_shown(bare):
    (table,) = evaluation_tables(bare)
    text = printed(table)
    for word in ("hierarchical", "@1", "calibration", "does not know"):
        assert word not in text
        assert word not in evaluation_markdown(bare)


def test_levels_have_a_table(evaluation):
    _, levels = evaluation_tables(evaluation)
    rows = [line.split() for line in printed(levels).splitlines()]
    assert rows[0] == ["level", "labels", "support", "precision", "recall", "F1", "macro", "F1"]
    assert [row[:3] for row in rows[1:]] == [["1", "2", "5"], ["2", "1", "1"]]
    assert rows[2][3:] == ["0.5000", "1.0000", "0.6667", "0.6667"]


def test_labels_are_shown_on_demand_the_most_frequent_first(evaluation):
    labels = evaluation_tables(evaluation, per_label=True)[-1]
    rows = printed(labels, width=200).splitlines()
    assert rows[1].split() == ["often", "1", "4", "3", "1.0000", "0.7500", "0.8571"]
    assert rows[2].startswith(" [red]rare[/red] ")
    assert NAMES[2] in rows[3]


def test_long_names_are_cut_and_numbers_are_not(evaluation):
    text = printed(evaluation_tables(evaluation, per_label=True)[-1], width=75)
    assert len(text.splitlines()) == 4
    assert all(len(line) <= 75 for line in text.splitlines())
    assert re.search(r"a label.*… +2 +1 +2 +0\.5000 +1\.0000 +0\.6667", text)


def test_labels_without_levels(bare):
    table = evaluation_tables(bare, per_label=True)[-1]
    assert printed(table).splitlines()[1].split() == ["a", "1", "1", "1.0000", "1.0000", "1.0000"]


def test_markdown_is_a_table_and_a_list(evaluation):
    lines = evaluation_markdown(evaluation).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert table[0] == "|  | precision | recall | F1 | nDCG |"
    assert table[1] == "|---|---:|---:|---:|---:|"
    assert "| micro | 0.8333 | 0.6250 | 0.7143 |  |" in table
    assert {line.count("|") for line in table} == {6}
    assert f"- calibration error: {evaluation.calibration_error:.5f}" in lines
    assert lines[len(table)] == ""
