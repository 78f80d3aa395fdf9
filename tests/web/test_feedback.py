"""What reviewers say over HTTP: it is kept before it is acknowledged, once, and comes back."""

import sqlite3
import threading
import uuid
from dataclasses import replace

import pytest

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.errors import CorpusError
from taxocaps.feedback import read_corrections
from taxocaps.feedback.store import Correction, FeedbackStore
from taxocaps.results import TaxonomyLabel, TaxonomyView
from taxocaps.workflows.serve import arrange_queue, read_queue

GOAL = {"id": "goal", "text": "The striker scored two goals for his club.", "fields": {"title": "Sport"}}
COMET = {"id": "comet", "text": "Astronomers saw a comet and a planet.", "fields": {}}


@pytest.fixture
def model(loaded_news, tmp_path):
    return replace(loaded_news, feedback=tmp_path / "news.feedback.sqlite")


@pytest.fixture
def running(serve, model):
    return serve(model, documents=8, queue=8)


@pytest.fixture(scope="module")
def refusing(serve_all, loaded_news, tmp_path_factory):
    """A server for requests that change nothing."""
    store = tmp_path_factory.mktemp("refusing") / "news.feedback.sqlite"
    return serve_all(replace(loaded_news, feedback=store), documents=8, queue=8)


@pytest.fixture
def say(running):
    def call(verdict, label=None, document=GOAL, **more):
        given = {"key": str(uuid.uuid4()), "verdict": verdict, "reviewer": "ann"}
        given |= {"document": document} if verdict != "undo" else {}
        given |= ({"label": label} if label else {}) | more
        return running.client.post("/v1/feedback", json={"corrections": [given]})

    return call


def test_a_review_from_the_queue_to_the_documents_that_are_learned_from(running, say, model):
    client = running.client
    assert client.post("/v1/queue", json={"documents": [GOAL, COMET]}).json() == {"model": "news", "documents": 2}
    found = client.get("/v1/queue").json()
    assert found["sizes"] == {"open": 2, "reviewed": 0, "all": 2}
    assert {one["document"]["id"] for one in found["documents"]} == {"goal", "comet"}
    goal = next(one for one in found["documents"] if one["document"]["id"] == "goal")
    assert goal["document"] == GOAL
    wanted = client.post("/v1/predict", json={"text": GOAL["text"]}).json()
    assert goal["labels"] == wanted["predictions"][0]["labels"]
    assert goal["version"] == found["version"] == wanted["version"]
    assert goal["reason"]["doubt"] > 0
    suggested = [one["label"] for one in goal["labels"]]
    assert say("reject", suggested[0]).status_code == 200
    assert say("add", "Cycling").status_code == 200
    assert say("done", suggested=suggested).json()["events"][0]["version"] == goal["version"]
    assert client.get("/v1/queue").json()["sizes"] == {"open": 1, "reviewed": 1, "all": 2}
    (reviewed,) = client.get("/v1/queue", params={"status": "reviewed"}).json()["documents"]
    assert [event["verdict"] for event in reviewed["events"]] == ["reject", "add", "done"]
    (document,) = read_corrections(model.feedback)
    assert document.labels == (*suggested[1:], "Cycling")
    assert document.kept == {"title": "Sport"}


def test_an_undo_and_the_log_of_events(running, say):
    event = say("reject", "Tennis").json()["events"][0]
    undo = say("undo", undoes=event["key"]).json()["events"][0]
    assert (undo["document"], undo["undoes"]) == ("goal", event["key"])
    assert running.client.get("/v1/feedback").json()["events"] == [event, undo]
    assert running.client.get("/v1/feedback", params={"after": event["number"]}).json()["events"] == [undo]
    assert running.client.get("/v1/feedback", params={"limit": 1}).json()["events"] == [event]
    assert running.client.get("/v1/feedback", params={"document": "comet"}).json()["events"] == []
    assert say("undo", undoes=event["key"]).status_code == 409


def test_what_is_sent_again_is_answered_alike_and_kept_once(running):
    given = {"key": "k1", "verdict": "add", "reviewer": "ann", "document": GOAL, "label": "Tennis"}
    answers = [running.client.post("/v1/feedback", json={"corrections": [given]}).json() for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert len(running.client.get("/v1/feedback").json()["events"]) == 1
    other = running.client.post("/v1/feedback", json={"corrections": [{**given, "label": "Cycling"}]})
    assert (other.status_code, "another correction" in other.text) == (409, True)


def test_all_corrections_of_a_request_or_none(running, say):
    first = {"key": "k1", "verdict": "add", "reviewer": "ann", "document": GOAL, "label": "Tennis"}
    undo = {"key": "k2", "verdict": "undo", "reviewer": "ann", "undoes": "nothing"}
    assert running.client.post("/v1/feedback", json={"corrections": [first, undo]}).status_code == 409
    assert running.client.get("/v1/feedback").json()["events"] == []


def test_the_place_of_a_document_that_is_too_long_is_named(refusing):
    given = {"verdict": "add", "reviewer": "ann", "label": "Tennis"}
    long = {"id": "1", "text": "x" * 200_001}
    corrections = [{**given, "key": "k1", "document": GOAL}, {**given, "key": "k2", "document": long}]
    answer = refusing.client.post("/v1/feedback", json={"corrections": corrections})
    assert (answer.status_code, answer.json()["error"]["field"]) == (413, "corrections[1].document.text")


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"label": "Chess"}, 422, "no label with this id"),
        ({"label": "Topics"}, 422, "no label with this id"),  # the root
        ({"label": None}, 422, "add needs label"),
        ({"suggested": []}, 422, "add has no suggested"),
        ({"undoes": "k"}, 422, "add has no undoes"),
        ({"document": None}, 422, "add needs document"),
        ({"document": {"id": "1", "text": ""}}, 422, "at least 1"),
        ({"document": {"id": "1", "text": "x" * 200_001}}, 413, "at most 200,000 characters"),
        ({"verdict": "like"}, 422, "accept"),
        ({"reviewer": ""}, 422, "at least 1"),
        ({"key": "x" * 101}, 422, "at most 100"),
        ({"who": "ann"}, 422, "unknown field"),
    ],
)
def test_what_is_refused(refusing, change, status, message):
    given = {"key": "k1", "verdict": "add", "reviewer": "ann", "document": GOAL, "label": "Tennis", **change}
    answer = refusing.client.post("/v1/feedback", json={"corrections": [given]})
    assert (answer.status_code, message in answer.json()["error"]["message"]) == (status, True), answer.text
    assert refusing.client.get("/v1/feedback").json()["events"] == []


def test_the_place_of_an_unknown_label_is_named(running, say):
    answer = say("done", suggested=["Tennis", "Chess"])
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "corrections[0].suggested[1]")


@pytest.mark.parametrize(
    ("roots", "givable"),
    [(("Sport", "Science"), set()), (("Sport",), {"Sport"})],
    ids=["several labels at the top", "a single one that documents carry"],
)
def test_labels_at_the_top_of_the_taxonomy_can_be_given(serve, model, roots, givable):
    labels = tuple(TaxonomyLabel(name, name, 1, (), 0.5 if name in givable else None) for name in roots)
    running = serve(replace(model, taxonomy=TaxonomyView("news", roots, labels)))
    given = {"key": "k1", "verdict": "add", "reviewer": "ann", "document": GOAL, "label": "Sport"}
    answer = running.client.post("/v1/feedback", json={"corrections": [given]})
    assert answer.status_code == 200, answer.text


def test_numbers_that_json_does_not_have_are_refused(running):
    """Or no queue that has one could be sent any more."""
    for number in ("NaN", "Infinity", "1e999"):
        body = '{"documents": [{"text": "goal", "fields": {"size": NUMBER}}]}'.replace("NUMBER", number)
        answer = running.client.post("/v1/queue", content=body, headers={"content-type": "application/json"})
        assert answer.status_code in {400, 422}, answer.text
    assert running.client.get("/v1/queue").json()["documents"] == []


def test_limits(running):
    many = [{"key": str(n), "verdict": "undo", "reviewer": "a", "undoes": "b"} for n in range(9)]
    assert running.client.post("/v1/feedback", json={"corrections": many}).status_code == 413
    assert running.client.post("/v1/queue", json={"documents": [COMET] * 9}).status_code == 413
    assert running.client.get("/v1/queue", params={"limit": 101}).status_code == 422
    assert running.client.get("/v1/queue", params={"model": "none"}).status_code == 404


def test_a_queue_is_no_longer_than_allowed(serve, model):
    client = serve(model, review=2).client
    assert client.post("/v1/queue", json={"documents": [GOAL, COMET]}).status_code == 200
    answer = client.post("/v1/queue", json={"documents": [{"id": "3", "text": "more"}]})
    assert (answer.status_code, "at most 2 documents" in answer.text) == (413, True)


def test_a_token_guards_feedback_too(serve, model):
    client = serve(model, token="s3cret").client
    for method, path in [("GET", "/v1/queue"), ("POST", "/v1/feedback"), ("POST", "/v1/model/reload")]:
        assert client.request(method, path, json={}).status_code == 401


def test_many_reviewers_at_once_lose_nothing(running):
    def review(name):
        for number in range(20):
            given = {"key": f"{name}-{number}", "verdict": "add", "reviewer": name, "document": GOAL, "label": "Tennis"}
            status = 503
            while status == 503:  # the server says when it has enough
                status = running.client.post("/v1/feedback", json={"corrections": [given]}).status_code
            assert status == 200

    threads = [threading.Thread(target=review, args=(name,)) for name in "abcdef"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = [event["key"] for event in running.client.get("/v1/feedback").json()["events"]]
    assert sorted(keys) == sorted(f"{name}-{number}" for name in "abcdef" for number in range(20))


def test_a_store_that_cannot_be_written_is_told_without_its_path(serve, model, tmp_path, capfd):
    answer = serve(replace(model, feedback=tmp_path / "no folder" / "store.sqlite")).client.get("/v1/queue")
    assert answer.status_code == 503
    assert str(tmp_path) not in answer.text
    assert "no folder" in capfd.readouterr().err


def test_too_many_at_once_are_refused(serve, model):
    running = serve(model, queue=1, documents=1)
    running.client.get("/v1/queue")
    with sqlite3.connect(model.feedback, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")  # who writes must wait
        given = {"key": "k", "verdict": "add", "reviewer": "ann", "document": GOAL, "label": "Tennis"}
        answers = []
        first = threading.Thread(
            target=lambda: answers.append(running.client.post("/v1/feedback", json={"corrections": [given]}))
        )
        first.start()
        while running.service.desk(model)._waiting < 1:
            pass
        refused = running.client.get("/v1/feedback")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        other.execute("ROLLBACK")
    other.close()
    first.join()
    assert answers[0].status_code == 200


def test_documents_without_ids_are_queued_and_corrected_by_their_texts(running):
    texts = ["The striker scored twice.", "A comet was seen."]
    for text in texts:
        assert running.client.post("/v1/queue", json={"documents": [{"text": text}]}).status_code == 200
    queue = running.client.get("/v1/queue").json()
    assert queue["sizes"]["open"] == 2
    for number, one in enumerate(queue["documents"]):
        assert one["document"]["id"] is None
        done = {"key": f"k{number}", "verdict": "done", "reviewer": "ann", "document": one["document"], "suggested": []}
        assert running.client.post("/v1/feedback", json={"corrections": [done]}).status_code == 200
    assert running.client.get("/v1/queue").json()["sizes"] == {"open": 0, "reviewed": 2, "all": 2}


def test_reviewed_documents_leave_room_in_the_queue(serve, model):
    client = serve(model, review=1).client
    for number in range(3):
        document = {"text": f"Match {number} was won."}
        assert client.post("/v1/queue", json={"documents": [document]}).status_code == 200
        refused = client.post("/v1/queue", json={"documents": [GOAL]})
        assert (refused.status_code, "may wait for review" in refused.text) == (413, True)
        done = {"key": f"k{number}", "verdict": "done", "reviewer": "ann", "document": document, "suggested": []}
        assert client.post("/v1/feedback", json={"corrections": [done]}).status_code == 200


def test_a_model_without_a_store(serve, model):
    assert serve(replace(model, feedback=None)).client.get("/v1/queue").status_code == 404


def test_a_file_of_documents_to_review(tmp_path):
    (tmp_path / "queue.csv").write_text("text,title\nThe striker scored.,Sport\nA comet was seen.,Science\n")
    found = read_queue(tmp_path / "queue.csv", CorpusConfig(keep="title"), 2)
    assert [(one.id, one.kept) for one in found] == [(None, {"title": "Sport"}), (None, {"title": "Science"})]
    with pytest.raises(CorpusError, match=r"more than 1 documents; give fewer, or set serve\.review"):
        read_queue(tmp_path / "queue.csv", CorpusConfig(), 1)
    (tmp_path / "tokens.jsonl").write_text('{"id": "t", "tokens": ["goal"]}\n')
    with pytest.raises(CorpusError, match="document 't': has no text that a reviewer could read"):
        read_queue(tmp_path / "tokens.jsonl", CorpusConfig(), 10)


def test_the_queue_is_ordered_by_what_is_worth_reviewing(model):
    """A copy of a document teaches nothing new, so it comes after all others; what is reviewed does not come back."""
    texts = {"a": GOAL["text"], "copy": GOAL["text"], "b": COMET["text"], "c": "The peloton climbed the mountain."}
    documents = [Document(text, name) for name, text in texts.items()]
    arrange_queue(model, documents)
    with FeedbackStore(model.feedback) as store:
        order = [one.document.id for one in store.queue()]
        assert order[-1] in {"a", "copy"}
        assert set(order) == set(texts)
        store.add([Correction("done", "done", "ann", documents[2])])
        arrange_queue(model, documents)
        assert {one.document.id for one in store.queue()} == set(texts) - {"b"}
        assert store.queue_sizes() == {"open": 3, "reviewed": 1, "all": 4}


def test_labels_come_with_the_names_by_which_they_are_searched(running):
    found = {one["label"]: one for one in running.client.get("/v1/taxonomy").json()["labels"]}
    assert found["Football"]["alternatives"] == ["soccer"]
    assert found["Tennis"]["alternatives"] == found["Tennis"]["hidden"] == []
