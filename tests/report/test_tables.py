"""Evaluations in a terminal and in Markdown, and model cards."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from scipy.sparse import csr_array

from taxocaps import __version__
from taxocaps.metrics.classification import OtherLabels
from taxocaps.metrics.evaluation import evaluate
from taxocaps.report.tables import evaluation_markdown, evaluation_tables, model_card, quality_table
from taxocaps.results import ModelCard

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
        others=OtherLabels(("new",), csr_array(np.array([[1], [1], [0], [0]], bool)), csr_array((4, 1), dtype=bool)),
    )


@pytest.fixture
def bare():
    labels = csr_array(np.array([[True, False]]))
    return evaluate(labels, labels, names=["a", "b"])


def test_metrics_of_other_packages_are_shown_by_their_names(bare):
    measured = replace(bare, extra={"label_coverage": 0.75})
    assert "label_coverage: 0.7500" in printed(evaluation_tables(measured)[0])
    assert "- label_coverage: 0.7500" in evaluation_markdown(measured.as_dict())


def test_the_summary_shows_every_metric(evaluation):
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
    assert "without training documents: carried 2 times, given 0 times, F1 0.0000" in re.sub(r"\s+", " ", summary)


def test_what_was_not_measured_is_not_shown(bare):
    (table,) = evaluation_tables(bare)
    text = printed(table)
    for word in ("hierarchical", "@1", "calibration", "does not know", "without training"):
        assert word not in text
        assert word not in evaluation_markdown(bare.as_dict())


def test_levels_have_a_table(evaluation):
    _, levels = evaluation_tables(evaluation)
    rows = [line.split() for line in printed(levels).splitlines()]
    assert rows[0] == ["level", "labels", "support", "precision", "recall", "F1", "macro", "F1"]
    assert [row[:3] for row in rows[1:]] == [["1", "2", "5"], ["2", "1", "1"]]
    assert rows[2][3:] == ["0.5000", "1.0000", "0.6667", "0.6667"]


def test_levels_that_no_document_has_labels_of_are_left_out_of_the_short_table():
    matrix = csr_array(np.array([[False, True], [False, True]]))
    found = evaluate(matrix, matrix, names=("top", "low"), levels=(1, 2))
    shown = printed(quality_table(found))
    assert "level 2, 1 label" in shown
    assert "level 1" not in shown


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
    lines = evaluation_markdown(evaluation.as_dict()).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert table[0] == "|  | precision | recall | F1 | nDCG |"
    assert table[1] == "|---|---:|---:|---:|---:|"
    assert "| micro | 0.8333 | 0.6250 | 0.7143 |  |" in table
    assert {line.count("|") for line in table} == {6}
    assert f"- calibration error: {evaluation.calibration_error:.5f}" in lines
    assert lines[len(table)] == ""


def measured(others=None):
    truth = csr_array(np.array([[1, 1], [0, 1], [0, 1]], bool))
    scores = np.array([[0.9, 0.8], [0.2, 0.7], [0.6, 0.3]], np.float32)
    return evaluate(truth, csr_array(scores >= 0.5), names=("a", "b"), scores=scores, others=others).as_dict()


@pytest.fixture
def card():
    return ModelCard(
        name="a model",
        model="M",
        preset="fast",
        seed=7,
        language="en",
        hierarchy="as-is",
        rule="per-label",
        at_least=0,
        documents={"train": 12_345, "dev": 20, "test": 30},
        labels=1_234,
        parameters=7_654_321,
        epochs=9,
        best_epoch=4,
        validation=measured(),
        test=measured(
            OtherLabels(
                ("new", "newer"), csr_array([[1, 1], [1, 1], [0, 1]], dtype=bool), csr_array((3, 2), dtype=bool)
            )
        ),
    )


@pytest.mark.parametrize(
    ("kind", "documents"),
    [
        ("held-out", "validation documents"),
        ("out-of-fold", "training documents, out of fold"),
        ("learned", "training documents that it has learned from"),
    ],
)
def test_a_model_card_says_on_which_documents_a_model_was_validated(card, kind, documents):
    assert f"## On the {documents}\n" in model_card(replace(card, validation_kind=kind))


def test_what_a_model_card_says(card):
    text = model_card(card)
    assert text.startswith(f"# a model, trained by taxocaps {__version__}\n")
    for fact in ("1,234 labels", "12,345 train, 20 dev, 30 test", "Preset `fast`, seed 7", "7,654,321 parameters"):
        assert fact in text
    assert "9 epochs trained, epoch 4 kept" in text
    for name in ("labels.json", "taxonomy.json", "config.yaml", "history.csv", "metrics.json"):
        assert f"`{name}`" in text
    for command in ("predict", "evaluate"):
        assert f"taxocaps {command} THIS_FOLDER" in text


def test_a_model_card_names_rare_labels_and_says_what_scores_are(card):
    text = model_card(card)
    assert "Scores are probabilities" in text
    assert "only one or two" not in text
    few = model_card(replace(card, is_calibrated=False, rare_labels={"a": 1, "b_c": 2}))
    assert "- Scores are not probabilities: there were too few documents" in few
    assert "## Labels with only one or two training documents\n\n`a` (1), `b_c` (2)\n" in few


def test_the_metrics_are_below_their_headings(card):
    parts = model_card(card).split("\n## ")
    assert [part.splitlines()[0] for part in parts[1:]] == [
        "On the validation documents",
        "On the test documents",
        "Use",
    ]
    assert evaluation_markdown(card.validation).strip() in parts[1]
    assert evaluation_markdown(card.test).strip() in parts[2]
    assert "5 labels of test documents do not occur in training; they count as missed." in parts[2]


def test_without_test_documents(card):
    text = model_card(replace(card, test=None))
    assert "On the test documents" not in text
    assert "do not occur in training" not in text


def test_headings_stand_alone(card):
    for text in (model_card(card), model_card(replace(card, test=None))):
        lines = text.splitlines()
        for number, line in enumerate(lines):
            if line.startswith("#"):
                assert not lines[number - 1] or number == 0
                assert not lines[number + 1]
        assert "\n\n\n" not in text
        assert text.endswith("\n")
        assert not any(line != line.rstrip() for line in lines)


def test_a_model_without_epochs(card):
    text = model_card(replace(card, epochs=0, best_epoch=0))
    assert "- 7,654,321 parameters.\n" in text
    assert "history.csv" not in text


def test_thresholds_that_were_not_tuned_are_not_said_to_be(card):
    assert "tuned" in model_card(card)
    for rule in ("fixed", "top-k"):
        assert "tuned" not in model_card(replace(card, rule=rule))
