"""Stores on the command line: taken wherever documents are, and refused in one line where they do not fit."""

import json

import pytest


@pytest.fixture(scope="module")
def encoded(tmp_path_factory, toy_files):
    """The toy documents as a store for the default model, and as one for linear models."""
    from taxocaps.workflows.encode import encode

    folder = tmp_path_factory.mktemp("encoded")
    encode(toy_files.documents, folder / "default")
    encode(toy_files.documents, folder / "svm", model="SVM")
    return folder


@pytest.fixture
def train(run, toy_files, tmp_path, tiny):
    small = [word for setting in tiny for word in ("--set", setting)]

    def call(out, *options, linear=False):
        own = ["--model", "SVM", "--set", "bag.min_documents=1"] if linear else small
        return run("train", "--taxonomy", toy_files.taxonomy, "--out", tmp_path / out, *own, *options, "--quiet")

    return call


@pytest.mark.parametrize("linear", [True, False], ids=["SVM", "HE-AGCRCNN"])
def test_training(train, run, encoded, toy_files, tmp_path, linear):
    store = encoded / ("svm" if linear else "default")
    for out, source in {"store": store, "file": toy_files.documents}.items():
        parts = ("--train", source, "--dev", source, "--test", source)
        assert train(out, *parts, linear=linear) == (0, "", "")
    for name in ("weights.safetensors", "metrics.json", "thresholds.json"):
        assert (tmp_path / "store" / name).read_bytes() == (tmp_path / "file" / name).read_bytes()
    if linear:  # what it does not read may be there
        assert train("other", "--train", encoded / "default", linear=True) == (0, "", "")


def test_results_are_those_of_the_file(run, encoded, toy_model, toy_files, tmp_path):
    def same(*arguments, source="SOURCE"):
        results = []
        for path in (encoded / "default", toy_files.documents):
            code, out, err = run(*(path if argument == source else argument for argument in arguments))
            assert (code, err) == (0, "")
            results.append(out)
        assert results[0] == results[1]
        return results[0]

    assert same("evaluate", toy_model, "SOURCE", "--json")
    assert same("evaluate", toy_model, "SOURCE", "--split", "test", "--json")
    assert same("predict", toy_model, "SOURCE").count("\n") == 12
    assert same("predict", toy_model, "SOURCE", "--split", "dev", "--top-k", "1").count("\n") == 2
    assert same("graph", "SOURCE", "--id", "football-cup", "--json")
    assert same("corpus", "check", "SOURCE", "--taxonomy", toy_files.taxonomy, "--language", "en", "--json")


def test_explaining_and_converting(run, encoded, toy_model, tmp_path):
    store = encoded / "default"
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
        train("model", "--train", store),
    ):
        check_refused(refused, str(store), "has no words-matrix, which the model reads", "--model")
    assert not (tmp_path / "model").exists()


def test_a_store_with_other_options_is_refused_with_the_option(
    check_refused, run, train, toy_model, toy_files, tmp_path
):
    store = tmp_path / "store"
    assert run("encode", toy_files.documents, "-o", store, "--set", "text.numbers=drop", "--quiet") == (0, "", "")
    message = "was encoded with text.numbers=drop, but the model has keep"
    check_refused(run("predict", toy_model, store, "-o", tmp_path / "p.jsonl", "--quiet"), message)
    check_refused(run("evaluate", toy_model, store, "--quiet"), message, "--set text.numbers=keep")
    check_refused(run("explain", toy_model, "--input", store, "--id", "football-cup"), message)
    for part in ("--train", "--dev", "--test"):
        parts = {"--train": toy_files.documents, part: store}
        check_refused(train("model", *(word for pair in parts.items() for word in pair)), message)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    assert train("model", "--train", store, "--set", "text.numbers=drop") == (0, "", "")
