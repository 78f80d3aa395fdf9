"""`taxocaps serve`: as a process of its own, until it is told to stop."""

import json
import os
import re
import signal
import subprocess
import sys
import threading

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
def test_a_signal_ends_the_server_when_all_is_answered(start):
    process, url, said = start("--set", "serve.batch_wait=1")
    assert said.count("\n") == 1
    answers = []
    waiting = threading.Thread(
        target=lambda: answers.append(
            httpx.post(f"{url}/v1/predict", json={"text": "The striker scored."}, trust_env=False, timeout=20)
        )
    )
    with httpx.Client(base_url=url, trust_env=False) as client:
        assert client.get("/healthz").json() == {"status": "ready"}
        waiting.start()
        while 'taxocaps_queue_documents{model="model"} 1.0' not in client.get("/metrics").text:
            assert waiting.is_alive()
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    waiting.join(10)
    assert answers[0].json()["predictions"][0]["labels"]
    assert (process.returncode, out) == (0, "")
    lines = [json.loads(line) for line in err.splitlines()]
    assert (lines[-1]["path"], lines[-1]["status"], lines[-1]["documents"]) == ("/v1/predict", 200, 1)


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
    check_refused(run("serve", toy_model, "--host", "192.0.2.1"), "cannot serve at 192.0.2.1, port 8000")
    check_refused(run("serve", toy_model, "--token-file", tmp_path / "none"), "No such file")
    monkeypatch.setenv("TAXOCAPS_TOKEN", "")
    check_refused(run("serve", toy_model, "--port", 0), "TAXOCAPS_TOKEN: the token is empty")


@pytest.mark.parametrize("library", ["fastapi", "uvicorn", "prometheus_client"])
def test_the_extra_that_is_missing_is_named(run, check_refused, toy_model, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    check_refused(run("serve", toy_model), library, "pip install 'taxocaps[serve]'")
