"""Clients of a server, good ones that count and compare, and bad ones."""

import asyncio
import contextlib
import itertools
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["BAD", "Clients", "Load", "misbehave"]

CLOSE = 1e-4
"""Scores of a document among others may differ so much from those of the document alone (docs/serving.md)."""

Answer = tuple[int, bytes]


@dataclass
class Load:
    """What good clients saw: the seconds of each request, statuses, wrong answers, and how long they had no core."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: int = 0
    wall: float = 0.0
    waited: float = 0.0

    def metrics(self) -> dict[str, Any]:
        """Rate, latency and statuses, as they are stored."""
        p50, p95, p99 = (1000 * np.percentile(self.seconds, (50, 95, 99))).tolist()
        found = {"requests": len(self.seconds), "rate": len(self.seconds) / self.wall, "wrong": self.wrong}
        found |= {"waited": self.waited / self.wall}
        return found | {"p50": p50, "p95": p95, "p99": p99, "statuses": dict(self.statuses)}


class Clients:
    """Good clients of a server: each sends one document after another and compares the answers."""

    def __init__(self, port: int, texts: Sequence[str]) -> None:
        self.port = port
        self.bodies = [json.dumps({"text": text}).encode() for text in texts]
        self.expected: list[dict[str, float]] = []
        self._right: list[set[bytes]] = []

    async def learn(self) -> None:
        """Ask for every document alone."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for body in self.bodies:
            status, answer = await ask(reader, writer, body)
            assert status == 200, answer
            self.expected.append(_labels(answer))
            self._right.append({answer})
        writer.close()

    async def run(self, clients: int, *, seconds: float = np.inf, requests: int | None = None) -> Load:
        """Send as many requests as there is time for, or so many."""
        load, left = Load(), iter(range(requests)) if requests else itertools.count()
        began, waited = time.perf_counter(), _waited()
        await asyncio.gather(*(self._one(load, left, began + seconds) for _ in range(clients)))
        load.wall, load.waited = time.perf_counter() - began, _waited() - waited
        return load

    async def _one(self, load: Load, left: Iterator[int], end: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for number in left:
            index, began = number % len(self.bodies), time.perf_counter()
            status, answer = await ask(reader, writer, self.bodies[index])
            load.seconds.append(time.perf_counter() - began)
            load.statuses[status] += 1
            load.wrong += status != 200 or not self._is_right(index, answer)
            if time.perf_counter() > end:
                break
        writer.close()

    def _is_right(self, index: int, answer: bytes) -> bool:
        """Whether an answer is the expected one; read only if it differs from all right ones so far."""
        if answer not in self._right[index] and _same(_labels(answer), self.expected[index]):
            self._right[index].add(answer)
        return answer in self._right[index]


def _waited() -> float:
    """Seconds that this thread was ready to run and other work had the cores."""
    return int(Path("/proc/self/schedstat").read_text(encoding="utf-8").split()[1]) / 1e9


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> Answer:
    """Send a request and read its answer."""
    writer.write(_head(len(body)) + body)
    return await _answer(reader)


def _head(length: int) -> bytes:
    lines = (
        "POST /v1/predict HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {length}",
    )
    return "\r\n".join([*lines, "", ""]).encode()


async def _answer(reader: asyncio.StreamReader) -> Answer:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return int(head.split(None, 2)[1]), await reader.readexactly(int(length[1]) if length else 0)


def _labels(answer: bytes) -> dict[str, float]:
    return {found["label"]: found["score"] for found in json.loads(answer)["predictions"][0]["labels"]}


def _same(found: dict[str, float], expected: dict[str, float]) -> bool:
    return found.keys() == expected.keys() and all(abs(found[label] - expected[label]) < CLOSE for label in found)


async def _half(port: int) -> str:
    """Half a request, and then nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_head(1_000) + b'{"text": "half')
    with contextlib.closing(writer):
        return str((await _answer(reader))[0])


async def _half_head(port: int) -> str:
    """Half a head, and then nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_head(1_000)[:40])
    with contextlib.closing(writer):
        return "hung up" if not await reader.read() else "answered"


async def _large(port: int) -> str:
    """64 MB of text."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_head(64_000_000))
    for piece in (b'{"text": "', *[b"word " * 200_000] * 63, b"word " * 199_997 + b"abc", b'"}'):
        writer.write(piece)
        await writer.drain()
    with contextlib.closing(writer):
        return str((await _answer(reader))[0])


async def _invalid(port: int) -> str:
    """Text that is not UTF-8."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.closing(writer):
        return str((await ask(reader, writer, b'{"text": "\xff\xfe\x80"}'))[0])


BAD = {
    "100 with half a request": (_half, 100),
    "100 with half a head": (_half_head, 100),
    "one with 64 MB of text": (_large, 1),
    "one with invalid UTF-8": (_invalid, 1),
}


def misbehave(name: str, port: int, seconds: float) -> dict[str, int]:
    """Be bad clients for a while; how often the server answered what."""
    work, number = BAD[name]

    async def one(answers: Counter[str], end: float) -> None:
        while time.perf_counter() < end:
            try:
                answers[await work(port)] += 1
            except (ConnectionError, asyncio.IncompleteReadError):
                answers["hung up"] += 1
            await asyncio.sleep(0.02)  # or it would measure how many cores there are

    async def run() -> dict[str, int]:
        answers: Counter[str] = Counter()
        await asyncio.gather(*(one(answers, time.perf_counter() + seconds) for _ in range(number)))
        return dict(answers)

    return asyncio.run(run())
