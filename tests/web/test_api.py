"""The paths of the server, asked over HTTP by real clients."""

import asyncio
import base64
import json
import re
import threading
import time

import httpx
import pytest

from taxocaps.web.api import Service
from taxocaps.web.responses import ApiError, error_response
from taxocaps.workflows.serve import load_models
from taxocaps.workflows.uploads import NamedText

TEXTS = ["The striker scored for his club.", "", "Astronomers saw a comet and a planet.", "the of and"]


@pytest.fixture(scope="module")
def toy(toy_model):
    """The toy model, loaded once for all servers."""
    (model,) = load_models([toy_model]).values()
    return model


def labels(answer):
    assert answer.status_code == 200, answer.text
    return [[one["label"] for one in prediction["labels"]] for prediction in answer.json()["predictions"]]


def command_line(toy_model, capsys, *options):
    from taxocaps.cli.main import main

    with pytest.raises(SystemExit):
        main(["predict", str(toy_model), *(part for text in TEXTS for part in ("--text", text)), *options])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ({}, []),
        ({"top_k": 2, "hierarchy": "as-is"}, ["--top-k", "2", "--hierarchy", "as-is"]),
        ({"threshold": 0.6, "hierarchy": "drop-orphans"}, ["--threshold", "0.6", "--hierarchy", "drop-orphans"]),
        ({"threshold": 1, "at_least": 3}, ["--threshold", "1", "--at-least", "3"]),
    ],
    ids=str,
)
def test_the_labels_are_those_of_the_command_line(serve, toy, toy_model, capsys, asked, options):
    wanted = command_line(toy_model, capsys, *options)
    client = serve(toy).client
    many = client.post("/v1/predict", json={"documents": [{"text": text} for text in TEXTS], **asked})
    assert many.json() == {"model": "model", "version": toy.version, "predictions": wanted}
    for text, prediction in zip(TEXTS, wanted, strict=True):
        alone = client.post("/v1/predict", json={"text": text, **asked})
        assert labels(alone) == [[one["label"] for one in prediction["labels"]]]
        assert [one["score"] for one in alone.json()["predictions"][0]["labels"]] == pytest.approx(
            [one["score"] for one in prediction["labels"]], abs=1e-5
        )


def test_ids_and_tokens(serve, toy):
    documents = [{"id": "n", "tokens": ["striker", "score"]}, {"text": "The striker scored."}, {"id": "", "text": "x"}]
    answer = serve(toy).client.post("/v1/predict", json={"documents": documents, "top_k": 1})
    assert [prediction["id"] for prediction in answer.json()["predictions"]] == ["n", "2", "3"]
    first, second, _ = labels(answer)
    assert first == second
    assert first


def test_clients_together_get_what_each_gets_alone(serve, toy):
    running = serve(toy)
    asked = [
        {"text": f"{TEXTS[number % 4]} {number}", **({"top_k": number % 3 + 1} if number % 2 else {})}
        for number in range(24)
    ]
    alone = [labels(running.client.post("/v1/predict", json=one)) for one in asked[:6]]

    async def all_at_once():
        async with httpx.AsyncClient(base_url=running.url, timeout=20, trust_env=False) as client:
            return await asyncio.gather(*(client.post("/v1/predict", json=one) for one in asked))

    together = asyncio.run(all_at_once())
    assert [labels(answer) for answer in together[:6]] == alone
    assert all(labels(answer) for answer in together)
    count, total = (
        float(re.search(rf'taxocaps_batch_documents_{name}{{model="model"}} (\S+)', metrics(running)).group(1))
        for name in ("count", "sum")
    )
    assert total == 30
    assert count < 20  # six alone, and fewer than one batch a client


def metrics(running):
    return running.client.get("/metrics").text


def test_two_models_at_once(serve, toy, slate):
    client = serve(toy, slate.served()).client
    found = client.get("/v1/models").json()
    assert found["default"] == "model"
    assert [(one["name"], one["labels"]) for one in found["models"]] == [("model", 10), ("slate", 1)]
    assert found["models"][0]["validation"]["flat"]["micro"]["f1"] > 0
    assert client.post("/v1/predict", json={"text": "x", "model": "slate"}).json()["model"] == "slate"
    assert client.post("/v1/predict", json={"text": "x"}).json()["model"] == "model"
    assert client.get("/v1/taxonomy", params={"model": "slate"}).json()["roots"] == ["a"]


def test_a_model_that_is_busy_keeps_nobody_else_waiting(serve, slate):
    class Other(type(slate)):
        pass

    running = serve(slate.served(), Other().served("other"))
    slate.open.clear()
    answers = []
    waiting = threading.Thread(
        target=lambda: answers.append(httpx.post(f"{running.url}/v1/predict", json={"text": "x"}, trust_env=False))
    )
    waiting.start()
    assert slate.begun.wait(10)
    assert running.client.get("/healthz").json() == {"status": "ready"}
    assert labels(running.client.post("/v1/predict", json={"text": "y", "model": "other"})) == [["y"]]
    assert not answers
    slate.open.set()
    waiting.join(10)
    assert labels(answers[0]) == [["x"]]


def test_the_taxonomy(serve, toy, toy_files):
    found = serve(toy).client.get("/v1/taxonomy").json()
    tree = toy_files.data.taxonomy
    assert found["model"] == "model"
    assert found["roots"] == list(tree.roots)
    assert [one["label"] for one in found["labels"]] == list(tree.names)
    for one in found["labels"]:
        assert one["parents"] == list(tree.parents(one["label"]))
        assert one["level"] == tree.depth(one["label"])
        assert (one["threshold"] is None) == (one["label"] in tree.roots)


def test_a_large_request_is_cut_into_batches(serve, slate):
    running = serve(slate.served(), batch=4)
    texts = [str(number) for number in range(10)]
    answer = running.client.post("/v1/predict", json={"documents": [{"text": text} for text in texts]})
    assert labels(answer) == [[text] for text in texts]
    assert [len(batch) for batch in slate.batches] == [4, 4, 2]


def test_no_documents(serve, slate):
    assert serve(slate.served()).client.post("/v1/predict", json={"documents": []}).json()["predictions"] == []


REFUSED = [
    ({"content": b"{"}, 400, "not valid JSON", None),
    ({"content": b'{"text": "\xff"}'}, 400, "not valid UTF-8 at byte 10", None),
    ({"content": b"[" * 100_000}, 400, "nested too deeply", None),
    ({"content": b""}, 422, "JSON object", None),
    ({"json": []}, 422, "JSON object", None),
    ({"json": {}}, 422, "either text or documents", None),
    ({"json": {"text": "a", "documents": []}}, 422, "either text or documents", None),
    ({"json": {"text": 1}}, 422, "valid string", "text"),
    ({"json": {"text": "a", "treshold": 1}}, 422, "unknown field; did you mean threshold?", "treshold"),
    ({"json": {"documents": [{"text": "a"}, {}]}}, 422, "either text or tokens", "documents[1]"),
    ({"json": {"documents": [{"tokens": ["a", 1]}]}}, 422, "valid string", "documents[0].tokens[1]"),
    ({"json": {"text": "a", "threshold": 2}}, 422, "threshold must be", "threshold"),
    ({"json": {"text": "a", "threshold": "0.5"}}, 422, "valid number", "threshold"),
    ({"content": b'{"text": "a", "threshold": NaN}'}, 422, "threshold must be a number", "threshold"),
    ({"json": {"text": "a", "top_k": 0}}, 422, "top_k must be", "top_k"),
    ({"json": {"text": "a", "top_k": True}}, 422, "valid integer", "top_k"),
    ({"json": {"text": "a", "top_k": 1, "threshold": 0.5}}, 422, "leave out threshold", None),
    ({"json": {"text": "a", "hierarchy": "up"}}, 422, "must be one of as-is", "hierarchy"),
    ({"content": b'{"text": "\\ud800"}'}, 422, "half a character", "text"),
    ({"content": b'{"text": "a", "\\ud800": 1}'}, 422, "unknown field", "?"),
    ({"json": {"text": "a", "model": "none"}}, 404, "there are: slate", "model"),
    ({"json": {"documents": [{"text": "a"}] * 4}}, 413, "at most 3", "documents"),
    ({"json": {"text": "a" * 21}}, 413, "at most 20 characters; got 21", "text"),
    ({"json": {"documents": [{"text": "a"}, {"tokens": [""] * 21}]}}, 413, "at most 20", "documents[1].tokens"),
    ({"content": b"x", "headers": {"content-type": "text/plain"}}, 415, "application/json", None),
]


def test_refusals_have_one_shape(serve, slate):
    client = serve(slate.served(), documents=3, text_length=20).client
    for sent, status, message, field in REFUSED:
        answer = client.post("/v1/predict", **{"headers": {"content-type": "application/json"}, **sent})
        assert answer.headers["content-type"] == "application/json"
        assert (answer.status_code, answer.json()["error"].get("field")) == (status, field), sent
        assert message in answer.json()["error"]["message"]
        assert set(answer.json()) == {"error"}
    assert slate.batches == []


def test_other_paths_and_methods(serve, slate):
    client = serve(slate.served()).client
    for method, path, status in [
        ("GET", "/nowhere", 404),
        ("GET", "/v1/predict/", 404),
        ("GET", "/v1/taxonomy?model=none", 404),
        ("GET", "/v1/predict", 405),
        ("DELETE", "/v1/models", 405),
    ]:
        answer = client.request(method, path)
        assert answer.status_code == status
        assert answer.json()["error"]["message"]
    assert answer.headers["allow"] == "GET"


def test_an_internal_error_says_nothing(serve, slate, capfd):
    running = serve(slate.served())
    answer = running.client.post("/v1/predict", json={"text": "burst"})
    assert answer.status_code == 500
    assert answer.json() == {"error": {"message": "internal error; see the log of the server"}}
    assert labels(running.client.post("/v1/predict", json={"text": "a"})) == [["a"]]
    running.server.stop()
    running.thread.join(10)
    (line,) = capfd.readouterr().err.splitlines()
    assert "a secret of the house" in json.loads(line)["traceback"]
    assert [entry["status"] for entry in running.log] == [500, 200]


def test_a_full_queue_and_a_time_out(serve, slate):
    running = serve(slate.served(), queue=1, documents=1, batch=1, timeout=0.5)
    slate.open.clear()

    async def clients():
        async with httpx.AsyncClient(base_url=running.url, timeout=20, trust_env=False) as client:
            first = asyncio.create_task(client.post("/v1/predict", json={"text": "1"}))
            while not slate.begun.is_set():
                await asyncio.sleep(0.005)
            others = [client.post("/v1/predict", json={"text": str(number)}) for number in range(2, 6)]
            return await asyncio.gather(first, *others)

    first, *others = asyncio.run(clients())
    assert first.status_code == 504
    assert "0.5 seconds" in first.json()["error"]["message"]
    assert sorted(answer.status_code for answer in others) == [503, 503, 503, 504]
    for answer in others:
        assert answer.status_code == 504 or answer.headers["retry-after"] == "1"
    slate.open.set()
    assert labels(running.client.post("/v1/predict", json={"text": "after"})) == [["after"]]


def test_what_nobody_waits_for_is_not_explained(serve, slate):
    running = serve(slate.served())
    slate.open.clear()

    def go_away(text):
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{running.url}/v1/explain", json={"text": text}, timeout=0.3, trust_env=False, verify=False)

    for text in ("begun", "second", "third"):
        go_away(text)
    deadline = time.monotonic() + 10
    while len(running.log) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    slate.open.set()
    assert running.client.post("/v1/explain", json={"text": "last"}).status_code == 200
    assert slate.batches == [["begun"], ["last"]]
    assert [entry["status"] for entry in running.log[:3]] == [499] * 3


def test_draining(serve, slate):
    running = serve(slate.served())
    running.service.draining = True
    health = running.client.get("/healthz")
    assert (health.status_code, health.json()) == (503, {"status": "draining"})
    answer = running.client.post("/v1/predict", json={"text": "a"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_an_explanation_is_that_of_the_command_line(serve, toy, toy_model, capsys):
    from taxocaps.cli.main import main

    with pytest.raises(SystemExit):
        main(["explain", str(toy_model), "--text", TEXTS[0], "--near-misses", "3", "--method", "occlusion", "--json"])
    answer = serve(toy).client.post("/v1/explain", json={"text": TEXTS[0], "near_misses": 3, "method": "occlusion"})
    assert answer.status_code == 200, answer.text
    assert answer.json() == json.loads(capsys.readouterr().out)


def test_an_explanation_of_tokens_and_of_a_label_that_is_not_given(serve, toy):
    running = serve(toy)
    label = next(one.label for one in toy.taxonomy.labels if one.threshold is not None)
    asked = {"tokens": ["striker", "scored"], "id": "n", "labels": [label], "model": "model"}
    found = running.client.post("/v1/explain", json=asked).json()
    assert (found["title"], found["text"]) == ("n", "striker scored")
    assert [one["label"] for one in found["reasons"]] == [label]
    assert running.client.post("/v1/explain", json={"text": ""}).json()["warning"]
    assert (running.log[0]["path"], running.log[0]["documents"]) == ("/v1/explain", 1)  # written before the next begins


UNEXPLAINED = [
    ({"content": b"{"}, 400, "not valid JSON", None),
    ({"json": {}}, 422, "either text or tokens", None),
    ({"json": {"text": "a", "tokens": []}}, 422, "either text or tokens", None),
    ({"json": {"documents": []}}, 422, "unknown field; allowed: text, tokens", "documents"),
    ({"json": {"text": "a", "near_miss": 3}}, 422, "unknown field; did you mean near_misses?", "near_miss"),
    ({"json": {"text": "a", "near_misses": -1}}, 422, "near_misses must be from 0 to 1000000; got -1", "near_misses"),
    ({"json": {"text": "a", "method": "linea"}}, 422, "did you mean linear?", "method"),
    ({"json": {"text": "a", "labels": ["a", "b"]}}, 422, "has no label of this name", "labels[1]"),
    ({"json": {"text": "a", "labels": ["a", 1]}}, 422, "valid string", "labels[1]"),
    ({"json": {"text": "a", "labels": ["a"] * 4}}, 413, "at most 3", "labels"),
    ({"json": {"text": "a", "model": "none"}}, 404, "there are: slate", "model"),
    ({"json": {"text": "a" * 21}}, 413, "at most 20 characters; got 21", "text"),
    ({"json": {"tokens": ["aa"] * 7}}, 413, "at most 20 characters; got 21", "tokens"),
    ({"content": b"x", "headers": {"content-type": "text/plain"}}, 415, "application/json", None),
]


def test_refusals_of_explanations_have_the_same_shape(serve, slate):
    running = serve(slate.served(), text_length=20, explain_labels=3)
    for sent, status, message, field in UNEXPLAINED:
        answer = running.client.post("/v1/explain", **{"headers": {"content-type": "application/json"}, **sent})
        assert (answer.status_code, answer.json()["error"].get("field")) == (status, field), sent
        assert message in answer.json()["error"]["message"]
    assert slate.batches == []
    running.service.draining = True
    assert running.client.post("/v1/explain", json={"text": "a"}).status_code == 503


def test_a_document_of_too_many_words_is_not_explained(serve, toy):
    client = serve(toy, explain_words=2).client
    for field, content in [("text", "striker scored goals"), ("tokens", ["striker", "scored", "goals"])]:
        answer = client.post("/v1/explain", json={field: content})
        assert (answer.status_code, answer.json()["error"]["field"]) == (413, field)
        assert "the document has 3 words; at most 2 can be explained" in answer.json()["error"]["message"]


def test_labels_do_not_wait_for_explanations_that_wait(serve, slate):
    running = serve(slate.served(), timeout=10)
    slate.open.clear()

    async def clients():
        async with httpx.AsyncClient(base_url=running.url, timeout=20, trust_env=False) as client:
            explained = [asyncio.create_task(client.post("/v1/explain", json={"text": text})) for text in "123"]
            while not slate.begun.is_set() or running.service._batcher(running.service.model(None)).waiting() < 2:
                await asyncio.sleep(0.005)
            labelled = asyncio.create_task(client.post("/v1/predict", json={"text": "a"}))
            while running.service._batcher(running.service.model(None)).waiting() < 3:
                await asyncio.sleep(0.005)
            slate.open.set()
            return await asyncio.gather(labelled, *explained)

    assert {answer.status_code for answer in asyncio.run(clients())} == {200}
    assert slate.batches[1] == ["a"]
    assert sorted(slate.batches[0] + slate.batches[2] + slate.batches[3]) == ["1", "2", "3"]


def test_limits_are_told(serve, slate):
    limits = serve(slate.served(), documents=7, explain_words=9).client.get("/v1/models").json()["limits"]
    assert limits == {"body_bytes": 4_000_000, "documents": 7, "text_length": 200_000, "explain_words": 9}


def test_the_description(serve, slate):
    client = serve(slate.served(), documents=7).client
    found = client.get("/openapi.json").json()
    models = {
        "/v1/predict",
        "/v1/explain",
        "/v1/documents",
        "/v1/taxonomy",
        "/v1/models",
        "/v1/model/reload",
        "/v1/model/back",
    }
    assert set(found["paths"]) == models | {"/v1/queue", "/v1/feedback", "/healthz", "/metrics"}
    documents = found["components"]["schemas"]["PredictRequest"]["properties"]["documents"]
    assert documents["anyOf"][0]["maxItems"] == 7
    labels = found["components"]["schemas"]["ExplainRequest"]["properties"]["labels"]
    assert labels["anyOf"][0]["maxItems"] == 100
    explained = found["paths"]["/v1/explain"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert explained == {"$ref": "#/components/schemas/Explanation"}
    assert {"labels", "reasons", "matrix", "graph"} <= set(found["components"]["schemas"]["Explanation"]["properties"])
    assert "/v1/explain" in client.get("/docs").text
    assert "HTTPValidationError" not in found["components"]["schemas"]


def test_an_unknown_model_is_refused_in_the_same_shape(slate):
    with pytest.raises(ApiError) as caught:
        Service({"slate": slate.served()}).model("other")
    assert json.loads(error_response(caught.value).body)["error"]["field"] == "model"


def test_documents_of_files(serve, slate):
    client = serve(slate.served(), body_bytes=2_000).client

    def sent(name, content, **fields):
        content = base64.b64encode(content).decode()
        return client.post("/v1/documents", json={"name": name, "content": content, **fields})

    table = b"id,title,body\n7,Crude,Prices rose.\n"
    assert sent("news.csv", table).json() == {
        "documents": [{"id": "7", "text": "Crude\nPrices rose."}],
        "left": 0,
        "skipped": 0,
        "problem": None,
        "fields": ["id", "title", "body"],
        "text_fields": ["title", "body"],
        "id_field": "id",
    }
    chosen = sent("news.csv", table, text_fields=["body"], id_field="title").json()
    assert chosen["documents"] == [{"id": "Crude", "text": "Prices rose."}]
    for name, content, message in (
        ("a.pdf", b"no pdf", "a.pdf: cannot be read as PDF"),
        ("a.exe", b"MZ\0\1\2" * 9, "a.exe: is no text"),
    ):
        answer = sent(name, content)
        assert answer.status_code == 422
        assert answer.json()["error"]["message"].startswith(message)
    assert sent("a.csv", b"a" * 3_000).status_code == 413
    for wrong in ({"content": "%"}, {"text_fields": ["a,b"]}, {"text_fields": [" "]}, {"id_field": ""}):
        answer = client.post("/v1/documents", json={"name": "a.csv", "content": "YQ==", **wrong})
        assert answer.status_code == 422, wrong


def test_examples_come_with_the_models(serve, slate):
    client = serve(slate.served(), examples=[NamedText("7", "Prices rose.")]).client
    assert client.get("/v1/models").json()["examples"] == [{"id": "7", "text": "Prices rose."}]
