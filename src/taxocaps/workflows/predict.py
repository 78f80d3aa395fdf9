"""Label documents with a trained model, as a stream."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.corpus.document import Document
from taxocaps.corpus.fields import CorpusConfig
from taxocaps.corpus.readers import ReadReport, read_documents
from taxocaps.errors import ConfigError
from taxocaps.estimators.decisions import Hierarchy
from taxocaps.estimators.model import FittedModel
from taxocaps.estimators.persistence import load_model
from taxocaps.files import atomic_text, refuse_same_file
from taxocaps.progress import Progress, silent

__all__ = [
    "Choice",
    "PredictReport",
    "Prediction",
    "ScoredLabel",
    "predict_documents",
    "predict_file",
    "predict_scored",
    "predict_texts",
]

_CHUNK = 256


@dataclass(frozen=True)
class Choice:
    """Which labels a document gets; what is not given is as the model was trained.

    Attributes:
        top_k: So many labels, whatever their scores.
        threshold: One threshold for all labels.
        at_least: Labels that every document with words gets.
        hierarchy: `as-is`, `add-ancestors` or `drop-orphans`.
    """

    top_k: int | None = None
    threshold: float | None = None
    at_least: int | None = None
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        """Refuse what excludes itself."""
        if self.top_k is not None and self.threshold is not None:
            raise ConfigError("--top-k takes labels whatever their scores; leave out --threshold")


@dataclass(frozen=True)
class ScoredLabel:
    """A label, how sure the model is, and the way to it from the top of the taxonomy."""

    label: str
    score: float
    path: tuple[str, ...]


@dataclass(frozen=True)
class Prediction:
    """The labels of a document, the surest first.

    Attributes:
        id: The document's name; its place, counted from 1, if it has none.
        labels: Its labels.
        warning: Why there are none, if the text has no words.
    """

    id: str
    labels: tuple[ScoredLabel, ...]
    warning: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The prediction as it is written to JSONL."""
        labels = [{"label": one.label, "score": round(one.score, 6), "path": list(one.path)} for one in self.labels]
        return {"id": self.id, "labels": labels, **({"warning": self.warning} if self.warning else {})}


@dataclass(frozen=True)
class PredictReport:
    """How many documents were labelled, and where the labels went."""

    output: str
    documents: int
    without_words: int
    without_labels: int
    skipped: int
    problems: tuple[str, ...]


def predict_documents(
    model: FittedModel, documents: Iterable[Document], choice: Choice | None = None
) -> Iterator[Prediction]:
    """Label documents one after the other; a few hundred are in memory at a time.

    Args:
        model: The model.
        documents: The documents; their labels, if any, are not looked at.
        choice: Which labels they get.
    """
    documents, done = iter(documents), 0
    while chunk := list(islice(documents, _CHUNK)):
        scores = model.scores([document.content for document in chunk])
        yield from predict_scored(model, chunk, scores, choice, first=done + 1)
        done += len(chunk)


def predict_scored(
    model: FittedModel,
    documents: Sequence[Document],
    scores: NDArray[np.float32],
    choice: Choice | None = None,
    *,
    first: int = 1,
) -> Iterator[Prediction]:
    """Label documents that have been scored.

    Args:
        model: The model.
        documents: The documents.
        scores: Their calibrated scores, float32 [documents, L].
        choice: Which labels they get.
        first: The place of the first document; those without an id are called by their places.
    """
    chosen = model.choose(scores, **vars(choice or Choice()))
    for place, document in enumerate(documents):
        columns = chosen.indices[chosen.indptr[place] : chosen.indptr[place + 1]]
        yield _prediction(model, document.id or str(first + place), scores[place], columns)


def predict_texts(
    model: Path, texts: Sequence[str], choice: Choice | None = None, *, trust_code: bool = False
) -> Iterator[Prediction]:
    """Label some texts.

    Args:
        model: The model's folder.
        texts: The texts.
        choice: Which labels they get.
        trust_code: Whether a tokenizer that the model names may be run.
    """
    return predict_documents(load_model(model, trust_code=trust_code), map(Document, texts), choice)


def predict_file(
    model: Path,
    source: Path,
    output: Path,
    choice: Choice | None = None,
    *,
    corpus: CorpusConfig | None = None,
    trust_code: bool = False,
    progress: Progress = silent,
) -> PredictReport:
    """Label the documents of a file and write the labels as JSONL.

    A file appears when it is complete; on standard output, labels appear as they are found.

    Args:
        model: The model's folder.
        source: Documents in any format; `-` for standard input.
        output: The file to write, packed if it ends in `.gz`, `.xz` or `.zst`; `-` for standard output.
        choice: Which labels documents get.
        corpus: How to read the documents.
        trust_code: Whether a tokenizer that the model names may be run.
        progress: Told how many documents are done.
    """
    if "-" not in (str(source), str(output)):
        refuse_same_file(source, output)
    fitted = load_model(model, trust_code=trust_code)
    reading, empty, unlabelled, done = ReadReport(), 0, 0, 0
    with atomic_text(output) if str(output) != "-" else nullcontext(sys.stdout) as file:
        for prediction in predict_documents(fitted, read_documents(source, corpus, report=reading), choice):
            file.write(json.dumps(prediction.as_dict(), ensure_ascii=False) + "\n")
            done += 1
            empty += prediction.warning is not None
            unlabelled += not prediction.labels
            if done % _CHUNK == 0:
                file.flush()  # whoever reads a pipe is waiting
                progress("labelling documents", done)
    progress("labelling documents", done, done)
    return PredictReport(str(output), done, empty, unlabelled, reading.skipped, tuple(reading.messages))


def _prediction(model: FittedModel, id: str, scores: NDArray[np.float32], columns: Sequence[int]) -> Prediction:
    if not scores.any():
        return Prediction(id, (), "the text has no words that the model reads")
    ordered = sorted(map(int, columns), key=lambda column: -scores[column])
    names, path = model.classes.names, model.classes.taxonomy.path
    return Prediction(
        id,
        tuple(ScoredLabel(names[column], float(scores[column]), path(names[column])) for column in ordered),
    )
