"""The paper's Table 4 out of the results: learning from single-label documents, labelling multi-label ones."""

from collections.abc import Iterable, Mapping, Sequence

from grid import Experiment, Run
from paper_tables import Result, missing, of_paper, spread
from tables import Table

__all__ = ["CONTROLS", "GOAL", "MODELS", "controls", "in_words", "table4"]

MODELS = ("transfer-others", "transfer", "transfer-code")
CONTROLS = ("transfer", "transfer-controls", "transfer-settings")
GOAL = ("transfer-goal",)
_THRESHOLDS = {"tuned": "test", "0.5": "test at 0.5"}
_AVERAGES = ("micro", "samples")
_FIGURES = ("precision", "recall", "f1")


def table4(experiments: Sequence[Experiment], results: Mapping[str, Result]) -> Table:
    """All models with both averages and both thresholds, beside the paper's numbers."""
    paper, rows = of_paper("table4"), []
    for experiment in experiments:
        is_code = experiment.name == "transfer-code"
        for runs in _groups(experiment.runs):
            found = _found(runs, results)
            for threshold, key in _THRESHOLDS.items() if found else ():
                name = f"{runs[0].model}{', as in their code' if is_code else ''}"
                metrics = [_spread(found, key, kind, figure) for kind in _AVERAGES for figure in _FIGURES]
                theirs = [paper[runs[0].model][figure] if threshold == "tuned" else "" for figure in _FIGURES]
                rows.append((name, str(len(found)), threshold, *metrics, *theirs))
    header = (
        *("model", "seeds", "threshold", "micro P", "micro R", "micro F1", "samples P", "samples R", "samples F1"),
        *("paper: P", "R", "F1"),
    )
    note = (
        "339 test documents; Zhao et al. evaluate 325 of them, 13 batches of 25, at a threshold of 0.5 and with "
        "samples averages. The paper took the numbers of its first five models from them; its others are micro "
        "averages. A tuned threshold is the best on single-label dev documents. [Quality](quality.md) says how "
        "settings were chosen."
    )
    return Table(f"Table 4: {experiments[1].about}", header, rows, _with_missing(note, experiments, results))


def controls(experiments: Sequence[Experiment], results: Mapping[str, Result], title: str = "controls") -> Table:
    """What the label weights and other options do: F1 of GCRCNN and its variants with each."""
    rows = []
    runs = [run for experiment in experiments for run in experiment.runs if "GCRCNN" in run.model]
    for group in _groups(runs):
        if found := _found(group, results):
            metrics = [_spread(found, key, kind, "f1") for kind in _AVERAGES for key in _THRESHOLDS.values()]
            rows.append((_short(group[0], runs), str(len(found)), *metrics))
    header = ("model", "seeds", "micro F1, tuned", "micro F1, 0.5", "samples F1, tuned", "samples F1, 0.5")
    others = experiments[1:] or experiments
    note = "\n".join(f"- {experiment.about}" for experiment in others)
    missed = " ".join(filter(None, (missing(experiment, results) for experiment in others)))
    return Table(f"Table 4: {title}", header, rows, f"{note}\n\n{missed}" if missed else note)


def in_words(experiments: Sequence[Experiment], results: Mapping[str, Result]) -> str:
    """The whole model with label weights, without, and with permuted ones, in a sentence; nothing if none was run."""
    said = []
    for run in (group[0] for experiment in experiments[:2] for group in _groups(experiment.runs)):
        is_constant = "loss.control=constant" in run.settings
        found = _found((other for e in experiments for other in e.runs if other.name == run.name), results)
        if run.model.endswith("AGCRCNN") and found and not is_constant:
            suffix = " with permuted labels" if "loss.control=permuted" in run.settings else ""
            said.append(f"{run.model}{suffix} has {_spread(found, 'test', 'micro', 'f1')}")
    return f"- {experiments[0].about}: in micro-F1 {', '.join(said)}." if said else ""


def _groups(runs: Iterable[Run]) -> list[list[Run]]:
    """The runs that differ only in their seeds."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.name, []).append(run)
    return list(groups.values())


def _found(runs: Iterable[Run], results: Mapping[str, Result]) -> list[Result]:
    return [results[run.key] for run in runs if run.key in results]


def _spread(found: Sequence[Result], key: str, kind: str, figure: str) -> str:
    return spread([result[key]["flat"][kind][figure] for result in found])


def _short(run: Run, runs: Sequence[Run]) -> str:
    """The model and those of its options that not all runs have."""
    common = set.intersection(*(set(other.settings) for other in runs))
    options = [f"`{option}`" for option in run.settings if option not in common]
    return " ".join([run.model, *options])


def _with_missing(note: str, experiments: Iterable[Experiment], results: Mapping[str, Result]) -> str:
    return " ".join(filter(None, [note, *(missing(experiment, results) for experiment in experiments)]))
