"""`taxocaps evaluate`: a model on documents, or predictions against the truth."""

import json

import pytest


@pytest.fixture
def predictions(run, toy_model, toy_files, tmp_path):
    assert run("predict", toy_model, toy_files.documents, "-o", tmp_path / "p.jsonl", "--quiet") == (0, "", "")
    return tmp_path / "p.jsonl"


def test_both_ways_agree(run, toy_model, toy_files, predictions):
    code, out, err = run("evaluate", toy_model, toy_files.documents, "--json")
    assert (code, err) == (0, "")
    by_model = json.loads(out)
    options = ("--predictions", predictions, "--truth", toy_files.documents, "--taxonomy", toy_files.taxonomy)
    code, out, err = run("evaluate", *options, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    for section in ("documents", "flat", "hierarchical", "level_rows", "label_rows", "unseen"):
        assert found[section] == by_model[section]


def test_the_test_figures_of_training_come_out_again(run, toy_model, toy_files):
    _, out, _ = run("evaluate", toy_model, toy_files.documents, "--split", "test", "--json")
    figures = json.loads((toy_model / "metrics.json").read_text())["test"]
    for section in ("documents", "flat", "hierarchical", "level_rows", "label_rows"):
        assert json.loads(out)[section] == figures[section]


def test_the_tables(run, toy_model, toy_files, predictions):
    code, out, err = run("evaluate", toy_model, toy_files.documents)
    assert code == 0
    for word in ("micro", "macro", "hierarchical", "nDCG", "level", "documents: 12"):
        assert word in out
    assert "Football" not in out
    assert "labelling documents: 12 of 12" in err
    _, out, _ = run("evaluate", toy_model, toy_files.documents, "--per-label")
    assert "Football" in out
    code, out, _ = run("evaluate", "--predictions", predictions, "--truth", toy_files.documents)
    assert "hierarchical" not in out


def test_quiet(run, toy_model, toy_files):
    assert run("evaluate", toy_model, toy_files.documents, "--quiet") == (0, "", "")


def test_labels_that_the_model_does_not_know(run, toy_model, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "x", "labels": ["Cooking", "Sport"]}\n')
    code, out, _ = run("evaluate", toy_model, tmp_path / "a.jsonl")
    assert code == 0
    assert "labels that the model does not know: 1, missed 1 times" in out


BAD = {
    "nothing": [],
    "a model alone": ["MODEL"],
    "predictions alone": ["--predictions", "P"],
    "truth alone": ["--truth", "FILE"],
    "a model and predictions": ["MODEL", "--predictions", "P", "--truth", "FILE"],
    "everything": ["MODEL", "FILE", "--predictions", "P", "--truth", "FILE"],
    "a model and a taxonomy": ["MODEL", "FILE", "--taxonomy", "nosuch.tsv"],
    "documents and truth": ["MODEL", "FILE", "--truth", "FILE"],
}


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD)
def test_wrong_combinations(run, toy_model, toy_files, predictions, arguments):
    places = {"MODEL": toy_model, "FILE": toy_files.documents, "P": predictions}
    code, out, err = run("evaluate", *(places.get(argument, argument) for argument in arguments))
    assert (code, out) == (2, "")
    assert "give MODEL and TEST, or --predictions and --truth" in err
    assert err.count("\n") == 1


def test_bad_input(run, toy_model, toy_files, predictions, tmp_path):
    (tmp_path / "bare.jsonl").write_text('{"text": "x"}\n')
    (tmp_path / "other.jsonl").write_text('{"id": "z", "text": "x", "labels": ["Sport"]}\n')
    cases = {
        "no document carries a label": (toy_model, tmp_path / "bare.jsonl"),
        "none.jsonl: no such file": (toy_model, tmp_path / "none.jsonl"),
        "no model there": (tmp_path / "none", toy_files.documents),
        "not a model": (tmp_path, toy_files.documents),
        "no prediction for document 'z'": ("--predictions", predictions, "--truth", tmp_path / "other.jsonl"),
        "line 1: not a prediction": ("--predictions", tmp_path / "bare.jsonl", "--truth", toy_files.documents),
    }
    for message, arguments in cases.items():
        code, out, err = run("evaluate", *arguments, "--quiet")
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1
