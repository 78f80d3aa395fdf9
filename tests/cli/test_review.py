"""`taxocaps review`: tables, JSON, files, and what is refused."""

import json

import pytest


@pytest.fixture
def arguments(toy_files):
    return ("review", toy_files.documents, toy_files.taxonomy, "--model", "LR")


def test_the_tables_and_the_files(run, arguments, toy_files, tmp_path):
    report, output = tmp_path / "r.html", tmp_path / "r.jsonl"
    code, out, err = run(
        *arguments, "--pool", toy_files.documents, "--batch", 3, "--report", report, "--output", output
    )
    assert code == 0
    for words in ("documents", "12, with", "labels that look wrong", "What to label next", f"written to {report}"):
        assert words in out
    assert "classifiers" in err
    records = [json.loads(line) for line in output.read_text().splitlines()]
    assert len([one for one in records if one["finding"] == "label-next"]) == 3
    assert report.read_text().startswith("<!doctype html>")


def test_labels_may_be_paths(run, toy_files, tmp_path):
    documents = [document for _, document in toy_files.data.documents()]
    lines = [{"text": one.text, "labels": ["/".join(one.labels)]} for one in documents]
    (tmp_path / "paths.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, _ = run("review", tmp_path / "paths.jsonl", "--model", "LR", "--path-separator", "/", "--json")
    assert code == 0
    names = {one["label"]: one["name"] for one in json.loads(out)["rare"]}
    assert names["Sport/Ball games/Football"] == "Football"


def test_json_and_quiet(run, arguments):
    code, out, err = run(*arguments, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["documents"] == 12
    assert {"suspects", "copies", "rare", "confused", "curve", "next"} <= found.keys()
    assert run(*arguments, "--quiet") == (0, "", "")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--pool", "nowhere.jsonl"), ("nowhere.jsonl",)),
        (("--model", "LS"), ("no model is called 'LS'",)),
        (("--batch", "0"), ("--batch",)),
        (("--set", "linear.D=1"), ("linear.D",)),
    ],
)
def test_what_is_refused(run, check_refused, arguments, options, parts):
    check_refused(run(*arguments, *options), *parts)
