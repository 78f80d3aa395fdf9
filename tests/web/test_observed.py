"""Every request leaves a line, and no traceback leaves."""

import asyncio
import json

from taxocaps.web.metrics import Metrics
from taxocaps.web.observed import Observed


def test_a_line_for_each_request(serve, slate):
    running = serve(slate.served())
    running.client.post("/v1/predict", json={"documents": [{"text": "a"}, {"text": "b"}]})
    running.client.get("/nowhere?secret=1")
    running.client.get("/healthz")
    running.server.stop()
    running.thread.join(10)
    lines = [(one["method"], one["path"], one["status"], one["documents"], one["client"]) for one in running.log]
    assert lines == [
        ("POST", "/v1/predict", 200, 2, "127.0.0.1"),
        ("GET", "/nowhere", 404, 0, "127.0.0.1"),
        ("GET", "/healthz", 200, 0, "127.0.0.1"),
    ]
    assert all(0 < one["milliseconds"] < 20_000 for one in running.log)


def answer(app, log=None):
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "path": "/x", "headers": []}
    asyncio.run(Observed(app, Metrics(), (), log)(scope, receive, send))
    return sent


def test_an_error_before_the_answer_becomes_one(capsys):
    async def broken(scope, receive, send):
        raise RuntimeError("a secret")

    log = []
    start, body = answer(broken, log.append)
    assert start["status"] == 500
    assert json.loads(body["body"]) == {"error": {"message": "an internal error, which was logged"}}
    assert "a secret" in json.loads(capsys.readouterr().err)["traceback"]
    assert [(entry["status"], entry["client"]) for entry in log] == [(500, None)]


def test_an_error_within_the_answer_is_logged_only(capsys):
    async def broken(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("a secret")

    assert [message["type"] for message in answer(broken)] == ["http.response.start"]
    assert "a secret" in capsys.readouterr().err
