"""What a network adds to the linear evidence of `auto`: quality on test documents with and without it, and intervals.

    python benchmarks/members.py build/eurlex build/reuters     # the missing runs of some data sets
    python benchmarks/members.py --list --write                 # run nothing; put the table into docs/quality.md

Each data set has one run of `auto` as it is, and one for each network that takes part whatever the time and whether or
not it helps out of fold. All label the same test documents. The interval of a difference comes from drawing the test
documents anew, with replacement, a thousand times: both models are measured on the same documents each time. A
finished run is a line of benchmarks/results/members.jsonl and is not run again.
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grid import read_results
from measure import in_own_process
from tables import Table, put_between

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "members"
RESULTS = Path(__file__).parent / "results" / "members.jsonl"
NETWORKS = ("HE-AGCRCNN", "XML-CNN")
DRAWS = 1_000

Counts = NDArray[np.int64]
"""[documents, 3]: how many labels a document is given, how many it has, and how many are both."""


def settings(network: str | None) -> list[str]:
    """The options of `auto` with one network, or none."""
    others = [name for name in NETWORKS if name != network]
    return [] if network is None else ["time=100h", "choose=false", f"without={','.join(others)}"]


def execute(folder: Path, network: str | None) -> dict[str, Any]:
    """Train `auto`, and count the labels of each test document."""
    from taxocaps.scorers.persistence import load_model
    from taxocaps.workflows.config import resolve_run_config
    from taxocaps.workflows.predict import predict
    from taxocaps.workflows.train import TrainFiles, train

    config = resolve_run_config(None, settings(network), {"model": "auto", "preset": "default", "seed": 0})
    dev, out = folder / "dev.jsonl", WORK / f"{folder.name}-{network}"
    files = TrainFiles(folder / "train.jsonl", folder / "taxonomy.tsv", dev if dev.exists() else None)
    report = train(files, out, config, existing="resume" if (out / ".training").exists() else "overwrite")
    truth = _labels(folder / "test.jsonl")
    # Ancestors that no document carries are added, and count for nothing, as in `taxocaps evaluate`.
    carried = set().union(*truth, *_labels(folder / "train.jsonl"), *(_labels(dev) if dev.exists() else ()))
    found = predict(load_model(out), folder / "test.jsonl")
    given = [{label.label for label in one.labels} & carried for one in found]
    shutil.rmtree(out)
    counts = [[len(one), len(other), len(one & other)] for one, other in zip(given, truth, strict=True)]
    return {"counts": counts, "out_of_fold": report.validation.flat.micro.f1}


def _labels(file: Path) -> list[set[str]]:
    """The labels of each document."""
    with file.open(encoding="utf-8") as lines:
        return [set(json.loads(line)["labels"]) for line in lines]


def finish(folder: Path, network: str | None) -> None:
    """Do a run and add its line to the results."""
    cost = in_own_process(execute, folder, network)
    line = {"key": _key(folder.name, network), "data": folder.name, "network": network, **cost.result}
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**line, "cpu_seconds": round(cost.cpu_seconds, 1)}) + "\n")
    print(f"{line['key']}: micro {micro_f1(np.array(line['counts'])):.4f}, {cost.cpu_seconds:.0f} CPU s", flush=True)


def _key(data: str, network: str | None) -> str:
    return f"{data}-{network or 'none'}"


def micro_f1(counts: Counts) -> float:
    """The micro-F1 of documents.

    >>> micro_f1(np.array([[1, 2, 1], [1, 0, 0]]))
    0.5
    """
    given, true, both = counts.sum(axis=0).tolist()
    return 2 * both / max(1, given + true)


def interval(with_it: Counts, without: Counts) -> tuple[float, float]:
    """Where the difference between two models lies in 95 of 100 draws of the documents."""
    draws = np.random.default_rng(0).integers(len(without), size=(DRAWS, len(without)))
    low, high = np.quantile([micro_f1(with_it[draw]) - micro_f1(without[draw]) for draw in draws], [0.025, 0.975])
    return float(low), float(high)


def table() -> Table:
    """One row for each data set and network."""
    known = read_results(RESULTS)
    header = ("data set", "auto", "and", "micro-F1", "difference", "95 %", "out of fold", "CPU time, times auto's")
    rows = []
    for data in sorted({one["data"] for one in known.values()}):
        plain = known.get(_key(data, None))
        for network in NETWORKS:
            if plain is None or (found := known.get(_key(data, network))) is None:
                continue
            with_it, without = np.array(found["counts"]), np.array(plain["counts"])
            low, high = interval(with_it, without)
            ours, theirs = micro_f1(without), micro_f1(with_it)
            gain = found["out_of_fold"] - plain["out_of_fold"]
            cost = found["cpu_seconds"] / plain["cpu_seconds"]
            cells = (f"{theirs:.3f}", f"{theirs - ours:+.3f}", f"{low:+.3f} to {high:+.3f}", f"{gain:+.3f}")
            rows.append((data, f"{ours:.3f}", network, *cells, f"{cost:.1f}"))
    return Table("What a network adds to auto", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="data sets, as `taxocaps data` makes them")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS)
    parser.add_argument("--list", action="store_true", help="run nothing")
    parser.add_argument("--write", action="store_true", help="put the table into docs/quality.md, too")
    options = parser.parse_args()
    for folder in () if options.list else options.folders:
        for network in (None, *options.networks):
            if _key(folder.name, network) not in read_results(RESULTS):
                finish(folder, network)
    found = table()
    print(found.markdown())
    if options.write:
        put_between(ROOT / "docs" / "quality.md", "members", found.body())


if __name__ == "__main__":
    main()
