"""Bulk work on one machine: documents a second, CPU time a document and memory of each process.

    python benchmarks/scale.py build/svm build/auto build/network              # models trained on the data
    python benchmarks/scale.py build/svm --documents 2000 --growth 1           # a short form, about a minute
    python benchmarks/scale.py build/svm --data build/reuters --write          # into docs/scale.md

Documents are drawn with repetition from `train.jsonl` of --data and joined to about 270 words. `taxocaps encode` makes
a store for HE-AGCRCNN, `taxocaps predict` labels with each model, with one and with two processes. Everything is in the
figures: start, loading the model, reading and writing. Then ten times the documents are encoded and labelled with two
processes: the memory of each process should stay. Speed with two processes wants two idle cores; CPU time does not.
Memory is the greatest that the system has seen of each process, looked up five times a second.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tables import Table, put_between

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
WORDS = 270
SECONDS_BETWEEN_LOOKS = 0.2


@dataclass(frozen=True)
class Usage:
    """What a command took: seconds, CPU seconds of all processes, megabytes of the first and of the largest other."""

    seconds: float
    cpu_seconds: float
    driver: float
    worker: float


def write_corpus(path: Path, source: Path, documents: int) -> None:
    """Documents of about 270 words, made of those of `source`, one after the other."""
    texts = [json.loads(line)["text"] for line in source.open(encoding="utf-8")]
    generator = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(documents):
            words: list[str] = []
            while len(words) < WORDS:
                words += generator.choice(texts).split(" ")
            file.write(json.dumps({"id": str(number), "text": " ".join(words[:WORDS])}, ensure_ascii=False) + "\n")


def run(*arguments: object) -> Usage:
    """Run a command, and see what it and its processes take."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "taxocaps", *map(str, arguments), "--quiet"]
    process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
    peaks: dict[int, float] = {}
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(SECONDS_BETWEEN_LOOKS):
            for pid in (process.pid, *_workers(process.pid)):
                peaks[pid] = max(peaks.get(pid, 0.0), _peak(pid))

    watcher = threading.Thread(target=look)
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    is_over.set()
    watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"taxocaps {arguments[0]} failed with {process.returncode}")
    driver = peaks.pop(process.pid, 0.0)
    seconds, cpu = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
    return Usage(seconds, cpu, driver, max(peaks.values(), default=0.0))


def _workers(pid: int) -> list[int]:
    """The processes that work for another; not those that only watch over its resources."""
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(child) for child in found if b"popen_loky" in Path(f"/proc/{child}/cmdline").read_bytes()]
    except OSError:
        return []


def _peak(pid: int) -> float:
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def _row(name: str, documents: int, jobs: int, usage: Usage) -> tuple[str, ...]:
    return (
        name,
        f"{documents:,}",
        str(jobs),
        f"{documents / usage.seconds:,.0f}",
        f"{usage.cpu_seconds / documents * 1e3:.2f} ms",
        f"{usage.driver:,.0f} MB",
        f"{usage.worker:,.0f} MB" if usage.worker else "",
    )


def measure(folder: Path, models: list[Path], source: Path, documents: int, growth: int) -> Table:
    """All commands with one and two processes, and with `growth` times the documents."""
    rows = []
    for count in dict.fromkeys((documents, documents * growth)):
        corpus = folder / f"{count}.jsonl"
        write_corpus(corpus, source, count)
        commands: dict[str, list[object]] = {
            "encode, HE-AGCRCNN": ["encode", corpus, "--model", "HE-AGCRCNN", "--overwrite", "-o", folder / "store"]
        }
        for model in models:
            output = folder / "labels.jsonl"
            commands[f"predict, {model.name}"] = ["predict", model, corpus, "--overwrite", "-o", output]
        for name, command in commands.items():
            for jobs in (1, 2) if count == documents else (2,):
                usage = run(*command, "--jobs", jobs)
                rows.append(_row(name, count, jobs, usage))
                print(rows[-1], file=sys.stderr, flush=True)
    header = ("", "documents", "processes", "documents/s", "CPU a document", "peak, driver", "peak, worker")
    note = (
        "Documents of 270 raw words. Documents a second by wall time; CPU time is of all processes, their start and "
        "the loading of models included. With one process, the work is done in the driver."
    )
    return Table("Measured", header, rows, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="*", help="the folders of trained models")
    parser.add_argument("--data", type=Path, default=Path("build/reuters"), help="a folder with train.jsonl")
    parser.add_argument("--documents", type=int, default=20_000, help="documents (default: 20,000)")
    parser.add_argument("--growth", type=int, default=10, help="then so many times as many (default: 10)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/scale.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = options.data / "train.jsonl"
        table = measure(Path(folder), options.models, source, options.documents, options.growth)
    print(table.markdown())
    if options.write:
        put_between(PAGE, "scale", f"{table.body()}\n\n{table.note}\n")


if __name__ == "__main__":
    main()
