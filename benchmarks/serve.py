"""How many requests `taxocaps serve` answers, how fast, with how much memory, and whether bad clients harm good ones.

    python benchmarks/serve.py                  # requests per second, CPU time and latency, beside FastAPI alone
    python benchmarks/serve.py --memory         # 50,000 requests: memory may grow by 10 % after the first 1,000
    python benchmarks/serve.py --harm           # good clients beside bad ones
    python benchmarks/serve.py ... --write      # put all results so far into docs/performance.md

The models learn from pydocs, which comes with the package, when they are first needed (build/serve/). The server is a
process of its own, with its log going to a file; the good clients are wrk, where it is installed and speed is measured,
or else this process, and bad ones a third. A request is one test document. Answers are compared with those that the
server gave to the same documents when it was idle: all of them, or, of a server that wrk measures, some thousands
before that. Results are in benchmarks/results/serve.jsonl.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import math
import multiprocessing
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clients import BAD, Clients, Load, misbehave
from tables import Table, publish

ROOT = Path(__file__).parents[1]
HOME = ROOT / "build" / "serve"
RESULTS = Path(__file__).parent / "results" / "serve.jsonl"
PROGRAM = (sys.executable, "-m", "taxocaps")
MODELS = {"SVM": ("--model", "SVM"), "HE-AGCRCNN fast": ("--model", "HE-AGCRCNN", "--preset", "fast")}
BARE = "FastAPI, no model"
WORKERS = (1, 2)
CLIENTS = (1, 8, 64)
ROUNDS = 3
CHECKED = 2_000
DOCUMENTS = 500
REQUESTS, EARLY = 50_000, 1_000
MOST_GROWTH = 0.10


@contextlib.contextmanager
def serving(model: str, settings: Sequence[str] = ()) -> Iterator[tuple[int, int]]:
    """A server of a model; its port and the number of its process."""
    with _process(
        [*PROGRAM, "serve", str(_trained(model)), "--port", "0", *settings], r"at http://127\.0\.0\.1:(\d+)"
    ) as found:
        yield found


@contextlib.contextmanager
def serving_none(workers: int) -> Iterator[tuple[int, int]]:
    """FastAPI alone, by as many processes of uvicorn as workers."""
    port = 8_700 + workers
    command = [sys.executable, "-m", "uvicorn", "bare_fastapi:app", "--app-dir", str(Path(__file__).parent)]
    command += ["--port", str(port), "--workers", str(workers), "--no-access-log"]
    with _process(command, f"(Application startup complete.*){{{workers}}}") as (_, process):
        yield port, process


@contextlib.contextmanager
def _process(command: Sequence[str], sign: str) -> Iterator[tuple[int, int]]:
    """A server, once its log has a sign; the number in it, the port, and the number of the process."""
    with tempfile.TemporaryDirectory() as temporary:
        log = Path(temporary) / "log"
        with log.open("wb") as file:
            process = subprocess.Popen(command, stderr=file, env=os.environ | {"OMP_NUM_THREADS": "1"})
        try:
            while not (found := re.search(sign, log.read_text(encoding="utf-8"), re.DOTALL)):
                assert process.poll() is None, log.read_text(encoding="utf-8")
                time.sleep(0.1)
            yield int(found[1]) if found[1].isdecimal() else 0, process.pid
        finally:
            process.terminate()
            process.wait(60)


def _trained(model: str) -> Path:
    """The folder of a model, trained if it is not there."""
    data, folder = HOME / "pydocs", HOME / model.replace(" ", "-")
    if not data.exists():
        subprocess.run([*PROGRAM, "data", "pydocs", "--out", str(data)], check=True)
    if not folder.exists():
        files = [str(data / name) for name in ("train.jsonl", "taxonomy.tsv")]
        command = [*PROGRAM, "train", *files, "--dev", str(data / "dev.jsonl"), *MODELS[model], "--out", str(folder)]
        subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
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


def measure_speed(models: Sequence[str], seconds: float) -> None:
    """Requests per second, CPU time and latency; servers take turns, so that other work on the machine hits all."""
    for workers in WORKERS:
        with contextlib.ExitStack() as stack:
            servers = {BARE: stack.enter_context(serving_none(workers))}
            for model in models:
                servers[model] = stack.enter_context(serving(model, ("--workers", str(workers))))
            checks = {name: _with_clients(port, _check) for name, (port, _) in servers.items()}
            for clients in CLIENTS:
                rounds = [
                    {name: _loaded(server, clients, seconds) for name, server in servers.items()} for _ in range(ROUNDS)
                ]
                for name, (_, process) in servers.items():
                    found = _summary([one[name] for one in rounds], [one[BARE] for one in rounds])
                    found |= {"wrong": checks[name].wrong, "checked": len(checks[name].seconds)}
                    _keep(
                        "requests", f"{name}, {workers}, {clients}", {**found, "shared_memory": _proportional(process)}
                    )


def _summary(loads: Sequence[dict[str, Any]], bare: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The median of all rounds, and of what each is beside FastAPI alone in the same round; failures are added up."""
    found = {"generator": loads[0]["generator"]}
    found |= {name: float(np.median([load[name] for load in loads])) for name in ("rate", "cpu", "p50", "p95", "p99")}
    for name in ("rate", "cpu"):
        found[f"{name}_of_bare"] = float(
            np.median([one[name] / two[name] for one, two in zip(loads, bare, strict=True)])
        )
    return found | {name: sum(load[name] for load in loads) for name in ("requests", "errors")}


async def _check(clients: Clients) -> Load:
    return await clients.run(64, requests=CHECKED)


def _loaded(server: tuple[int, int], clients: int, seconds: float) -> dict[str, Any]:
    """What clients saw of a server, and its CPU time: microseconds a request."""
    port, process = server
    before = _cpu_seconds(process)
    load = _wrk(port, clients, seconds) if shutil.which("wrk") else _python_clients(port, clients, seconds)
    return {**load, "cpu": (_cpu_seconds(process) - before) / load["requests"] * 1e6}


def _wrk(port: int, clients: int, seconds: float) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as bodies:
        bodies.writelines(json.dumps({"text": text}) + "\n" for text in _texts())
        bodies.flush()
        command = ["wrk", "--threads=1", f"--connections={clients}", f"--duration={math.ceil(seconds)}s"]
        command += [f"--script={Path(__file__).parent / 'load.lua'}", f"http://127.0.0.1:{port}", "--", bodies.name]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return {**found, "generator": "wrk"}


def _python_clients(port: int, clients: int, seconds: float) -> dict[str, Any]:
    found = _with_clients(port, lambda some: some.run(clients, seconds=seconds)).metrics()
    return {**found, "errors": found["wrong"], "generator": "Python"}


def _family(process: int) -> list[int]:
    """A process and all below it."""
    below = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8").split()
    return [process, *(one for child in below for one in _family(int(child)))]


def _cpu_seconds(process: int) -> float:
    """User and system time of a process and all below it."""
    stats = [Path(f"/proc/{one}/stat").read_text(encoding="utf-8").rpartition(")")[2] for one in _family(process)]
    return sum(sum(map(int, stat.split()[11:13])) for stat in stats) / os.sysconf("SC_CLK_TCK")


def _proportional(process: int) -> float:
    """Megabytes of a process and all below it; those that several share count once."""
    texts = [Path(f"/proc/{one}/smaps_rollup").read_text(encoding="utf-8") for one in _family(process)]
    return sum(int(re.search(r"Pss:\s+(\d+)", text)[1]) for text in texts) / 1024


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
    """Requests per second, CPU time and latency."""
    rows = []
    for name, found in _results("requests").items():
        server, workers, clients = name.rsplit(", ", 2)
        cells = (f"{found['rate']:,.0f}", f"{found['rate_of_bare']:.0%}", f"{found['cpu']:,.0f}")
        cells += (f"{found['cpu_of_bare']:.2f}",)
        wrong = f"{found['wrong']:,} of {found['checked']:,}"
        latency = (f"{found[p]:,.1f}" for p in ("p50", "p95", "p99"))
        rows.append((server, workers, clients, *cells, *latency, f"{found['errors']:,}", wrong))
    header = (
        *("server", "workers", "clients", "requests/s", "of FastAPI's", "CPU, µs a request", "times FastAPI's"),
        *("p50, ms", "p95, ms", "p99, ms", "failed", "wrong answers"),
    )
    return Table("Requests per second, and latency", header, rows, _NOTE + _loads("requests"))


_NOTE = (
    "One document a request, over connections that stay open; models have one thread per worker, the access log is on. "
    "FastAPI alone has the same requests and responses, no model and no log, and the same uvicorn with uvloop and "
    "httptools. CPU time is that of all processes of the server; it says more than requests per second, since clients "
    "and other work run on the same two cores. Medians of three rounds, in which the servers took turns; ratios are to "
    "FastAPI alone in the same round"
)


def workers_table() -> Table:
    """What a second worker costs in memory."""
    rows, found = [], _results("requests")
    for model in MODELS:
        if all(f"{model}, {workers}, {CLIENTS[-1]}" in found for workers in WORKERS):
            one, two = (found[f"{model}, {workers}, {CLIENTS[-1]}"]["shared_memory"] for workers in WORKERS)
            rows.append((model, f"{one:,.0f} MB", f"{two:,.0f} MB", f"{two - one:+,.0f} MB"))
    note = "After the requests above; memory that processes share counts once (proportional set size)."
    return Table("Memory of a second worker", ("model", "one worker", "two workers", "difference"), rows, note)


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
    parser.add_argument("--seconds", type=float, default=4.0, help="for each round of speed, and each line of harm")
    parser.add_argument("--memory", action="store_true", help="only memory")
    parser.add_argument("--harm", action="store_true", help="only harm")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    parser.add_argument("--write", action="store_true", help="put all results so far into docs/performance.md")
    options = parser.parse_args()
    if not (options.render or options.memory or options.harm):
        measure_speed(options.models, options.seconds)
    for model in () if options.render else options.models:
        if options.memory:
            measure_memory(model)
        if options.harm:
            measure_harm(model, options.seconds)
    publish([speed_table(), workers_table(), memory_table(), harm_table()], "serving", write=options.write)


if __name__ == "__main__":
    main()
