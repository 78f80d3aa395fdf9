"""Stores on the command line: taken wherever documents are, and refused in one line where they do not fit."""

import json

import pytest


@pytest.fixture(scope="module")
def encoded(tmp_path_factory, toy_files):
    """The toy documents as a store for networks, as one for linear models, and as one for the default model."""
    from taxocaps.workflows.encode import encode

    folder = tmp_path_factory.mktemp("encoded")
    encode(toy_files.documents, folder / "network", model="HE-AGCRCNN")
    encode(toy_files.documents, folder / "svm", model="SVM")
    encode(toy_files.documents, folder / "default")
    return folder


@pytest.fixture
def train(run, toy_files, tmp_path, tiny):
    small = [word for setting in tiny for word in ("--set", setting)]

    def call(out, source, *options, linear=False):
        own = ["--model", "SVM", "--set", "bag.min_documents=1"] if linear else small
        return run("train", source, toy_files.taxonomy, "--out", tmp_path / out, *own, *options, "--quiet")

    return call


@pytest.mark.parametrize("linear", [True, False], ids=["SVM", "HE-AGCRCNN"])
def test_training(train, run, encoded, toy_files, tmp_path, linear):
    store = encoded / ("svm" if linear else "network")
    for out, source in {"store": store, "file": toy_files.documents}.items():
        assert train(out, source, linear=linear) == (0, "", "")
    for name in ("weights.safetensors", "metrics.json", "thresholds.json"):
        assert (tmp_path / "store" / name).read_bytes() == (tmp_path / "file" / name).read_bytes()
    if linear:  # what it does not read may be there
        assert train("other", encoded / "network", linear=True) == (0, "", "")


def test_results_are_those_of_the_file(run, encoded, toy_model, toy_files, tmp_path):
    def same(*arguments, source="SOURCE"):
        results = []
        for path in (encoded / "network", toy_files.documents):
            code, out, err = run(*(path if argument == source else argument for argument in arguments))
            assert (code, err) == (0, "")
            results.append(out)
        assert results[0] == results[1]
        return results[0]

    assert same("evaluate", toy_model, "SOURCE", "--json")
    assert same("evaluate", toy_model, "SOURCE", "--split", "test", "--json")
    assert same("predict", toy_model, "SOURCE").count("\n") == 12
    assert same("predict", toy_model, "SOURCE", "--split", "dev", "--top-k", "1").count("\n") == 2
    graph = same("graph", "SOURCE", "--id", "football-cup", "--json")
    assert run("graph", encoded / "default", "--id", "football-cup", "--json") == (0, graph, "")


def test_checking_a_store_says_the_same_but_for_languages(run, encoded, toy_files):
    """A store has no function words, by which languages are told."""
    checks = [
        json.loads(run("corpus", "check", path, "--taxonomy", toy_files.taxonomy, "--language", "en", "--json")[1])
        for path in (encoded / "network", toy_files.documents)
    ]
    languages = [check.pop("languages") for check in checks]
    assert checks[0] == checks[1]
    assert languages == [{}, {"en": 11, "unclear": 1}]


def test_explaining_and_converting(run, encoded, toy_model, tmp_path):
    store = encoded / "network"
    code, out, err = run("explain", toy_model, "--input", store, "--id", "football-cup", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["title"] == "football-cup"
    page = tmp_path / "page.html"
    assert run("explain", toy_model, "-i", store, "--id", "football-cup", "-o", page, "--quiet") == (0, "", "")
    assert "goalkeeper" in page.read_text(encoding="utf-8")
    assert run("corpus", "convert", store, tmp_path / "words.jsonl", "--quiet") == (0, "", "")
    assert json.loads((tmp_path / "words.jsonl").read_text().splitlines()[0])["tokens"]


def test_a_store_for_linear_models_is_refused_by_a_network(check_refused, run, train, encoded, toy_model, tmp_path):
    store = encoded / "svm"
    for refused in (
        run("predict", toy_model, store, "--quiet"),
        run("evaluate", toy_model, store, "--quiet"),
        run("explain", toy_model, "--input", store, "--id", "football-cup"),
        train("model", store),
    ):
        check_refused(refused, str(store), "has no words-matrix, which the model reads", "--model")
    assert not (tmp_path / "model").exists()


def test_a_store_with_other_options_is_refused_with_the_option(
    check_refused, run, train, toy_model, toy_files, tmp_path
):
    store = tmp_path / "store"
    options = ("--model", "HE-AGCRCNN", "--set", "text.numbers=drop", "--quiet")
    assert run("encode", toy_files.documents, "-o", store, *options) == (0, "", "")
    message = "was encoded with text.numbers=drop, but the model has keep"
    check_refused(run("predict", toy_model, store, "-o", tmp_path / "p.jsonl", "--quiet"), message)
    check_refused(run("evaluate", toy_model, store, "--quiet"), message, "--set text.numbers=keep")
    check_refused(run("explain", toy_model, "--input", store, "--id", "football-cup"), message)
    check_refused(train("model", store), message)
    for part in ("--dev", "--test"):
        check_refused(train("model", toy_files.documents, part, store), message)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    assert train("model", store, "--set", "text.numbers=drop") == (0, "", "")


ENSEMBLE = """
import numpy as np

from taxocaps.catalogue.presets import model_config
from taxocaps.linear.config import LinearConfig
from taxocaps.scorers.base import ModelConfig, Scorer, make_scorer

GRAPH = model_config("TGCNN", "default").graph

class PairConfig(ModelConfig):
    scorer: str = "pair"
    graph: type(GRAPH) = GRAPH
    linear: LinearConfig = LinearConfig()

    @property
    def encodings(self):
        return {"words-matrix": self.graph}

class Pair(Scorer):
    'A linear model, twice.'

    Config = PairConfig
    explainer = "occlusion"

    def __init__(self, config, classes, seed=0):
        super().__init__(config, classes, seed)
        options = model_config("SVM", "default", {"bag": {"min_documents": 1}})
        self._members = {name: make_scorer(options, classes, seed) for name in ("one", "two")}

    @property
    def members(self):
        return self._members

    @property
    def vocabulary(self):
        return self.members["one"].vocabulary

    @property
    def parameters(self):
        return sum(member.parameters for member in self.members.values())

    def fit(self, training, validation, context):
        assert len(training.documents.encoding("words-matrix").lengths)
        return [member.fit(training, validation, context) for member in self.members.values()][0]

    def scores(self, documents):
        return np.mean([member.scores(documents) for member in self.members.values()], axis=0)

    def _save(self, folder):
        pass

    def _load(self, folder):
        pass
"""


def test_a_store_for_an_ensemble_of_another_package(run, install, toy_files, tmp_path, check_refused):
    from taxocaps.scorers.base import SCORERS

    install("their_pair", ENSEMBLE, SCORERS, pair="Pair")
    options = ("--model", "pair", "--set", "graph.N=9", "--quiet")
    assert run("encode", toy_files.documents, "--out", tmp_path / "store", *options) == (0, "", "")
    assert (tmp_path / "store" / "words-matrix").is_dir()
    files = (tmp_path / "store", toy_files.taxonomy, "--out", tmp_path / "model")
    assert run("train", *files, *options) == (0, "", "")
    wrong = run("encode", toy_files.documents, "--out", tmp_path / "other", "--model", "pair", "--set", "graph.windo=9")
    check_refused(wrong, "unknown configuration key graph.windo; did you mean graph.window?")
