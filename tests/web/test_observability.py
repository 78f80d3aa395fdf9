"""The log and the metrics of a server; no traceback leaves it."""

import asyncio
import io
import json
import logging
import os
import sys
from datetime import datetime
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from taxocaps.web.observability import JsonHandler, Metrics, ObservabilityMiddleware, error_entry, write_entry


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
    asyncio.run(ObservabilityMiddleware(app, Metrics((), ()), log)(scope, receive, send))
    return sent


def test_an_error_before_the_answer_becomes_one(capsys):
    async def broken(scope, receive, send):
        raise RuntimeError("a secret")

    log = []
    start, body = answer(broken, log.append)
    assert start["status"] == 500
    assert json.loads(body["body"]) == {"error": {"message": "internal error; see the log of the server"}}
    assert "a secret" in json.loads(capsys.readouterr().err)["traceback"]
    assert [(entry["status"], entry["client"]) for entry in log] == [(500, None)]


def test_an_error_within_the_answer_is_logged_only(capsys):
    async def broken(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("a secret")

    assert [message["type"] for message in answer(broken)] == ["http.response.start"]
    assert "a secret" in capsys.readouterr().err


def test_a_line_with_the_time(capsys):
    write_entry({"path": "/a\nb", "status": 200})
    (line,) = capsys.readouterr().err.splitlines()
    entry = json.loads(line)
    assert datetime.fromisoformat(entry.pop("time")).tzinfo is not None
    assert entry == {"path": "/a\nb", "status": 200}


def test_lines_are_ascii_so_that_no_path_can_steer_a_terminal(capsys):
    write_entry({"path": "/é\x9b31m\u202e"})
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isascii()
    assert json.loads(line)["path"] == "/é\x9b31m\u202e"


def test_what_is_no_unicode_is_logged_all_the_same(capsys):
    write_entry({"path": "/\ud800"})
    assert json.loads(capsys.readouterr().err)["path"] == "/\ud800"


def test_an_event_loop_writes_the_lines_of_a_batch_at_once(monkeypatch):
    written = []
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=written.append, flush=lambda: None))

    async def answer():
        for number in range(3):
            write_entry({"number": number})
        assert not written

    asyncio.run(answer())
    (lines,) = written
    assert [json.loads(line)["number"] for line in lines.splitlines()] == [0, 1, 2]
    assert lines.endswith("\n")


def test_nobody_listening_is_no_error(monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    write_entry({"status": 200})


def test_an_error_in_full():
    try:
        raise ValueError("deep down")
    except ValueError as error:
        entry = error_entry(error)
    assert entry["level"] == "error"
    assert entry["traceback"].startswith("Traceback")
    assert "deep down" in entry["traceback"]


def test_what_libraries_say(capsys):
    logger = logging.Logger("library")
    logger.addHandler(JsonHandler(logging.WARNING))
    logger.info("not this")
    logger.warning("this %s", "one")
    try:
        raise ValueError("deep down")
    except ValueError:
        logger.exception("and this")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["level"], first["message"]) == ("warning", "this one")
    assert (second["level"], second["message"]) == ("error", "and this")
    assert "deep down" in second["traceback"]


def read(metrics):
    families = text_string_to_metric_families(metrics.text().decode())
    return {(s.name, *sorted(s.labels.items())): s.value for family in families for s in family.samples}


def test_counts():
    metrics = Metrics(["/v1/predict"], ["m"])
    metrics.observe_request("/v1/predict", 200, 0.02, 5)
    metrics.observe_request("/v1/predict", 200, 0.025, 2)
    metrics.observe_request("/v1/predict", 200, 60, 0)
    metrics.observe_request("/nowhere", 404, 0.001, 0)
    metrics.observe_batch("m", 7)
    metrics.set_queue("m", 3)
    found = read(metrics)
    assert found["taxocaps_requests_total", ("path", "/v1/predict"), ("status", "200")] == 3
    assert found["taxocaps_requests_total", ("path", "other"), ("status", "404")] == 1
    assert found[("taxocaps_documents_total",)] == 7
    buckets = [("0.01", 0), ("0.025", 2), ("30.0", 2), ("+Inf", 3)]
    for end, count in buckets:
        assert found["taxocaps_request_seconds_bucket", ("le", end), ("path", "/v1/predict")] == count
    assert found["taxocaps_request_seconds_count", ("path", "/v1/predict")] == 3
    assert found["taxocaps_request_seconds_sum", ("path", "/v1/predict")] == 60.045
    assert found["taxocaps_batch_documents_sum", ("model", "m")] == 7
    assert found["taxocaps_queue_documents", ("model", "m")] == 3
    metrics.set_queue("m", 0)
    assert read(metrics)["taxocaps_queue_documents", ("model", "m")] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_workers_count_together_and_a_new_one_goes_on_where_another_ended():
    metrics = Metrics(["/healthz"], ["m"], workers=2)
    for worker in (0, 1, 1):
        process = os.fork()
        if process == 0:
            metrics.begin(worker)
            metrics.observe_request("/healthz", 200, 0.001, 1)
            metrics.set_queue("m", 5)
            os._exit(0)
        assert os.waitpid(process, 0)[1] == 0
    found = read(metrics)
    assert found["taxocaps_requests_total", ("path", "/healthz"), ("status", "200")] == 3
    assert found[("taxocaps_documents_total",)] == 3
    assert found["taxocaps_queue_documents", ("model", "m")] == 10
    metrics.begin(1)  # in whose queue nothing waits yet
    assert read(metrics)["taxocaps_queue_documents", ("model", "m")] == 5


def test_two_servers_count_apart():
    first, second = Metrics(["/healthz"], ()), Metrics(["/healthz"], ())
    first.observe_request("/healthz", 200, 0.001, 0)
    assert ("taxocaps_requests_total", ("path", "/healthz"), ("status", "200")) not in read(second)


def test_the_metrics_of_a_server(serve, slate):
    client = serve(slate.served()).client
    client.post("/v1/predict", json={"documents": [{"text": "a"}, {"text": "b"}]})
    client.post("/v1/predict", json={"text": 1})
    client.get("/nowhere")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    found = {
        (s.name, *sorted(s.labels.items())): s.value
        for f in text_string_to_metric_families(answer.text)
        for s in f.samples
    }
    assert found["taxocaps_requests_total", ("path", "/v1/predict"), ("status", "200")] == 1
    assert found["taxocaps_requests_total", ("path", "/v1/predict"), ("status", "422")] == 1
    assert found["taxocaps_requests_total", ("path", "other"), ("status", "404")] == 1
    assert found[("taxocaps_documents_total",)] == 2
    assert found["taxocaps_queue_documents", ("model", "slate")] == 0
