"""`taxocaps serve`: as a process of its own, until it is told to stop."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest


@pytest.fixture
def start(toy_model):
    """Start servers as processes; gives the process, its address and what it has said until then."""
    started = []

    def call(*options, **environment):
        process = subprocess.Popen(
            [sys.executable, "-m", "taxocaps", "serve", str(toy_model), "--port", "0", *options],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        started.append(process)
        said = ""
        while not (found := re.search(r"serving model at (http://\S+);", said)):
            line = process.stderr.readline()
            assert line, f"ended: {said}"
            said += line
        return process, found.group(1), said

    yield call
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_ends_the_server_when_all_is_answered(start, workers):
    process, url, said = start("--set", "serve.batch=1", "--workers", str(workers))
    assert said.count("\n") == 1
    answers = []
    asked = {"documents": [{"text": "The striker scored."}] * 256}
    waiting = threading.Thread(
        target=lambda: answers.append(httpx.post(f"{url}/v1/predict", json=asked, trust_env=False, timeout=60))
    )
    with httpx.Client(base_url=url, trust_env=False) as client:
        assert client.get("/healthz").json() == {"status": "ready"}
        waiting.start()
        while 'taxocaps_queue_documents{model="model"} 0.0' in client.get("/metrics").text:
            assert waiting.is_alive()
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    waiting.join(10)
    assert [bool(one["labels"]) for one in answers[0].json()["predictions"]] == [True] * 256
    assert (process.returncode, out) == (0, "")
    lines = [json.loads(line) for line in err.splitlines()]
    assert (lines[-1]["path"], lines[-1]["status"], lines[-1]["documents"]) == ("/v1/predict", 200, 256)


def labelled(url, times=1):
    """Ask over a connection of its own each time, so that every worker has its turn."""
    for _ in range(times):
        answer = httpx.post(f"{url}/v1/predict", json={"text": "The striker scored."}, trust_env=False, timeout=20)
        assert answer.json()["predictions"][0]["labels"]


def children(process):
    return {int(one) for one in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()}


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc here")
def test_workers_count_together_are_replaced_and_end_with_the_first_process(start):
    process, url, _ = start("--workers", "2")
    first = children(process)
    assert len(first) == 2
    labelled(url, 20)
    used = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[11] for one in first]
    assert "0" not in used, "only one worker has worked"
    os.kill(min(first), signal.SIGKILL)
    until(lambda: len(children(process)) == 2 and children(process) != first)
    labelled(url, 20)
    found = httpx.get(f"{url}/metrics", trust_env=False).text
    assert 'taxocaps_requests_total{path="/v1/predict",status="200"} 40.0' in found
    last = children(process)
    process.kill()
    until(lambda: not any(Path(f"/proc/{one}").exists() for one in last))
    said = process.stderr.read().splitlines()
    assert sum("worker" in line and "ended with code -9 and is replaced" in line for line in said) == 1


@pytest.mark.slow
def test_quiet_and_a_token_and_the_world(toy_model, tmp_path):
    """In one process, for each takes seconds to start."""
    (tmp_path / "token").write_text("s3cret")
    code = (
        "import sys, threading, time, httpx, taxocaps.web.server as server\n"
        "serve_on = server.Server.serve_on\n"
        "def ask(self, listener):\n"
        "    def client():\n"
        "        while not self.started: time.sleep(0.01)\n"
        "        url = f'http://127.0.0.1:{listener.getsockname()[1]}'\n"
        "        for headers in ({}, {'authorization': 'Bearer s3cret'}):\n"
        "            print(httpx.get(url + '/v1/models', headers=headers, trust_env=False).status_code)\n"
        "        import os, signal; os.kill(os.getpid(), signal.SIGINT)\n"
        "    threading.Thread(target=client).start()\n"
        "    serve_on(self, listener)\n"
        "server.Server.serve_on = ask\n"
        "from taxocaps.cli.main import main; main()\n"
    )
    arguments = ["serve", str(toy_model), "--port", "0", "--quiet", "--host", "0.0.0.0"]
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments, "--token-file", str(tmp_path / "token")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "401\n200\n", "")


@pytest.fixture
def unserved(monkeypatch):
    monkeypatch.setattr("taxocaps.web.server.Server.serve_on", lambda self, listener: self.announce())
    monkeypatch.delenv("TAXOCAPS_TOKEN", raising=False)


@pytest.mark.usefixtures("unserved")
def test_the_world_without_a_token_is_warned_of(run, toy_model, monkeypatch):
    def said(*options):
        code, out, err = run("serve", toy_model, "--port", 0, *options)
        assert (code, out) == (0, "")
        return err

    assert said("--host", "0.0.0.0").startswith("warning: whoever can reach http://0.0.0.0:")
    assert said("--host", "0.0.0.0", "--quiet").count("\n") == 1
    assert said().startswith("serving model at http://127.0.0.1:")
    assert said("--quiet") == ""
    monkeypatch.setenv("TAXOCAPS_TOKEN", "s3cret")
    assert "warning" not in said("--host", "0.0.0.0")


@pytest.mark.usefixtures("unserved")
def test_mistakes(run, check_refused, toy_model, tmp_path, monkeypatch):
    check_refused(run("serve", tmp_path / "none", "--port", 0), "no model there")
    check_refused(run("serve"), "Missing argument", "taxocaps serve --help")
    check_refused(run("serve", toy_model, toy_model, "--port", 0), "another model is called")
    check_refused(run("serve", toy_model, "--port", 0, "--set", "serve.batc=1"), "did you mean serve.batch?")
    check_refused(run("serve", toy_model, "--port", 70000), "--port")
    check_refused(run("serve", toy_model, "--workers", 0), "--workers")
    check_refused(run("serve", toy_model, "--queue", tmp_path / "none.jsonl"), "none.jsonl")
    check_refused(
        run("serve", toy_model, tmp_path, "--feedback", tmp_path / "f.sqlite"), "--feedback are for one model"
    )
    check_refused(run("serve", toy_model, "--port", 0, "--feedback", tmp_path / "no" / "f.sqlite"), "cannot be used")
    check_refused(run("serve", toy_model, "--host", "192.0.2.1"), "cannot serve at 192.0.2.1, port 8000")
    check_refused(run("serve", toy_model, "--token-file", tmp_path / "none"), "No such file")
    monkeypatch.setenv("TAXOCAPS_TOKEN", "")
    check_refused(run("serve", toy_model, "--port", 0), "TAXOCAPS_TOKEN: the token is empty")


@pytest.mark.parametrize("library", ["fastapi", "uvicorn", "httptools", "prometheus_client"])
def test_the_extra_that_is_missing_is_named(run, check_refused, toy_model, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    check_refused(run("serve", toy_model), library, "pip install 'taxocaps[serve]'")
