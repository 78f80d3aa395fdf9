"""Search the learning rate of each network on dev documents, with the same budget for all.

    python benchmarks/search.py                # the missing runs of all networks, one after another
    python benchmarks/search.py LSTM HAN       # those of some
    python benchmarks/search.py --list         # run nothing; show what there is and what is missing
    python benchmarks/search.py --list --write # and put the table into docs/quality.md

The budget of a network is four runs of three epochs over the training documents of Reuters, which is 657 steps each, at
whose end the schedule has brought the learning rate to 0: one run for each learning rate, then one more with the best
of these, in which word vectors are trained like all other weights (`PLAIN_VECTORS`). A finished run is a line of
benchmarks/results/search.jsonl and is not run again. Test documents are never read. What was chosen by these runs
stands in the catalogue (`usual`), and why in docs/quality.md.
"""

import argparse
import csv
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grid import ALONE, Run, read_results
from measure import in_own_process
from tables import Table, put_between
from taxocaps.catalogue.models import find_model

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "search"
RESULTS = Path(__file__).parent / "results" / "search.jsonl"
MODELS = (
    *("LSTM", "HLSTM", "HAN", "DGCNN-3", "TGCNN", "HE-TGCNN", "Capsule-A", "CNN-non-static", "BiLSTM", "RCNN"),
    *("Capsule-B", "XML-CNN", "Bi-BloSAN", "DCNN", "SGM+GE"),
)
"""The networks, in the order in which most is expected of a search."""
BUDGET = "training.epochs=3"
RATES = (1e-3, 2e-3, 4e-3)
PLAIN_VECTORS = ("training.vectors_rate=1", "training.vectors_epsilon=1e-8")


def candidates(model: str, known: Mapping[str, Mapping[str, Any]], data: str = "reuters") -> Iterator[Run]:
    """The runs of a network; the last one only if the others are known, for it depends on them."""
    runs = [_run(data, model, f"training.learning_rate={rate:g}") for rate in RATES]
    yield from runs
    if all(run.key in known for run in runs):
        best = max(runs, key=lambda run: known[run.key]["micro_f1"])
        yield _run(data, model, best.settings[-1], *PLAIN_VECTORS)


def _run(data: str, model: str, *settings: str) -> Run:
    alone = ALONE if find_model(model).is_variant else ()  # a linear prior would have learned most of it
    return Run(data, model, "default", 0, (BUDGET, *alone, *settings), ())


def execute(run: Run, folder: Path) -> dict[str, Any]:
    """Train a network and tell its metrics on dev documents after each epoch."""
    import torch

    from taxocaps.workflows.config import resolve_run_config
    from taxocaps.workflows.train import TrainFiles, train

    torch.set_num_threads(1)
    config = resolve_run_config(None, run.settings, {"model": run.model, "preset": run.preset, "seed": run.seed})
    files = TrainFiles(folder / "train.jsonl", folder / "taxonomy.tsv", folder / "dev.jsonl")
    _keep_vectors()
    out = WORK / run.key
    train(files, out, config, existing="overwrite")
    with (out / "history.csv").open(encoding="utf-8", newline="") as file:
        epochs = list(csv.DictReader(file))
    shutil.rmtree(out)
    names = ("loss", "micro_f1", "macro_f1")
    return {"history": [{name: round(float(epoch[name]), 4) for name in names} for epoch in epochs]}


def _keep_vectors() -> None:
    """Learn word vectors once for all runs: with the same words and options they are the same."""
    import numpy as np

    from taxocaps.config import fingerprint
    from taxocaps.scorers import network

    learn = network.learn_vectors

    def kept(documents: Any, vocabulary: Any, config: Any, progress: Any) -> Any:
        path = WORK / f"{fingerprint([config.as_mapping(), list(vocabulary.words)])[:16]}.npy"
        if not path.exists():
            np.save(path, learn(documents, vocabulary, config, progress))
        return np.load(path)

    network.learn_vectors = kept


def finish(run: Run, folder: Path) -> None:
    """Do a run and add its line to the results."""
    cost = in_own_process(execute, run, folder)
    best = max(cost.result["history"], key=lambda row: row["micro_f1"])
    line = {
        "key": run.key,
        "model": run.model,
        "settings": run.settings,
        "micro_f1": best["micro_f1"],
        "macro_f1": best["macro_f1"],
        **cost.result,
        "cpu_seconds": round(cost.cpu_seconds, 1),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(f"{run.name}: micro {line['micro_f1']:.4f}, {cost.cpu_seconds:.0f} CPU s", flush=True)


def search(models: Sequence[str], folder: Path) -> None:
    """Do what is missing."""
    for model in models:
        done = False
        while not done:
            known = read_results(RESULTS)
            missing = [run for run in candidates(model, known, folder.name) if run.key not in known]
            for run in missing:
                finish(run, folder)
            done = not missing


def table(models: Sequence[str], data: str = "reuters") -> Table:
    """Dev micro-F1 of all runs that there are, a row for each network; the best of a row is bold."""
    known = read_results(RESULTS)
    header = ("model", *(f"rate {rate:g}" for rate in RATES), "the best, plain word vectors", "CPU min")
    rows = []
    for model in models:
        found = [known.get(run.key) for run in candidates(model, known, data)]
        if there := [one for one in found if one is not None]:
            best = max(one["micro_f1"] for one in there)
            minutes = sum(one["cpu_seconds"] for one in there) / 60
            cells = [_cell(one, best) for one in (found + [None] * (len(RATES) + 1))[: len(RATES) + 1]]
            rows.append((model, *cells, f"{minutes:.1f}"))
    return Table("Search of the learning rate", header, rows)


def _cell(found: Mapping[str, Any] | None, best: float) -> str:
    if found is None:
        return ""
    return f"**{found['micro_f1']:.3f}**" if found["micro_f1"] == best else f"{found['micro_f1']:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", default=MODELS)
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "reuters", help="the folder of the data set")
    parser.add_argument("--list", action="store_true", help="run nothing; show what there is and what is missing")
    parser.add_argument("--write", action="store_true", help="put the table into docs/quality.md, too")
    options = parser.parse_args()
    models = [find_model(name).name for name in options.models]
    if not options.list:
        search(models, options.data)
    found = table(models, options.data.name)
    print(found.markdown())
    if options.write:
        put_between(ROOT / "docs" / "quality.md", "search", found.body())
    known = read_results(RESULTS)
    for model in models:
        done = sum(run.key in known for run in candidates(model, known, options.data.name))
        if done <= len(RATES):
            print(f"missing: {len(RATES) + 1 - done} runs of {model}")


if __name__ == "__main__":
    main()
