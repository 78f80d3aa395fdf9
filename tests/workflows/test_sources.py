"""A store is taken wherever documents are, gives the same results as its file, and is refused where it does not fit."""

import dataclasses
import json

import pytest

from taxocaps.corpus.readers import CorpusConfig, read_documents
from taxocaps.errors import CorpusError, FileError, StoreError
from taxocaps.workflows.config import resolve_graph_config, resolve_run_config
from taxocaps.workflows.corpus import check_corpus, convert_corpus
from taxocaps.workflows.encode import encode
from taxocaps.workflows.evaluate import evaluate, evaluate_predictions
from taxocaps.workflows.explain import explain
from taxocaps.workflows.graph import inspect_document
from taxocaps.workflows.predict import predict, predict_file
from taxocaps.workflows.train import TrainFiles, train

MODELS = ("SVM", "HE-AGCRCNN", "CNN-non-static", "HAN")


def tiny_config(model, tiny, *overrides):
    """The smallest model of a kind."""
    general = ("vocabulary.", "vectors.", "training.")
    own = {
        "SVM": ("bag.min_documents=1",),
        "HE-AGCRCNN": tiny,
        "CNN-non-static": ("network.filters=4", *(one for one in tiny if one.startswith(general))),
        "HAN": ("network.units=4", *(one for one in tiny if one.startswith(general))),
    }[model]
    return resolve_run_config(overrides=[*own, *overrides], options={"model": model})


@pytest.fixture(scope="module", params=MODELS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def stores(tmp_path_factory, toy_files):
    """The toy documents as a store for each kind of model, each made once."""
    folder, made = tmp_path_factory.mktemp("stores"), {}

    def call(model):
        if model not in made:
            encode(toy_files.documents, folder / model, model=model)
            made[model] = folder / model
        return made[model]

    return call


@pytest.fixture(scope="module")
def models(tmp_path_factory, toy_files, tiny):
    """A model of each kind, trained from the file, each made once."""
    folder, documents, made = tmp_path_factory.mktemp("models"), toy_files.documents, {}

    def call(model):
        if model not in made:
            files = TrainFiles(documents, toy_files.taxonomy, documents, documents)
            train(files, folder / model, tiny_config(model, tiny))
            made[model] = folder / model
        return made[model]

    return call


def weights(folder):
    return (folder / "weights.safetensors").read_bytes()


def metrics(folder):
    return json.loads((folder / "metrics.json").read_text())


def test_training_from_a_store_gives_the_weights_of_training_from_its_file(
    name, stores, models, toy_files, tiny, tmp_path
):
    store = stores(name)
    train(TrainFiles(store, toy_files.taxonomy, store, store), tmp_path / "model", tiny_config(name, tiny))
    assert weights(tmp_path / "model") == weights(models(name))
    assert metrics(tmp_path / "model") == metrics(models(name))


def test_files_and_stores_may_be_mixed(models, toy_files, tiny, tmp_path):
    for split in ("train", "dev", "test"):
        encode(toy_files.documents, tmp_path / split, model="HE-AGCRCNN", corpus__split=split)
    config = tiny_config("HE-AGCRCNN", tiny)
    stores = TrainFiles(tmp_path / "train", toy_files.taxonomy, tmp_path / "dev", tmp_path / "test")
    train(stores, tmp_path / "stores", config)
    convert_corpus(toy_files.documents, tmp_path / "dev.jsonl", CorpusConfig(split="dev"))
    mixed = dataclasses.replace(stores, dev=tmp_path / "dev.jsonl", test=None)
    train(mixed, tmp_path / "mixed", config)
    expected = weights(models("HE-AGCRCNN"))
    assert weights(tmp_path / "stores") == weights(tmp_path / "mixed") == expected


def test_documents_held_out_of_a_store_are_those_held_out_of_its_file(stores, toy_files, tiny, tmp_path):
    config = tiny_config("SVM", tiny)
    train(TrainFiles(stores("SVM"), toy_files.taxonomy), tmp_path / "store", config)
    train(TrainFiles(toy_files.documents, toy_files.taxonomy), tmp_path / "file", config)
    assert weights(tmp_path / "store") == weights(tmp_path / "file")
    assert metrics(tmp_path / "store") == metrics(tmp_path / "file")


def test_labels_out_of_a_store_are_those_out_of_its_file(name, stores, models, toy_files, tmp_path):
    model, store = models(name), stores(name)
    assert list(predict(model, store, at_least=1)) == list(predict(model, toy_files.documents, at_least=1))
    reports = [predict_file(model, source, tmp_path / "p.jsonl") for source in (store, toy_files.documents)]
    assert reports[0] == reports[1]
    assert reports[0].documents == 12


def test_metrics_on_a_store_are_those_on_its_file(name, stores, models, toy_files):
    for corpus in (None, CorpusConfig(split="test")):
        found = evaluate(models(name), stores(name), corpus=corpus)
        assert found.as_dict() == evaluate(models(name), toy_files.documents, corpus=corpus).as_dict()
    with pytest.raises(CorpusError, match="no document of the split 'none'"):
        evaluate(models(name), stores(name), corpus=CorpusConfig(split="none"))


def test_predictions_are_measured_against_a_store(stores, models, toy_files, tmp_path):
    predict_file(models("SVM"), toy_files.documents, tmp_path / "p.jsonl")
    found = evaluate_predictions(tmp_path / "p.jsonl", stores("SVM"), taxonomy=toy_files.taxonomy)
    assert found == evaluate_predictions(tmp_path / "p.jsonl", toy_files.documents, taxonomy=toy_files.taxonomy)


def weights_of_words(explanation):
    """By label; copies of a document that are scored in another order differ in the last digit."""
    words = sorted({word.word for word in explanation.words})
    found = {one.label: {word.word: word.weight for word in one.words} for one in explanation.reasons}
    return {label: [weights.get(word, 0) for word in words] for label, weights in found.items()}


def test_a_document_of_a_store_is_explained_as_that_of_its_file(name, stores, models, toy_files):
    found, expected = (
        explain(models(name), source, id="football-cup", near_misses=3)
        for source in (stores(name), toy_files.documents)
    )
    assert (found.title, found.labels, found.method) == (expected.title, expected.labels, expected.method)
    assert weights_of_words(found) == {
        label: pytest.approx(weights, abs=1e-6) for label, weights in weights_of_words(expected).items()
    }
    assert (found.matrix, found.graph) == (expected.matrix, expected.graph)
    assert [word.word for word in found.words] == [word.word for word in expected.words]


def test_which_document_of_a_store_is_explained(stores, models):
    model, store = models("SVM"), stores("SVM")
    with pytest.raises(CorpusError, match="has several documents; choose one of them with --id"):
        explain(model, store)
    with pytest.raises(CorpusError, match="no document has the id 'none'"):
        explain(model, store, id="none")


def test_a_store_is_checked_as_a_corpus(stores, toy_files):
    found, expected = (check_corpus([source], toy_files.taxonomy) for source in (stores("SVM"), toy_files.documents))
    assert found.findings == expected.findings
    assert (found.corpus.label_counts, found.corpus.levels) == (expected.corpus.label_counts, expected.corpus.levels)
    assert {name: split.documents for name, split in found.corpus.splits.items()} == {"train": 8, "dev": 2, "test": 2}


def test_a_store_is_written_as_a_corpus_of_ready_words(stores, models, toy_files, tmp_path):
    assert convert_corpus(stores("SVM"), tmp_path / "words.jsonl").documents == 12
    written, given = list(read_documents(tmp_path / "words.jsonl")), list(read_documents(toy_files.documents))
    assert [(one.id, one.labels, one.split) for one in written] == [(one.id, one.labels, one.split) for one in given]
    model = models("SVM")
    assert list(predict(model, tmp_path / "words.jsonl")) == list(predict(model, toy_files.documents))


@pytest.mark.parametrize("overrides", [(), ("graph.sentence_bound=true", "graph.window=4", "graph.N=5")])
def test_the_graph_of_a_document_of_a_store_is_that_of_its_file(stores, toy_files, overrides):
    config = resolve_graph_config(overrides=overrides)
    sources = (toy_files.documents, stores("SVM"), stores("auto"))
    expected, *found = (inspect_document(str(source), config, id="football-cup") for source in sources)
    assert found == [expected, expected]


def test_the_graph_of_a_store_needs_an_id(stores):
    with pytest.raises(FileError, match="is a file of documents; choose one of them with --id"):
        inspect_document(str(stores("SVM")))


MISFITS = {
    "text": (
        {"text__lemmas": "none"},
        r"text\.lemmas=none, but the model has \w+; encode it again with --model HE-AGCRCNN --set text",
    ),
    "language": ({"text__language": "de"}, r"text\.language=de, but the model has en; encode it again"),
    "graph": (
        {"graph__window": 4},
        r"graph\.window=4, but the model has 3; encode it again with --model HE-AGCRCNN --set graph\.window=3",
    ),
    "no matrices": (
        {"model": "SVM"},
        "has no words-matrix, which the model reads; encode it again with --model HE-AGCRCNN$",
    ),
}


@pytest.mark.parametrize(("options", "message"), MISFITS.values(), ids=MISFITS)
def test_a_store_that_does_not_fit_is_refused(models, toy_files, tiny, tmp_path, options, message):
    store, model = tmp_path / "store", models("HE-AGCRCNN")
    encode(toy_files.documents, store, **{"model": "HE-AGCRCNN", **options})
    uses = (
        lambda: list(predict(model, store)),
        lambda: evaluate(model, store),
        lambda: explain(model, store, id="football-cup"),
        lambda: train(TrainFiles(store, toy_files.taxonomy), tmp_path / "model", tiny_config("HE-AGCRCNN", tiny)),
        lambda: train(
            TrainFiles(toy_files.documents, toy_files.taxonomy, dev=store),
            tmp_path / "model",
            tiny_config("HE-AGCRCNN", tiny),
        ),
    )
    for use in uses:
        with pytest.raises(StoreError, match=message):
            use()
    assert not (tmp_path / "model").exists()


def test_a_store_with_more_than_a_model_reads_fits(stores, models, toy_files):
    model = models("SVM")
    assert list(predict(model, stores("HE-AGCRCNN"))) == list(predict(model, toy_files.documents))


def test_a_store_made_with_other_stop_words_is_refused(toy_files, tiny, tmp_path):
    """The option is the same, the file behind it is not."""
    words = tmp_path / "stop.txt"
    words.write_text("the\na\n")
    encode(toy_files.documents, tmp_path / "store", model="SVM", text__stop_words=str(words))
    config = tiny_config("SVM", tiny, f"text.stop_words={words}")
    train(TrainFiles(tmp_path / "store", toy_files.taxonomy), tmp_path / "model", config)
    assert evaluate(tmp_path / "model", tmp_path / "store").documents == 12  # the model has a copy of its own
    words.write_text("the\nclub\n")
    with pytest.raises(StoreError, match="was encoded with other stop words or another tokenizer"):
        train(TrainFiles(tmp_path / "store", toy_files.taxonomy), tmp_path / "other", config)
    assert not (tmp_path / "other").exists()


def test_a_damaged_store_is_refused(stores, models, toy_files, tmp_path):
    encode(toy_files.documents, tmp_path / "store", model="SVM")
    (tmp_path / "store" / "tokens" / "ids.npy").unlink()
    with pytest.raises(StoreError, match=r"ids\.npy: is missing from the store"):
        list(predict(models("SVM"), tmp_path / "store"))
