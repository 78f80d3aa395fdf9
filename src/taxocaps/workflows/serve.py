"""Models that wait for documents: loaded once, they label what many clients ask, all of it in one go."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from taxocaps.corpus.document import Document
from taxocaps.errors import ConfigError
from taxocaps.estimators.model import FittedModel
from taxocaps.estimators.persistence import load_model
from taxocaps.workflows.predict import Choice, Prediction, predict_scored

__all__ = ["Answer", "Job", "ServedModel", "label_jobs", "load_models", "make_jobs"]


@dataclass(frozen=True)
class Job:
    """Documents of one client, each with an id, and which labels they get."""

    documents: tuple[Document, ...]
    choice: Choice = field(default_factory=Choice)

    def __len__(self) -> int:
        return len(self.documents)


Answer = tuple[Prediction, ...] | Exception
"""What becomes of a job: the labels of its documents, or why there are none."""


@dataclass(frozen=True)
class ServedModel:
    """A model as a server sees it.

    Attributes:
        name: By which clients ask for it.
        card: What it is and how good, as plain values.
        taxonomy: Its labels and their places, as plain values.
        label: Answers some jobs at once; to be called by one thread at a time.
    """

    name: str
    card: Mapping[str, Any]
    taxonomy: Mapping[str, Any]
    label: Callable[[Sequence[Job]], Sequence[Answer]]


def load_models(folders: Sequence[Path], *, trust_code: bool = False) -> dict[str, ServedModel]:
    """Load models, and label a text with each: the first takes long, for tables are read and kernels compiled.

    Args:
        folders: The folders of the models, which become their names.
        trust_code: Whether tokenizers that the models name may be run.

    Returns:
        The models by name, in the order given.

    Raises:
        ConfigError: If two folders have the same name.
        ModelError: If a folder holds no model that can be used.
    """
    models: dict[str, ServedModel] = {}
    for folder in folders:
        name = folder.resolve().name
        if name in models:
            raise ConfigError(
                f"{folder}: another model is called {name!r} too; models go by the names of their folders"
            )
        models[name] = _served(name, load_model(folder, trust_code=trust_code))
    for model in models.values():
        (answer,) = model.label([Job((Document("A text to begin with.", id="1"),))])
        if isinstance(answer, Exception):
            raise answer
    return models


def make_jobs(documents: Sequence[Mapping[str, Any]], choice: Choice, most: int) -> list[Job]:
    """The documents of a request as jobs of at most `most` documents.

    Args:
        documents: Each with `text` or `tokens`, and `id` or none: then its place, counted from 1, is its id.
        choice: Which labels they get.
        most: Documents of a job.
    """
    made = [_document(document, place) for place, document in enumerate(documents, 1)]
    return [Job(tuple(made[start : start + most]), choice) for start in range(0, len(made), most)]


def label_jobs(model: FittedModel, jobs: Sequence[Job]) -> list[Answer]:
    """Label the documents of all jobs together; a job that cannot be done spoils no other.

    Args:
        model: The model.
        jobs: What was asked.
    """
    try:
        return _label_together(model, jobs)
    except Exception as error:  # whatever it is, it is the answer to the job that caused it
        if len(jobs) == 1:
            return [error]
    return [answer for job in jobs for answer in label_jobs(model, [job])]


def _label_together(model: FittedModel, jobs: Sequence[Job]) -> list[Answer]:
    """Scores are computed at once, for they take the time; labels are chosen as each client asked."""
    scores = model.scores([document.content for job in jobs for document in job.documents])
    parts = np.split(scores, np.cumsum([len(job) for job in jobs])[:-1])
    return [
        tuple(predict_scored(model, job.documents, part, job.choice)) for job, part in zip(jobs, parts, strict=True)
    ]


def _document(given: Mapping[str, Any], place: int) -> Document:
    tokens = given.get("tokens")
    return Document(
        given.get("text") or "", given.get("id") or str(place), tokens=None if tokens is None else tuple(tokens)
    )


def _served(name: str, model: FittedModel) -> ServedModel:
    return ServedModel(name, _card(name, model), _taxonomy(name, model), partial(label_jobs, model))


def _card(name: str, model: FittedModel) -> dict[str, Any]:
    return {
        "name": name,
        "model": model.name.model,
        "preset": model.name.preset,
        "seed": model.name.seed,
        "labels": len(model.classes),
        "language": model.config.text.language,
        "hierarchy": model.hierarchy,
        "rule": model.config.decision.rule,
        "figures": _finite(model.figures),
    }


def _taxonomy(name: str, model: FittedModel) -> dict[str, Any]:
    tree = model.classes.taxonomy
    cuts = dict(zip(model.classes.names, map(float, model.cuts), strict=True))
    labels = [
        {
            "label": label,
            "title": tree.title(label),
            "level": tree.depth(label),
            "parents": list(tree.parents(label)),
            "threshold": cuts.get(label),
        }
        for label in tree.names
    ]
    return {"model": name, "roots": list(tree.roots), "labels": labels}


def _finite(value: Any) -> Any:
    """Plain values without the numbers that JSON does not know."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
