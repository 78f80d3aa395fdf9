"""Reading documents from files of every format, one at a time."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from taxocaps.corpus.document import Document
from taxocaps.corpus.fields import CorpusConfig, Format, Record, to_document
from taxocaps.corpus.jsonl import read_jsonl
from taxocaps.corpus.parquet import read_parquet
from taxocaps.corpus.tables import read_csv, read_tsv
from taxocaps.corpus.text_directory import read_texts
from taxocaps.errors import CorpusError, FileError
from taxocaps.files import format_suffix

__all__ = ["READERS", "SUFFIXES", "ReadReport", "format_of", "read_documents"]

READERS: dict[Format, Callable[[Path, CorpusConfig], Iterator[Record]]] = {
    "jsonl": read_jsonl,
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "text": read_texts,
}
"""How each format is read."""

SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "text",
}
"""The format of a file by the end of its name, compression aside."""


@dataclass
class ReadReport:
    """What reading found; it grows while documents are read, over several files if it is given to each.

    Attributes:
        documents: Documents given.
        skipped: Broken records left out (`corpus.on_error = "skip"`).
        other_splits: Documents left out because they belong to another split than `corpus.split`.
        messages: What was wrong with the first few of the broken records.
    """

    documents: int = 0
    skipped: int = 0
    other_splits: int = 0
    messages: list[str] = field(default_factory=list)

    def skip(self, message: str) -> None:
        """Count a broken record; keep the message if it is one of the first five."""
        self.skipped += 1
        if len(self.messages) < 5:
            self.messages.append(message)


def read_documents(
    path: Path | str, config: CorpusConfig | None = None, *, report: ReadReport | None = None
) -> Iterator[Document]:
    """Yield the documents of a file or a directory; only one is in memory at a time.

    Args:
        path: A JSONL, CSV, TSV or Parquet file, a text file, a directory of text files, or "-" for JSONL from standard
            input. All but Parquet may be compressed (`.gz`, `.xz`, `.zst`).
        config: The names of the fields and how to read; see `CorpusConfig`.
        report: Is told how many documents were read and which were broken.

    Raises:
        CorpusError: For a broken record, unless `config.on_error` is "skip", and when there is no document at all.
        FileError: When the file cannot be read, or its format not be told.
    """
    path, config = Path(path), config or CorpusConfig()
    if str(path) != "-" and not path.exists():
        raise FileError(f"{path}: no such file or folder; check the path")
    return _documents(path, config, format_of(path, config.format), report or ReadReport())


def format_of(path: Path, format: Format | None = None) -> Format:
    """The format of a file: the one given, or what its name says.

    >>> format_of(Path("news.csv.gz"))
    'csv'
    """
    if format is not None:
        return format
    if str(path) == "-":
        return "jsonl"
    if path.is_dir():
        return "text"
    suffix = format_suffix(path)
    if suffix not in SUFFIXES:
        raise FileError(
            f"{path}: the name does not tell the format; end it in one of {' '.join(SUFFIXES)}, "
            f"or set {CorpusConfig.key('format')} to one of {', '.join(get_args(Format))}"
        )
    return SUFFIXES[suffix]


def _documents(path: Path, config: CorpusConfig, format: Format, report: ReadReport) -> Iterator[Document]:
    splits: Counter[str | None] = Counter()
    skipped = report.skipped
    for record in READERS[format](path, config):
        try:
            document = to_document(record, config)
        except CorpusError as error:
            if config.on_error == "raise":
                hint = f"; mend it, or set {config.key('on_error')}=skip" if record.problem else ""
                raise CorpusError(f"{error}{hint}") from None
            report.skip(str(error))
            continue
        splits[document.split] += 1
        if config.split is not None and document.split != config.split:
            report.other_splits += 1
            continue
        report.documents += 1
        yield document
    if not splits[config.split] if config.split is not None else not splits:
        raise CorpusError(_nothing(path, config, splits, report.skipped - skipped, report.messages))


def _nothing(path: Path, config: CorpusConfig, splits: Counter[str | None], skipped: int, messages: list[str]) -> str:
    name = "standard input" if str(path) == "-" else path
    if splits:
        there = ", ".join(
            f"{'none' if split is None else repr(split)} ({count})" for split, count in splits.items() if count
        )
        return f"{name}: no document of the split '{config.split}'; the splits in field '{config.split_field}': {there}"
    if skipped:
        return f"{name}: no documents, for all {skipped} records are broken; the first: {messages[0]}"
    what = "no text files (*.txt)" if path.is_dir() else "no documents"
    return f"{name}: there are {what} in it; give a file with at least one document"
