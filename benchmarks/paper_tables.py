"""The paper's tables out of the results, beside the paper's own numbers (benchmarks/paper/)."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from grid import STATISTICS, Experiment, Run
from tables import Table
from taxocaps.catalogue.models import VARIANTS

__all__ = [
    "Result",
    "missing",
    "number",
    "of_paper",
    "options",
    "seeds",
    "spread",
    "table1",
    "table2",
    "table3",
    "table5",
]

PAPER = Path(__file__).parent / "paper"
Result = Mapping[str, Any]
LIKE = {"reuters": "RCV1", "eurlex": "EUR-Lex"}
"""The data set of the paper that one of ours is most like."""


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
    """All methods on one data set, beside the paper's numbers on the data set of its own that is most like it."""
    paper, like = of_paper("table3"), LIKE.get(experiment.runs[0].data)
    header = (
        *("model", "dev micro", "micro", "macro", "samples", "hierarchical", "P@1", "P@5", "calibration"),
        *("best epoch", "CPU min", *([f"paper: {like} micro", "macro"] if like else [])),
    )
    rows = [
        (run.model, *_metrics(results[run.key]), *_cost(results[run.key]), *_paper(paper.get(run.model), like))
        for run in experiment.runs
        if run.key in results
    ]
    notes = [experiment.note, _options(experiment), missing(experiment, results)]
    return Table(f"Table 3: {experiment.about}", header, rows, " ".join(filter(None, notes)))


def _metrics(result: Result) -> list[str]:
    test = result["test"]
    flat = test["flat"]
    metrics = [result["dev"]["flat"]["micro"]["f1"], *(flat[kind]["f1"] for kind in ("micro", "macro", "samples"))]
    hierarchical = test["hierarchical"]["f1"] if test["hierarchical"] else None
    ranking = test["ranking"]["precision"]
    calibration = test["calibration_error"] if test.get("reliability") else None
    return [number(value) for value in (*metrics, hierarchical, ranking["1"], ranking["5"], calibration)]


def _cost(result: Result) -> tuple[str, str]:
    """The best of the epochs that were trained, none for a linear model, and the CPU minutes."""
    epochs, best = result["epochs"]
    return f"{best} of {epochs}" if epochs else "", _spent(result, 60, 1)


def _spent(result: Result, unit: int, digits: int) -> str:
    """CPU time in units of so many seconds; of a run that was interrupted, only what came after is known."""
    return f"{'> ' if result.get('is_resumed') else ''}{result['cpu_seconds'] / unit:.{digits}f}"


def _paper(row: Mapping[str, str] | None, like: str | None) -> tuple[str, ...]:
    if like is None:
        return ()
    data = like.lower().replace("-", "")
    return (row[f"{data} micro"], row[f"{data} macro"]) if row else ("", "")


def _options(experiment: Experiment) -> str:
    """Which models were trained with other options than those of their preset."""
    models: dict[tuple[str, ...], list[str]] = {}
    for run in experiment.runs:
        models.setdefault(run.settings, []).append(run.model)
    listed = [
        f"{', '.join(dict.fromkeys(names))} (`{' '.join(options)}`)" for options, names in models.items() if options
    ]
    return f"Options apart from the preset: {'; '.join(listed)}." if listed else ""


def table5(experiment: Experiment, results: Mapping[str, Result]) -> Table:
    """Training time."""
    paper = of_paper("table5")
    rows = [
        (
            run.model,
            _spent(results[run.key], 3600, 3),
            str(results[run.key]["epochs"][0]),
            f"{results[run.key]['peak_megabytes']:,.0f} MB",
            paper[run.model]["rcv1 hours"],
            paper[run.model]["eurlex hours"],
        )
        for run in experiment.runs
        if run.key in results and run.model in paper
    ]
    header = ("model", "CPU hours", "epochs", "peak memory", "paper: RCV1, GPU hours", "EUR-Lex, GPU hours")
    return Table(f"Table 5: training time; {experiment.about}", header, rows, missing(experiment, results))


def seeds(experiments: Iterable[Experiment], results: Mapping[str, Result], title: str) -> Table:
    """Mean and deviation over seeds of some experiments."""
    rows, left = [], []
    for experiment in experiments:
        groups: dict[str, list[Run]] = {}
        for run in experiment.runs:
            groups.setdefault(run.name, []).append(run)
        for name, runs in groups.items():
            found = [results[run.key]["test"]["flat"] for run in runs if run.key in results]
            if found:
                metrics = [spread([flat[kind]["f1"] for flat in found]) for kind in ("micro", "macro")]
                rows.append((name, str(len(found)), *metrics))
        left.append(missing(experiment, results))
    return Table(title, ("model", "seeds", "test micro", "test macro"), rows, " ".join(filter(None, left)))


def options(experiment: Experiment, results: Mapping[str, Result]) -> Table:
    """Dev documents by data set, with each of some options: mean and deviation over seeds, and what it costs."""
    common = set.intersection(*(set(run.settings) for run in experiment.runs))
    folders = list(dict.fromkeys(run.data for run in experiment.runs))
    groups: dict[str, dict[str, list[Result]]] = {}
    for run in experiment.runs:
        name = " ".join(one for one in run.settings if one not in common) or "default"
        found = groups.setdefault(name, {folder: [] for folder in folders})
        found[run.data] += [results[run.key]] if run.key in results else []
    rows = [
        (name, *(_dev(found[folder], kind) for folder in folders for kind in ("micro", "macro")), _times(found, groups))
        for name, found in groups.items()
    ]
    header = ("option", *(f"{folder}, dev {kind}" for folder in folders for kind in ("micro", "macro")), "CPU time")
    wanted = len({run.seed for run in experiment.runs})
    left = [name for name, found in groups.items() if any(len(runs) < wanted for runs in found.values())]
    note = f"Means and deviations of up to {wanted} seeds; CPU time beside that of the default, all data sets together."
    rest = f" Not run with all seeds yet: {', '.join(left)}." if left else ""
    return Table(experiment.about, header, rows, note + rest)


def _dev(found: Sequence[Result], kind: str) -> str:
    return spread([one["dev"]["flat"][kind]["f1"] for one in found])


def _times(found: Mapping[str, Sequence[Result]], groups: Mapping[str, Mapping[str, Sequence[Result]]]) -> str:
    """The CPU time of an option, in times that of the default on the data sets where both were run."""
    pairs = [(found[data], default) for data, default in groups["default"].items() if found[data] and default]
    if not pairs:
        return ""
    ours, theirs = ([mean(one["cpu_seconds"] for one in runs) for runs in side] for side in zip(*pairs, strict=True))
    return f"{sum(ours) / sum(theirs):.2f}"


def missing(experiment: Experiment, results: Mapping[str, Result]) -> str:
    """The models that were not run, and those not run with all seeds, in words."""
    done = {run.name for run in experiment.runs if run.key in results}
    partly: dict[str, bool] = {}
    for run in experiment.runs:
        if run.key not in results:
            partly[run.model] = partly.get(run.model, True) and run.name in done
    names = [[name for name, is_partly in partly.items() if is_partly == wanted] for wanted in (False, True)]
    said = zip(("Not run yet", "Not run with all seeds yet"), names, strict=True)
    return " ".join(f"{words}: {', '.join(found)}." for words, found in said if found)
