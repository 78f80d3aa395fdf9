"""Bulk work: CPU time a document and memory of each process, in processes and on Ray, and what that comes to.

    python benchmarks/scale.py build/svm build/auto build/network              # models trained on the data
    python benchmarks/scale.py build/svm --documents 2000 --growth 1           # a short form, about a minute
    python benchmarks/scale.py build/svm --ray                                 # two actors of a Ray cluster, too
    python benchmarks/scale.py --labels 100 1000 10000 100000                  # linear models with so many labels
    python benchmarks/scale.py --write                                         # the tables into docs/scale.md

Documents are drawn with repetition from `train.jsonl` of --data and joined to about 270 words. `taxocaps encode` makes
a store for HE-AGCRCNN, `taxocaps predict` labels with each model, with one and with two processes; then ten times the
documents: the memory of each process should stay. Everything is in the figures: start, loading the model, reading and
writing. Speed with two processes wants two idle cores; CPU time does not. However it is made, the output must have the
same bytes.

With --labels, a linear SVM learns from 2,000 documents of 30 made-up words, each with a thousandth of the labels or
five of them, and labels documents of 270 words: what a label costs in training and in prediction.

CPU time and memory are those of the command and of all processes below it, looked up five times a second: CPU time up
to the last look, memory the greatest that the system has seen. Each result is a line of results/scale.jsonl; --write
makes the tables of the last ones, and works out from them what more documents and labels come to.
"""

import argparse
import hashlib
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tables import Table, put_between

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
RESULTS = Path(__file__).parent / "results" / "scale.jsonl"
WORDS = 270
SECONDS_BETWEEN_LOOKS = 0.2
_FEW = 500
"""Documents of a short run, in which everything is loaded once: what more documents cost is the difference."""
SIZES = {"1 M": 10**6, "10 M": 10**7, "1 G": 10**9}
CORES = {"1 M": 2, "10 M": 16, "1 G": 512}
"""Cores that a person might have for so many documents."""


@dataclass(frozen=True)
class Usage:
    """What a command took: seconds, CPU seconds of all processes, megabytes of the first and of the largest other."""

    seconds: float
    cpu_seconds: float
    driver: float
    worker: float


def write_corpus(path: Path, source: Path, documents: int, *, named: bool = True) -> None:
    """Documents of about 270 words, made of those of `source`, one after the other."""
    texts = [json.loads(line)["text"] for line in source.open(encoding="utf-8")]
    generator = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(documents):
            words: list[str] = []
            while len(words) < WORDS:
                words += generator.choice(texts).split(" ")
            record = {**({"id": str(number)} if named else {}), "text": " ".join(words[:WORDS])}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def run(*arguments: object) -> Usage:
    """Run a command, and see what it and its processes take."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "taxocaps", *map(str, arguments), "--quiet"]
    process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, text=True)
    peaks: dict[int, float] = {}
    spent: dict[int, float] = {}
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(SECONDS_BETWEEN_LOOKS):
            for pid in (process.pid, *processes_below(process.pid)):
                peaks[pid] = max(peaks.get(pid, 0.0), _peak(pid))
                spent[pid] = max(spent.get(pid, 0.0), _cpu(pid))

    watcher = threading.Thread(target=look)
    watcher.start()
    _, errors = process.communicate()
    is_over.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"taxocaps {arguments[0]} failed with {process.returncode}: {errors.strip()}")
    driver = peaks.pop(process.pid, 0.0)
    return Usage(time.perf_counter() - began, sum(spent.values()), driver, max(peaks.values(), default=0.0))


def processes_below(pid: int) -> list[int]:
    """The processes that another has started, and those that they have started."""
    try:
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [one for child in children for one in (child, *processes_below(child))]


def _peak(pid: int) -> float:
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def _cpu(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(folder: Path, options: argparse.Namespace) -> None:
    """All commands with one and two processes, with two actors, and with `growth` times the documents."""
    for count in dict.fromkeys((options.documents, options.documents * options.growth)):
        corpus = folder / f"{count}.jsonl"
        write_corpus(corpus, options.data / "train.jsonl", count)
        commands: dict[str, list[object]] = {"encode, HE-AGCRCNN": ["encode", corpus, "--model", "HE-AGCRCNN"]}
        for model in options.models:
            commands[f"predict, {model.name}"] = ["predict", model, corpus]
        ways = [("processes", 1), ("processes", 2), *([("ray", 2)] if options.ray else [])]
        for name, command in commands.items():
            outputs = set()
            for engine, jobs in ways:
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    output = Path(place) / ("labels.jsonl" if command[0] == "predict" else "store")
                    used = run(*command, "-o", output, "--engine", engine, "--jobs", jobs)
                    keep("bulk", used, name=name, documents=count, workers=jobs, engine=engine)
                    outputs.add(_bytes_below(Path(place)))
            assert len(outputs) == 1, f"{name}: the bytes of the output depend on who makes it"


def _bytes_below(folder: Path) -> str:
    """A hash of all files below a folder that are not hidden."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("[!.]*") if path.is_file()):
        found.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def measure_labels(folder: Path, labels: int, documents: int) -> None:
    """A linear model with so many labels: training, and prediction of a few and of more documents."""
    generator = random.Random(labels)
    vocabulary = [f"w{number}" for number in range(20_000)]
    each = max(5, labels // 1_000)
    with (folder / "train.jsonl").open("w", encoding="utf-8") as file:
        for number in range(2_000):
            found = [f"label{(number * each + one) % labels}" for one in range(each)]
            words = [*generator.choices(vocabulary, k=20), *(f"w{int(one[5:]) % 20_000}" for one in found[:10])]
            file.write(json.dumps({"text": " ".join(words), "labels": found}) + "\n")
    model = folder / f"{labels}"
    trained = run("train", folder / "train.jsonl", "--split-by", "none", "--model", "SVM", "--out", model)
    keep("train", trained, labels=labels)
    for count in (_FEW, documents):
        with (folder / "test.jsonl").open("w", encoding="utf-8") as file:
            for _ in range(count):
                file.write(json.dumps({"text": " ".join(generator.choices(vocabulary, k=WORDS))}) + "\n")
        used = run("predict", model, folder / "test.jsonl", "--overwrite", "--jobs", 1, "-o", folder / "labels.jsonl")
        keep("predict", used, labels=labels, documents=count)


def keep(kind: str, usage: Usage, **case: Any) -> None:
    """Add a result to the file."""
    figures = {**asdict(usage), "load": os.getloadavg()[0]}
    line = {"kind": kind, **case, **{name: round(value, 3) for name, value in figures.items()}}
    print(line, file=sys.stderr, flush=True)
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def read_results() -> dict[tuple[Any, ...], dict[str, Any]]:
    """The last result of each case."""
    names = ("kind", "name", "labels", "documents", "workers", "engine")
    lines = [json.loads(line) for line in RESULTS.open(encoding="utf-8")] if RESULTS.exists() else []
    return {tuple(line.get(name) for name in names): line for line in lines}


def measured_table(results: Iterable[Mapping[str, Any]]) -> Table:
    """Speed, CPU time and memory of bulk work."""
    lines = [line for line in results if line["kind"] == "bulk"]
    alone = {(line["name"], line["documents"]): line["seconds"] for line in lines if line["workers"] == 1}
    rows = []
    for line in sorted(lines, key=lambda line: (line["name"], line["documents"], line["engine"], line["workers"])):
        one = alone.get((line["name"], line["documents"]))
        rows.append(
            (
                line["name"],
                line["engine"],
                f"{line['documents']:,}",
                str(line["workers"]),
                f"{line['documents'] / line['seconds']:,.0f}",
                f"{one / line['seconds']:.2f}" if one and line["workers"] > 1 else "",
                f"{line['cpu_seconds'] / line['documents'] * 1e3:.2f} ms",
                f"{line['driver']:,.0f} MB",
                f"{line['worker']:,.0f} MB" if line["workers"] > 1 else "",
            )
        )
    loads = [line.get("load", 0.0) for line in lines] or [0.0]
    header = (
        *("", "engine", "documents", "workers", "documents/s", "times one worker"),
        *("CPU a document", "peak, driver", "peak, largest other"),
    )
    note = (
        "Documents of 270 raw words, two cores. Everything counts: the start of all processes and of Ray, loading the "
        "model, reading and writing. With one worker, the work is done in the driver; on Ray, the processes of "
        f"the cluster count, too. The load average was {min(loads):.1f} to {max(loads):.1f} at the end of each. For "
        "the same documents, the output had the same bytes in all rows."
    )
    return Table("Measured", header, rows, note)


@dataclass(frozen=True)
class LabelCost:
    """What a linear model with so many labels costs."""

    labels: int
    training: Mapping[str, Any]
    start: Mapping[str, Any]
    labelling: Mapping[str, Any]

    @property
    def a_document(self) -> float:
        """CPU seconds to label one more document."""
        spent = self.labelling["cpu_seconds"] - self.start["cpu_seconds"]
        return spent / (self.labelling["documents"] - self.start["documents"])


def label_costs(results: Iterable[Mapping[str, Any]]) -> list[LabelCost]:
    """What was measured for each number of labels."""
    lines = list(results)
    costs = []
    for training in sorted((line for line in lines if line["kind"] == "train"), key=lambda line: line["labels"]):
        found = [line for line in lines if line["kind"] == "predict" and line["labels"] == training["labels"]]
        found.sort(key=lambda line: line["documents"])
        if len(found) > 1:
            costs.append(LabelCost(training["labels"], training, found[0], found[-1]))
    return costs


def labels_table(costs: Sequence[LabelCost]) -> Table:
    """What labels cost."""
    rows = [
        (
            f"{one.labels:,}",
            f"{one.training['cpu_seconds']:,.0f} s",
            f"{one.training['cpu_seconds'] / one.labels * 1e3:.1f} ms",
            f"{one.training['driver']:,.0f} MB",
            f"{one.a_document * 1e3:.2f} ms",
            f"{one.start['cpu_seconds'] - one.start['documents'] * one.a_document:.1f} s",
            f"{one.labelling['driver']:,.0f} MB",
        )
        for one in costs
    ]
    header = ("labels", "training, CPU", "each label", "peak", "labelling, CPU a document", "start, CPU", "peak")
    note = (
        "A linear SVM over 2,000 documents of 30 made-up words, and documents of 270 words to label. Labelling a "
        "document: what one more costs; start: what a command costs beside that."
    )
    return Table("Labels", header, rows, note)


def cost_table(costs: Sequence[LabelCost]) -> Table:
    """What documents come to, worked out from what one costs."""
    rows = []
    for one in costs:
        for name, documents in SIZES.items():
            hours = documents * one.a_document / 3600
            cores = CORES[name]
            memory = cores * one.labelling["driver"] / 1024
            rows.append(
                (
                    name,
                    f"{one.labels:,}",
                    _hours(hours),
                    f"{cores:,}",
                    _hours(hours / cores),
                    f"{memory:,.1f} GB",
                    _bytes(documents * one.labels * 4),
                )
            )
    header = ("documents", "labels", "core-hours", "cores", "hours", "memory, all processes", "scores for `evaluate`")
    note = (
        "Worked out: documents times the CPU time of one, divided by cores that are otherwise idle. Memory is the peak "
        "of a process times the cores. `evaluate` keeps the scores of all documents and labels in the driver; "
        "`predict` does not."
    )
    return Table("Costs", header, rows, note)


def _hours(hours: float) -> str:
    digits = max(0, 1 - math.floor(math.log10(hours))) if hours > 0 else 0
    return f"{hours:,.{min(digits, 3)}f}"


def _bytes(count: float) -> str:
    unit = min(3, max(0, math.floor(math.log10(count) / 3) - 2))
    return f"{count / 10 ** (3 * unit + 6):,.1f} {('MB', 'GB', 'TB', 'PB')[unit]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="*", help="the folders of trained models")
    parser.add_argument("--data", type=Path, default=Path("build/reuters"), help="a folder with train.jsonl")
    parser.add_argument("--documents", type=int, default=20_000, help="documents (default: 20,000)")
    parser.add_argument("--growth", type=int, default=10, help="then so many times as many (default: 10)")
    parser.add_argument("--ray", action="store_true", help="also with two actors of a local Ray cluster")
    parser.add_argument("--labels", type=int, nargs="*", default=[], help="measure linear models with so many labels")
    parser.add_argument("--write", action="store_true", help="put the tables of all results into docs/scale.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.models:
            measure(Path(folder), options)
        for labels in options.labels:
            measure_labels(Path(folder), labels, min(options.documents, 3_000))
    results = read_results().values()
    costs = label_costs(results)
    tables = {"scale": measured_table(results), "labels": labels_table(costs), "costs": cost_table(costs)}
    for name, table in tables.items():
        print(table.markdown())
        if options.write:
            put_between(PAGE, name, f"{table.body()}\n\n{table.note}\n")


if __name__ == "__main__":
    main()
