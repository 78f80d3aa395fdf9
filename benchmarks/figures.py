"""The figures of docs/results.md, drawn out of the results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from taxocaps.catalogue.variants import VARIANTS, Variant
from taxocaps.estimators.explanations import Explanation

__all__ = ["Step", "draw_ablation", "draw_case", "draw_reconstruction", "steps_of_one_axis"]

AXES = {
    "row_order": "rows in the order of the text",
    "recurrent": "LSTM",
    "attention": "block attention",
    "head": "capsules",
    "label_weights": "label weights",
}
"""The axes of the variants, as the paper brings them in."""


@dataclass(frozen=True)
class Step:
    """Two variants that differ in one axis only: without it and with it."""

    axis: str
    without: str
    with_it: str


def steps_of_one_axis() -> list[Step]:
    """All pairs of variants of which the second has one thing more, axis by axis."""
    ranks = {"unordered": 0, "none": 0, "dense": 0, "uniform": 0}

    def differing(one: Variant, other: Variant) -> list[str]:
        return [axis for axis in AXES if getattr(one, axis) != getattr(other, axis)]

    return [
        Step(axis, one.name, other.name)
        for axis in AXES
        for one in VARIANTS
        for other in VARIANTS
        if differing(one, other) == [axis] and ranks.get(getattr(one, axis)) == 0
    ]


def draw_ablation(scores: Mapping[str, Mapping[int, float]], path: Path) -> None:
    """What each axis brings: a dot for the difference of two variants with the same seed, a line for the mean.

    Args:
        scores: For each variant its F1 with each seed.
        path: The picture.
    """
    gains = {
        step: [
            scores[step.with_it][seed] - f1 for seed, f1 in scores[step.without].items() if seed in scores[step.with_it]
        ]
        for step in steps_of_one_axis()
        if {step.without, step.with_it} <= scores.keys()
    }
    steps = [step for step in gains if gains[step]]
    figure = Figure(figsize=(8, 0.9 + 0.36 * len(steps)), layout="constrained")
    axes = figure.subplots()
    colours = {axis: f"C{place}" for place, axis in enumerate(AXES)}
    for place, step in enumerate(steps):
        found = gains[step]
        axes.plot(found, [place] * len(found), "o", color=colours[step.axis], alpha=0.5, markersize=5)
        axes.plot([mean(found)] * 2, [place - 0.3, place + 0.3], color=colours[step.axis], linewidth=2.5)
    names = [f"{AXES[step.axis]}: {step.without} → {step.with_it}" for step in steps]
    axes.set_yticks(range(len(steps)), names, fontsize=8)
    axes.invert_yaxis()
    axes.axvline(0, color="grey", linewidth=0.8)
    axes.set(xlabel="gain of test micro-F1; dots: seeds, bars: means", title="What each axis brings")
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=110)


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
