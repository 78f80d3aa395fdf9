"""A server as processes of its own: models are replaced in all of them, and corrections outlive them."""

import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest

from taxocaps.feedback.store import FeedbackStore, feedback_path

TEXT = "The striker scored two goals for his club."


@pytest.fixture
def start(news, tmp_path):
    """Start a server of the linear model; gives its process and a function that posts to it."""
    started = []

    def call(*options):
        said = tmp_path / f"log-{len(started)}"
        with said.open("w") as file:  # a pipe that nobody reads would fill up and stop the server
            process = subprocess.Popen(
                [sys.executable, "-m", "taxocaps", "serve", str(news), "--port", "0", *options], stderr=file
            )
        started.append(process)
        until(lambda: process.poll() is not None or "serving news at" in said.read_text(), 120)
        url = re.search(r"serving news at (http://\S+);", said.read_text()).group(1)

        def post(path, client=httpx, **body):
            """Over a connection of its own each time, so that every worker has its turn."""
            where = path if client is not httpx else url + path
            options = {"trust_env": False} if client is httpx else {}
            return client.post(where, json=body, timeout=60, **options)

        return process, url, post

    yield call
    for process in started:
        process.kill()
        process.wait()


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


class Clients:
    """Clients that keep their connections, and ask for labels until they are told to stop."""

    def __init__(self, url, count=3):
        self._url, self._stop = url, threading.Event()
        self.failed, self.asked = [], 0
        self._threads = [threading.Thread(target=self._run) for _ in range(count)]

    def __enter__(self):
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        for one in self._threads:
            one.join()

    def _run(self):
        with httpx.Client(base_url=self._url, trust_env=False, timeout=60) as client:
            while not self._stop.is_set():
                try:
                    answer = client.post("/v1/predict", json={"text": TEXT})
                    if answer.status_code != 200 or not answer.json()["predictions"][0]["labels"]:
                        self.failed.append(answer.text)
                except httpx.HTTPError as error:
                    self.failed.append(repr(error))
                self.asked += 1


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_models_are_replaced_in_all_workers_without_dropping_a_request(start, news, workers):
    process, url, post = start("--workers", str(workers))

    def versions():
        return {post("/v1/predict", text=TEXT).json()["version"] for _ in range(8)}

    with Clients(url) as clients:
        (first,) = versions()
        second = post("/v1/model/reload", folder="other").json()["version"]
        assert versions() == {second} != {first}
        assert post("/v1/model/back").json() == {"model": "news", "version": first, "before": second}
        assert versions() == {first}
        shutil.rmtree(news)
        shutil.copytree(news.with_name("other"), news)
        process.send_signal(signal.SIGHUP)
        until(lambda: versions() == {second})
        assert post("/v1/model/reload", folder="none").status_code == 404
        assert versions() == {second}
    assert clients.failed == []
    assert clients.asked > 10
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


@pytest.mark.slow
def test_reviewers_of_all_workers_share_one_store_and_one_queue(start, news, tmp_path):
    (tmp_path / "queue.csv").write_text("id,text\n1,The striker scored.\n2,A comet was seen.\n")
    process, url, post = start("--workers", "2", "--queue", str(tmp_path / "queue.csv"))
    document = {"id": "1", "text": "The striker scored."}
    for number in range(20):
        given = {"key": f"k{number}", "verdict": "add", "reviewer": "ann", "document": document, "label": "Tennis"}
        assert post("/v1/feedback", corrections=[given]).status_code == 200
    done = {"key": "done", "verdict": "done", "reviewer": "ann", "document": document, "suggested": []}
    post("/v1/feedback", corrections=[done])
    for _ in range(8):
        found = httpx.get(f"{url}/v1/queue", trust_env=False, timeout=60).json()
        assert found["sizes"] == {"open": 1, "reviewed": 1, "all": 2}
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    with FeedbackStore(feedback_path(news), create=False) as store:
        assert [event.key for event in store.events()] == [*(f"k{number}" for number in range(20)), "done"]
