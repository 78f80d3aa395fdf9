"""What reviewers say is kept: once, in order, whatever happens to the process."""

import multiprocessing
import os
import signal
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.corpus.document import Document
from taxocaps.errors import FeedbackError, FileError
from taxocaps.feedback.corrections import final_labels, read_corrections
from taxocaps.feedback.store import Correction, FeedbackStore, Suggestion, feedback_path

DOCUMENT = Document("Crude prices rose.", "d1", kept={"title": "Oil"})


@pytest.fixture
def store(tmp_path):
    with FeedbackStore(tmp_path / "model.feedback.sqlite") as store:
        yield store


def say(key, verdict, label=None, document=DOCUMENT, **more):
    return Correction(key, verdict, more.pop("reviewer", "ann"), document, label, **more)


def test_an_event_says_who_said_what_of_which_model_and_when(store):
    (event,) = store.add([say("k1", "reject", "trade", version="abc")])
    assert (event.document, event.verdict, event.label) == ("d1", "reject", "trade")
    assert (event.reviewer, event.version, event.time[-1]) == ("ann", "abc", "Z")
    assert store.events() == [event]
    assert store.events(after=event.number) == [] == store.events(document="another")


def test_the_events_of_a_document_are_found_without_a_look_at_those_of_others(store):
    store.add([say(f"k{number}", "reject", "trade", Document("x", f"d{number % 500}")) for number in range(1_000)])
    steps = [0]

    def count():
        steps[0] += 1

    store._database.set_progress_handler(count, 1)
    assert [event.key for event in store.events(document="d7")] == ["k7", "k507"]
    assert steps[0] < 500


def test_what_is_sent_again_is_added_once(store):
    first = store.add([say("k1", "reject", "trade"), say("k2", "done", suggested=("trade", "oil"))])
    assert store.add([say("k1", "reject", "trade"), say("k2", "done", suggested=("trade", "oil"))]) == first
    assert store.events() == first


@pytest.mark.parametrize(
    "other",
    [
        say("k1", "accept", "trade"),
        say("k1", "reject", "oil"),
        say("k1", "reject", "trade", Document("x")),
        say("k1", "reject", "trade", Document(DOCUMENT.text, "d2")),
        say("k1", "reject", "trade", Document("Crude prices fell.", "d1")),
    ],
)
def test_a_key_that_stands_for_something_else_is_refused_with_all_that_comes_with_it(store, other):
    store.add([say("k1", "reject", "trade")])
    with pytest.raises(FeedbackError, match="'k1' stands for another correction"):
        store.add([say("k2", "add", "oil"), other])
    assert [event.key for event in store.events()] == ["k1"]


def test_an_undo_is_an_event_that_takes_another_one_back(store):
    store.add([say("k1", "reject", "trade"), say("k2", "done", suggested=("trade",))])
    (undo,) = store.add([Correction("k3", "undo", "bob", undoes="k1")])
    assert (undo.document, undo.undoes, undo.reviewer) == ("d1", "k1", "bob")
    assert store.add([Correction("k3", "undo", "bob", undoes="k1")]) == [undo]
    assert [event.key for event in store.events()] == ["k1", "k2", "k3"]
    ((document, events),) = store.reviewed()
    assert document == DOCUMENT
    assert final_labels(events) == ("trade",)
    store.add([Correction("k4", "undo", "bob", undoes="k2")])
    assert list(store.reviewed()) == []


def test_what_cannot_be_undone(store):
    store.add([say("k1", "reject", "trade"), Correction("k2", "undo", "ann", undoes="k1")])
    for key, problem in [("k1", "undone already"), ("k2", "an undo cannot be undone"), ("k9", "no correction 'k9'")]:
        with pytest.raises(FeedbackError, match=problem):
            store.add([Correction("k5", "undo", "ann", undoes=key)])


def test_a_document_with_another_text_is_another_document(store):
    changed = Document("Crude prices fell.", "d1")
    store.add([say("k1", "done", suggested=("oil",)), say("k2", "add", "gold", changed)])
    assert [document.text for document, _ in store.reviewed()] == ["Crude prices rose."]
    assert [event.key for event in store.live(changed)] == ["k2"]


def test_the_queue_has_the_latest_documents_first_and_knows_which_are_reviewed(store):
    documents = [Document(f"text {number}", str(number)) for number in range(4)]
    suggestions = [Suggestion("v1", ({"label": "oil", "score": 0.5},), "oil", 0.5, float(n)) for n in range(4)]
    pairs = list(zip(documents, suggestions, strict=True))
    store.enqueue(pairs[:2])
    store.enqueue(pairs[2:])
    assert [one.document.id for one in store.queue()] == ["2", "3", "0", "1"]
    store.add([say("k1", "reject", "oil", documents[3]), say("k2", "done", None, documents[3], suggested=("oil",))])
    assert [one.document.id for one in store.queue(limit=2, offset=1)] == ["0", "1"]
    (reviewed,) = store.queue("reviewed")
    assert reviewed.suggestion == suggestions[3]
    assert [event.verdict for event in reviewed.events] == ["reject", "done"]
    assert store.queue_sizes() == {"open": 3, "reviewed": 1, "all": 4}
    store.enqueue(pairs[:1])  # it moves, and is not there twice
    assert [one.document.id for one in store.queue("all")] == ["0", "2", "3", "1"]


@given(st.lists(st.tuples(st.sampled_from(["accept", "reject", "add", "undo"]), st.integers(0, 5)), max_size=30))
def test_final_labels_are_those_of_a_reviewer_who_says_everything_again_without_what_was_undone(steps):
    """Against a plain replay: the state before the undone event, then all others."""
    said, undone = [], set()
    with FeedbackStore(":memory:") as store:
        for number, (verdict, choice) in enumerate(steps):
            if verdict != "undo":
                store.add([say(str(number), verdict, f"L{choice}")])
                said.append(number)
            elif open_ones := [one for one in said if one not in undone]:
                target = open_ones[choice % len(open_ones)]
                store.add([Correction(str(number), "undo", "ann", undoes=str(target))])
                undone.add(target)
        store.add([say("done", "done", suggested=("L0", "L1"))])
        ((_, events),) = store.reviewed()
    labels = {"L0", "L1"}
    for number in said:
        if number not in undone:
            verdict, choice = steps[number]
            (labels.discard if verdict == "reject" else labels.add)(f"L{choice}")
    assert set(final_labels(events)) == labels


def _write(path, name, count):
    with FeedbackStore(path) as store:
        for number in range(count):
            store.add([say(f"{name}-{number}", "add", f"label {number}", reviewer=name)])


@pytest.mark.slow
def test_processes_write_at_once_and_none_loses_anything(tmp_path):
    path = tmp_path / "store.sqlite"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(path, name, 40)) for name in ("ann", "bob", "eve")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    with FeedbackStore(path, create=False) as store:
        events = store.events()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    for name in ("ann", "bob", "eve"):
        assert [one.key for one in events if one.reviewer == name] == [f"{name}-{number}" for number in range(40)]


def _write_until_killed(path, acknowledged):
    with FeedbackStore(path) as store:
        for number in range(10_000):
            store.add([say(str(number), "add", "oil")])
            os.write(acknowledged, b".")
            if number == 25:
                os.kill(os.getpid(), signal.SIGKILL)


def test_what_was_acknowledged_survives_a_kill(tmp_path):
    path = tmp_path / "store.sqlite"
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _write_until_killed(path, writing)
    os.close(writing)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    acknowledged = len(os.read(reading, 1_000))
    os.close(reading)
    with FeedbackStore(path, create=False) as store:
        assert [event.key for event in store.events()] == [str(number) for number in range(acknowledged)]


def test_commits_are_synchronised_with_the_disk(store):
    assert store._database.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert store._database.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL


def test_a_full_disk_is_told_as_such_and_nothing_is_added(store):
    (pages,) = store._database.execute("PRAGMA page_count").fetchone()
    store._database.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(FileError, match="cannot be used as a store of feedback: database or disk is full"):
        store.add([say("k1", "reject", "trade"), say("k2", "add", "trade", Document("x" * 100_000, "d2"))])
    assert store.events() == []


def test_files_that_are_no_store(tmp_path):
    with pytest.raises(FileError, match=r"nothing.sqlite: there is no feedback"):
        FeedbackStore(tmp_path / "nothing.sqlite", create=False)
    (tmp_path / "text.sqlite").write_text("Crude prices rose. " * 100)
    with pytest.raises(FileError, match=r"text.sqlite: cannot be used as a store of feedback"):
        FeedbackStore(tmp_path / "text.sqlite")
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("CREATE TABLE songs (name TEXT)")
    other.close()
    with pytest.raises(FileError, match=r"other.sqlite: is a database, but not of feedback"):
        FeedbackStore(tmp_path / "other.sqlite")
    with pytest.raises(FileError, match="cannot be used"):
        FeedbackStore(tmp_path / "no folder" / "store.sqlite")


def test_the_store_of_a_model_is_beside_its_folder(tmp_path, monkeypatch):
    assert feedback_path(tmp_path / "news") == tmp_path / "news.feedback.sqlite"
    (tmp_path / "news").mkdir()
    monkeypatch.chdir(tmp_path / "news")
    assert feedback_path(Path()) == tmp_path / "news.feedback.sqlite"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET suggested = '[1]' WHERE verdict = 'done'",
        "UPDATE events SET suggested = '7' WHERE verdict = 'done'",
        "UPDATE events SET suggested = 'no JSON' WHERE verdict = 'done'",
        "UPDATE documents SET fields = '[]'",
        f"UPDATE documents SET fields = '{'[' * 100_000}'",
        "UPDATE documents SET fields = ''",
        "UPDATE queue SET suggestion = '{\"labels\": 1}'",
        "UPDATE queue SET suggestion = '[]'",
        "DROP VIEW live",
        "DROP INDEX documents_by_id",
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END",
        "CREATE TABLE more (a)",
        "ALTER TABLE queue ADD COLUMN more TEXT",
    ],
)
def test_a_store_that_a_stranger_has_changed_is_refused_in_one_line(tmp_path, change):
    path = tmp_path / "f.sqlite"
    with FeedbackStore(path) as store:
        store.add([say("k1", "reject", "trade"), say("k2", "done", suggested=("trade",))])
        store.enqueue([(DOCUMENT, Suggestion("v1", ({"label": "trade"},), "trade", 0.5))])
    with sqlite3.connect(path) as database:
        database.execute(change)
    database.close()
    refused = pytest.raises(FileError, match=r"f\.sqlite: (cannot be used as a store|has other tables)")
    with refused as caught, FeedbackStore(path) as store:
        store.queue("all")
        list(store.reviewed())
    assert str(caught.value).isprintable()


def test_a_store_that_was_just_begun_is_an_empty_one(tmp_path):
    (tmp_path / "f.sqlite").touch()
    assert list(read_corrections(tmp_path / "f.sqlite")) == []
