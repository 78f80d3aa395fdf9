"""The card of a model says what it is, what it was trained on, how good it is, and how it is used."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from taxocaps import __version__
from taxocaps.metrics.evaluation import evaluate
from taxocaps.report.evaluation import evaluation_markdown
from taxocaps.report.model_card import ModelCard, model_card


def measured(unseen=None):
    truth = csr_array(np.array([[1, 1], [0, 1], [0, 1]], bool))
    scores = np.array([[0.9, 0.8], [0.2, 0.7], [0.6, 0.3]], np.float32)
    return evaluate(truth, csr_array(scores >= 0.5), names=("a", "b"), scores=scores, unseen=unseen)


@pytest.fixture
def card():
    return ModelCard(
        name="a model",
        preset="fast",
        seed=7,
        documents={"train": 12_345, "dev": 20, "test": 30},
        labels=1_234,
        parameters=7_654_321,
        is_tuned=True,
        epochs=(9, 4),
        validation=measured(),
        test=measured({"new": 2, "newer": 3}),
    )


def test_what_it_says(card):
    text = model_card(card)
    assert text.startswith(f"# a model, trained by taxocaps {__version__}\n")
    for fact in ("1,234 labels", "12,345 train, 20 dev, 30 test", "Preset `fast`, seed 7", "7,654,321 weights"):
        assert fact in text
    assert "9 epochs trained, epoch 4 kept" in text
    for name in ("labels.json", "taxonomy.tsv", "config.yaml", "history.csv", "metrics.json"):
        assert f"`{name}`" in text
    for command in ("predict", "evaluate"):
        assert f"taxocaps {command} THIS_FOLDER" in text


def test_the_figures_stand_under_their_headings(card):
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
    text = model_card(replace(card, epochs=(0, 0)))
    assert "- 7,654,321 weights.\n" in text
    assert "history.csv" not in text


def test_thresholds_that_were_not_tuned_are_not_said_to_be(card):
    assert "tuned" in model_card(card)
    assert "tuned" not in model_card(replace(card, is_tuned=False))
