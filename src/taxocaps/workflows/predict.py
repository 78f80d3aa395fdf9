"""Label documents with a trained model, as a stream."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, ReadReport
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.errors import ModelError
from taxocaps.files import atomic_text, check_exists, refuse_same_file
from taxocaps.progress import Progress, silent
from taxocaps.results import Prediction
from taxocaps.scorers.decision import DecisionOptions
from taxocaps.scorers.model import FittedModel
from taxocaps.scorers.persistence import load_model
from taxocaps.workflows.sources import encoded_stream

__all__ = ["DecisionOptions", "PredictReport", "as_model", "predict", "predict_documents", "predict_file"]

_CHUNK = 256


@dataclass(frozen=True)
class PredictReport:
    """How many documents were labelled, and where the labels went."""

    output: str
    documents: int
    without_words: int
    without_labels: int
    skipped: int
    problems: tuple[str, ...]


def predict(
    model: Any,
    documents: Path | str | Iterable[str | Sequence[str] | Document],
    *,
    corpus: CorpusConfig | None = None,
    trust_code: bool = False,
    **options: Any,
) -> Iterator[Prediction]:
    """Label documents; a few hundred are in memory at a time.

    Args:
        model: The folder of a model, or a fitted classifier.
        documents: A file or store of documents; or texts, lists of ready tokens, or documents.
        corpus: How to read a file.
        trust_code: Whether code that the model names may be run.
        options: Which labels documents get: `top_k`, `threshold`, `at_least`, `hierarchy`.
    """
    wanted = DecisionOptions.model_validate(options)
    if isinstance(documents, str | Path):
        check_exists(Path(documents))
    fitted = as_model(model, trust_code=trust_code)
    if isinstance(documents, str | Path):
        encoder = fitted.scorer.encoder
        stream = encoded_stream(Path(documents), encoder, corpus, size=_CHUNK, model=fitted.name)
        return _predictions(fitted, stream, wanted)
    return predict_documents(fitted, map(_as_document, documents), wanted)


def predict_documents(
    model: FittedModel, documents: Iterable[Document], options: DecisionOptions | None = None
) -> Iterator[Prediction]:
    """Label a stream of documents; their labels, if any, are not looked at."""
    return _predictions(model, model.scorer.encoder.stream(documents, _CHUNK), options)


def predict_file(
    model: Path,
    source: Path,
    output: Path,
    options: DecisionOptions | None = None,
    *,
    corpus: CorpusConfig | None = None,
    trust_code: bool = False,
    progress: Progress = silent,
) -> PredictReport:
    """Label the documents of a file or a store, and write the labels as JSONL.

    A file appears when it is complete; on standard output, labels appear as they are found.

    Args:
        model: The model's folder.
        source: Documents in any format, or a store; `-` for standard input.
        output: The file to write, compressed if it ends in `.gz`, `.xz` or `.zst`; `-` for standard output.
        options: Which labels documents get.
        corpus: How to read the documents.
        trust_code: Whether code that the model names may be run.
        progress: Told how many documents are done.
    """
    check_exists(source)
    if "-" not in (str(source), str(output)):
        refuse_same_file(source, output)
    fitted = load_model(model, trust_code=trust_code)
    reading, empty, unlabelled, done = ReadReport(), 0, 0, 0
    encoder = fitted.scorer.encoder
    encoded = encoded_stream(source, encoder, corpus, size=_CHUNK, report=reading, model=fitted.name)
    with atomic_text(output) if str(output) != "-" else nullcontext(sys.stdout) as file:
        for prediction in _predictions(fitted, encoded, options):
            file.write(json.dumps(prediction.as_dict(), ensure_ascii=False) + "\n")
            done += 1
            empty += prediction.warning is not None
            unlabelled += not prediction.labels
            if done % _CHUNK == 0:
                file.flush()  # whoever reads a pipe is waiting
                progress("labelling documents", done)
    progress("labelling documents", done, done)
    return PredictReport(str(output), done, empty, unlabelled, reading.skipped, tuple(reading.messages))


def as_model(model: Any, *, trust_code: bool = False) -> FittedModel:
    """A model itself, the one in a folder, or the one that a fitted classifier has.

    Raises:
        ModelError: If it is none of these, or the folder holds no model that can be used.
    """
    if isinstance(model, str | Path):
        return load_model(Path(model), trust_code=trust_code)
    found = getattr(model, "model_", model)
    if not isinstance(found, FittedModel):
        raise ModelError(
            f"a model is a folder or a fitted classifier; got {type(model).__name__} without a fitted model"
        )
    return found


def _predictions(
    model: FittedModel, stream: Iterable[EncodedDocuments], options: DecisionOptions | None
) -> Iterator[Prediction]:
    done = 0
    for encoded in stream:
        yield from model.label(encoded, options, first=done + 1)
        done += len(encoded)


def _as_document(given: str | Sequence[str] | Document) -> Document:
    if isinstance(given, Document):
        return given
    return Document(given) if isinstance(given, str) else Document(tokens=tuple(given))
