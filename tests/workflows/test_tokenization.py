"""Every command tokenises each document once, and what was tokenised before an interruption not again."""

import importlib
import json
import sys
from collections import Counter
from itertools import chain

import pytest

from taxocaps.corpus.document import Document
from taxocaps.errors import CheckpointError
from taxocaps.scorers.persistence import load_model
from taxocaps.workflows.config import resolve_run_config
from taxocaps.workflows.encode import encode
from taxocaps.workflows.evaluate import evaluate
from taxocaps.workflows.explain import explain
from taxocaps.workflows.predict import predict, predict_file
from taxocaps.workflows.serve import ExplainJob, LabelJob, load_models
from taxocaps.workflows.train import TrainFiles, train

CODE = """
calls = []


def words(text):
    calls.append(text)
    return text.lower().split()
"""
CHUNK = 1_024


class StopError(Exception):
    pass


@pytest.fixture(scope="module")
def counting(tmp_path_factory):
    """A module with a tokenizer that notes each text it is given."""
    folder = tmp_path_factory.mktemp("tokenizers")
    (folder / "counting_tokenizer.py").write_text(CODE)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("counting_tokenizer")
    sys.path.remove(str(folder))
    del sys.modules["counting_tokenizer"]


@pytest.fixture
def calls(counting):
    counting.calls.clear()
    return counting.calls


@pytest.fixture(scope="module", params=["SVM", "HE-AGCRCNN"])
def config(request, tiny, counting):
    """The options of a linear model and of a tiny network, with the tokenizer that counts."""
    own = ("bag.min_documents=1",) if request.param == "SVM" else tiny
    return resolve_run_config(
        overrides=[*own, "text.tokenizer=counting_tokenizer:words"], options={"model": request.param}
    )


@pytest.fixture(scope="module")
def model(config, toy_files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "model"
    documents = toy_files.documents
    train(TrainFiles(documents, toy_files.taxonomy, documents, documents), folder, config)
    return folder


@pytest.fixture(scope="module")
def texts(toy_files):
    """All texts by split, each of them once."""
    return {split: [document.text for document in part] for split, part in toy_files.data.splits.items()}


@pytest.fixture(scope="module")
def all_texts(texts):
    return Counter(chain.from_iterable(texts.values()))


def test_training(calls, config, toy_files, all_texts, tmp_path):
    documents = toy_files.documents
    train(TrainFiles(documents, toy_files.taxonomy, documents, documents), tmp_path / "model", config)
    assert Counter(calls) == all_texts


def test_training_with_documents_held_out(calls, config, toy_files, all_texts, tmp_path):
    train(TrainFiles(toy_files.documents, toy_files.taxonomy), tmp_path / "model", config)
    assert Counter(calls) == all_texts


def test_training_from_a_store(calls, config, toy_files, all_texts, tmp_path):
    named = {"model": config.model, "text.tokenizer": "counting_tokenizer:words"}
    encode(toy_files.documents, tmp_path / "store", **named)
    assert Counter(calls) == all_texts
    calls.clear()
    store = tmp_path / "store"
    train(TrainFiles(store, toy_files.taxonomy, store, store), tmp_path / "model", config)
    assert calls == []


def test_labelling(calls, model, toy_files, all_texts, tmp_path):
    fitted = load_model(model, trust_code=True)
    assert calls == []
    predict_file(model, toy_files.documents, tmp_path / "labels.jsonl", trust_code=True)
    assert Counter(calls) == all_texts
    calls.clear()
    assert len(list(predict(fitted, list(all_texts)))) == len(all_texts)
    assert Counter(calls) == all_texts


def test_evaluation(calls, model, toy_files, all_texts):
    evaluate(model, toy_files.documents, trust_code=True)
    assert Counter(calls) == all_texts


@pytest.mark.parametrize("method", [None, "occlusion"])
def test_explanation(calls, model, toy_files, texts, method):
    text = texts["test"][0]
    found = explain(model, text, method=method, near_misses=3, trust_code=True)
    assert found.reasons
    assert calls == [text]


def test_serving(calls, model, texts):
    (served,) = load_models([model], trust_code=True).values()
    assert len(calls) == 1  # the first text of each server takes long, and is not a client's
    calls.clear()
    jobs = [LabelJob(tuple(Document(text, id=text[:9]) for text in part)) for part in texts.values()]
    assert [len(answer) for answer in served.answer(jobs)] == [8, 2, 2]
    assert Counter(calls) == Counter(chain.from_iterable(texts.values()))
    calls.clear()
    (found,) = served.answer([ExplainJob(Document(texts["test"][0]))])
    assert found.reasons
    assert calls == [texts["test"][0]]


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Documents enough for three chunks, the last one short."""
    path = tmp_path_factory.mktemp("many") / "documents.jsonl"
    texts = [f"word{n % 7} word{n % 11} word{n % 13} number{n}" for n in range(2 * CHUNK + 10)]
    rows = [{"id": str(n), "text": text, "labels": [f"label{n % 3}"]} for n, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path, texts


def stop_after(stage_to_stop, count):
    def progress(stage, done, total=None, note=""):
        if stage == stage_to_stop and done >= count:
            raise StopError

    return progress


@pytest.fixture
def linear(counting):
    return resolve_run_config(overrides=["model=SVM", "text.tokenizer=counting_tokenizer:words", "bag.min_documents=1"])


def test_interrupted_encoding_continues_behind_the_finished_chunks(calls, many, tmp_path):
    path, texts = many
    options = {"model": "SVM", "text.tokenizer": "counting_tokenizer:words"}
    with pytest.raises(StopError):
        encode(path, tmp_path / "store", progress=stop_after("reading documents", CHUNK), **options)
    assert calls == texts[:CHUNK]
    calls.clear()
    encode(path, tmp_path / "store", **options)
    assert calls == texts[CHUNK:]


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_training_interrupted_while_encoding_continues_behind_the_finished_chunks(calls, many, linear, tmp_path, part):
    path, texts = many
    paths = {name: tmp_path / f"{name}.jsonl" for name in ("train", "dev", "test")}
    for short in paths.values():
        short.write_text('{"text": "word1 word2", "labels": ["label1"]}\n')
    files = TrainFiles(**{**paths, part: path})
    stage = {"train": "documents", "dev": "validation documents", "test": "test documents"}[part]
    with pytest.raises(StopError):
        train(files, tmp_path / "model", linear, progress=stop_after(f"reading {stage}", CHUNK))
    assert calls[-CHUNK:] == texts[:CHUNK]
    before = Counter(calls)
    train(files, tmp_path / "model", linear, existing="resume")
    assert [text for text in calls if text in set(texts)] == texts
    assert Counter(calls)["word1 word2"] == 2
    assert before["word1 word2"] == {"test": 0, "dev": 1, "train": 2}[part]
    train(files, tmp_path / "whole", linear)
    assert weights(tmp_path / "model") == weights(tmp_path / "whole")


def weights(folder):
    return (folder / "weights.safetensors").read_bytes()


def test_training_interrupted_after_encoding_tokenises_nothing_again(calls, many, linear, tmp_path):
    path, texts = many
    with pytest.raises(StopError):
        train(TrainFiles(path), tmp_path / "model", linear, progress=stop_after("encoding documents", 1))
    assert calls == texts
    train(TrainFiles(path), tmp_path / "model", linear, existing="resume")
    assert calls == texts


def test_a_resumed_run_has_the_options_and_the_documents_that_it_began_with(calls, many, linear, tmp_path):
    path, _ = many
    with pytest.raises(StopError):
        train(TrainFiles(path), tmp_path / "model", linear, progress=stop_after("encoding documents", 1))
    other = linear.options.replace(text=linear.options.text.replace(language="de"))
    changed = type(linear)(linear.model, linear.preset, linear.seed, linear.corpus, other)
    with pytest.raises(CheckpointError, match="had other documents or options"):
        train(TrainFiles(path), tmp_path / "model", changed, existing="resume")
    assert (tmp_path / "model" / ".training" / "tokens").exists()

    with pytest.raises(StopError):  # a linear model is interrupted when its documents are known
        train(TrainFiles(path), tmp_path / "model", linear, existing="resume", progress=stop_after("classifiers", 1))
    fewer = tmp_path / "fewer.jsonl"
    fewer.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(CheckpointError, match="had other documents or options"):
        train(TrainFiles(fewer), tmp_path / "model", linear, existing="resume")
    assert train(TrainFiles(path), tmp_path / "model", linear, existing="resume").card.documents == {
        "train": 2 * CHUNK + 10
    }
