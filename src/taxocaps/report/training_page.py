"""A self-contained HTML page about a training run: how it went, how good each label is, and where it goes wrong."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from taxocaps._version import __version__
from taxocaps.metrics.diagnosis import Diagnosis
from taxocaps.report.pages import render_page
from taxocaps.report.tables import is_tuned
from taxocaps.results import FitReport, ModelCard, TaxonomyLabel, TaxonomyView
from taxocaps.taxonomy.paths import find_paths
from taxocaps.taxonomy.problems import VIRTUAL_ROOT

__all__ = ["training_page"]

_CURVES = ("loss", "validation_loss", "micro_f1", "macro_f1")
_METRICS = ("precision", "recall", "f1")


def training_page(
    card: ModelCard, taxonomy: TaxonomyView, diagnosis: Diagnosis, fit: FitReport, *, top_k: int | None = None
) -> str:
    """Learning curves, tables, calibration, thresholds, confusions of siblings, and the taxonomy coloured by F1.

    Args:
        card: The model, its documents, and its metrics; those on validation documents must be known, and have a row for
            each label.
        taxonomy: The labels and their thresholds.
        diagnosis: Where the labels of validation documents go wrong.
        fit: The metrics of each epoch: `epoch`, and those of `loss`, `validation_loss`, `micro_f1` and `macro_f1` that
            are known; none for a model without epochs.
        top_k: The number of labels that each document gets, if the model needs no thresholds.

    Returns:
        The text of an HTML page that needs no network.
    """
    labels = [label for label in taxonomy.labels if label.threshold is not None]
    evaluations = {"validation": card.validation or {}} | ({"test": card.test} if card.test is not None else {})
    data = {
        "model": {
            **{name: getattr(card, name) for name in ("name", "preset", "seed", "parameters", "epochs", "best_epoch")},
            "version": __version__,
            "documents": dict(card.documents),
            "is_tuned": is_tuned(card),
            "is_calibrated": card.is_calibrated,
        },
        "summary": {name: _summary(one) for name, one in evaluations.items()},
        "history": [{name: _number(row.get(name)) for name in ("epoch", *_CURVES)} for row in fit.history],
        "levels": {name: _levels(one) for name, one in evaluations.items()},
        "labels": _labels(labels, evaluations),
        "rare": [
            [index, card.rare_labels[label.label]]
            for index, label in enumerate(labels)
            if label.label in card.rare_labels
        ],
        "tree": _tree(taxonomy, labels),
        "reliability": _reliability(diagnosis),
        "curve": _curve(diagnosis),
        "top_k": top_k,
        "confusions": _confusions(diagnosis, taxonomy, labels),
    }
    return render_page("training_page", f"{card.name}: training report", data, "report")


def _summary(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    flat, hierarchical = evaluation["flat"], evaluation["hierarchical"]
    return {
        "documents": evaluation["documents"],
        "labels": evaluation["labels"],
        "with_support": flat["labels_with_support"],
        "micro": _numbers(flat["micro"]),
        "macro_f1": _number(flat["macro"]["f1"]),
        "hierarchical_f1": None if hierarchical is None else _number(hierarchical["f1"]),
        "calibration_error": _number(evaluation["calibration_error"], 5),
        "unseen": sum(evaluation["unseen"].values()),
    }


def _levels(evaluation: Mapping[str, Any]) -> list[list[Any]]:
    """For each level its labels, support, predicted, precision, recall, F1 and macro F1."""
    predicted: dict[int | None, int] = {}
    for label in evaluation["label_rows"]:
        predicted[label["level"]] = predicted.get(label["level"], 0) + label["predicted"]
    return [
        [
            row["level"],
            row["labels"],
            row["support"],
            predicted.get(row["level"], 0),
            *_numbers(row["micro"]),
            _number(row["macro_f1"]),
        ]
        for row in evaluation["level_rows"]
    ]


def _labels(labels: list[TaxonomyLabel], evaluations: Mapping[str, Mapping[str, Any]]) -> list[list[Any]]:
    """For each label its id, name, level, threshold, and of each evaluation support, predicted, precision, recall, F1.

    Lists, not objects: thousands of labels would repeat their keys thousands of times.
    """
    parts = [evaluation["label_rows"] for evaluation in evaluations.values()]
    return [
        [
            label.label,
            label.name if label.name != label.label else None,
            label.level,
            _number(label.threshold),
            *([row["support"], row["predicted"], *_numbers(row)] for row in rows),
        ]
        for label, *rows in zip(labels, *parts, strict=True)
    ]


def _tree(taxonomy: TaxonomyView, labels: list[TaxonomyLabel]) -> list[list[Any]]:
    """Nodes as [name, id if it differs, index of the parent or -1, index of the label or -1], parents first.

    Each label appears once for each path to it from the root. Labels of the taxonomy that the model has no scores for
    are nodes only where they lead to one that it has.
    """
    known = {label.label: label for label in taxonomy.labels}
    columns = {label.label: column for column, label in enumerate(labels)}
    positions: dict[tuple[str, ...], int] = {}
    nodes: list[list[Any]] = []
    for label in labels:
        for path in _paths(label.label, known, taxonomy.roots):
            above = -1
            for end, step in enumerate(path, 1):
                if path[:end] not in positions:
                    positions[path[:end]] = len(nodes)
                    id = step if known[step].name != step else None
                    nodes.append([known[step].name, id, above, columns.get(step, -1)])
                above = positions[path[:end]]
    return nodes


def _paths(label: str, known: Mapping[str, TaxonomyLabel], roots: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
    """The paths to a label, without the root if there is only one; the root itself is its own path."""
    root = roots[0] if len(roots) == 1 else VIRTUAL_ROOT
    return find_paths(label, lambda name: known[name].parents, lambda name: known[name].level, root) or [(label,)]


def _reliability(diagnosis: Diagnosis) -> list[list[Any]]:
    """For each bin its lower and upper end, mean score, observed share and count."""
    found = diagnosis.reliability
    ends = np.linspace(0, 1, len(found.count) + 1).tolist()
    return [
        [_number(low), _number(high), _number(score), _number(share), count]
        for low, high, score, share, count in zip(
            ends[:-1], ends[1:], found.mean_score.tolist(), found.observed.tolist(), found.count.tolist(), strict=True
        )
    ]


def _curve(diagnosis: Diagnosis) -> list[list[Any]]:
    """For each threshold precision, recall and F1; where nothing is predicted there is no precision."""
    curve = diagnosis.curve
    counts = curve.counts
    precision = [
        share if predicted else None
        for share, predicted in zip(counts.precision.tolist(), counts.predicted.tolist(), strict=True)
    ]
    columns = (curve.thresholds.tolist(), precision, counts.recall.tolist(), counts.f1.tolist())
    return [[_number(value) for value in row] for row in zip(*columns, strict=True)]


def _confusions(diagnosis: Diagnosis, taxonomy: TaxonomyView, labels: list[TaxonomyLabel]) -> list[list[Any]]:
    """For each confusion the two labels by index, the names of their common parents, count, support and rate."""
    names = {label.label: label.name for label in taxonomy.labels}
    lines = []
    for one in diagnosis.confusions:
        parents, others = labels[one.label].parents, labels[one.predicted].parents
        common = [names[parent] for parent in parents if parent in others]
        lines.append([one.label, one.predicted, common, one.count, one.support, _number(one.rate)])
    return lines


def _numbers(metrics: Mapping[str, float]) -> list[float | None]:
    return [_number(metrics[name]) for name in _METRICS]


def _number(value: float | None, digits: int = 4) -> float | None:
    """A number short enough for thousands of them; JSON has no infinite ones."""
    return None if value is None or not math.isfinite(value) else round(value, digits)
