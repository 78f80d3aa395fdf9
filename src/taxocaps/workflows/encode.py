"""Encode a corpus: from a file of documents to a store on disk, in bounded memory, resumable."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from taxocaps._version import __version__
from taxocaps.config import fingerprint
from taxocaps.corpus.readers import ReadReport
from taxocaps.corpus.shards import SHARD_BYTES, InputFile, Shard, nothing_read
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.encoding.store import DOCUMENTS, MANIFEST, VOCABULARY, check_words, is_store
from taxocaps.encoding.store_writer import StoreMerger, write_store
from taxocaps.errors import FileError, WriteError
from taxocaps.progress import Progress, silent
from taxocaps.workflows.bulk import Engine, EngineKind, RecordedWork, ShardedInput, run_shards, shards_of
from taxocaps.workflows.config import EncodeConfig, refuse_both, resolve_encode_config
from taxocaps.workflows.folders import WorkFolder, resume_hint
from taxocaps.workflows.processes import once
from taxocaps.workflows.sources import Input, input_files, open_documents

__all__ = ["EncodeReport", "encode"]


@dataclass(frozen=True)
class EncodeReport:
    """The result of encoding a corpus.

    Attributes:
        out: The folder of the store.
        documents: The number of documents in the store.
        skipped: The number of broken records that were left out (`corpus.on_error = "skip"`).
        without_words: The number of documents without words after tokenisation; they are kept.
        words: The number of words of all documents.
        vocabulary: The number of distinct words.
        rows: The number of rows of all words-matrices; 0 if the model reads none.
        counts_are_exact: False if there were so many distinct words that the rarest were forgotten while counting.
        problems: The messages of the first few broken records.
    """

    out: str
    documents: int
    skipped: int
    without_words: int
    words: int
    vocabulary: int
    rows: int
    counts_are_exact: bool
    problems: tuple[str, ...]


def encode(  # noqa: PLR0913 - a front door: each argument stands for itself
    corpus: Input,
    out: Path | str,
    config: EncodeConfig | None = None,
    *,
    overwrite: bool = False,
    jobs: int | None = None,
    engine: EngineKind = "processes",
    address: str | None = None,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda message: None,
    **options: object,
) -> EncodeReport:
    """Encode a corpus into a store, which every command takes in place of the corpus.

    A large corpus is encoded shard by shard, in several processes, and then joined; the store is the same for any
    number of processes. The work is done in a hidden folder beside `out` that is renamed at the end. When it is
    interrupted, the folder stays, and the same call continues from there.

    Args:
        corpus: A file or folder of documents in any format, a pattern such as `news/*.jsonl`, or a list of these; or a
            store for another model, whose words are reused.
        out: The folder to make.
        config: How a model reads documents; by default as the default model does, changed by `options`.
        overwrite: Whether an `out` that exists is replaced, once the new one is complete.
        jobs: The number of processes, or of actors; by default one per core.
        engine: `processes` of this machine, or `ray`: actors of a Ray cluster.
        address: The address of the cluster, such as `auto`; by default one is started on this machine.
        progress: Called with the progress of the work.
        tell: Called with messages for the user, such as the time that a pre-trained encoder will take.
        options: Options by name, such as `model="SVM"` or `graph__window=4`.

    Returns:
        Counts of what was encoded and left out.
    """
    out, workers = Path(out), Engine(engine, jobs, address)
    refuse_both(config, options)
    config = config or resolve_encode_config(options=options)
    files = input_files(corpus, config.corpus)
    _check_target(out, overwrite)
    config.encoder()  # what is missing is told before anything is read
    task = _Task(files, config, workers, ReadReport(), progress, tell)
    try:
        with WorkFolder(out) as work:
            manifest = _encode(task, work)
            work.publish()
    except (OSError, WriteError) as error:
        reason = error if isinstance(error, OSError) else error.__cause__
        text = getattr(reason, "strerror", None) or reason
        raise WriteError(f"{out}: cannot be written: {text}{resume_hint(out)}") from error
    matrices = manifest["arrays"].get("words-matrix/words")
    return EncodeReport(
        out=str(out.resolve()),
        skipped=task.reading.skipped,
        rows=matrices["shape"][0] if matrices else 0,
        counts_are_exact=manifest["counts_are_exact"],
        problems=tuple(task.reading.messages),
        **manifest["counts"],
    )


@dataclass(frozen=True)
class _Task:
    """The files to encode, and how; `reading` counts invalid records."""

    files: Sequence[InputFile]
    config: EncodeConfig
    engine: Engine
    reading: ReadReport
    progress: Progress
    tell: Callable[[str], None]


def _encode(task: _Task, work: WorkFolder) -> Mapping[str, Any]:
    """Make the store; returns its manifest."""
    corpus, encoder = task.config.corpus, task.config.encoder(task.engine.processes)
    kept: Any = {"cache": work.kept, "source": str(task.files[0]), "progress": task.progress, "tell": task.tell}
    source = task.files[0]
    if isinstance(source, Path) and is_store(source):
        check_words(source, encoder.pipeline)
        return write_store(open_documents(source, None, corpus), encoder, work.result, **kept)
    given = shards_of(task.files, corpus)
    if not given.is_one:
        return _encode_shards(task, given, work)
    documents = (document for shard in given.shards for document in shard.read(corpus, task.reading))
    manifest = write_store(documents, encoder, work.result, **kept)
    if not manifest["counts"]["documents"]:
        raise nothing_read(task.files, corpus, task.reading)
    return manifest


def _encode_shards(task: _Task, given: ShardedInput, work: WorkFolder) -> Mapping[str, Any]:
    """Make a store of each shard, in several processes, and join them."""
    encoder = task.config.encoder()
    options = [__version__, encoder.options, encoder.pipeline.fingerprint, task.config.corpus.as_mapping()]
    key = fingerprint(options)
    records = RecordedWork(work.kept, key, task.config.corpus, _ShardEncoder(task.config, key, work.kept))
    merger = StoreMerger(work.result)
    totals = run_shards(
        records,
        given,
        task.engine,
        stage="encoding documents",
        progress=task.progress,
        finished=lambda outcome: merger.add(_part(work.kept, outcome.index)),
    )
    task.reading.add(totals.reading.skipped, totals.reading.messages)
    return merger.merge(progress=task.progress)


@dataclass(frozen=True)
class _ShardEncoder:
    """Makes a store of each shard."""

    config: EncodeConfig
    key: str
    folder: Path

    def __call__(self, index: int, shard: Shard, report: ReadReport) -> dict[str, Any]:
        encoder: DocumentEncoder = once(self.key, self.config.encoder)
        part = _part(self.folder, index)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        documents = shard.read(self.config.corpus, report)
        # The documents of a whole file may be too many for memory; others are as few as a shard should have.
        cache = part / "tokenised" if shard.size > 2 * SHARD_BYTES or shard.is_packed else None
        manifest = write_store(documents, encoder, part, cache=cache, source=f"{shard.name}, shard {index + 1}")
        shutil.rmtree(part / "tokenised", ignore_errors=True)
        return {"documents": manifest["counts"]["documents"]}

    def is_there(self, index: int) -> bool:
        return is_store(_part(self.folder, index))

    @property
    def model(self) -> Path | None:
        return None

    def elsewhere(self, folder: Path, model: Path | None) -> "_ShardEncoder":
        return replace(self, folder=folder)


def _part(folder: Path, index: int) -> Path:
    """The store of a shard."""
    return folder / f"{index:06d}"


def _check_target(out: Path, overwrite: bool) -> None:
    """Refuse to write over anything that is not a store, whatever the user says."""
    if out.absolute() == Path.cwd():
        raise FileError(f"{out}: is the current folder; choose another --out")
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not is_store(out):
        raise FileError(f"{out}: exists and is not a store; choose another --out")
    if not overwrite:
        raise FileError(f"{out}: exists already; choose another --out, or give --overwrite to replace it")
    names = (MANIFEST, DOCUMENTS, VOCABULARY)
    others = sorted(path.name for path in out.iterdir() if path.is_file() and path.name not in names)
    if others:
        raise FileError(f"{out}: holds other files than a store ({others[0]}), which would be lost; move them first")
