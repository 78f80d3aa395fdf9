"""Run the experiments of grid.toml: one model after another, one JSON line each.

    python benchmarks/run.py --list                      # what there is, what is missing, and how long it will take
    python benchmarks/run.py reuters transfer            # the missing runs of these experiments; all without names
    python benchmarks/run.py reuters --models SVM HAN    # some of them; --seeds 0 1 for some seeds
    python benchmarks/run.py reuters --models SVM --again
    python benchmarks/run.py --statistics                # count the documents of all data sets that there are

A result is appended to benchmarks/results/runs.jsonl when its run is finished: what was run, a hash of the documents,
versions, machine, CPU times of training and of labelling the test documents, and all metrics on dev and test documents.
An interrupted run is resumed from its last epoch, and finished ones are not run again. `python benchmarks/render.py`
makes docs/results.md out of the results. Each run has a process of its own, and one thread unless --threads says
otherwise: two runs side by side are faster than one on two.
"""

import argparse
import dataclasses
import hashlib
import json
import platform
import shutil
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from grid import RESULTS, STATISTICS, Experiment, Run, estimate, read_grid, read_results
from measure import in_own_process, timed
from taxocaps.metrics.evaluation import Evaluation

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "runs"
LIBRARIES = ("taxocaps", "torch", "numpy", "scikit-learn", "gensim")
FEW_LABELS = 20
"""So few that the metrics of each label are kept."""


def execute(run: Run, folder: Path, threads: int) -> dict[str, Any]:
    """Train the model of a run, measure it, and tell all about it; an interrupted run is resumed."""
    import numpy as np
    import torch

    from taxocaps.scorers.persistence import load_model
    from taxocaps.workflows.config import resolve_run_config
    from taxocaps.workflows.evaluate import evaluate
    from taxocaps.workflows.predict import predict
    from taxocaps.workflows.train import TrainFiles, train

    torch.set_num_threads(threads)
    options = {"model": run.model, "preset": run.preset, "seed": run.seed}
    config = resolve_run_config(None, run.settings, options)
    dev = folder / "dev.jsonl"
    files = TrainFiles(folder / "train.jsonl", folder / "taxonomy.tsv", dev if dev.exists() else None)
    out = WORK / run.key
    is_resumed = (out / ".training").exists()
    trained, report = timed(lambda: train(files, out, config, existing="resume" if is_resumed else "overwrite"))
    model, tests = load_model(out), {name: folder / f"{name}.jsonl" for name in run.tests}
    fixed = dataclasses.replace(model, thresholds=np.full_like(model.thresholds, 0.5))
    found = {}
    for name, documents in tests.items():
        found[name] = _metrics(evaluate(model, documents))
        found[f"{name} at 0.5"] = _metrics(evaluate(fixed, documents))
    predicted, _ = timed(lambda: sum(1 for _ in predict(model, tests[run.tests[0]])))
    shutil.rmtree(out)
    return {
        "labels": report.card.labels,
        "documents": dict(report.card.documents),
        "parameters": report.card.parameters,
        "epochs": [report.card.epochs, report.card.best_epoch],
        "is_resumed": is_resumed,
        "train": {"cpu_seconds": trained},
        "predict": {"cpu_seconds": predicted},
        "test_hashes": [hashlib.sha256(documents.read_bytes()).hexdigest() for documents in tests.values()],
        "dev": _metrics(report.validation),
        **found,
    }


def _metrics(found: Evaluation) -> dict[str, Any]:
    metrics = found.as_dict()
    if found.labels > FEW_LABELS:
        del metrics["label_rows"], metrics["unseen"]
    return metrics


def record(run: Run, cost: Any) -> dict[str, Any]:
    """The line of a finished run."""
    return {
        "key": run.key,
        **dataclasses.asdict(run),
        "seconds": cost.wall_seconds,
        "cpu_seconds": cost.cpu_seconds,
        "peak_megabytes": cost.peak_megabytes,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "versions": {name: version(name) for name in LIBRARIES},
        **cost.result,
    }


def show(experiments: Iterable[Experiment]) -> None:
    """What there is and what is missing, and how long all of it takes."""
    known = read_results()
    for experiment in experiments:
        done = [run for run in experiment.runs if run.key in known]
        print(f"{experiment.name}: {experiment.about}")
        print(f"  {len(done)} of {len(experiment.runs)} runs done, {_hours(experiment.runs, known)}")
        for run in experiment.runs:
            if run.key not in known:
                print(f"  missing: {run.key}")
    print(f"all of it: {_hours((run for experiment in experiments for run in experiment.runs), known)}")


def _hours(runs: Iterable[Run], known: dict[str, dict[str, Any]]) -> str:
    seconds, without = estimate(runs, known)
    return f"{seconds / 3600:.1f} CPU hours" + (f" and {without} runs like no other" if without else "")


def count_documents(experiments: Iterable[Experiment], data: Path) -> None:
    """Write the statistics of the data sets that there are."""
    folders = sorted({data / run.data for experiment in experiments for run in experiment.runs})
    rows = [statistics(folder) for folder in folders if (folder / "train.jsonl").exists()]
    STATISTICS.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def statistics(folder: Path) -> dict[str, Any]:
    """The paper's Table 1 for a folder of documents."""
    from taxocaps import read_documents, read_taxonomy

    counts: dict[str, int] = {}
    words = labels = 0
    seen: set[str] = set()
    for name in ("train", "dev", "test"):
        path = folder / f"{name}.jsonl"
        for document in read_documents(path) if path.exists() else ():
            counts[name] = counts.get(name, 0) + 1
            words += len(document.tokens or document.text.split())
            labels += len(document.labels or ())
            seen.update(document.labels or ())
    total = sum(counts.values())
    return {
        "data": folder.name,
        "documents": counts,
        "labels": len(seen),
        "depth": len(read_taxonomy(folder / "taxonomy.tsv").levels) - 1,
        "words": words / total,
        "labels_each": labels / total,
        "documents_each": labels / len(seen),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT")
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="only these models")
    parser.add_argument("--seeds", nargs="+", type=int, metavar="SEED", help="only these seeds")
    parser.add_argument("--table", type=int, choices=range(1, 6), help="what this table of the paper needs")
    parser.add_argument("--data", type=Path, default=ROOT / "build", help="where the folders of the data sets are")
    parser.add_argument("--again", action="store_true", help="also what is done already")
    parser.add_argument("--list", action="store_true", help="run nothing; show what there is and what is missing")
    parser.add_argument("--statistics", action="store_true", help="run nothing; count documents, words and labels")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    grid = read_grid()
    for name in options.experiments:
        if name not in grid:
            parser.error(f"no experiment is called {name!r}; there are {', '.join(grid)}")
    chosen = [grid[name] for name in options.experiments or grid]
    if options.table:
        chosen = [experiment for experiment in chosen if options.table in experiment.tables]
    if options.list:
        show(chosen)
        return
    if options.statistics:
        count_documents(chosen, options.data)
        return
    wanted = {name.lower() for name in options.models or ()}
    for run in dict.fromkeys(run for experiment in chosen for run in experiment.runs):
        is_wanted = (not wanted or run.model.lower() in wanted) and (not options.seeds or run.seed in options.seeds)
        if is_wanted and (options.again or run.key not in read_results()):
            finish(run, options.data / run.data, options.threads)


def finish(run: Run, folder: Path, threads: int) -> None:
    """Do a run and add its line to the results."""
    if not (folder / "train.jsonl").exists():
        print(
            f"{run.key}: {folder} is missing; make it with: taxocaps data (docs/data.md) or benchmarks/draw.py",
            flush=True,
        )
        return
    result = record(run, in_own_process(execute, run, folder, threads))
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")
    flat = result[run.tests[0]]["flat"]
    print(f"{run.key}: micro {flat['micro']['f1']:.4f}, macro {flat['macro']['f1']:.4f}", flush=True)


if __name__ == "__main__":
    main()
