"""`taxocaps learn`: tables, JSON, exit codes, and what is refused."""

import json

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from taxocaps.workflows.train import train

    path = tmp_path_factory.mktemp("learn")
    words = {"a": "harbour cargo vessel", "b": "grain harvest crop"}
    rows = [
        {"id": f"{label}{n}", "text": f"{words[label]} {n}", "labels": [label]} for n in range(15) for label in words
    ]
    (path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (path / "new.jsonl").write_text(json.dumps({"id": "n", "text": "zebu zebu", "labels": ["b"]}) + "\n")
    test = [{"id": f"t{row['id']}", "text": f"oh {row['text']}", "labels": row["labels"]} for row in rows]
    (path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in test))
    lies = [{**row, "labels": ["b" if row["labels"] == ["a"] else "a"]} for row in rows]
    (path / "lies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lies))
    train(path / "train.jsonl", path / "model", model="SVM")
    return path


def test_a_table_and_the_way_back(run, folder):
    code, out, _ = run("learn", folder / "model", "--feedback", folder / "new.jsonl", "--test", folder / "test.jsonl")
    assert code == 0
    for words in ("1 new documents, 0 known ones", "On the same 30 test documents", "before", "after", "written to"):
        assert words in out
    code, out, _ = run("learn", folder / "model", "--back")
    assert (code, "the earlier model is back" in out) == (0, True)


def test_a_worse_model_is_told_by_the_exit_code(run, folder):
    arguments = ("learn", folder / "model", "--feedback", folder / "lies.jsonl", "--test", folder / "test.jsonl")
    code, out, _ = run(*arguments, "--json")
    assert (code, json.loads(out)["is_replaced"]) == (1, False)
    code, out, _ = run(*arguments)
    assert (code, "stays as it is" in out) == (1, True)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ((), "feedback.sqlite"),
        (("--feedback", "nowhere.jsonl"), "nowhere.jsonl"),
        (("--back", "--out", "x"), "--back"),
        (("--back", "--json"), "--back"),
        (("--back", "--anyway"), "--back"),
        (("--feedback", "{train}"), "--anyway"),
    ],
)
def test_what_is_refused(run, check_refused, folder, options, part):
    given = [str(option).replace("{train}", str(folder / "train.jsonl")) for option in options]
    check_refused(run("learn", folder / "model", *given, "--quiet"), part)
