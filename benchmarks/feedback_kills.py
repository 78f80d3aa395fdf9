"""Whether corrections outlive the server that acknowledged them: it is killed again and again while reviewers work.

    python benchmarks/feedback_kills.py                       # 200 kills at 50 corrections a second
    python benchmarks/feedback_kills.py --kills 5 --json      # a short form, for tests

Two processes serve a small model, as `taxocaps serve --workers 2` does; they are forked from one that has loaded it,
so that they are back at once, and killed together (SIGKILL) at a random moment between 0.1 and 1.5 seconds later. In a
third process, corrections come up at a steady rate, whether the server is there or not. Sixteen reviewers send them,
each one again, with the same key, until it is acknowledged. In the end, what was acknowledged is compared with what is
stored.
"""

import argparse
import asyncio
import itertools
import json
import multiprocessing
import os
import random
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from multiprocessing.synchronize import Event as Flag
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import httpx

from taxocaps.feedback.store import FeedbackStore
from taxocaps.web.workers import prepare_forking

if TYPE_CHECKING:
    from taxocaps.web.api import Service
    from taxocaps.web.server import Listener

PROCESSES, REVIEWERS = 2, 16
SPAN = (0.1, 1.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="how often the server is killed")
    parser.add_argument("--rate", type=float, default=50, help="corrections a second")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of the kills")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), given.kills, given.rate, random.Random(given.seed))
    print(json.dumps(found) if given.json else "\n".join(f"{name}: {value}" for name, value in found.items()))
    sys.exit(bool(found["lost"] or found["twice"] or found["unknown"] or found["integrity"] != "ok"))


def measure(home: Path, kills: int, rate: float, moments: random.Random) -> dict[str, Any]:
    """Kill the server so often while corrections come in, and count what is left."""
    prepare_forking()
    from taxocaps.web.api import Service
    from taxocaps.web.server import address, bind_shared
    from taxocaps.workflows.serve import load_models

    service = Service(load_models([train(home)]), workers=PROCESSES)
    (model,) = service.models.values()
    listeners = bind_shared("127.0.0.1", 0, PROCESSES)
    for listener in listeners:
        listener.listen(1_024)
    context = multiprocessing.get_context("spawn")
    ready, stop, log = context.Event(), context.Event(), home / "acknowledged.jsonl"
    client = context.Process(target=review, args=(address(listeners[0]), rate, sorted(model.names), log, ready, stop))
    client.start()
    ready.wait()
    begin = time.monotonic()
    for number in range(kills + 1):
        servers = [start(service, listeners, place) for place in range(PROCESSES)]
        if number < kills:
            time.sleep(moments.uniform(*SPAN))
        else:  # the last one lives until everything is acknowledged
            seconds = time.monotonic() - begin
            stop.set()
            client.join()
        for server in servers:
            os.kill(server, signal.SIGKILL)
        for server in servers:
            os.waitpid(server, 0)
    assert model.feedback is not None
    found = compare(model.feedback, log)
    return {
        "kills": kills,
        "seconds": round(seconds, 1),
        "a second": round(found["acknowledged"] / seconds, 1),
        **found,
    }


def train(home: Path) -> Path:
    """A linear model of the toy documents: what is measured is the server and its store, not the model."""
    from taxocaps.workflows.config import resolve_run_config
    from taxocaps.workflows.data import write_dataset
    from taxocaps.workflows.train import TrainFiles
    from taxocaps.workflows.train import train as run

    write_dataset("toy", home / "data")
    files = TrainFiles(home / "data" / "train.jsonl", home / "data" / "taxonomy.tsv")
    run(files, home / "model", resolve_run_config(overrides=("model=SVM", "bag.min_documents=1")))
    return home / "model"


def start(service: "Service", listeners: Sequence["Listener"], place: int) -> int:
    """A server in a process of its own, which is this one in all else; returns its id."""
    process = os.fork()
    if process:
        return process
    try:
        from taxocaps.web.server import Server

        service.metrics.begin(place)
        Server(service).serve_on(listeners[place])
    finally:
        os._exit(1)


def review(url: str, rate: float, labels: Sequence[str], log: Path, ready: Flag, stop: Flag) -> None:
    """Send corrections at a rate until told to stop, and then wait until all are acknowledged."""
    ready.set()
    with log.open("w", encoding="utf-8") as file:
        asyncio.run(_review(url, rate, labels, file, stop))


async def _review(url: str, rate: float, labels: Sequence[str], log: TextIO, stop: Flag) -> None:
    begin, waiting = time.monotonic(), asyncio.Queue[int]()
    async with asyncio.TaskGroup() as reviewers:
        for _ in range(REVIEWERS):
            reviewers.create_task(_work(url, waiting, labels, log))
        number = 0
        while not stop.is_set():
            waiting.put_nowait(number)
            number += 1
            await asyncio.sleep(max(0.0, begin + number / rate - time.monotonic()))
        for _ in range(REVIEWERS):
            waiting.put_nowait(-1)


async def _work(url: str, waiting: asyncio.Queue[int], labels: Sequence[str], log: TextIO) -> None:
    """A reviewer, who sends one correction after the other, over a connection of their own, until the work is done."""
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=5) as client:
        while (number := await waiting.get()) >= 0:
            await _send(client, number, labels[number % len(labels)], log)


async def _send(client: httpx.AsyncClient, number: int, label: str, log: TextIO) -> None:
    """Send one correction, again and again, until the server says that it has it."""
    document = {"id": str(number % 100), "text": f"The text of document {number % 100}."}
    correction = {"key": f"key-{number}", "verdict": "add", "reviewer": "ann", "document": document, "label": label}
    for sent in itertools.count(1):
        try:
            begin = time.monotonic()
            answer = await client.post("/v1/feedback", json={"corrections": [correction]})
            if answer.status_code == 200:
                seconds = time.monotonic() - begin
                log.write(json.dumps({"key": correction["key"], "sent": sent, "seconds": seconds}) + "\n")
                return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.05)


def compare(store: Path, log: Path) -> dict[str, Any]:
    """What was acknowledged beside what is stored."""
    answers = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    with FeedbackStore(store, create=False) as opened:
        stored = Counter(event.key for event in opened.events())
    with sqlite3.connect(store) as database:
        (integrity,) = database.execute("PRAGMA integrity_check").fetchone()
    database.close()
    acknowledged = {answer["key"] for answer in answers}
    return {
        "acknowledged": len(acknowledged),
        "lost": len(acknowledged - set(stored)),
        "twice": sum(count > 1 for count in stored.values()),
        "unknown": len(set(stored) - acknowledged),
        "sent again": sum(answer["sent"] > 1 for answer in answers),
        "median milliseconds": round(1_000 * statistics.median(answer["seconds"] for answer in answers), 1),
        "integrity": integrity,
    }


if __name__ == "__main__":
    main()
