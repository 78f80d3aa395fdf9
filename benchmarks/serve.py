"""How many requests `taxocaps serve` answers, how fast, with how much memory, and whether bad clients harm good ones.

    python benchmarks/serve.py                  # requests per second and latency
    python benchmarks/serve.py --memory         # 50,000 requests: memory may grow by 10 % after the first 1,000
    python benchmarks/serve.py --harm           # good clients beside bad ones
    python benchmarks/serve.py ... --write      # put all results so far into docs/performance.md

The models learn from pydocs, which comes with the package, when they are first needed (build/serve/). The server is a
process of its own, with its log going to a file; the good clients are this process, and bad ones a third. A request is
one test document. Every answer is compared with the one that the server gave to the same document when it was idle.
Results are in benchmarks/results/serve.jsonl.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import multiprocessing
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from clients import BAD, Clients, Load, misbehave
from tables import Table, publish

ROOT = Path(__file__).parents[1]
HOME = ROOT / "build" / "serve"
RESULTS = Path(__file__).parent / "results" / "serve.jsonl"
PROGRAM = (sys.executable, "-m", "taxocaps")
MODELS = {"SVM": ("--model", "SVM"), "HE-AGCRCNN fast": ("--model", "HE-AGCRCNN", "--preset", "fast")}
BATCHING = {"with": (), "without": ("--set", "serve.batch=1", "--set", "serve.batch_wait=0")}
CLIENTS = (1, 8, 64)
DOCUMENTS = 500
REQUESTS, EARLY = 50_000, 1_000
MOST_GROWTH = 0.10


@contextlib.contextmanager
def serving(model: str, settings: Sequence[str] = ()) -> Iterator[tuple[int, int]]:
    """A server of a model; its port and the number of its process."""
    folder = _trained(model)
    with tempfile.TemporaryDirectory() as temporary:
        log = Path(temporary) / "log"
        with log.open("wb") as file:
            command = [*PROGRAM, "serve", str(folder), "--port", "0", *settings]
            process = subprocess.Popen(command, stderr=file, env=os.environ | {"OMP_NUM_THREADS": "1"})
        try:
            while not (found := re.search(r"at http://127\.0\.0\.1:(\d+)", log.read_text(encoding="utf-8"))):
                assert process.poll() is None, log.read_text(encoding="utf-8")
                time.sleep(0.1)
            yield int(found[1]), process.pid
        finally:
            process.terminate()
            process.wait(60)


def _trained(model: str) -> Path:
    """The folder of a model, trained if it is not there."""
    data, folder = HOME / "pydocs", HOME / model.replace(" ", "-")
    if not data.exists():
        subprocess.run([*PROGRAM, "data", "pydocs", "--out", str(data)], check=True)
    if not folder.exists():
        files = [f"--{name}={data / name}.jsonl" for name in ("train", "dev")]
        command = [*PROGRAM, "train", *files, f"--taxonomy={data / 'taxonomy.tsv'}", *MODELS[model]]
        subprocess.run([*command, "--out", str(folder)], check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    return folder


def _texts() -> list[str]:
    with (HOME / "pydocs" / "test.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in itertools.islice(file, DOCUMENTS)]


def _with_clients(port: int, work: Callable[[Clients], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        clients = Clients(port, _texts())
        await clients.learn()
        return await work(clients)

    return asyncio.run(run())


def measure_speed(model: str, seconds: float) -> None:
    """Requests per second and latency, with and without batching."""
    for batching, settings in BATCHING.items():
        with serving(model, settings) as (port, _):

            async def work(clients: Clients) -> list[Load]:
                return [await clients.run(number, seconds=seconds) for number in CLIENTS]

            for number, load in zip(CLIENTS, _with_clients(port, work), strict=True):
                _keep("speed", f"{model}, {batching}, {number}", load.metrics())


def measure_memory(model: str) -> None:
    """Memory after some and after many requests of eight clients."""
    with serving(model) as (port, process):

        async def work(clients: Clients) -> tuple[list[float], Load]:
            await clients.run(8, requests=EARLY - DOCUMENTS)  # besides those that the clients learned from
            early = _megabytes(process)
            load = await clients.run(8, requests=REQUESTS - EARLY)
            return [early, _megabytes(process)], load

        (early, late), load = _with_clients(port, work)
    growth = late / early - 1
    _keep("memory", model, {"early": early, "late": late, "growth": growth, **load.metrics()})
    assert growth <= MOST_GROWTH, f"{model}: {early:.0f} MB after {EARLY:,} requests, {late:.0f} MB after {REQUESTS:,}"


def _megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def measure_harm(model: str, seconds: float) -> None:
    """Eight good clients, alone and beside each kind of bad ones."""
    with serving(model) as (port, _), multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(time.sleep, (0,))  # its start is not part of what is measured

        async def work(clients: Clients) -> None:
            for name in BAD:
                alone = (await clients.run(8, seconds=seconds)).metrics()
                waiting = pool.apply_async(misbehave, (name, port, seconds))
                beside = (await clients.run(8, seconds=seconds)).metrics()
                answers = await asyncio.to_thread(waiting.get)
                _keep("harm", f"{model}, {name}", {"alone": alone, "beside": beside, "answers": answers})

        _with_clients(port, work)


def _keep(kind: str, name: str, result: dict[str, Any]) -> None:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    line = {"kind": kind, "name": name, **result, "machine": machine, "load": os.getloadavg()[0]}
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(f"{kind}: {name}: {result}", flush=True)


def _results(kind: str) -> dict[str, dict[str, Any]]:
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return {line["name"]: line for line in map(json.loads, lines) if line["kind"] == kind}


def speed_table() -> Table:
    """Requests per second and latency."""
    rows = [
        (*name.split(", "), f"{found['rate']:,.0f}", *(f"{found[p]:,.1f}" for p in ("p50", "p95", "p99")), _bad(found))
        for name, found in _results("speed").items()
    ]
    header = ("model", "batching", "clients", "requests/s", "p50, ms", "p95, ms", "p99, ms", "wrong answers")
    return Table("Requests per second, and latency", header, rows, _NOTE + _loads("speed"))


_NOTE = (
    "One document a request, over connections that stay open; model and server have one thread each. Without batching: "
    "`serve.batch=1`, `serve.batch_wait=0`. The clients run on the same two cores"
)


def memory_table() -> Table:
    """Memory of a server that works for long."""
    rows = [
        (name, f"{found['early']:,.1f} MB", f"{found['late']:,.1f} MB", f"{found['growth']:+.1%}", _bad(found))
        for name, found in _results("memory").items()
    ]
    header = ("model", f"after {EARLY:,} requests", f"after {REQUESTS:,}", "growth", "wrong answers")
    return Table("Memory of the server", header, rows, "Resident memory, eight clients, the access log on.")


def harm_table() -> Table:
    """Good clients beside bad ones."""
    rows = []
    for name, found in _results("harm").items():
        answers = ", ".join(f"{number:,} x {answer}" for answer, number in found["answers"].items())
        cells = [f"{found[key][what]:,.{d}f}" for what, d in (("p95", 1), ("rate", 0)) for key in ("alone", "beside")]
        rows.append((*name.split(", "), *cells, _bad(found["beside"]), answers))
    header = (
        *("model", "bad clients", "p95 alone, ms", "p95 beside, ms", "requests/s alone", "beside"),
        *("wrong answers", "what the bad ones got"),
    )
    note = "Eight good clients for some seconds alone, then beside bad ones, which try again 20 ms after each answer"
    return Table("Good clients beside bad ones", header, rows, note + _loads("harm"))


def _bad(found: dict[str, Any]) -> str:
    return f"{found['wrong']:,} of {found['requests']:,}"


def _loads(kind: str) -> str:
    loads = [found["load"] for found in _results(kind).values()] or [0.0]
    return f"; the load average was {min(loads):.1f} to {max(loads):.1f}, other work included."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--seconds", type=float, default=8.0, help="for each line of speed or harm")
    parser.add_argument("--memory", action="store_true", help="only memory")
    parser.add_argument("--harm", action="store_true", help="only harm")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    parser.add_argument("--write", action="store_true", help="put all results so far into docs/performance.md")
    options = parser.parse_args()
    for model in () if options.render else options.models:
        if options.memory:
            measure_memory(model)
        if options.harm:
            measure_harm(model, options.seconds)
        if not (options.memory or options.harm):
            measure_speed(model, options.seconds)
    publish([speed_table(), memory_table(), harm_table()], "serving", write=options.write)


if __name__ == "__main__":
    main()
