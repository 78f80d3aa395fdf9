"""Models that wait for documents: loaded once, they label what many clients ask at once, and explain one by one."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from taxocaps.corpus.document import Document
from taxocaps.errors import ConfigError, CorpusError
from taxocaps.estimators.document_words import DocumentWords
from taxocaps.estimators.explainer import explain_document
from taxocaps.estimators.explanations import Explanation
from taxocaps.estimators.model import FittedModel
from taxocaps.estimators.persistence import load_model
from taxocaps.workflows.predict import Choice, Prediction, predict_scored

__all__ = [
    "Answer",
    "ExplainJob",
    "Explanation",
    "Job",
    "LabelJob",
    "ServedModel",
    "answer_jobs",
    "load_models",
    "make_document",
    "make_jobs",
]


@dataclass(frozen=True)
class LabelJob:
    """Documents of one client, each with an id, and which labels they get."""

    is_alone: ClassVar[bool] = False

    documents: tuple[Document, ...]
    choice: Choice = field(default_factory=Choice)

    def __len__(self) -> int:
        return len(self.documents)


@dataclass(frozen=True)
class ExplainJob:
    """A document whose labels are to be explained.

    Attributes:
        document: The document; its id, if it has one, is the title of the explanation.
        labels: The labels to explain; by default all that are given or, if there are none, the nearest miss.
        near_misses: How many labels that were not given are told too.
        most_words: With more words than these it is refused, for each distinct word costs a pass of the network.
    """

    is_alone: ClassVar[bool] = True

    document: Document
    labels: tuple[str, ...] = ()
    near_misses: int = 5
    most_words: int = 2_000

    def __len__(self) -> int:
        return 1


Job = LabelJob | ExplainJob
"""What clients want. Jobs that are not alone are answered together."""

Answer = tuple[Prediction, ...] | Explanation | Exception
"""What becomes of a job: the labels of its documents, their explanation, or why there is none."""


@dataclass(frozen=True)
class ServedModel:
    """A model as a server sees it.

    Attributes:
        name: By which clients ask for it.
        card: What it is and how good, as plain values.
        taxonomy: Its labels and their places, as plain values.
        answer: Answers either one job or some that are not alone; to be called by one thread at a time.
    """

    name: str
    card: Mapping[str, Any]
    taxonomy: Mapping[str, Any]
    answer: Callable[[Sequence[Job]], Sequence[Answer]]

    @cached_property
    def labels(self) -> frozenset[str]:
        """The labels that the model can give."""
        return frozenset(one["label"] for one in self.taxonomy["labels"] if one["threshold"] is not None)


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
        (answer,) = model.answer([LabelJob((Document("A text to begin with.", id="1"),))])
        if isinstance(answer, Exception):
            raise answer
    return models


def make_jobs(documents: Sequence[Mapping[str, Any]], choice: Choice, most: int) -> list[LabelJob]:
    """The documents of a request as jobs of at most `most` documents.

    Args:
        documents: Each with `text` or `tokens`, and `id` or none: then its place, counted from 1, is its id.
        choice: Which labels they get.
        most: Documents of a job.
    """
    made = [make_document(document, str(place)) for place, document in enumerate(documents, 1)]
    return [LabelJob(tuple(made[start : start + most]), choice) for start in range(0, len(made), most)]


def make_document(given: Mapping[str, Any], name: str | None = None) -> Document:
    """A document from `text` or `tokens`, and `id`; without one it is called by `name`."""
    tokens = given.get("tokens")
    return Document(given.get("text") or "", given.get("id") or name, tokens=None if tokens is None else tuple(tokens))


def answer_jobs(model: FittedModel, jobs: Sequence[Job]) -> list[Answer]:
    """Explain a document, or label those of all jobs together; a job that cannot be done spoils no other.

    Args:
        model: The model.
        jobs: What was asked: one job, or some that are not alone.
    """
    try:
        if isinstance(jobs[0], ExplainJob):
            return [_explain(model, jobs[0])]
        return _label_together(model, [job for job in jobs if isinstance(job, LabelJob)])
    except Exception as error:  # whatever it is, it is the answer to the job that caused it
        if len(jobs) == 1:
            return [error]
    return [answer for job in jobs for answer in answer_jobs(model, [job])]


def _explain(model: FittedModel, job: ExplainJob) -> Explanation:
    content = job.document.content
    words = len(DocumentWords(model.scorer, content).kept)
    if words > job.most_words:
        raise CorpusError(f"a document that is explained has at most {job.most_words:,} words; this one has {words:,}")
    return explain_document(model, content, title=job.document.id, labels=job.labels, near_misses=job.near_misses)


def _label_together(model: FittedModel, jobs: Sequence[LabelJob]) -> list[Answer]:
    """Scores are computed at once, for they take the time; labels are chosen as each client asked."""
    scores = model.scores([document.content for job in jobs for document in job.documents])
    parts = np.split(scores, np.cumsum([len(job) for job in jobs])[:-1])
    return [
        tuple(predict_scored(model, job.documents, part, job.choice)) for job, part in zip(jobs, parts, strict=True)
    ]


def _served(name: str, model: FittedModel) -> ServedModel:
    return ServedModel(name, _card(name, model), _taxonomy(name, model), partial(answer_jobs, model))


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
        "at_least": model.config.decision.at_least,
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
