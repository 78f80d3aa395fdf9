"""A server under a real mix of requests, good and bad ones, for as long as you like: no wrong answer, memory flat.

    python benchmarks/soak.py MODEL --requests 100000 --clients 64 --reload 60

Requests are single documents, lists, explanations, and one in five is bad: not JSON, too large, an unknown path,
or half of it and then silence. Every good answer is compared with the one that the server gave at the start. At the end
the server is told to stop while clients go on: what it accepted, it answers.
"""

import argparse
import asyncio
import contextlib
import json
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

TEXTS = [f"Officials test riders of team {number} for doping before the cup final." for number in range(50)]
BAD = {
    "not JSON": ("/v1/predict", b'{"text": ', 400),
    "nested": ("/v1/predict", b"[" * 50_000, 400),
    "too many documents": ("/v1/predict", b'{"documents": [' + b'{"text": "a"},' * 9_999 + b'{"text": "a"}]}', 413),
    "too large": ("/v1/predict", b'{"text": "' + b"x" * 8_000_000 + b'"}', 413),
    "unknown path": ("/v1/nothing", b"{}", 404),
}
JSON = {"content-type": "application/json"}


@dataclass
class Tally:
    """What clients saw."""

    left: int
    seconds: list[float] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    megabytes: list[float] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)


def main() -> None:
    """Run the soak and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a model's folder")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--reload", type=float, default=60.0, help="seconds between reloads of the model (0: none)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "taxocaps", "serve", str(options.model), "--port", str(port), "--quiet"]
    server = subprocess.Popen(command)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(url, server)
        tally = asyncio.run(soak(url, server, options))
    finally:
        if server.poll() is None:
            server.kill()
        server.wait()
    show(tally, server.returncode)


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    """Wait until the server accepts requests."""
    while server.poll() is None:
        with contextlib.suppress(httpx.HTTPError):
            httpx.get(f"{url}/healthz", trust_env=False)
            return
        time.sleep(0.2)
    raise SystemExit("the server did not start")


async def soak(url: str, server: subprocess.Popen[bytes], options: argparse.Namespace) -> Tally:
    """Send all requests, then stop the server under load."""
    limits = httpx.Limits(max_connections=options.clients + 2)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits, trust_env=False) as client:
        expected = {text: await _labels(client, text) for text in TEXTS}
        tally = Tally(options.requests)
        over = asyncio.Event()
        helpers = [asyncio.create_task(_watch(server.pid, tally, over))]
        if options.reload:
            helpers.append(asyncio.create_task(_reload(client, options.reload, tally, over)))
        clients = [_client(client, url, expected, tally, options.seed + one) for one in range(options.clients)]
        await asyncio.gather(*clients)
        over.set()
        await asyncio.gather(*helpers)
        await _stop_under_load(client, server, expected, tally)
    return tally


async def _labels(client: httpx.AsyncClient, text: str) -> Any:
    answer = await client.post("/v1/predict", json={"text": text})
    return answer.json()["predictions"][0]["labels"]


async def _client(client: httpx.AsyncClient, url: str, expected: dict[str, Any], tally: Tally, seed: int) -> None:
    generator = random.Random(seed)
    while tally.left > 0:
        tally.left -= 1
        kind = generator.random()
        begin = time.perf_counter()
        try:
            if kind < 0.05:
                await _half(url)
                tally.seen["half a request"] += 1
            elif kind < 0.2:
                await _bad(client, generator, tally)
            else:
                await _good(client, generator, expected, tally, kind)
                tally.seconds.append(time.perf_counter() - begin)
        except httpx.HTTPError as error:
            # Who sends far too much may be hung up on before the answer is read.
            tally.seen[f"{'bad, hung up on' if kind < 0.2 else 'LOST'}: {type(error).__name__}"] += 1


async def _good(
    client: httpx.AsyncClient, generator: random.Random, expected: dict[str, Any], tally: Tally, kind: float
) -> None:
    texts = generator.sample(TEXTS, 8 if kind > 0.9 else 1)
    if kind < 0.23:
        answer = await client.post("/v1/explain", json={"text": texts[0]})
        is_right = answer.status_code == 503 or answer.json()["text"] == texts[0]
    else:
        answer = await client.post("/v1/predict", json={"documents": [{"text": text} for text in texts]})
        found = [one["labels"] for one in answer.json().get("predictions", ())]
        is_right = answer.status_code == 503 or found == [expected[text] for text in texts]
    tally.seen[("answered" if answer.status_code == 200 else "told to come back") if is_right else "WRONG"] += 1


async def _bad(client: httpx.AsyncClient, generator: random.Random, tally: Tally) -> None:
    path, body, status = BAD[generator.choice(list(BAD))]
    answer = await client.post(path, content=body, headers=JSON)
    tally.seen["bad, refused" if answer.status_code == status else f"bad, WRONG: {answer.status_code}"] += 1


async def _half(url: str) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        await writer.drain()
        writer.close()


async def _reload(client: httpx.AsyncClient, seconds: float, tally: Tally, over: asyncio.Event) -> None:
    while not over.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), seconds)
            return
        answer = await client.post("/v1/model/reload", json={})
        tally.seen["reloads" if answer.status_code == 200 else f"reload, WRONG: {answer.status_code}"] += 1


async def _watch(pid: int, tally: Tally, over: asyncio.Event) -> None:
    while not over.is_set():
        status = Path(f"/proc/{pid}/status")
        if status.exists():
            tally.megabytes.append(int(re.search(r"VmRSS:\s+(\d+)", status.read_text())[1]) / 1024)  # type: ignore[index]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), 1)


async def _stop_under_load(
    client: httpx.AsyncClient, server: subprocess.Popen[bytes], expected: dict[str, Any], tally: Tally
) -> None:
    """Requests that the server has when it is told to stop are answered, or refused at the door."""
    text = TEXTS[0]
    waiting = [asyncio.create_task(client.post("/v1/predict", json={"text": text})) for _ in range(50)]
    await asyncio.sleep(0.02)
    server.send_signal(signal.SIGTERM)
    for answer in await asyncio.gather(*waiting, return_exceptions=True):
        if isinstance(answer, httpx.ConnectError):
            tally.seen["at the stop, not let in"] += 1
        elif isinstance(answer, httpx.Response) and answer.status_code in (200, 503):
            is_right = answer.status_code == 503 or answer.json()["predictions"][0]["labels"] == expected[text]
            tally.seen["at the stop, answered" if is_right else "at the stop, WRONG"] += 1
        else:
            tally.seen[f"at the stop, lost: {type(answer).__name__}"] += 1
    await asyncio.get_running_loop().run_in_executor(None, server.wait)


def show(tally: Tally, code: int) -> None:
    """Print the figures."""
    seconds = sorted(tally.seconds)
    wall = time.monotonic() - tally.begun
    print(f"{sum(tally.seen.values()):,} requests in {wall:.0f} s; the server ended with code {code}")
    for what, number in sorted(tally.seen.items()):
        print(f"  {what}: {number:,}")
    if seconds:
        middle, late = (1_000 * seconds[int(len(seconds) * share)] for share in (0.5, 0.99))
        print(f"good requests: median {middle:.0f} ms, p99 {late:.0f} ms")
    if tally.megabytes:
        third = max(1, len(tally.megabytes) // 3)
        print(
            f"memory of the server: {max(tally.megabytes[:third]):.0f} MB in the first third of the time, "
            f"{max(tally.megabytes[-third:]):.0f} MB in the last"
        )
    print(json.dumps(dict(tally.seen)))


if __name__ == "__main__":
    main()
