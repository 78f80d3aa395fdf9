"""The results that users see: predictions, model cards and reports; shared by Python, command line, HTTP and pages."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from taxocaps.notebook import bar, table

__all__ = [
    "FitReport",
    "Interim",
    "ModelCard",
    "Prediction",
    "Predictions",
    "ScoredLabel",
    "Standing",
    "TaxonomyLabel",
    "TaxonomyView",
    "Trial",
    "Tuning",
    "ValidationKind",
    "plain",
]

ValidationKind = Literal["held-out", "out-of-fold", "learned"]
"""How a model relates to the documents that it is validated on."""


@dataclass(frozen=True, slots=True)
class ScoredLabel:
    """A label that a document gets.

    Attributes:
        label: The id of the label.
        name: Its name in the language of the model; the id if it has none.
        score: Its probability.
        paths: The paths of ids that lead to it from the top of the taxonomy, the root left out; the shortest first, at
            most 20.
        unseen: Whether the label is given by its name alone: no training document carries it or, if ancestors are
            added, a label below it.
    """

    label: str
    name: str
    score: float
    paths: tuple[tuple[str, ...], ...]
    unseen: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The label as it is written to JSONL; `unseen` is left out unless it is true."""
        found = {
            "label": self.label,
            "name": self.name,
            "score": round(self.score, 6),
            "paths": [*map(list, self.paths)],
        }
        return {**found, "unseen": True} if self.unseen else found


@dataclass(frozen=True, slots=True)
class Prediction:
    """The labels of a document, the most probable first.

    Attributes:
        id: The document's id; its position, counted from 1, if it has none.
        labels: Its labels.
        warning: Why it has no labels, if its text has no words.
        is_calibrated: Whether scores are probabilities; a model of very few documents gives none.
    """

    id: str
    labels: tuple[ScoredLabel, ...]
    warning: str | None = None
    is_calibrated: bool = True

    def as_dict(self) -> dict[str, Any]:
        """The prediction as it is written to JSONL; `is_calibrated` is left out unless it is false."""
        found = {"id": self.id, "labels": [one.as_dict() for one in self.labels]}
        warning = {"warning": self.warning} if self.warning else {}
        return {**found, **warning, **({} if self.is_calibrated else {"is_calibrated": False})}

    def _repr_html_(self) -> str:
        paths = (" › ".join(one.paths[0]) if one.paths else "" for one in self.labels)
        rows = [(bar(one.score), one.name, one.label, path) for one, path in zip(self.labels, paths, strict=True)]
        caption = f"{self.id}: {self.warning}" if self.warning else self.id
        return table(("score", "name", "label", "path"), rows, caption)


class Predictions(Iterator[Prediction]):
    """An iterator over the predictions for a stream of documents, which can also be turned into a data frame."""

    def __init__(self, predictions: Iterable[Prediction]) -> None:
        """Wrap a stream."""
        self._predictions = iter(predictions)

    def __next__(self) -> Prediction:
        return next(self._predictions)

    def to_pandas(self) -> Any:
        """The remaining predictions as a pandas frame, one row per document: `id`, `labels`, `names`, `scores`."""
        import pandas as pd

        return pd.DataFrame(self._columns())

    def to_polars(self) -> Any:
        """The remaining predictions as a polars frame; see `to_pandas`."""
        import polars as pl

        texts = pl.List(pl.String)
        schema = {"id": pl.String, "labels": texts, "names": texts, "scores": pl.List(pl.Float64)}
        return pl.DataFrame(self._columns(), schema=schema)

    def _columns(self) -> dict[str, list[Any]]:
        found = list(self)
        return {
            "id": [one.id for one in found],
            "labels": [[label.label for label in one.labels] for one in found],
            "names": [[label.name for label in one.labels] for one in found],
            "scores": [[label.score for label in one.labels] for one in found],
        }


@dataclass(frozen=True, slots=True)
class Standing:
    """How good a member of a joined model, or the joined model itself, is on documents that were not learned from.

    Attributes:
        name: The name of the member.
        micro_f1: Its micro-F1.
        macro_f1: Its macro-F1.
        is_used: Whether the joined model uses it; False if the other members do better without it.
    """

    name: str
    micro_f1: float
    macro_f1: float
    is_used: bool = True


@dataclass(frozen=True)
class FitReport:
    """The history of a fit.

    Attributes:
        epochs: The number of epochs trained.
        best_epoch: The epoch whose weights were kept.
        history: The metrics of every epoch.
        standings: The members of a joined model, and the joined model last, with their out-of-fold metrics.
    """

    epochs: int = 0
    best_epoch: int = 0
    history: Sequence[Mapping[str, float]] = field(default_factory=tuple)
    standings: Sequence[Standing] = field(default_factory=tuple)


@dataclass(frozen=True)
class Interim:
    """How good a model is after an epoch, or after some folds.

    Attributes:
        step: The number of the epoch or fold, from 1.
        micro_f1: The micro-F1 on documents that were not learned from, with the best common threshold.
        macro_f1: The macro-F1 with that threshold.
    """

    step: int
    micro_f1: float
    macro_f1: float


@dataclass(frozen=True)
class Trial:
    """A trial of a search for better options.

    Attributes:
        number: Its number, from 0.
        state: Whether it is complete, was stopped early because it was worse than most (pruned), or failed.
        options: The values of the options that are searched, by key.
        score: The value of the metric; the last one before a pruned trial was stopped, None if the trial failed.
        steps: The number of epochs or folds; in a joined model, those of all members together.
        seconds: How long it took.
        error: Why it failed.
    """

    number: int
    state: Literal["complete", "pruned", "failed"]
    options: Mapping[str, Any]
    score: float | None
    steps: int
    seconds: float
    error: str | None = None


@dataclass(frozen=True)
class Tuning:
    """The result of a search for better options.

    Attributes:
        out: The folder of the search.
        model: The name of the model.
        metric: The metric that is maximized: `micro-f1` or `macro-f1`.
        measured_on: The documents on which it was measured, in words.
        space: The values that were searched, in words, by key of the option.
        trials: All finished trials, in order.
        best: The best trial.
        given: The trial with the options as they were given, if they lie in the space.
        importance: The share of the differences between trials that each option explains, the most important first;
            the shares sum to 1. Empty if there are too few trials to tell.
        config: The best options as a YAML file for `train --config`.
    """

    out: str
    model: str
    metric: str
    measured_on: str
    space: Mapping[str, str]
    trials: tuple[Trial, ...]
    best: Trial
    given: Trial | None
    importance: Mapping[str, float]
    config: str


@dataclass(frozen=True)
class ModelCard:
    """What a model is and how good it is.

    Attributes:
        name: The name of its folder or, before it is saved, that of the model.
        model: The name of the model, such as "SVM".
        preset: The preset it was trained with.
        seed: The random seed.
        labels: The number of labels it can give.
        language: The language of its texts.
        hierarchy: What it does about ancestors.
        rule: The decision rule by which it chooses labels.
        at_least: The number of labels that every document gets at least.
        takes_best: Whether it gives a document its best labels instead of those above their thresholds.
        is_calibrated: Whether its scores are probabilities; a model of very few documents gives none.
        parameters: The number of learned weights.
        epochs: The number of epochs trained; 0 for models without epochs.
        best_epoch: The epoch whose weights were kept.
        documents: The number of documents of each part of the corpus.
        standings: The members of a joined model, and the joined model last, with their out-of-fold metrics.
        rare_labels: Labels with only one or two training documents, and how many these are.
        validation: Metrics on the validation documents, as `Evaluation.as_dict` gives them; None if not known.
        validation_kind: Whether these are documents that were held out; training documents, each labelled by a model
            that has not learned from it; or, where there are very few, documents that it has learned from.
        test: Metrics on the test documents.
        version: A short hash, different for every trained model; empty before it is saved.
        written: The date on which it was saved, such as 2026-05-31; empty before that.
    """

    name: str
    model: str
    preset: str
    seed: int
    labels: int
    language: str
    hierarchy: str
    rule: str
    at_least: int
    takes_best: bool = False
    is_calibrated: bool = True
    parameters: int = 0
    epochs: int = 0
    best_epoch: int = 0
    documents: Mapping[str, int] = field(default_factory=dict)
    standings: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    rare_labels: Mapping[str, int] = field(default_factory=dict)
    validation: Mapping[str, Any] | None = None
    validation_kind: ValidationKind = "held-out"
    test: Mapping[str, Any] | None = None
    version: str = ""
    written: str = ""


@dataclass(frozen=True)
class TaxonomyLabel:
    """A label in a taxonomy.

    Attributes:
        label: Its id.
        name: Its name.
        level: Its depth below the root.
        parents: The labels directly above it.
        threshold: The least score with which the model gives it; None if the model has no score for it.
        alternatives: Its other names: alternative names, names in other languages, and notations.
        hidden: Names by which it can be found, but which are not shown, such as misspellings.
    """

    label: str
    name: str
    level: int
    parents: tuple[str, ...]
    threshold: float | None
    alternatives: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaxonomyView:
    """The taxonomy of a model, parents before children."""

    model: str
    roots: tuple[str, ...]
    labels: tuple[TaxonomyLabel, ...]


def plain(value: Any) -> Any:
    """Any result as plain JSON values: dataclasses become dicts, keys text, and numbers that are not finite None.

    >>> plain({"f1": float("nan"), "counts": (1, 2), ("train", "test"): 3})
    {'f1': None, 'counts': [1, 2], 'train + test': 3}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {" + ".join(key) if isinstance(key, tuple) else str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
