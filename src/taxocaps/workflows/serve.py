"""Models that wait for documents: loaded once, they label what many clients ask at once, and explain one by one.

They also say which documents are most worth a review, for the queue of reviewers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from taxocaps.compiled import expect_much_work
from taxocaps.corpus.document import Document, document_name
from taxocaps.corpus.readers import CorpusConfig, read_documents
from taxocaps.errors import ConfigError, CorpusError
from taxocaps.explanations.explain import ExplainOptions, explain_document
from taxocaps.explanations.explanation import Explanation
from taxocaps.feedback.store import FeedbackStore, Suggestion, feedback_path
from taxocaps.results import ModelCard, Prediction, TaxonomyView
from taxocaps.reviewing.batch import choose_next, doubt, pool_scores
from taxocaps.scorers.decision import DecisionOptions
from taxocaps.scorers.model import FittedModel
from taxocaps.scorers.model_folder import model_version, written_on
from taxocaps.scorers.persistence import load_model
from taxocaps.workflows.trained_on import read_like
from taxocaps.workflows.uploads import NamedText

__all__ = [
    "Answer",
    "ExplainJob",
    "ExplainOptions",
    "Explanation",
    "Job",
    "LabelJob",
    "RankJob",
    "Ranking",
    "ServedModel",
    "answer_jobs",
    "arrange_queue",
    "load_models",
    "load_served",
    "make_document",
    "make_jobs",
    "read_examples",
    "read_queue",
]


_FIRST = "A text to begin with."
_CHOSEN = 200
"""Documents of the queue that are chosen one after the other; those after them are ordered by doubt alone."""
_PORTION = 256
_EXAMPLES, _LONGEST_EXAMPLE = 5, 5_000


@dataclass(frozen=True)
class LabelJob:
    """Documents of one client, each with an id, and which labels they get."""

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

    document: Document
    options: ExplainOptions = field(default_factory=ExplainOptions)
    most_words: int = 2_000

    def __len__(self) -> int:
        return 1


@dataclass(frozen=True)
class RankJob:
    """Documents that are to be reviewed: what the model suggests, and in which order they are worth a look."""

    documents: tuple[Document, ...]

    def __len__(self) -> int:
        return len(self.documents)


Ranking = tuple[tuple[Document, Suggestion], ...]
"""Documents in the order in which they are worth reviewing, with what the model says about them."""

Job = LabelJob | ExplainJob | RankJob
"""What clients want. Label jobs are answered together, others one at a time."""

Answer = tuple[Prediction, ...] | Explanation | Ranking | Exception
"""What becomes of a job: the labels of its documents, their explanation or order, or why there is none."""


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model as a server sees it.

    Attributes:
        name: By which clients ask for it.
        card: What it is and how good it is.
        taxonomy: Its labels.
        answer: Answers one job, or several label jobs together; to be called by one thread at a time.
        folder: Where it was loaded from.
        corpus: How files are read for it: if nothing else is said, from the fields that it was trained on.
        feedback: The file in which corrections of its labels are stored, if they are.
    """

    name: str
    card: ModelCard
    taxonomy: TaxonomyView
    answer: Callable[[Sequence[Job]], Sequence[Answer]]
    folder: Path = Path()
    corpus: CorpusConfig = field(default_factory=CorpusConfig)
    feedback: Path | None = None

    @property
    def version(self) -> str:
        """Its version, which other models of the same name do not have."""
        return self.card.version

    @cached_property
    def labels(self) -> frozenset[str]:
        """The labels that the model can give."""
        return frozenset(one.label for one in self.taxonomy.labels if one.threshold is not None)

    @cached_property
    def names(self) -> dict[str, str]:
        """The names of all labels that reviewers may give; a single root is one if the model gives it."""
        roots = self.taxonomy.roots
        root = roots[0] if len(roots) == 1 and roots[0] not in self.labels else None
        return {one.label: one.name for one in self.taxonomy.labels if one.label != root}


def load_models(
    folders: Sequence[Path], *, trust_code: bool = False, feedback: Path | None = None
) -> dict[str, ServedModel]:
    """Load models, and label a text with each: the first takes long, for tables are read and kernels compiled.

    Args:
        folders: The folders of the models, which become their names.
        trust_code: Whether tokenizers that the models name may be run.
        feedback: The file in which corrections are stored; by default each model has one beside its folder.

    Returns:
        The models by name, in the order given.

    Raises:
        ConfigError: If two folders have the same name.
        FileError: If `feedback` cannot be written, or is something else.
        ModelError: If a folder holds no model that can be used.
    """
    models: dict[str, ServedModel] = {}
    if feedback is not None:
        FeedbackStore(feedback).close()  # a wrong path is told at once, not when the first correction comes
    for folder in folders:
        name = folder.resolve().name
        if name in models:
            raise ConfigError(
                f"{folder}: another model is called {name!r} too; models go by the names of their folders"
            )
        models[name] = load_served(name, folder, feedback or feedback_path(folder), trust_code=trust_code)
    return models


def load_served(name: str, folder: Path, feedback: Path | None = None, *, trust_code: bool = False) -> ServedModel:
    """Load a model, and label a text with it.

    Args:
        name: By which clients ask for it.
        folder: Its folder.
        feedback: The file in which corrections are stored.
        trust_code: Whether a tokenizer that the model names may be run.

    Raises:
        ModelError: If the folder holds no model that can be used.
    """
    fitted = load_model(folder, trust_code=trust_code)
    card = replace(fitted.card(name), version=model_version(folder), written=written_on(folder))
    answer = partial(answer_jobs, fitted, version=card.version)
    model = ServedModel(name, card, fitted.taxonomy_view(name), answer, folder, read_like(folder), feedback)
    expect_much_work()  # so that kernels are loaded now, and not while clients wait
    _answer(model, LabelJob((Document(_FIRST, id="1"),)))
    return model


def _answer(model: ServedModel, job: Job) -> Any:
    """The answer of a model to one job."""
    (answer,) = model.answer([job])
    if isinstance(answer, Exception):
        raise answer
    return answer


def read_queue(file: Path, config: CorpusConfig, most: int) -> list[Document]:
    """The documents of a file that are to be reviewed.

    Raises:
        CorpusError: If one has no text that a reviewer could read, or there are too many.
    """
    found: list[Document] = []
    for number, document in enumerate(read_documents(file, config), 1):
        if not document.text:
            raise CorpusError(f"{file}: {document_name(document.id, number)}: has no text that a reviewer could read")
        if number > most:
            raise CorpusError(f"{file}: has more than {most:,} documents; give fewer, or set serve.review=NUMBER")
        found.append(Document(document.text, document.id, kept=document.kept))
    return found


def read_examples(file: Path, config: CorpusConfig) -> list[NamedText]:
    """The first short documents of a file, for people to try a model with; those without an id go by their positions.

    Raises:
        CorpusError: If there are none.
    """
    numbered = enumerate(read_documents(file, config), 1)
    short = ((number, one) for number, one in numbered if one.text.strip() and len(one.text) <= _LONGEST_EXAMPLE)
    found = [NamedText(one.id or str(number), one.text) for number, one in islice(short, _EXAMPLES)]
    if not found:
        raise CorpusError(f"{file}: has no document with a text of at most {_LONGEST_EXAMPLE:,} characters")
    return found


def arrange_queue(model: ServedModel, documents: Sequence[Document] = ()) -> None:
    """Let a model say in which order the documents of its queue are worth reviewing, and what it suggests for each.

    Args:
        model: The model; nobody else may use it meanwhile.
        documents: Documents that are added to the queue, unless they are reviewed already.
    """
    if model.feedback is None or not (documents or model.feedback.exists()):
        return
    with FeedbackStore(model.feedback) as store:
        new = [one for one in documents if not any(event.verdict == "done" for event in store.live(one))]
        waiting = store.queue()
        if new or any(one.suggestion.version != model.version for one in waiting):
            known = {(one.id, one.text): one for one in (*(one.document for one in waiting), *new)}
            store.enqueue(_answer(model, RankJob(tuple(known.values()))))


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
    """A document from `text` or `tokens`, `id` and `fields`; without an id it is called by `name`."""
    tokens = given.get("tokens")
    return Document(
        given.get("text") or "",
        given.get("id") or name,
        tokens=None if tokens is None else tuple(tokens),
        kept=given.get("fields") or None,
    )


def answer_jobs(model: FittedModel, jobs: Sequence[Job], version: str = "") -> list[Answer]:
    """Explain a document, order some, or label those of all jobs together; a job that cannot be done spoils no other.

    Args:
        model: The model.
        jobs: What was asked: one job, or several label jobs.
        version: The version of the model.
    """
    try:
        if isinstance(jobs[0], ExplainJob):
            return [_explain(model, jobs[0])]
        if isinstance(jobs[0], RankJob):
            return [_rank(model, jobs[0].documents, version)]
        return _label_together(model, [job for job in jobs if isinstance(job, LabelJob)])
    except Exception as error:  # whatever it is, it is the answer to the job that caused it
        if len(jobs) == 1:
            return [error]
    return [answer for job in jobs for answer in answer_jobs(model, [job], version)]


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


def _rank(model: FittedModel, documents: Sequence[Document], version: str) -> Ranking:
    pool = model.scorer.encoder.encode(documents)
    own = pool_scores(model, pool)
    reasons = {one.document: one for one in choose_next(model, pool, _CHOSEN, scores=own)}
    doubts = doubt(own)
    rest = [row for row in np.argsort(-doubts, kind="stable").tolist() if row not in reasons]
    found: list[Prediction] = []
    for start in range(0, len(documents), _PORTION):
        part = slice(start, start + _PORTION)
        found += model.predictions(documents[part], own[part])

    def suggestion(row: int) -> Suggestion:
        labels, reason = tuple(one.as_dict() for one in found[row].labels), reasons.get(row)
        label, score = (None, 0.0) if reason is None else (reason.label, reason.score)
        return Suggestion(version, labels, label, score, float(doubts[row]))

    return tuple((documents[row], suggestion(row)) for row in (*reasons, *rest))
