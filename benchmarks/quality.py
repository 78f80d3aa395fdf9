"""How good a model is: train it on a corpus and measure it, beside a linear SVM with the same threshold rule.

    taxocaps data reuters21578 --source DIR --out build/reuters
    python benchmarks/quality.py build/reuters [--model NAME] [--preset NAME] [--seed 0] [--set KEY=VALUE]

Each run adds a line to benchmarks/results/quality.jsonl; `--table` prints all of them, and `--write` puts
them into docs/quality.md. Choices are made on dev documents; test documents are measured once for a finished model.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from linear_svm import linear_svm
from tables import Table, put_between
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.workflows.config import resolve_run_config
from taxocaps.workflows.train import TrainFiles, train

RESULTS = Path(__file__).parent / "results" / "quality.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "quality.md"
HEADER = (
    *("corpus", "model", "preset", "seed"),
    *("dev micro", "dev macro", "test micro", "test macro", "hierarchical", "CPU s"),
)


def our_model(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Train one of our models and measure it."""
    named = {"model": options.model, "preset": options.preset, "seed": options.seed}
    config = resolve_run_config(None, options.settings, named)
    files = TrainFiles(*(folder / name for name in ("train.jsonl", "taxonomy.tsv", "dev.jsonl", "test.jsonl")))
    began = time.process_time()
    with tempfile.TemporaryDirectory() as out:
        report = train(files, Path(out) / "model", config)
    assert report is not None
    assert report.test is not None
    return {
        "model": report.model,
        "preset": options.preset,
        "settings": options.settings,
        "seed": options.seed,
        "dev": _figures(report.validation),
        "test": _figures(report.test),
        "epochs": [report.epochs, report.best_epoch],
        "cpu_seconds": time.process_time() - began,
    }


def peer(folder: Path) -> dict[str, Any]:
    """Train the linear SVM and measure it."""
    result = linear_svm(folder)
    return {
        "model": "TF-IDF + linear SVM",
        "preset": "",
        "seed": 0,
        "dev": _figures(result.dev),
        "test": _figures(result.test),
        "cpu_seconds": result.seconds,
    }


def _figures(found: Evaluation) -> dict[str, float]:
    hierarchical = found.hierarchical.f1 if found.hierarchical else 0.0
    return {"micro": found.flat.micro.f1, "macro": found.flat.macro.f1, "hierarchical": hierarchical}


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    preset = " ".join([result["preset"], *result.get("settings", [])])
    figures = [result["dev"]["micro"], result["dev"]["macro"], result["test"]["micro"], result["test"]["macro"]]
    numbers = [f"{figure:.3f}" for figure in (*figures, result["test"]["hierarchical"])]
    return result["corpus"], result["model"], preset, str(result["seed"]), *numbers, f"{result['cpu_seconds']:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--model", default="HE-AGCRCNN")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--peer", action="store_true", help="the linear SVM instead of one of our models")
    parser.add_argument("--table", action="store_true", help="print all results so far")
    parser.add_argument("--write", action="store_true", help="put all results so far into docs/quality.md")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    RESULTS.parent.mkdir(exist_ok=True)
    if options.folder is not None:
        result = {
            "corpus": options.folder.name,
            **(peer(options.folder) if options.peer else our_model(options.folder, options)),
        }
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        print(Table("Quality", HEADER, [_row(result)]).markdown())
    results = map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())
    rows = list({row[:4]: row for row in map(_row, results)}.values())  # of each the newest
    if options.table:
        print(Table("Quality", HEADER, rows).markdown())
    if options.write:
        put_between(PAGE, "quality", Table("Quality", HEADER, rows).body())


if __name__ == "__main__":
    main()
