"""Encode a corpus: from a file of documents to a store on disk, in bounded memory, resumable."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, ReadReport, read_documents
from taxocaps.encoding.documents import DocumentEncoder, EncodedDocuments
from taxocaps.encoding.store import check_words, is_store, write_store
from taxocaps.errors import FileError, WriteError
from taxocaps.files import check_exists
from taxocaps.progress import Progress, silent
from taxocaps.workflows.config import EncodeConfig, refuse_both, resolve_encode_config
from taxocaps.workflows.folders import WorkFolder, resume_hint
from taxocaps.workflows.sources import open_documents

__all__ = ["EncodeReport", "encode"]


@dataclass(frozen=True)
class EncodeReport:
    """What an encoding run did.

    Attributes:
        out: The folder of the store.
        documents: Documents in the store.
        skipped: Broken records left out (`corpus.on_error = "skip"`), with the first messages in `problems`.
        without_words: Documents that have no words after tokenisation; they are kept.
        words: Words of all documents.
        vocabulary: Distinct words.
        rows: Rows of all words-matrices; 0 if the model reads none.
        counts_are_exact: False if there were so many distinct words that the rarest were forgotten while counting.
        problems: The first few broken records.
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


def encode(
    corpus: Path | str,
    out: Path | str,
    config: EncodeConfig | None = None,
    *,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda message: None,
    **options: object,
) -> EncodeReport:
    """Encode a corpus into a store, which every command takes in place of the corpus.

    The work is done in a hidden folder beside `out` that is renamed at the end. When it is interrupted, the folder
    stays, and the same call continues from there.

    Args:
        corpus: A file or folder of documents, in any format that can be read; or a store for another model, whose words
            are taken.
        out: The folder to make.
        config: How a model reads documents; by default as the default model does, changed by `options`.
        overwrite: Whether an `out` that exists is replaced, once the new one is complete.
        threads: Threads of compiled parts; by default one per core.
        progress: Told where the work stands.
        tell: Told what a person should know, such as the time that a pre-trained encoder will take.
        options: Options by name, such as `model="SVM"` or `graph__window=4`.

    Returns:
        Counts of what was encoded and left out.
    """
    out = Path(out)
    check_exists(Path(corpus))
    refuse_both(config, options)
    config = config or resolve_encode_config(options=options)
    _check_target(out, overwrite)
    encoder = config.encoder(threads or os.cpu_count() or 1)
    report = ReadReport()
    documents = _documents(Path(corpus), config.corpus, encoder, report)
    try:
        with WorkFolder(out) as work:
            reports: Any = {"progress": progress, "tell": tell}
            manifest = write_store(documents, encoder, work.result, cache=work.kept, source=str(corpus), **reports)
            work.publish()
    except (OSError, WriteError) as error:
        reason = error if isinstance(error, OSError) else error.__cause__
        text = getattr(reason, "strerror", None) or reason
        raise WriteError(f"{out}: cannot be written: {text}{resume_hint(out)}") from error
    matrices = manifest["arrays"].get("words-matrix/words")
    return EncodeReport(
        out=str(out.resolve()),
        skipped=report.skipped,
        rows=matrices["shape"][0] if matrices else 0,
        counts_are_exact=manifest["counts_are_exact"],
        problems=tuple(report.messages),
        **manifest["counts"],
    )


def _documents(
    path: Path, corpus: CorpusConfig, encoder: DocumentEncoder, report: ReadReport
) -> Iterable[Document] | EncodedDocuments:
    if not is_store(path):
        return read_documents(path, corpus, report=report)
    check_words(path, encoder.pipeline)
    return open_documents(path, None, corpus)


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
    names = {"manifest.json", "documents.jsonl", "vocabulary.tsv"}
    others = sorted(path.name for path in out.iterdir() if path.is_file() and path.name not in names)
    if others:
        raise FileError(f"{out}: holds other files than a store ({others[0]}), which would be lost; move them first")
