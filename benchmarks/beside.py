"""`auto` beside its peers: our models and programs of others on the same documents, and how reliable scores are.

What is said of a data set with several samples, or of a model with several seeds, is a mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from grid import Experiment
from paper_tables import Result, number, spread
from peers import PEERS
from tables import Table

__all__ = ["beside_tables", "evidence_table", "in_words", "overview", "reliability", "sure_table"]

DATA = {
    "reuters": "Reuters-21578, R90",
    "arxiv": "arXiv abstracts",
    "eurlex": "EUR-Lex acts",
    "debtags": "Debian packages",
    "pydocs": "Python docstrings",
    "pydocs500": "500 Python docstrings",
    "glosses": "WordNet definitions",
    "glosses500": "500 WordNet definitions",
}
"""The data sets by the first part of their folders' names; the second part is the number of a sample."""

AUTO = "taxocaps auto"
OURS = ("auto", "SVM", "LR", "XML-CNN", "HE-AGCRCNN")
"""Our models that are shown beside other programs, each with its default options."""

LEVEL = 0.005
"""A difference that another seed can turn round."""

HEADER = (
    *("program", "micro", "macro", "samples", "hierarchical", "P@1", "P@5", "calibration error"),
    *("training, CPU s", "documents / CPU s", "peak memory"),
)

SHOWN = (AUTO, "taxocaps SVM", "scikit-learn, words", "LibMultiLabel thresholding", "Annif omikuji")
"""What the first screen of the README compares."""

SHOWN_ON = ("reuters", "eurlex", "pydocs", "glosses")
"""The data sets on which all of these have results."""

NOTE = (
    "All on one thread of a machine that was busy with other work, so times are CPU times. Training and prediction "
    "begin with texts, and training includes the choice of a threshold. The programs of others follow one rule: one "
    "threshold for all labels, the one with the best micro-F1 on dev documents, or in five folds of the training "
    "documents where there are no dev documents; then they learn from training and dev documents, as auto and our "
    "linear models do; our networks learn from training documents only. No ancestors are added to the labels they "
    "give, which our models do where all documents carry them. Calibration errors are over scores above 0.05, and "
    "are left blank for margins, which are no probabilities. scikit-learn is one LinearSVC for each label, over "
    "TF-IDF of words, or of words and of three to five characters. LibMultiLabel, HiClass, omikuji and napkinXC get "
    "the same TF-IDF of words. All have their own default options, but for LibMultiLabel, which has those of its "
    "example for RCV1: with its defaults it has no bias term and loses two points of micro-F1 on Reuters. HiClass "
    "gives one path a document and no scores: a training document is given once for each of its most specific "
    "labels. omikuji and napkinXC score ten labels a document. fastText has the options of its tutorial on several "
    "labels, with which it is one-vs-all over words and pairs, and its own vectors. Annif reads texts itself, and "
    "gets the names of labels as a SKOS vocabulary; its ensemble is the mean of both. Programs that take more than 40 "
    "CPU minutes were stopped."
)

Rows = Mapping[str, Sequence[Result]]
"""The results of each program on one data set: one for each sample and seed."""


def beside_tables(results: Mapping[str, Result], peers: Mapping[str, Result]) -> str:
    """A table for each data set of which there are results, and what one must know to read them."""
    tables = [_table(data, results, peers).markdown() for data in DATA if _rows(data, results, peers)]
    return "\n".join(["## auto beside its peers", "", NOTE, "", *(f"#{table}" for table in tables)])


def overview(results: Mapping[str, Result], peers: Mapping[str, Result]) -> Table:
    """F1 of a few programs on several data sets in one table, and what they cost on docstrings."""
    of = {data: _rows(data, results, peers) for data in SHOWN_ON}
    rows = [
        (name, *(_both_f1(of[data].get(name)) for data in SHOWN_ON), *_costs(of["pydocs"][name])[:2])
        for name in SHOWN
        if name in of["pydocs"]
    ]
    header = ("micro-F1 / macro-F1", *map(DATA.__getitem__, SHOWN_ON), "training, CPU s", "documents / CPU s")
    return Table("Overview", header, rows)


def _both_f1(found: Sequence[Result] | None) -> str:
    return " / ".join(number(mean(_f1(found, kind))) for kind in ("micro", "macro")) if found else ""


def in_words(results: Mapping[str, Result], peers: Mapping[str, Result]) -> list[str]:
    """For each data set how auto compares with the best program of others."""
    lines = []
    for data, title in DATA.items():
        rows = _rows(data, results, peers)
        others = [peer.name for peer in PEERS if peer.name in rows]
        if AUTO in rows and others:
            said = [_compared(rows, others, kind) for kind in ("micro", "macro")]
            lines.append(f"- {title}: {'; '.join(said)}.")
    return lines


def _compared(rows: Rows, others: Sequence[str], kind: str) -> str:
    f1 = {name: mean(_f1(rows[name], kind)) for name in (AUTO, *others)}
    best = max(others, key=f1.__getitem__)
    difference = f1[AUTO] - f1[best]
    verb = "is level with" if abs(difference) < LEVEL else "beats" if difference > 0 else "loses to"
    return f"in {kind}-F1 auto ({f1[AUTO]:.3f}) {verb} {best} ({f1[best]:.3f})"


def _rows(data: str, results: Mapping[str, Result], peers: Mapping[str, Result]) -> Rows:
    """Our models first, then the programs of others, in the order of their lists."""
    found: dict[str, list[Result]] = {}
    for model in OURS:
        found[f"taxocaps {model}"] = [result for result in _of_model(model, results) if _is_of(result, data)]
    for peer in PEERS:
        mine = [result for result in peers.values() if result["peer"] == peer.name and _is_of(result, data)]
        found[peer.name] = [result for result in mine if "failed" not in result]
    return {name: measured for name, measured in found.items() if measured}


def _of_model(model: str, results: Mapping[str, Result]) -> Iterator[Result]:
    """The results of a model with its default options."""
    for result in results.values():
        if result["model"] == model and result["preset"] == "default" and not result["settings"]:
            yield result


def _is_of(result: Result, data: str) -> bool:
    return result["data"].partition("-")[0] == data


def _table(data: str, results: Mapping[str, Result], peers: Mapping[str, Result]) -> Table:
    rows = [(name, *_metrics(found), *_costs(found)) for name, found in _rows(data, results, peers).items()]
    failed = [
        f"{result['peer']} on {result['data']}: {result['failed']}."
        for result in peers.values()
        if _is_of(result, data) and "failed" in result
    ]
    return Table(DATA[data], HEADER, rows, f"Without a result: {' '.join(failed)}" if failed else "")


def _metrics(found: Sequence[Result]) -> list[str]:
    tests = [result["test"] for result in found]
    values = [
        [test["flat"]["samples"]["f1"] for test in tests],
        [test["hierarchical"]["f1"] for test in tests],
        *([test["ranking"]["precision"][k] for test in tests if test["ranking"]] for k in ("1", "5")),
        [result["test"]["calibration_error"] for result in found if _is_calibrated(result)],
    ]
    f1 = [spread(_f1(found, kind)) for kind in ("micro", "macro")]
    return [*f1, *(number(mean(one) if one else None) for one in values)]


def _f1(found: Sequence[Result], kind: str) -> list[float]:
    return [result["test"]["flat"][kind]["f1"] for result in found]


def _is_calibrated(result: Result) -> bool:
    """Whether scores are probabilities, and were measured as they are now: older results have no bins."""
    return bool(result["test"].get("reliability")) and result.get("kind") != "margins"


def _costs(found: Sequence[Result]) -> list[str]:
    timed = [result for result in found if "predict" in result]
    train = [result["train"]["cpu_seconds"] for result in timed]
    rates = [result["test"]["documents"] / result["predict"]["cpu_seconds"] for result in timed]
    peak = mean(result["peak_megabytes"] for result in found)
    return [number(mean(train) if train else None, 1), number(mean(rates) if rates else None, 0), f"{peak:,.0f} MB"]


def reliability(results: Mapping[str, Result]) -> dict[str, list[Mapping[str, float]]]:
    """The bins of scores of auto by data set, of the first sample or seed."""
    return {title: tests[0]["reliability"] for title, tests in _tests(results).items()}


def _tests(results: Mapping[str, Result]) -> dict[str, list[Mapping[str, Any]]]:
    """The metrics of auto on test documents by data set, where the bins are known."""
    found = {
        title: [result["test"] for result in _of_model("auto", results) if _is_of(result, data)]
        for data, title in DATA.items()
    }
    kept = {title: [test for test in tests if test.get("reliability")] for title, tests in found.items()}
    return {title: tests for title, tests in kept.items() if tests}


def sure_table(results: Mapping[str, Result]) -> Table:
    """How far the scores of auto can be believed, and what it makes of labels that it has not learned."""
    rows = [(title, *_sure(tests), *_new(tests)) for title, tests in _tests(results).items()]
    header = (
        *("data", "calibration error", "pairs scored 0.85 to 0.95", "true labels among them"),
        *("labels without training documents: carried", "given", "F1"),
    )
    note = (
        "Pairs of a document and a label; the calibration error is over scores above 0.05. Of labels with a score "
        "around 0.9, nine of ten should be true. Labels without training documents are given by their names alone. "
        "Numbers of times are sums over samples and seeds, other numbers means."
    )
    return Table("How far scores of auto can be believed", header, rows, note if rows else "Not run yet.")


def _sure(tests: Sequence[Mapping[str, Any]]) -> list[str]:
    bands = [test["nearly_sure"] for test in tests]
    count = sum(band["count"] for band in bands)
    right = sum(band["count"] * band["observed"] for band in bands)
    error = mean(test["calibration_error"] for test in tests)
    return [number(error), f"{count:,}", number(right / count if count else None)]


def _new(tests: Sequence[Mapping[str, Any]]) -> list[str]:
    new = [test["new_labels"] for test in tests if test["new_labels"]]
    counts = [f"{sum(one[name] for one in new):,}" for name in ("support", "predicted")]
    return [*counts, number(mean(one["micro"]["f1"] for one in new) if new else None)]


def evidence_table(experiments: Sequence[Experiment], results: Mapping[str, Result]) -> Table:
    """What each kind of evidence brings: auto without it, and the difference to auto with all."""
    names = dict.fromkeys(run.settings for experiment in experiments for run in experiment.runs)
    rows = [(_left_out(settings), *(_cells(experiments, settings, results))) for settings in names]
    titles = [DATA[experiment.runs[0].data.partition("-")[0]] for experiment in experiments]
    header = ("left out", *(f"{title}, {kind}" for title in titles for kind in ("micro", "macro")))
    note = "In brackets the difference to auto with all evidence. Blank: not run yet."
    return Table("What each kind of evidence brings", header, rows, note)


def _left_out(settings: Sequence[str]) -> str:
    return ", ".join(setting.removeprefix("without=") for setting in settings) or "nothing"


def _cells(experiments: Sequence[Experiment], settings: Sequence[str], results: Mapping[str, Result]) -> Iterator[str]:
    for experiment in experiments:
        found = {run.settings: results[run.key] for run in experiment.runs if run.key in results}
        for kind in ("micro", "macro"):
            f1 = {key: result["test"]["flat"][kind]["f1"] for key, result in found.items()}
            difference = f" ({f1[settings] - f1[()]:+.3f})" if settings and {settings, ()} <= f1.keys() else ""
            yield f"{number(f1.get(settings))}{difference}"
