"""Make docs/results.md out of the results: the paper's tables and figures, and what the paper does not have.

    python benchmarks/render.py

What was not run is listed as missing. The figures of the paper (benchmarks/paper/) stand beside ours for orientation.
"""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from grid import STATISTICS, Experiment, Run, read_grid, read_results
from tables import Table
from taxocaps.catalogue.registry import MODELS
from taxocaps.catalogue.variants import VARIANTS

PAPER = Path(__file__).parent / "paper"
PAGE = Path(__file__).parents[1] / "docs" / "results.md"
Result = Mapping[str, Any]

HEAD = """# Results

Rendered by `python benchmarks/render.py` from `benchmarks/results/`; no figure is typed by hand. `python
benchmarks/run.py` runs what is missing, one line a run; `make paper TABLE=3` runs what a table of the paper needs, and
renders. The data sets are made by [`taxocaps data`](data.md).

Thresholds are tuned on dev documents, never on test documents: one threshold for all labels, with the best micro-F1.
"""


def of_paper(name: str) -> dict[str, dict[str, str]]:
    """A table of the paper by model."""
    with (PAPER / f"{name}.csv").open(encoding="utf-8") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def number(value: float | None, digits: int = 3) -> str:
    """A figure; nothing where there is none."""
    return "" if value is None else f"{value:,.{digits}f}"


def spread(values: Sequence[float]) -> str:
    """The mean of some seeds, and their standard deviation."""
    return f"{mean(values):.3f} ± {stdev(values):.3f}" if len(values) > 1 else number(values[0] if values else None)


def table1() -> Table:
    """Statistics of the data."""
    header = ("data", "train", "dev", "test", "labels", "depth", "words/document", "labels/document", "documents/label")
    lines = STATISTICS.read_text(encoding="utf-8").splitlines() if STATISTICS.exists() else []
    rows = [
        (
            row["data"],
            *(f"{row['documents'].get(part, 0):,}" for part in ("train", "dev", "test")),
            f"{row['labels']:,}",
            str(row["depth"]),
            *(number(row[key], 1) for key in ("words", "labels_each", "documents_each")),
        )
        for row in map(json.loads, lines)
    ]
    return Table("Table 1: the data", header, rows)


def table2() -> Table:
    """The axes of the variants, from the catalogue."""
    header = ("model", "rows", "recurrence", "attention", "head", "label weights")
    rows = [(v.name, v.row_order, v.recurrent, v.attention, v.head, v.label_weights) for v in VARIANTS]
    return Table("Table 2: the variants", header, rows)


def table3(experiment: Experiment, results: Mapping[str, Result]) -> Table:
    """All methods on one data set, beside the paper's figures on RCV1."""
    paper = of_paper("table3")
    header = ("model", "dev micro", "micro", "macro", "samples", "hierarchical", "P@1", "P@5", "calibration", "CPU min")
    rows = []
    for run in experiment.runs:
        if run.key in results:
            ours = results[run.key]
            rows.append((run.model, *_figures(ours), f"{ours['cpu_seconds'] / 60:.1f}", *_paper(paper.get(run.model))))
    header = (*header, "paper: RCV1 micro", "macro")
    return Table(f"Table 3: {experiment.about}", header, rows, _missing(experiment, results))


def _figures(result: Result) -> list[str]:
    test = result["test"]
    flat = test["flat"]
    figures = [result["dev"]["flat"]["micro"]["f1"], *(flat[kind]["f1"] for kind in ("micro", "macro", "samples"))]
    hierarchical = test["hierarchical"]["f1"] if test["hierarchical"] else None
    ranking = test["ranking"]["precision"]
    return [number(value) for value in (*figures, hierarchical, ranking["1"], ranking["5"], test["calibration_error"])]


def _paper(row: Mapping[str, str] | None) -> tuple[str, str]:
    return (row["rcv1 micro"], row["rcv1 macro"]) if row else ("", "")


def table4(experiment: Experiment, results: Mapping[str, Result]) -> Table:
    """From single-label to multi-label documents."""
    paper = of_paper("table4")
    header = (
        *("model", "documents", "threshold", "precision", "recall", "micro F1", "samples F1"),
        *("micro F1 of learnable topics", "paper"),
    )
    rows = []
    for run in experiment.runs:
        for test in ("test", "test_all"):
            for name, threshold in ((test, "tuned"), (f"{test} at 0.5", "0.5")):
                if run.key in results:
                    found = results[run.key][name]
                    micro, samples = found["flat"]["micro"], found["flat"]["samples"]
                    figures = (micro["precision"], micro["recall"], micro["f1"], samples["f1"], _learnable(found))
                    is_theirs = (test, threshold) == ("test", "tuned")
                    theirs = paper[run.model]["f1"] if is_theirs else ""
                    rows.append((run.model, str(found["documents"]), threshold, *map(number, figures), theirs))
    return Table(f"Table 4: {experiment.about}", header, rows, _missing(experiment, results))


def _learnable(found: Result) -> float:
    """Micro-F1 over the labels that training documents carry."""
    rows = found["label_rows"]
    right = sum(row["recall"] * row["support"] for row in rows)
    return 2 * right / max(1, sum(row["support"] + row["predicted"] for row in rows))


def table5(experiment: Experiment, results: Mapping[str, Result]) -> Table:
    """Training time."""
    paper = of_paper("table5")
    rows = [
        (
            run.model,
            f"{results[run.key]['cpu_seconds'] / 3600:.3f}",
            str(results[run.key]["epochs"][0]),
            f"{results[run.key]['peak_megabytes']:,.0f} MB",
            paper[run.model]["rcv1 hours"],
            paper[run.model]["eurlex hours"],
        )
        for run in experiment.runs
        if run.key in results and run.model in paper
    ]
    header = ("model", "CPU hours", "epochs", "peak memory", "paper: RCV1, GPU hours", "EUR-Lex, GPU hours")
    return Table(f"Table 5: training time; {experiment.about}", header, rows, _missing(experiment, results))


def seeds(experiments: Iterable[Experiment], results: Mapping[str, Result], title: str) -> Table:
    """Mean and deviation over seeds of some experiments."""
    rows, missing = [], []
    for experiment in experiments:
        groups: dict[tuple[str, tuple[str, ...]], list[Run]] = {}
        for run in experiment.runs:
            groups.setdefault((run.model, run.settings), []).append(run)
        for (model, settings), runs in groups.items():
            found = [results[run.key]["test"]["flat"] for run in runs if run.key in results]
            if found:
                figures = [spread([flat[kind]["f1"] for flat in found]) for kind in ("micro", "macro")]
                rows.append((" ".join([model, *settings]), str(len(found)), *figures))
        missing.append(_missing(experiment, results))
    return Table(title, ("model", "seeds", "test micro", "test macro"), rows, " ".join(filter(None, missing)))


def _missing(experiment: Experiment, results: Mapping[str, Result]) -> str:
    names = dict.fromkeys(run.model for run in experiment.runs if run.key not in results)
    return f"Not run yet: {', '.join(names)}." if names else ""


def figure5() -> str:
    """How well label vectors give back the taxonomies, drawn by `taxocaps taxonomy reconstruct --plot`."""
    images = PAGE.parent / "images"
    found = [name for name in ("rcv1", "eurlex") if (images / f"reconstruct-{name}.png").exists()]
    lines = [f"![F1 of reconstructed edges over thresholds, {name}](images/reconstruct-{name}.png)" for name in found]
    return "\n\n".join(["## Figure 5: the taxonomy out of label vectors", *(lines or ["Not drawn yet."]), ""])


def page() -> str:
    """The whole page."""
    grid, results = read_grid(), read_results()
    experiments: list[tuple[Callable[..., Table], str]] = [
        (table3, "reuters"),
        (table3, "arxiv"),
        (table3, "arxiv-ablation"),
        (table3, "eurlex"),
        (table3, "eurlex-capsules"),
        (table4, "transfer"),
        (table5, "reuters"),
    ]
    ablation = [grid[name] for name in ("ablation", "control-margin", "control-p")]
    parts = [
        HEAD,
        table1().markdown(),
        table2().markdown(),
        *(make(grid[name], results).markdown() for make, name in experiments),
        seeds([grid["reuters-seeds"]], results, "The spread between seeds").markdown(),
        seeds(ablation, results, "What each axis brings, and two controls").markdown(),
        figure5(),
    ]
    return "\n".join(parts).rstrip() + "\n"


def main() -> None:
    assert {model.name for model in MODELS} >= set(of_paper("table3"))
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
