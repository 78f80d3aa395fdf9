"""Explanations of all families, and the proof that the words named are those that count."""

from dataclasses import replace

import numpy as np
import pytest
from taxocaps.estimators import explainer
from taxocaps.estimators.explainer import explain_document

from taxocaps.config import resolve
from taxocaps.errors import CorpusError, ModelError
from taxocaps.text.pipeline import TextPipeline

TEXT = "The striker scored twice, and the supporters of the club carry the striker home."
LEARNT = {"training": {"epochs": 12, "learning_rate": 0.02}}
LINEAR = {"family": "linear", "bag": {"min_documents": 1}}


@pytest.fixture(scope="module")
def learnt(fit):
    return fit(LEARNT)


def falls(model, text, pick):
    """How far the raw score of each label that a text gets falls without words that are picked, one set at a time."""
    words = TextPipeline()(text).words
    for reasons in explain_document(model, text).reasons:
        column = model.classes.names.index(reasons.label)
        for gone in pick(reasons, sorted(set(words))):
            whole, less = model.raw_scores([words, [word for word in words if word not in gone]])[:, column]
            yield whole - less


@pytest.mark.parametrize("family", ["capsules", "linear"])
def test_without_the_top_words_scores_fall_more_than_without_random_ones(learnt, fit, toys, family):
    model, generator = learnt if family == "capsules" else fit(LINEAR), np.random.default_rng(0)

    def top_and_random(reasons, words):
        return {one.word for one in reasons.words[:5]}, set(generator.choice(words, 5, replace=False))

    found = np.array([fall for text in toys[0].texts[::2] for fall in falls(model, text, top_and_random)])
    top, random = found.reshape(-1, 2).mean(axis=0)
    assert top > 1.5 * max(random, 0.02)


def test_labels_given_then_near_misses(learnt):
    found = explain_document(learnt, TEXT, near_misses=2)
    given = [one for one in found.labels if one.is_given]
    scores = learnt.scores([TEXT])
    assert {one.label for one in given} == set(learnt.classes.lists(learnt.choose(scores))[0]) >= {"Football"}
    assert [one.is_given for one in found.labels] == [True] * len(given) + [False] * 2
    assert [one.score for one in given] == sorted((one.score for one in given), reverse=True)
    for one in found.labels:
        column = learnt.classes.names.index(one.label)
        assert one.score == pytest.approx(scores[0, column], rel=1e-5)
        assert one.threshold == pytest.approx(learnt.cuts[column], rel=1e-5)
        assert one.path == learnt.classes.taxonomy.path(one.label)
    assert [one.label for one in found.reasons] == [one.label for one in given]
    assert (found.model, found.title) == ("a model", "The striker scored twice, and the supporters of …")
    assert found.matrix
    assert found.graph


def test_chosen_labels(learnt):
    found = explain_document(learnt, TEXT, labels=["Genetics"], near_misses=0, title="news")
    assert [one.label for one in found.reasons] == ["Genetics"]
    assert found.labels[-1].label == "Genetics"
    assert not found.labels[-1].is_given
    assert found.title == "news"


def test_if_nothing_is_given_the_nearest_miss_is_explained(learnt):
    strict = replace(learnt, cuts=np.full_like(learnt.cuts, 1.0))
    found = explain_document(strict, TEXT)
    assert len(found.labels) == 5
    assert [one.label for one in found.reasons] == [found.labels[0].label]


def test_the_best_few_have_no_thresholds(learnt):
    model = replace(learnt, config=resolve(type(learnt.config), {"decision": {"rule": "top-k", "k": 2}}))
    assert {one.threshold for one in explain_document(model, TEXT).labels} == {None}


@pytest.mark.parametrize("content", ["", "the of and", ()])
def test_a_document_without_words_has_a_warning_and_no_labels(learnt, content):
    found = explain_document(learnt, content, labels=["Tennis"])
    assert (found.words, found.labels, found.reasons, found.matrix, found.graph) == ((), (), (), None, None)
    assert found.warning == "the text has no words that the model reads"
    assert found.title


def test_linear_models_have_words_alone(fit):
    found = explain_document(fit(LINEAR), TEXT)
    assert found.method == "linear"
    assert found.words
    assert all(one.words and one.rows is None for one in found.reasons)
    assert (found.matrix, found.graph) == (None, None)


def test_labels_that_the_model_has_not(learnt):
    with pytest.raises(ModelError, match="the model has no label 'Futball'; did you mean 'Football'"):
        explain_document(learnt, TEXT, labels=["Futball"])


@pytest.mark.parametrize(("name", "unit"), [("MOST_WORDS", "words"), ("MOST_CHARACTERS", "characters")])
def test_huge_documents_are_refused(learnt, monkeypatch, name, unit):
    monkeypatch.setattr(explainer, name, 3)
    with pytest.raises(CorpusError, match=rf"the document has \d+ {unit}; at most 3 can be explained"):
        explain_document(learnt, TEXT)
