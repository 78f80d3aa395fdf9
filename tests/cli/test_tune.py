"""`taxocaps tune`: tables, JSON, files that `train` takes, and what is refused."""

import json

import pytest


@pytest.fixture
def arguments(toy_files, tmp_path):
    given = ("--model", "LR", "--set", "bag.min_documents=1")
    return (
        "tune",
        toy_files.documents,
        toy_files.taxonomy,
        "--out",
        tmp_path / "search",
        "--space",
        "linear.C",
        *given,
    )


def test_the_tables_and_the_files(run, arguments, toy_files, tmp_path):
    code, out, err = run(*arguments, "--trials", 2)
    assert code == 0
    for words in ("2 trials", "linear.C", "0.03 to 30, by factors", "best micro-f1", "train --config"):
        assert words in out
    assert "trials: 2 of 2" in err
    assert (tmp_path / "search" / "report.html").read_text().startswith("<!doctype html>")
    best = tmp_path / "search" / "best.yaml"
    code, _, _ = run(
        *("train", toy_files.documents, toy_files.taxonomy),
        *("--config", best, "--out", tmp_path / "model", "--quiet"),
    )
    assert code == 0


def test_json_and_quiet(run, arguments):
    code, out, err = run(*arguments, "--trials", 1, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["best"]["number"] == 0
    assert run(*arguments, "--trials", 1, "--quiet") == (0, "", "")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--space", "linear.D=1..2"), ("linear.D",)),
        (("--trials", "0"), ("--trials",)),
        (("--time", "soon"), ("soon",)),
        (("--dev", "nowhere.jsonl"), ("nowhere.jsonl",)),
    ],
)
def test_what_is_refused(run, check_refused, arguments, options, parts):
    check_refused(run(*arguments, *options), *parts)
