"""Models that wait for documents: loaded once, they label what many clients ask at once, and explain one by one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from taxocaps.compiled import expect_much_work
from taxocaps.corpus.document import Document
from taxocaps.errors import ConfigError
from taxocaps.explanations.explain import ExplainOptions, explain_document
from taxocaps.explanations.explanation import Explanation
from taxocaps.results import ModelCard, Prediction, TaxonomyView
from taxocaps.scorers.decision import DecisionOptions
from taxocaps.scorers.model import FittedModel
from taxocaps.scorers.persistence import load_model

__all__ = [
    "Answer",
    "ExplainJob",
    "ExplainOptions",
    "Explanation",
    "Job",
    "LabelJob",
    "ServedModel",
    "answer_jobs",
    "load_models",
    "make_document",
    "make_jobs",
]


_FIRST = "A text to begin with."


@dataclass(frozen=True)
class LabelJob:
    """Documents of one client, each with an id, and which labels they get."""

    is_alone: ClassVar[bool] = False

    documents: tuple[Document, ...]
    options: DecisionOptions = field(default_factory=DecisionOptions)

    def __len__(self) -> int:
        return len(self.documents)


@dataclass(frozen=True)
class ExplainJob:
    """A document whose labels are to be explained.

    Attributes:
        document: The document; its id, if it has one, is the title of the explanation.
        options: What is explained, and how.
        most_words: With more words than these it is refused, for each distinct word costs a pass of the network.
    """

    is_alone: ClassVar[bool] = True

    document: Document
    options: ExplainOptions = field(default_factory=ExplainOptions)
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
        card: What it is and how good it is.
        taxonomy: Its labels.
        answer: Answers either one job or some that are not alone; to be called by one thread at a time.
    """

    name: str
    card: ModelCard
    taxonomy: TaxonomyView
    answer: Callable[[Sequence[Job]], Sequence[Answer]]

    @cached_property
    def labels(self) -> frozenset[str]:
        """The labels that the model can give."""
        return frozenset(one.label for one in self.taxonomy.labels if one.threshold is not None)


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
        fitted = load_model(folder, trust_code=trust_code)
        models[name] = ServedModel(name, fitted.card(name), fitted.taxonomy_view(name), partial(answer_jobs, fitted))
    expect_much_work()
    for model in models.values():
        (answer,) = model.answer([LabelJob((Document(_FIRST, id="1"),))])
        if isinstance(answer, Exception):
            raise answer
    return models


def make_jobs(documents: Sequence[Mapping[str, Any]], options: DecisionOptions, most: int) -> list[LabelJob]:
    """The documents of a request as jobs of at most `most` documents.

    Args:
        documents: Each with `text` or `tokens`, and `id` or none: then its position, counted from 1, is its id.
        options: Which labels they get.
        most: Documents of a job.
    """
    made = [make_document(document, str(position)) for position, document in enumerate(documents, 1)]
    return [LabelJob(tuple(made[start : start + most]), options) for start in range(0, len(made), most)]


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
    return explain_document(model, job.document, job.options, most_words=job.most_words)


def _label_together(model: FittedModel, jobs: Sequence[LabelJob]) -> list[Answer]:
    """Score all documents at once, and choose the labels of all clients who want the same at once: both take long."""
    by_options: dict[DecisionOptions, list[LabelJob]] = {}
    for job in jobs:
        by_options.setdefault(job.options, []).append(job)
    documents = [document for alike in by_options.values() for job in alike for document in job.documents]
    own = model.own_scores(model.scorer.encoder.encode(documents))
    answers: dict[int, Answer] = {}
    start = 0
    for options, alike in by_options.items():
        stop = start + sum(map(len, alike))
        found = model.predictions(documents[start:stop], own[start:stop], options)
        answers |= {id(job): tuple(islice(found, len(job))) for job in alike}
        start = stop
    return [answers[id(job)] for job in jobs]
