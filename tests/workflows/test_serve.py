"""Models that wait for documents."""

import json
import os
import shutil
from dataclasses import replace

import pytest

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.errors import ConfigError, CorpusError, GraphError, ModelError
from taxocaps.scorers.persistence import load_model
from taxocaps.workflows.explain import explain
from taxocaps.workflows.predict import DecisionOptions, predict_documents
from taxocaps.workflows.serve import (
    ExplainJob,
    ExplainOptions,
    LabelJob,
    answer_jobs,
    load_models,
    make_jobs,
    read_examples,
)
from taxocaps.workflows.uploads import NamedText

TEXTS = ["The striker scored for his club.", "", "Astronomers saw a comet and a planet.", "the of and"]


@pytest.fixture(scope="module")
def model(toy_model):
    return load_model(toy_model)


def test_jobs_together_are_answered_as_alone(model):
    optionss = [
        DecisionOptions(),
        DecisionOptions(top_k=2, hierarchy="as-is"),
        DecisionOptions(threshold=0.0),
        DecisionOptions(at_least=1),
    ]
    documents = [tuple(Document(text, id=f"{n}-{place}") for place, text in enumerate(TEXTS)) for n in range(4)]
    jobs = [LabelJob(one, options) for one, options in zip(documents, optionss, strict=True)]
    for job, answer in zip(jobs, answer_jobs(model, jobs), strict=True):
        wanted = list(predict_documents(model, job.documents, job.options))
        assert [(one.id, one.warning) for one in answer] == [(one.id, one.warning) for one in wanted]
        for found, alone in zip(answer, wanted, strict=True):
            assert [label.label for label in found.labels] == [label.label for label in alone.labels]
            scores = [label.score for label in alone.labels]
            assert [label.score for label in found.labels] == pytest.approx(scores, abs=1e-5)


def test_more_documents_than_are_labelled_at_a_time(model):
    documents = tuple(Document(TEXTS[number % 4], id=str(number)) for number in range(300))
    small = LabelJob((Document(TEXTS[0], id="small"),), DecisionOptions(top_k=1))
    large, other = answer_jobs(model, [LabelJob(documents), small])
    assert [one.id for one in large] == [str(number) for number in range(300)]
    assert [one.label for one in large[298].labels] == [one.label for one in large[2].labels]
    assert large[299].warning
    assert len(other[0].labels) >= 1


class Picky:
    """A scorer that refuses one text."""

    def __init__(self, scorer):
        self._scorer, self.asked = scorer, []

    def __getattr__(self, name):
        return getattr(self._scorer, name)

    def scores(self, documents):
        self.asked.append(len(documents))
        if "bad" in [document.text for document in documents.documents]:
            raise GraphError("cannot be read")
        return self._scorer.scores(documents)


def test_a_job_that_cannot_be_done_spoils_no_other(model):
    picky = Picky(model.scorer)
    jobs = [LabelJob((Document(text, id="1"),)) for text in (TEXTS[0], "bad", TEXTS[2])]
    first, second, third = answer_jobs(replace(model, scorer=picky), jobs)
    assert isinstance(second, GraphError)
    assert [first, third] == [tuple(predict_documents(model, jobs[place].documents)) for place in (0, 2)]
    assert picky.asked == [3, 1, 1, 1]


def test_an_explanation_is_the_one_of_the_command(model):
    for document in (Document(TEXTS[0]), Document(tokens=("striker", "club"), id="n"), Document("")):
        (found,) = answer_jobs(model, [ExplainJob(document, ExplainOptions(near_misses=2))])
        assert found == explain(model, document, near_misses=2)
    (label,) = sorted(model.classes.names)[:1]
    (found,) = answer_jobs(model, [ExplainJob(Document(TEXTS[0]), ExplainOptions(labels=(label,)))])
    assert [one.label for one in found.reasons] == [label]


def test_too_many_words_are_not_explained(model):
    job = ExplainJob(Document("striker scored goal club"), most_words=3)
    (refused,) = answer_jobs(model, [job])
    assert isinstance(refused, CorpusError)
    assert "the document has 4 words; at most 3 can be explained" in str(refused)
    (found,) = answer_jobs(model, [replace(job, most_words=4)])
    assert len(found.words) == 4


def test_labels_that_a_model_can_give(toy_model):
    (served,) = load_models([toy_model]).values()
    assert served.labels == set(load_model(toy_model).classes.names)


def test_jobs_of_a_request():
    documents = [{"text": "a"}, {"id": "x", "tokens": ["b"]}, {"id": "", "text": None, "tokens": []}]
    options = DecisionOptions(top_k=1)
    assert make_jobs(documents, options, 2) == [
        LabelJob((Document("a", "1"), Document("", "x", tokens=("b",))), options),
        LabelJob((Document("", "3", tokens=()),), options),
    ]
    assert make_jobs([], options, 2) == []


def test_models_go_by_their_folders(toy_model, tmp_path, monkeypatch):
    shutil.copytree(toy_model, tmp_path / "second")
    monkeypatch.chdir(tmp_path / "second")
    (tmp_path / "second" / "metrics.json").write_text('{"validation": {"f1": NaN, "more": [1, Infinity]}}')
    models = load_models([toy_model, tmp_path / "second" / "."])
    assert list(models) == ["model", "second"]
    assert models["second"].card.validation == {"f1": None, "more": [1, None]}
    assert (models["model"].card.name, models["model"].card.labels) == ("model", 10)
    assert models["model"].taxonomy.model == "model"


def test_two_models_of_one_name(toy_model, tmp_path):
    shutil.copytree(toy_model, tmp_path / "model")
    with pytest.raises(ConfigError, match="another model is called 'model' too"):
        load_models([toy_model, tmp_path / "model"])


def test_no_model(tmp_path):
    with pytest.raises(ModelError, match="no model there"):
        load_models([tmp_path / "none"])


def test_a_card_has_the_day_of_the_model(toy_model, tmp_path):
    folder = shutil.copytree(toy_model, tmp_path / "old")
    os.utime(folder / "versions.json", (86_400, 86_400))
    assert load_models([folder])["old"].card.written == "1970-01-02"


def test_examples_are_the_first_short_texts_of_a_file(tmp_path):
    file = tmp_path / "some.jsonl"
    texts = ["first", " ", "long " * 1_001, *"abcdef"]
    file.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    wanted = [NamedText(id, text) for id, text in zip("14567", ["first", *"abcd"], strict=True)]
    assert read_examples(file, CorpusConfig()) == wanted
    file.write_text(json.dumps({"text": "long " * 1_001}))
    with pytest.raises(CorpusError, match=r"some\.jsonl: has no document with a text of at most 5,000 characters"):
        read_examples(file, CorpusConfig())
