"""Label documents with a trained model: as a stream, or in bulk to files."""

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, overload

from taxocaps._version import __version__
from taxocaps.corpus.document import Document
from taxocaps.corpus.frames import frame_documents, is_frame
from taxocaps.corpus.readers import CorpusConfig, ReadReport
from taxocaps.corpus.remote import is_url
from taxocaps.corpus.shards import InputFile
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.encoding.store import is_store
from taxocaps.errors import ConfigError, FileError, ModelError
from taxocaps.files import atomic_text, digest, refuse_same_file
from taxocaps.progress import Progress, silent
from taxocaps.results import Prediction, Predictions
from taxocaps.scorers.decision import DecisionOptions
from taxocaps.scorers.model import FittedModel
from taxocaps.scorers.persistence import load_model, save_model
from taxocaps.workflows.bulk import Engine, EngineKind, RecordedWork, Totals, run_shards
from taxocaps.workflows.folders import read_versions
from taxocaps.workflows.label_files import (
    LABEL_FILES,
    LabelFormat,
    Output,
    Row,
    as_json,
    check_kept,
    check_replaced,
    output_of,
    staged,
)
from taxocaps.workflows.label_folder import LabelFolder, RunIdentity, part_path, shard_path
from taxocaps.workflows.processes import once
from taxocaps.workflows.sources import Input, encoded_shard, encoded_stream, input_files, input_shards
from taxocaps.workflows.trained_on import read_like

__all__ = ["DecisionOptions", "PredictReport", "as_model", "predict", "predict_documents", "predict_file"]

_CHUNK = 1_024
"""Documents that are labelled at a time: the more, the fewer words are met anew in each chunk."""
_LIVE = 256
"""Documents after which those who watch hear of progress, or get the labels of a stream that is still written to."""
_STAGE = "labelling documents"


@dataclass(frozen=True)
class PredictReport:
    """How many documents were labelled, and where the labels went.

    Attributes:
        output: The file or folder.
        documents: The number of documents.
        labels: The number of labels that they got in total.
        without_words: The number of documents without words, which get no labels.
        without_labels: The number of documents that got no labels.
        skipped: The number of invalid records that were left out (`corpus.on_error = "skip"`).
        problems: The messages of the first few invalid records.
        seconds: How long it took.
    """

    output: str
    documents: int
    labels: int
    without_words: int
    without_labels: int
    skipped: int
    problems: tuple[str, ...]
    seconds: float = field(compare=False)


@overload
def predict(
    model: Any,
    documents: Input | Iterable[str | Sequence[str] | Document],
    *,
    output: None = None,
    corpus: CorpusConfig | None = None,
    trust_code: bool = False,
    **options: Any,
) -> Predictions: ...


@overload
def predict(
    model: Any,
    documents: Input | Iterable[str | Sequence[str] | Document],
    *,
    output: Path | str,
    corpus: CorpusConfig | None = None,
    trust_code: bool = False,
    **options: Any,
) -> PredictReport: ...


def predict(
    model: Any,
    documents: Any,
    *,
    output: Path | str | None = None,
    corpus: CorpusConfig | None = None,
    trust_code: bool = False,
    **options: Any,
) -> Predictions | PredictReport:
    """Label documents: as a stream, with a few hundred documents in memory at a time, or in bulk to files.

    Args:
        model: The folder of a model, or a fitted classifier.
        documents: A file, folder or store of documents, a pattern such as `news/*.jsonl`, or a list of such paths; or,
            without `output`, texts, lists of ready tokens, documents, or a frame of pandas or polars.
        output: The file or folder to write, see `predict_file`; by default labels are returned as they are found.
        corpus: How to read files.
        trust_code: Whether code that the model names may be run.
        options: How labels are chosen (`top_k`, `threshold`, `at_least`, `hierarchy`); with `output` also `jobs`,
            `engine`, `address`, `format`, `overwrite` and `progress`, see `predict_file`.

    Returns:
        The labels of each document, one after the other or as a frame (`Predictions`), or with `output` a report.
    """
    is_path = isinstance(documents, str | Path) or _is_paths(documents)
    if output is not None:
        if not is_path:
            raise ConfigError("with output, documents must be a path or a list of paths; got neither")
        bulk = {name: options.pop(name) for name in _BULK if name in options}
        wanted = DecisionOptions.model_validate(options)
        return predict_file(model, documents, output, wanted, corpus=corpus, trust_code=trust_code, **bulk)
    corpus = read_like(model, corpus)
    wanted = DecisionOptions.model_validate(options)
    try:
        files = input_files(documents, corpus) if is_path else []
    except FileError as error:
        if isinstance(documents, str) and " " in documents:  # a text, most likely
            raise FileError(f"{error}; give a text in a list") from error
        raise
    fitted = as_model(model, trust_code=trust_code)
    if is_path:
        return Predictions(_predictions(fitted, _streams(files, fitted, corpus, ReadReport()), wanted))
    given = frame_documents(documents, corpus) if is_frame(documents) else map(_as_document, documents)
    return Predictions(predict_documents(fitted, given, wanted))


_BULK = ("jobs", "engine", "address", "format", "overwrite", "progress")
"""The options of `predict_file` that `predict` passes on."""


def _is_paths(documents: Any) -> bool:
    is_list = isinstance(documents, list | tuple) and bool(documents)
    return is_list and all(isinstance(one, Path) or is_url(one) for one in documents)


def predict_documents(
    model: FittedModel, documents: Iterable[Document], options: DecisionOptions | None = None
) -> Iterator[Prediction]:
    """Label a stream of documents; their labels, if any, are not looked at."""
    return _predictions(model, model.scorer.encoder.stream(documents, _CHUNK), options)


def predict_file(  # noqa: PLR0913 - a front door: each argument stands for itself
    model: Any,
    source: Input,
    output: Path | str,
    options: DecisionOptions | None = None,
    *,
    corpus: CorpusConfig | None = None,
    jobs: int | None = None,
    engine: EngineKind = "processes",
    address: str | None = None,
    format: LabelFormat | None = None,
    overwrite: bool = False,
    trust_code: bool = False,
    progress: Progress = silent,
    show: Callable[[Prediction], None] | None = None,
) -> PredictReport:
    """Label the documents of files or a store, in several processes or on a cluster, and write the labels.

    The input is divided into shards, and each shard of labels is complete and recorded once it is written: when the
    work is interrupted, the same call continues from there and ends with the same bytes. A file appears when it is
    complete; in a folder, shards appear as they are finished, in order. On standard output labels appear as they are
    found.

    Args:
        model: The folder of a model, or a fitted classifier.
        source: Files in any format, folders, patterns, URLs, or a store; `-` for standard input.
        output: A file (`.parquet`, `.csv`, `.json`, or JSONL, compressed if it ends in `.gz`, `.xz` or `.zst`); a
            folder, with a slash at the end or without a suffix; a URL of either; or `-` for standard output.
        options: Which labels documents get.
        corpus: How to read the documents, and which of their fields are written with the labels.
        jobs: The number of processes, or of actors; by default one per core. Input of one shard is done in this
            process.
        engine: `processes` of this machine, or `ray`: actors of a Ray cluster.
        address: The address of the cluster, such as `auto`; by default one is started on this machine.
        format: The format; by default as the suffix says, and JSONL in a folder.
        overwrite: Start over if another run was interrupted, or has filled the folder.
        trust_code: Whether code that the model names may be run.
        progress: Told how many documents are done, how fast, and how long it will take.
        show: Prints the labels of a document instead of JSON if `output` is `-`.

    Raises:
        UnfinishedError: If some shards cannot be read, after all others are done.
        FileError: If the output belongs to another model, other documents or other options.
    """
    begin, corpus, workers = time.monotonic(), read_like(model, corpus), Engine(engine, jobs, address)
    files = input_files(source, corpus)
    check_kept(corpus.kept_fields)
    if corpus.keep and is_store(files[0]):
        raise ConfigError(f"{files[0]}: a store has no fields to keep but ids; give the documents, or leave out --keep")
    if _is_stream(output):
        fitted, totals = as_model(model, trust_code=trust_code), Totals()
        rows = _rows(fitted, _streams(files, fitted, corpus, totals.reading), options)
        _write_stream(rows, output, totals, progress, show if str(output) == "-" else None)
    else:
        with ExitStack() as stack:
            local = stack.enter_context(staged(output, overwrite=overwrite)) if is_url(output) else output
            target = output_of(local, format)
            for file in files:
                if isinstance(file, Path):
                    refuse_same_file(file, target.path)
            if not overwrite:
                check_replaced(target)
            folder = model if isinstance(model, str | Path) else stack.enter_context(_saved(as_model(model)))
            task = _Task(Path(folder), target, options or DecisionOptions(), corpus, trust_code)
            totals = _predict_shards(task, files, workers, overwrite=overwrite, progress=progress)
    counts = {name: totals.counts.get(name, 0) for name in ("documents", "labels", "without_words", "without_labels")}
    skipped, problems = totals.reading.skipped, tuple(totals.reading.messages)
    return PredictReport(
        str(output), **counts, skipped=skipped, problems=problems, seconds=round(time.monotonic() - begin, 3)
    )


def _is_stream(output: Path | str) -> bool:
    """Whether an output is read while it is written: standard output, a pipe or a device."""
    path = Path(output)
    if is_url(output):
        return False
    return str(output) == "-" or (path.exists() and not path.is_file() and not path.is_dir())


def _write_stream(
    rows: Iterable[Row],
    output: Path | str,
    totals: Totals,
    progress: Progress,
    show: Callable[[Prediction], None] | None,
) -> None:
    with atomic_text(Path(output)) if str(output) != "-" else nullcontext(sys.stdout) as file:
        for document, prediction in rows:
            if show is not None:
                show(prediction)
            else:
                file.write(as_json(prediction, prediction.id, document.kept))
            _count(totals.counts, document, prediction)
            if totals.counts["documents"] % _LIVE == 0:
                file.flush()  # whoever reads a pipe is waiting
                progress(_STAGE, totals.counts["documents"])
    done = totals.counts.get("documents", 0)
    progress(_STAGE, done, done)


@dataclass(frozen=True)
class _Task:
    """Which labels are written where."""

    model: Path
    output: Output
    options: DecisionOptions
    corpus: CorpusConfig
    trust_code: bool


def _predict_shards(
    task: _Task, files: Sequence[InputFile], engine: Engine, *, overwrite: bool, progress: Progress
) -> Totals:
    identity = _identity(task, files)
    given = input_shards(files, task.corpus)
    with LabelFolder(task.output, identity, overwrite=overwrite) as folder:
        labeller = _ShardLabeller(task, identity.key, folder.work, progress if given.is_one else None)
        totals = run_shards(
            RecordedWork(folder.work, identity.key, task.corpus, labeller),
            given,
            engine,
            stage=_STAGE,
            progress=progress,
            finished=folder.add,
        )
        folder.complete()
    return totals


def _identity(task: _Task, files: Sequence[InputFile]) -> RunIdentity:
    read_versions(task.model)
    hashes = (digest(task.model / name) for name in ("versions.json", "thresholds.json"))
    options = {**task.options.as_mapping(), **task.corpus.as_mapping(), "output-format": task.output.format}
    return RunIdentity.of(__version__, " ".join(hashes), files, options)


@dataclass(frozen=True)
class _ShardLabeller:
    """Writes the labels of each shard.

    Attributes:
        task: Which labels are written where.
        key: A hash of the task.
        folder: The folder of shards.
        progress: Told how many documents are done, if there is only one shard, and this process may use all cores.
    """

    task: _Task
    key: str
    folder: Path
    progress: Progress | None

    def __call__(self, index: int, shard: Any, report: ReadReport) -> dict[str, Any]:
        from threadpoolctl import threadpool_limits

        task, is_alone = self.task, self.progress is not None
        load = partial(load_model, task.model, trust_code=task.trust_code, threads=None if is_alone else 1)
        model = load() if is_alone else once(self.key, load)
        stream = encoded_shard(shard, model, task.corpus, report, _CHUNK)
        counts: dict[str, int] = dict.fromkeys(_COUNTS, 0)
        with nullcontext() if is_alone else threadpool_limits(1):
            rows = self._counted(_rows(model, stream, task.options), counts)
            path = shard_path(self.folder, task.output, index)
            LABEL_FILES[task.output.format].write(path, rows, task.corpus.kept_fields)
        return counts

    def is_there(self, index: int) -> bool:
        output = self.task.output
        is_published = output.is_folder and part_path(output, index).exists()
        return is_published or shard_path(self.folder, output, index).exists()

    @property
    def model(self) -> Path | None:
        return self.task.model

    def elsewhere(self, folder: Path, model: Path | None) -> "_ShardLabeller":
        assert model is not None
        return replace(self, task=replace(self.task, model=model), folder=folder)

    def _counted(self, rows: Iterable[Row], counts: dict[str, int]) -> Iterator[Row]:
        for document, prediction in rows:
            yield document, prediction
            _count(counts, document, prediction)
            if self.progress is not None and counts["documents"] % _LIVE == 0:
                self.progress(_STAGE, counts["documents"])


_COUNTS = ("documents", "labels", "without_words", "without_labels", "unnamed")


def _count(counts: dict[str, int], document: Document, prediction: Prediction) -> None:
    found = (1, len(prediction.labels), prediction.warning is not None, not prediction.labels, not document.id)
    for name, number in zip(_COUNTS, found, strict=True):
        counts[name] = counts.get(name, 0) + number


@contextmanager
def _saved(model: FittedModel) -> Iterator[Path]:
    """The folder of a model that has none yet: other processes read it from there."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder))
        yield Path(folder)


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


def _streams(
    files: Sequence[InputFile], model: FittedModel, corpus: CorpusConfig | None, report: ReadReport
) -> Iterator[EncodedDocuments]:
    """The documents of files or a store as a model reads them, some at a time."""
    for path in files:
        if not isinstance(path, Path):
            raise ConfigError(f"{path}: documents at URLs are labelled in bulk; give --output")
        yield from encoded_stream(path, model.scorer.encoder, corpus, size=_LIVE, report=report, model=model.name)


def _rows(model: FittedModel, stream: Iterable[EncodedDocuments], options: DecisionOptions | None) -> Iterator[Row]:
    done = 0
    for encoded in stream:
        documents = list(encoded.documents)
        yield from zip(documents, model.label(encoded, options, first=done + 1), strict=True)
        done += len(documents)


def _predictions(
    model: FittedModel, stream: Iterable[EncodedDocuments], options: DecisionOptions | None
) -> Iterator[Prediction]:
    return (prediction for _, prediction in _rows(model, stream, options))


def _as_document(given: str | Sequence[str] | Document) -> Document:
    if isinstance(given, Document):
        return given
    return Document(given) if isinstance(given, str) else Document(tokens=tuple(given))
