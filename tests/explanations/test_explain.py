"""Explanations by all kinds of models, and the proof that the words named are those that count."""

import importlib
import sys
from dataclasses import replace

import numpy as np
import pytest

from taxocaps.corpus.document import Document
from taxocaps.encoding.store_writer import write_store
from taxocaps.errors import ConfigError, CorpusError, ModelError
from taxocaps.explanations import explain as explain_module
from taxocaps.explanations.explain import ExplainOptions, explain_document, explain_encoded
from taxocaps.scorers.persistence import load_model, save_model
from taxocaps.text.pipeline import TextPipeline
from taxocaps.workflows.explain import explain

TEXT = "The striker scored twice, and the supporters of the club carry the striker home."
SPREAD = "Strikers scored;  the xyzzy supporters carry the goalkeeper home."
LEARNT = {"training": {"epochs": 12, "learning_rate": 0.02}}
LINEAR = {"scorer": "linear"}
KINDS = ["linear", "words-matrix", "kim-cnn", "hierarchical"]


@pytest.fixture(scope="module")
def learnt(fit):
    return fit(LEARNT)


@pytest.fixture(scope="module")
def linear(fit):
    return fit(LINEAR)


def explained(model, content, *, most_words=20_000, **options):
    document = Document(content) if isinstance(content, str) else Document(tokens=tuple(content))
    return explain_document(model, document, ExplainOptions(**options), most_words=most_words)


def shown(explanation):
    """What the spans of the words point at."""
    return [explanation.text[word.start : word.end] for word in explanation.words]


def test_words_with_their_spans(learnt):
    found = explained(learnt, SPREAD)
    words = ["striker", "score", "xyzzy", "supporter", "carry", "goalkeeper", "home"]
    assert [word.word for word in found.words] == words
    assert shown(found) == ["Strikers", "scored", "xyzzy", "supporters", "carry", "goalkeeper", "home"]
    assert [word.word for word in found.words if not word.is_known] == ["xyzzy"]
    assert found.method == "occlusion"
    assert found.text == SPREAD


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"near_misses": -3}, r"^near_misses must be from 0 to 1000000; got -3$"),
        ({"near_miss": 3}, r"^unknown configuration key near_miss; did you mean near_misses\?$"),
        ({"method": "oclusion"}, r"^no explainer is called 'oclusion'; did you mean occlusion\?$"),
        ({"labels": "Sport"}, r"^labels must be a list of text; got 'Sport'$"),
    ],
)
def test_options_that_make_no_sense_are_refused(linear, options, message):
    with pytest.raises(ConfigError, match=message):
        explain(linear, TEXT, **options)


def test_ready_tokens_stand_between_spaces(learnt):
    found = explained(learnt, ("striker", "", "home"))
    assert found.text == "striker  home"
    assert shown(found) == [word.word for word in found.words] == ["striker", "home"]


def test_the_words_of_a_network_over_characters(fit_network):
    options = {"text": {"tokenizer": "characters"}, "tokens": {"length": 64}, "vectors": {"source": "none"}}
    found = explained(fit_network("vdcnn", **options), SPREAD)
    assert [word.word for word in found.words][:3] == ["strikers", "scored;", "the"]
    assert shown(found) == SPREAD.split()
    assert all(word.is_known for word in found.words)
    assert found.reasons[0].words
    assert {one.word for one in found.reasons[0].words} <= set(SPREAD.lower().split())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_explains_its_labels(fit, fit_network, kind):
    model = fit(LINEAR) if kind == "linear" else fit_network(kind)
    found = explained(model, SPREAD, labels=["Football", "Genetics"])
    assert [one.label for one in found.reasons] == ["Football", "Genetics"]
    kept = {word.word for word in found.words if word.is_known}
    for reasons in found.reasons:
        assert reasons.words
        assert {one.word for one in reasons.words} <= kept
        assert (reasons.rows is not None) == (kind == "words-matrix")
    assert (found.matrix is not None) == (found.graph is not None) == (kind == "words-matrix")


def test_a_linear_model_can_be_explained_by_occlusion_too(linear, encode):
    usual, occluded = (explained(linear, TEXT, labels=["Football"], method=one) for one in (None, "occlusion"))
    assert (usual.method, occluded.method) == ("linear", "occlusion")
    column = linear.classes.names.index("Football")
    whole, without = linear.raw_scores(encode(linear.scorer, [TEXT, TEXT.replace("striker", "plugh")]))[:, column]
    falls = {one.word: one.weight for one in occluded.reasons[0].words}
    assert falls["striker"] == pytest.approx(whole - without, rel=1e-4)
    assert set(falls) == {one.word for one in usual.reasons[0].words}


def test_a_method_that_there_is_not(learnt):
    with pytest.raises(ConfigError, match="no explainer is called 'oclusion'; did you mean occlusion"):
        explained(learnt, TEXT, method="oclusion")


def falls(model, encode, text, pick):
    """How far the raw score of each label that a text gets falls without words that are picked, one set at a time."""
    words = TextPipeline().tokenize([text]).document(0)
    for reasons in explained(model, text).reasons:
        column = model.classes.names.index(reasons.label)
        for gone in pick(reasons, sorted(set(words))):
            both = encode(model.scorer, [words, [word for word in words if word not in gone]])
            whole, less = model.raw_scores(both)[:, column]
            yield whole - less


@pytest.mark.parametrize("family", ["capsules", "linear"])
def test_without_the_top_words_scores_fall_more_than_without_random_ones(learnt, linear, toys, encode, family):
    model, generator = learnt if family == "capsules" else linear, np.random.default_rng(0)

    def top_and_random(reasons, words):
        return {one.word for one in reasons.words[:5]}, set(generator.choice(words, 5, replace=False))

    found = np.array([fall for text in toys.texts[::2] for fall in falls(model, encode, text, top_and_random)])
    top, random = found.reshape(-1, 2).mean(axis=0)
    assert top > 1.5 * max(random, 0.02)


def test_labels_given_then_near_misses(learnt, encode):
    found = explained(learnt, TEXT, near_misses=2)
    given = [one for one in found.labels if one.is_given]
    encoded = encode(learnt.scorer, [TEXT])
    scores = learnt.scores(encoded)
    chosen = set(learnt.classes.label_lists(learnt.choose(learnt.own_scores(encoded)))[0])
    assert {one.label for one in given} == chosen >= {"Football"}
    assert [one.is_given for one in found.labels] == [True] * len(given) + [False] * 2
    assert [one.score for one in given] == sorted((one.score for one in given), reverse=True)
    for one in found.labels:
        column = learnt.classes.names.index(one.label)
        assert one.score == pytest.approx(scores[0, column], rel=1e-5)
        assert one.threshold == pytest.approx(learnt.thresholds[column], rel=1e-5)
        assert one.paths == learnt.classes.taxonomy.paths(one.label)
    assert [one.label for one in found.reasons] == [one.label for one in given]
    assert (found.model, found.title) == ("a model", "The striker scored twice, and the supporters of …")
    assert found.matrix
    assert found.graph


def test_chosen_labels(learnt):
    document = Document(TEXT, id="news")
    found = explain_document(learnt, document, ExplainOptions(labels=("Genetics",), near_misses=0))
    assert [one.label for one in found.reasons] == ["Genetics"]
    assert found.labels[-1].label == "Genetics"
    assert not found.labels[-1].is_given
    assert found.title == "news"


def test_if_nothing_is_given_the_nearest_miss_is_explained(learnt):
    strict = replace(learnt, thresholds=np.full_like(learnt.thresholds, 1.0))
    found = explained(strict, TEXT)
    assert len(found.labels) == 5
    assert [one.label for one in found.reasons] == [found.labels[0].label]


def test_the_best_few_have_no_thresholds(learnt):
    decision = learnt.config.decision.replace(k=2)
    model = replace(learnt, config=learnt.config.replace(decision=decision), rule="top-k")
    found = explained(model, TEXT)
    assert {one.threshold for one in found.labels} == {None}
    assert sum(one.is_given for one in found.labels) >= 2


@pytest.mark.parametrize("content", ["", "the of and", ()])
def test_a_document_without_words_has_a_warning_and_no_labels(learnt, content):
    found = explained(learnt, content, labels=["Tennis"])
    assert (found.words, found.labels, found.reasons, found.matrix, found.graph) == ((), (), (), None, None)
    assert found.warning == "the text has no words that the model reads"
    assert found.title


def test_labels_that_the_model_has_not(learnt):
    with pytest.raises(ModelError, match="the model has no label 'Futball'; did you mean 'Football'"):
        explained(learnt, TEXT, labels=["Futball"])


def test_huge_documents_are_refused(learnt, monkeypatch):
    with pytest.raises(CorpusError, match=r"the document has \d+ words; at most 3 can be explained"):
        explained(learnt, TEXT, most_words=3)
    monkeypatch.setattr(explain_module, "MOST_CHARACTERS", 3)
    with pytest.raises(CorpusError, match=r"the document has \d+ characters; at most 3 can be explained"):
        explained(learnt, TEXT)


def test_an_encoded_document_is_explained_as_it_is(learnt):
    document = learnt.scorer.encoder.encode([Document(TEXT)], spans=True)
    assert explain_encoded(learnt, document, TEXT) == explained(learnt, TEXT)


@pytest.mark.parametrize(
    ("kind", "text"), [("kim-cnn", {}), ("words-matrix", {}), ("vdcnn", {"tokenizer": "characters"})]
)
def test_a_document_of_a_store_is_explained_like_its_text(fit_network, toys, tmp_path, kind, text):
    model = fit_network(kind, text=text, vectors={"source": "none"})
    (tmp_path / "store").mkdir()
    write_store(toys.documents, model.scorer.encoder, tmp_path / "store", cache=tmp_path / "cache")
    document = toys.documents[5]
    stored, direct = explain(model, tmp_path / "store", id=document.id), explain(model, document)
    assert [word.word for word in stored.words] == [word.word for word in direct.words]
    assert (stored.labels, stored.graph, stored.title) == (direct.labels, direct.graph, document.id)
    for one, other in zip(stored.reasons, direct.reasons, strict=True):
        found, wanted = ({weight.word: weight.weight for weight in each.words} for each in (one, other))
        assert {**dict.fromkeys(wanted, 0.0), **found} == pytest.approx(wanted, abs=1e-5)


@pytest.fixture
def counting(tmp_path, monkeypatch):
    """A tokenizer that counts its calls."""
    source = "calls = []\n\ndef split(text):\n    calls.append(text)\n    return text.lower().split()\n"
    (tmp_path / "counting_words.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("counting_words")
    sys.modules.pop("counting_words")


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_is_tokenised_once(fit, counting, tmp_path, kind):
    axes = LINEAR if kind == "linear" else {"network": {"kind": kind}, "training": {"epochs": 1}}
    model = fit(axes, {"text": {"tokenizer": "counting_words:split"}})
    folder = tmp_path / "model"
    folder.mkdir()
    save_model(model, folder)
    loaded = load_model(folder, trust_code=True)
    for method in (None, "occlusion"):
        counting.calls.clear()
        found = explain(loaded, TEXT, labels=["Football"], method=method)
        assert counting.calls == [TEXT]
        assert found.reasons[0].words
        assert [word.lower() for word in shown(found)] == [word.word for word in found.words] == TEXT.lower().split()
