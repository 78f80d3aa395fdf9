"""Make docs/results.md and a table of the README out of the results: the paper's tables and figures, and more.

    python benchmarks/render.py
    python benchmarks/render.py --check      # write nothing; fail if a page is not what the results say

What was not run is listed as missing. The numbers of the paper (benchmarks/paper/) stand beside ours for orientation.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import transfer
from beside import beside_tables, evidence_table, in_words, overview, reliability, sure_table
from figure5 import read_reconstructions
from figures import draw_ablation, draw_reconstruction, draw_reliability, gains_in_words
from grid import Experiment, estimate, read_grid, read_results
from paper_tables import Result, number, of_paper, options, seeds, table1, table2, table3, table5
from peers import read_peers
from tables import Table, with_between
from taxocaps.catalogue.models import find_model

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
README = PAGE.parents[1] / "README.md"
IMAGES = PAGE.parent / "images"
LEVEL = 0.005
"""A difference that another seed can turn round."""

ABLATION = ("ablation", "control-margin", "paper-weights", "control-p")

OPTIONS = ("options", "windows", "epochs")
NETWORK = ("network-reuters", "weights-reuters", "network-eurlex", "network-debtags", "network-arxiv")

EVIDENCE = ("evidence-reuters", "evidence-eurlex", "evidence-pydocs500")

HEAD = """# Results

Rendered by `python benchmarks/render.py` from `benchmarks/results/`; no number is typed by hand. `python
benchmarks/run.py` runs what is missing, one line a run; `make paper TABLE=3` runs what a table of the paper needs, and
renders. The data sets are made by [`taxocaps data`](data.md).

Thresholds are tuned on dev documents, or out of fold by `auto`, never on test documents: one threshold for all
labels, with the best micro-F1. Calibration is the expected calibration error over pairs of documents and labels with
scores above 0.05; results from before it was counted so have none. One random seed unless stated otherwise. A network
whose best epoch is its last was still learning when its time was up; the slowest have fewer epochs, so that all can be
rerun.
"""


def cost(grid: Mapping[str, Experiment], results: Mapping[str, Result]) -> str:
    """How long all experiments take."""
    runs = [run for experiment in grid.values() for run in experiment.runs]
    seconds, unknown = estimate(runs, results)
    done = len({run.key for run in runs} & results.keys())
    text = (
        f"All experiments take about {seconds / 3600:.1f} CPU hours, half of that on two cores "
        f"(`benchmarks/run.py --list` prints this estimate); {done} of {len(set(runs))} runs are done."
    )
    return text + (f" Of {unknown} others the cost is not known yet.\n" if unknown else "\n")


def verdict(experiment: Experiment, results: Mapping[str, Result]) -> str:
    """Which kind of model is the best, and what became of the whole model beside a linear SVM, said in words."""
    scores = {run.model: results[run.key]["test"]["flat"] for run in experiment.runs if run.key in results}
    ours = [name for name in scores if find_model(name).is_variant]
    theirs = [name for name in scores if not find_model(name).is_variant]
    if not ours or not theirs or len({run.seed for run in experiment.runs}) > 1:
        return ""
    sentences = []
    for kind in ("micro", "macro"):
        f1 = {name: flat[kind]["f1"] for name, flat in scores.items()}
        pairs = [(max(ours, key=f1.__getitem__), max(theirs, key=f1.__getitem__)), ("HE-AGCRCNN", "SVM")]
        said = [_compared(mine, their, f1) for mine, their in dict.fromkeys(pairs) if {mine, their} <= f1.keys()]
        sentences.append(f"in {kind}-F1 {', and '.join(said)}")
    return "; ".join(sentences) + "."


def _compared(mine: str, their: str, f1: Mapping[str, float]) -> str:
    difference = f1[mine] - f1[their]
    verb = "is level with" if abs(difference) < LEVEL else "beats" if difference > 0 else "loses to"
    return f"{mine} ({f1[mine]:.3f}) {verb} {their} ({f1[their]:.3f})"


def summary(grid: Mapping[str, Experiment], results: Mapping[str, Result], peers: Mapping[str, Result]) -> str:
    """What the experiments with baselines say, each in a line: our best beside the best of the others."""
    joined = in_words(results, peers)
    lines = [f"- {experiment.about}: {said}" for experiment in grid.values() if (said := verdict(experiment, results))]
    return "\n".join(
        [
            "## In short",
            "",
            *(["`auto` beside the best program of others:", "", *joined, ""] if joined else []),
            "The best model of the paper's kind beside the best other, and the whole model beside a linear SVM:",
            "",
            *lines,
            *filter(None, [transfer.in_words([grid[name] for name in transfer.CONTROLS], results)]),
            "",
        ]
    )


def ablation(grid: Mapping[str, Experiment], results: Mapping[str, Result]) -> str:
    """The table and the figure of the axes, and the controls."""
    experiments = [grid[name] for name in ABLATION]
    table = seeds(experiments, results, "What each axis brings, and the controls").markdown()
    abouts = "\n".join(f"- {experiment.about}" for experiment in experiments)
    scores = _by_seed(grid, results)
    picture = f"\n{gains_in_words(scores)}\n\n![Gain of micro-F1 by each axis](images/ablation.png)\n" if scores else ""
    return f"{table}\n{abouts}\n{picture}"


def believed(results: Mapping[str, Result]) -> str:
    """How far the scores of auto can be believed, as a table and as a figure."""
    is_there = bool(reliability(results))
    picture = "\n![Share of true labels over the score of auto](images/reliability.png)\n" if is_there else ""
    return sure_table(results).markdown() + picture


def _by_seed(grid: Mapping[str, Experiment], results: Mapping[str, Result]) -> dict[str, dict[int, float]]:
    """Test micro-F1 with each seed, by model and options."""
    scores: dict[str, dict[int, float]] = {}
    for run in (run for name in ABLATION for run in grid[name].runs):
        if run.key in results:
            scores.setdefault(run.name, {})[run.seed] = results[run.key]["test"]["flat"]["micro"]["f1"]
    return scores


def figure5() -> str:
    """How well label vectors give back the taxonomies."""
    found, paper = read_reconstructions(), of_paper("figure5")
    rows = []
    for (name, kind), result in found.items():
        theirs = paper.get(name, {}) if kind == "meta-path" else {}
        best = [
            f"{number(result[f'best_{kind}'][0])} ± {number(result[f'{kind}_deviation'])}"
            for kind in ("micro", "macro")
        ]
        settings = (str(result["seeds"]), " ".join(result["settings"]))
        rows.append(
            (name, f"{result['labels']:,}", kind, *settings, *best, theirs.get("micro", ""), theirs.get("macro", ""))
        )
    header = ("taxonomy", "labels", "walks", "seeds", "settings", "micro", "macro", "paper: micro", "macro")
    note = (
        "The best F1 over all thresholds. EUROVOC of 2021 has 7,465 labels and is not the hierarchy of 3,956 labels "
        "that the paper used: its numbers are context, not a target."
    )
    table = Table("Figure 5: the taxonomy out of label vectors", header, rows, note if rows else "Not run yet.")
    pictures = [
        f"![F1 of edges read back over thresholds, {name}](images/reconstruct-{name}.png)\n"
        for name in _taxonomies(found)
    ]
    return "\n".join([table.markdown(), *pictures])


def _taxonomies(found: Mapping[tuple[str, str], Result]) -> list[str]:
    return list(dict.fromkeys(name for name, _ in found))


def draw(grid: Mapping[str, Experiment], results: Mapping[str, Result]) -> None:
    """The figures that the page shows."""
    if scores := _by_seed(grid, results):
        draw_ablation(scores, IMAGES / "ablation.png")
    if bins := reliability(results):
        draw_reliability(bins, IMAGES / "reliability.png")
    found = read_reconstructions()
    for name in _taxonomies(found):
        curves = [result for (taxonomy, _), result in found.items() if taxonomy == name]
        draw_reconstruction(name, curves, IMAGES / f"reconstruct-{name}.png")


def figure6() -> str:
    """The case study, drawn by benchmarks/figure6.py."""
    is_there = (IMAGES / "case.png").exists()
    picture = (
        "![Block attention and capsule lengths of one document](images/case.png)" if is_there else "Not drawn yet."
    )
    return f"## Figure 6: one document\n\n{picture}\n"


def page(grid: Mapping[str, Experiment], results: Mapping[str, Result], peers: Mapping[str, Result]) -> str:
    """The whole page."""
    experiments: list[tuple[Callable[..., Table], str]] = [
        (table3, "reuters"),
        (table3, "paper-reuters"),
        (table3, "arxiv"),
        (table3, "arxiv-ablation"),
        (table3, "eurlex"),
        (table3, "debtags"),
    ]
    parts = [
        *(HEAD, cost(grid, results), summary(grid, results, peers)),
        *(beside_tables(results, peers), believed(results)),
        evidence_table([grid[name] for name in EVIDENCE], results).markdown(),
        *(table1().markdown(), table2().markdown()),
    ]
    parts += [make(grid[name], results).markdown() for make, name in experiments]
    parts += [
        transfer.table4([grid[name] for name in transfer.MODELS], results).markdown(),
        transfer.controls([grid[name] for name in transfer.CONTROLS], results).markdown(),
        transfer.controls([grid[name] for name in transfer.GOAL], results, "ways to the paper's 0.927").markdown(),
        table5(grid["reuters"], results).markdown(),
        seeds([grid["reuters-seeds"], grid["joined-reuters-seeds"]], results, "The spread between seeds").markdown(),
        *(_seeds_or_nothing(grid[name], results) for name in NETWORK),
        ablation(grid, results),
        *(_table_or_nothing(options, grid[name], results) for name in OPTIONS),
        figure5(),
        figure6(),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _seeds_or_nothing(experiment: Experiment, results: Mapping[str, Result]) -> str:
    return _table_or_nothing(lambda one, found: seeds([one], found, one.about), experiment, results)


def _table_or_nothing(make: Callable[..., Table], experiment: Experiment, results: Mapping[str, Result]) -> str:
    """The table of an experiment; one line if none of it was run."""
    if not any(run.key in results for run in experiment.runs):
        return f"Not run yet, `{experiment.name}`: {experiment.about}.\n"
    return make(experiment, results).markdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if a page is not what the results say"
    )
    options = parser.parse_args()
    grid, results, peers = read_grid(), read_results(), read_peers()
    pages = {
        PAGE: page(grid, results, peers),
        README: with_between(README, "overview", overview(results, peers).body()),
    }
    if options.check:
        stale = [str(path) for path, text in pages.items() if path.read_text(encoding="utf-8") != text]
        raise SystemExit(f"{', '.join(stale)}: run benchmarks/render.py" if stale else 0)
    draw(grid, results)
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
        print(f"written to {path}")


if __name__ == "__main__":
    main()
