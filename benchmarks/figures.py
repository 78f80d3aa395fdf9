"""The figures of docs/results.md, drawn out of the results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path
from statistics import mean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from taxocaps.catalogue.models import VARIANTS, Variant
from taxocaps.explanations.explanation import Explanation

__all__ = ["draw_ablation", "draw_case", "draw_reconstruction", "draw_reliability", "gains_in_words"]

AXES = {
    "row_order": "rows in the order of the text",
    "recurrent": "LSTM",
    "attention": "block attention",
    "head": "capsules",
    "label_weights": "label weights",
}
"""The axes of the variants, as the paper brings them in."""


LONG = 60
"""Characters that two names may have in one line of a figure."""

MARGIN = "loss.kind=margin"
"""What makes of a dense variant with uniform weights the control of those with capsules or label weights."""

PAPER_WEIGHTS = [f"HE-AGCRCNN loss.p=0.1 loss.floor={floor}" for floor in ("1.0", "0.0")]
"""With the p of the paper: alpha = 1 for all labels, and the paper's alpha."""


@dataclass(frozen=True)
class Step:
    """Two models that differ in one axis, without it and with it; `is_pure` if their losses do not differ too."""

    axis: str
    without: str
    with_it: str
    is_pure: bool = True


def steps_of_one_axis() -> list[Step]:
    """All pairs of variants of which the second has one thing more, axis by axis, and the controls.

    Dense variants with uniform weights have cross entropy, all others the margin loss. So a step from the former to
    capsules or label weights has two causes, and is followed by its control, which starts from the margin loss.
    """
    steps = []
    for axis, (one, other) in product(AXES, permutations(VARIANTS, 2)):
        if [name for name in AXES if getattr(one, name) != getattr(other, name)] == [axis] and _is_without(one, axis):
            is_pure = _loss(one) == _loss(other)
            steps.append(Step(axis, one.name, other.name, is_pure))
            steps += [] if is_pure else [Step(axis, f"{one.name} {MARGIN}", other.name)]
    return [*steps, Step("label_weights", *PAPER_WEIGHTS)]


def _is_without(variant: Variant, axis: str) -> bool:
    return getattr(variant, axis) in ("unordered", "none", "dense", "uniform")


def _loss(variant: Variant) -> str:
    return "cross entropy" if (variant.head, variant.label_weights) == ("dense", "uniform") else "margin"


Scores = Mapping[str, Mapping[int, float]]
"""For each model, with its options apart from the preset, its F1 with each seed."""


def gains_of_steps(scores: Scores) -> dict[Step, list[float]]:
    """What each step brings with each seed that both models have."""
    gains = {
        step: [
            scores[step.with_it][seed] - f1 for seed, f1 in scores[step.without].items() if seed in scores[step.with_it]
        ]
        for step in steps_of_one_axis()
        if {step.without, step.with_it} <= scores.keys()
    }
    return {step: found for step, found in gains.items() if found}


def gains_in_words(scores: Scores) -> str:
    """The mean gain of each axis over the steps that have one cause; the weights of the paper are listed separately."""
    gains = gains_of_steps(scores)
    said = []
    for axis, name in AXES.items():
        found = [
            gain
            for step, all_seeds in gains.items()
            if step.axis == axis and step.is_pure and step.without != PAPER_WEIGHTS[0]
            for gain in all_seeds
        ]
        said += [f"{name} {mean(found):+.3f}"] if found else []
    paper = [mean(found) for step, found in gains.items() if step.without == PAPER_WEIGHTS[0]]
    said += [f"label weights as the paper has them, instead of alpha = 1, {paper[0]:+.3f}"] if paper else []
    return f"Mean gain of test micro-F1 over the steps with one cause: {'; '.join(said)}." if said else ""


def draw_ablation(scores: Scores, path: Path) -> None:
    """What each axis brings: a dot for the difference of two models with the same seed, a line for the mean."""
    gains = gains_of_steps(scores)
    steps = list(gains)
    figure = Figure(figsize=(9, 0.9 + 0.32 * len(steps)), layout="constrained")
    axes = figure.subplots()
    colours = {axis: f"C{index}" for index, axis in enumerate(AXES)}
    for index, step in enumerate(steps):
        found, colour = gains[step], colours[step.axis]
        inside = colour if step.is_pure else "none"
        axes.plot(found, [index] * len(found), "o", color=colour, markerfacecolor=inside, alpha=0.5, markersize=5)
        axes.plot([mean(found)] * 2, [index - 0.3, index + 0.3], color=colour, linewidth=2.5)
    names = [f"{AXES[step.axis]}: {step.without}{_arrow(step)}{step.with_it}" for step in steps]
    axes.set_yticks(range(len(steps)), names, fontsize=7)
    axes.invert_yaxis()
    axes.axvline(0, color="grey", linewidth=0.8)
    axes.set_xlabel("gain of test micro-F1\ndots: seeds, hollow where the loss changes too; bars: means", fontsize=8)
    axes.set_title("What each axis brings")
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=110)


def _arrow(step: Step) -> str:
    """In a line of its own between long names."""
    return " → " if len(step.without + step.with_it) < LONG else "\n→ "


def draw_reconstruction(name: str, results: Sequence[Mapping[str, Any]], path: Path) -> None:
    """F1 of the edges read back from label vectors over the threshold, for each kind of walk (the paper's Figure 5)."""
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for axes, kind in zip(figure.subplots(1, 2, sharey=True), ("micro", "macro"), strict=True):
        for result in results:
            axes.plot(result["thresholds"], result[kind], label=f"{result['kind']} walks")
        axes.set(xlabel="cosine threshold", ylabel=f"{kind}-F1", title=f"{name}: {kind}")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=110)


def draw_reliability(found: Mapping[str, Sequence[Mapping[str, float]]], path: Path) -> None:
    """The share of true labels over the score, one panel for each data set; larger dots stand for more pairs."""
    columns = 3
    rows = -(-len(found) // columns)
    figure = Figure(figsize=(9, 0.4 + 2.9 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (name, bins) in zip(panels, found.items(), strict=False):
        some = [one for one in bins if one["count"]]
        most = max(one["count"] for one in some)
        sizes = [8 + 120 * one["count"] / most for one in some]
        axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
        axes.plot([one["mean_score"] for one in some], [one["observed"] for one in some], color="C0", alpha=0.4)
        axes.scatter(
            [one["mean_score"] for one in some], [one["observed"] for one in some], sizes, color="C0", alpha=0.7
        )
        axes.set_title(name, fontsize=9)
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.grid(alpha=0.3)
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    figure.supxlabel("mean score", fontsize=9)
    figure.supylabel("share of true labels", fontsize=9)
    figure.savefig(path, dpi=110)


def draw_case(found: Explanation, path: Path, rows: int = 24, labels: int = 12) -> None:
    """One document (the paper's Figure 6): the attention to the blocks of its rows, and the lengths of capsules."""
    matrix = (found.matrix or ())[:rows]
    layers = len(matrix[0].attention)
    figure = Figure(figsize=(4 + 2.4 * layers, 6.5), layout="constrained")
    *heat, bars = figure.subplots(1, layers + 1, width_ratios=[1] * layers + [1.6])
    width = max(len(row.blocks) for row in matrix)
    for layer, axes in enumerate(heat):
        values = [[*row.attention[layer], *[None] * (width - len(row.blocks))] for row in matrix]
        numbers = [[float("nan") if value is None else value for value in row] for row in values]
        axes.imshow(numbers, aspect="auto", cmap="Blues", vmin=0)
        axes.set_yticks(range(len(matrix)), [row.central_word for row in matrix] if layer == 0 else [""] * len(matrix))
        axes.set_xticks(range(width), [str(block + 1) for block in range(width)])
        axes.set(title=f"attention, layer {layer + 1}", xlabel="block")
        axes.tick_params(labelsize=7)
    _draw_lengths(bars, found, labels)
    figure.savefig(path, dpi=110)


def _draw_lengths(axes: Axes, found: Explanation, most: int) -> None:
    shown = sorted(found.labels, key=lambda label: -label.raw_score)[:most]
    colours = ["C0" if label.is_given else "lightgrey" for label in shown]
    axes.barh(range(len(shown)), [label.raw_score for label in shown], color=colours)
    axes.set_yticks(range(len(shown)), [label.label for label in shown])
    axes.invert_yaxis()
    axes.set(title="capsule lengths; given labels in blue", xlim=(0, 1))
    axes.tick_params(labelsize=8)
