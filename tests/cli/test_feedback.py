"""`taxocaps feedback`: corrections as files."""

import json

import pytest

from taxocaps.corpus.document import Document
from taxocaps.feedback.store import Correction, FeedbackStore


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "news.feedback.sqlite"
    document = Document("Crude prices rose.", "d1", kept={"title": "Oil", "labels": ["not", "these"]})
    with FeedbackStore(path) as opened:
        opened.add([Correction("1", "add", "ann", document, "oil")])
        opened.add([Correction("2", "done", "ann", document, suggested=("trade",))])
    return path


def test_a_review_goes_out_and_into_another_store(run, store, tmp_path):
    out, again = tmp_path / "corrections.jsonl", tmp_path / "again.jsonl"
    assert run("feedback", "export", store, "--output", out)[1] == f"1 document written to {out}\n"
    line = {"id": "d1", "text": "Crude prices rose.", "labels": ["trade", "oil"], "title": "Oil"}
    assert json.loads(out.read_text()) == line
    other = tmp_path / "other.sqlite"
    assert run("feedback", "import", other, out, "--reviewer", "bob")[1] == f"1 document in {other}\n"
    assert run("feedback", "import", other, store, "--json")[1].split() == ["{", '"documents":', "1", "}"]
    run("feedback", "export", other, "-o", again, "--quiet")
    assert json.loads(again.read_text())["labels"] == ["trade", "oil"]
    with FeedbackStore(other) as opened:
        assert {event.reviewer for event in opened.events()} == {"bob"}


def test_what_cannot_be_written_or_read(run, check_refused, tmp_path, store, toy_model):
    out = tmp_path / "corrections.jsonl"
    check_refused(run("feedback", "export", tmp_path / "nothing", "-o", out), "nothing")
    check_refused(run("feedback", "import", tmp_path / "nothing", store), "no model is there", "nothing.sqlite")
    assert not (tmp_path / "nothing").exists()
    check_refused(run("feedback", "export", toy_model, "-o", out), "there is no feedback")
    check_refused(run("feedback", "export", store, "-o", store), str(store))
    check_refused(run("feedback", "import", store, store), str(store))
    with FeedbackStore(tmp_path / "empty.sqlite"):
        pass
    check_refused(run("feedback", "export", tmp_path / "empty.sqlite", "-o", out), "no document is reviewed")
    assert not out.exists()
