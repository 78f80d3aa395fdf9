"""A self-contained HTML page about a training run: how it went, how good each label is, and where it goes wrong."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps._version import __version__
from taxocaps.corpus.labels import Classes
from taxocaps.metrics.diagnosis import Confusion, Diagnosis
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.report.model_card import ModelCard
from taxocaps.report.page_template import fill_template

__all__ = ["TrainingFacts", "training_page"]

_CURVES = ("loss", "validation_loss", "micro_f1", "macro_f1")


@dataclass(frozen=True)
class TrainingFacts:
    """What the page tells.

    Attributes:
        card: The model, its documents, and its figures.
        classes: The labels of the columns.
        cuts: float32 [L], the score from which on each label is given.
        top_k: The labels that each document gets, if the model counts labels and needs no thresholds.
        history: Numbers of each epoch: `epoch`, and those of `loss`, `validation_loss`, `micro_f1` and `macro_f1` that
            are known; empty for a model without epochs.
        diagnosis: Where the labels of validation documents go wrong.
    """

    card: ModelCard
    classes: Classes
    cuts: NDArray[np.float32]
    top_k: int | None
    history: Sequence[Mapping[str, float]]
    diagnosis: Diagnosis


def training_page(facts: TrainingFacts) -> str:
    """Learning curves, tables, calibration, thresholds, confusions of siblings, and the taxonomy coloured by F1.

    Args:
        facts: What the page tells.

    Returns:
        The text of an HTML page that needs no network.
    """
    return fill_template("training_page.html", f"{facts.card.name}: training report", _page_data(facts))


def _page_data(facts: TrainingFacts) -> dict[str, Any]:
    card = facts.card
    return {
        "model": {
            "name": card.name,
            "preset": card.preset,
            "seed": card.seed,
            "version": __version__,
            "documents": dict(card.documents),
            "is_tuned": card.is_tuned,
            "parameters": card.parameters,
            "epochs": card.epochs[0],
            "kept": card.epochs[1],
        },
        "summary": {name: _summary(one) for name, one in _evaluations(card).items()},
        "history": [{name: _number(row.get(name)) for name in ("epoch", *_CURVES)} for row in facts.history],
        "levels": {name: _levels(one) for name, one in _evaluations(card).items()},
        "labels": _labels(facts),
        "tree": _tree(facts.classes),
        "reliability": _reliability(facts.diagnosis),
        "curve": _curve(facts.diagnosis),
        "top_k": facts.top_k,
        "confusions": [_confusion(one, facts.classes) for one in facts.diagnosis.confusions],
    }


def _evaluations(card: ModelCard) -> dict[str, Evaluation]:
    return {"validation": card.validation} | ({"test": card.test} if card.test is not None else {})


def _summary(evaluation: Evaluation) -> dict[str, Any]:
    flat, hierarchical = evaluation.flat, evaluation.hierarchical
    return {
        "documents": evaluation.documents,
        "labels": evaluation.labels,
        "with_support": flat.labels_with_support,
        "micro": [_number(value) for value in (flat.micro.precision, flat.micro.recall, flat.micro.f1)],
        "macro_f1": _number(flat.macro.f1),
        "hierarchical_f1": None if hierarchical is None else _number(hierarchical.f1),
        "calibration_error": _number(evaluation.calibration_error, 5),
        "unseen": sum(evaluation.unseen.values()),
    }


def _levels(evaluation: Evaluation) -> list[list[Any]]:
    """For each level its labels, support, predicted, precision, recall, F1 and macro F1."""
    predicted: dict[int | None, int] = {}
    for label in evaluation.label_rows:
        predicted[label.level] = predicted.get(label.level, 0) + label.predicted
    return [
        [
            row.level,
            row.labels,
            row.support,
            predicted.get(row.level, 0),
            *(_number(value) for value in (row.micro.precision, row.micro.recall, row.micro.f1, row.macro_f1)),
        ]
        for row in evaluation.level_rows
    ]


def _labels(facts: TrainingFacts) -> list[list[Any]]:
    """For each label name, title, level, threshold, and of each evaluation support, predicted, precision, recall, F1.

    Lists, not objects: thousands of labels would repeat their keys thousands of times.
    """
    taxonomy = facts.classes.taxonomy
    parts = [evaluation.label_rows for evaluation in _evaluations(facts.card).values()]
    lines = []
    for name, level, cut, *rows in zip(
        facts.classes.names, facts.classes.levels, facts.cuts.tolist(), *parts, strict=True
    ):
        figures = [
            [row.support, row.predicted, _number(row.precision), _number(row.recall), _number(row.f1)] for row in rows
        ]
        lines.append([name, taxonomy.titles.get(name), level, _number(cut), *figures])
    return lines


def _tree(classes: Classes) -> list[list[Any]]:
    """Nodes as [name, number of the node above or -1, number of the label or -1], those above first.

    Each label stands once, at its shortest way from the root. Labels of the taxonomy that the model cannot give are
    nodes only where they lead to one that it can.
    """
    taxonomy, columns = classes.taxonomy, {name: column for column, name in enumerate(classes.names)}
    places: dict[str, int] = {}
    nodes: list[list[Any]] = []
    for name in classes.names:
        above = -1
        for step in taxonomy.path(name) or (name,):  # the root has no way from the root
            if step not in places:
                places[step] = len(nodes)
                nodes.append([taxonomy.title(step), above, columns.get(step, -1)])
            above = places[step]
    return nodes


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


def _confusion(confusion: Confusion, classes: Classes) -> list[Any]:
    """The two labels by number, the names of their parents in common, count, carriers and share."""
    a, b = (classes.taxonomy.parents(classes.names[column]) for column in (confusion.label, confusion.instead))
    shared = [classes.taxonomy.title(parent) for parent in a if parent in b]
    return [
        confusion.label,
        confusion.instead,
        shared,
        confusion.count,
        confusion.carriers,
        _number(confusion.share),
    ]


def _number(value: float | None, digits: int = 4) -> float | None:
    """A number short enough for thousands of them; JSON has no word for infinite ones."""
    return None if value is None or not math.isfinite(value) else round(value, digits)
