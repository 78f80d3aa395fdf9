"""Large inputs in shards: files, folders and patterns, cut so that several processes can read them.

Where to cut depends on the input alone, never on who reads it: the same input gives the same shards.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import (
    READERS,
    CorpusConfig,
    ReadReport,
    documents_of,
    format_of,
    read_documents,
    recognised,
)
from taxocaps.corpus.remote import RemoteFile, is_url, matching_urls
from taxocaps.errors import CorpusError, FileError, TaxoCapsError
from taxocaps.files import COMPRESSIONS, format_suffix, matching_paths
from taxocaps.untrusted import open_regular

__all__ = ["SHARD_BYTES", "SHARD_DOCUMENTS", "InputFile", "Shard", "cut", "input_files", "nothing_read", "total_size"]

SHARD_BYTES = 4 * 2**20
"""How much of a file makes a shard: some seconds of work, so that little is lost when work is interrupted."""

SHARD_DOCUMENTS = 4_096
"""How many documents make a shard where files cannot be cut."""

_WHOLE_LINES = ("utf-8", "utf8", "ascii", "latin-1", "latin1", "iso-8859-1", "iso-8859-15", "cp1252", "windows-1252")
"""Encodings in which a byte 10 always ends a line."""


_BLOCK = 2**20
_PACKED = (*COMPRESSIONS, ".parquet", ".pq")


class Shard(Protocol):
    """Documents that are read together, by one process."""

    @property
    def name(self) -> str:
        """What it is called in messages."""

    @property
    def size(self) -> int:
        """How large it is, as a share of what `cut` is told of its input; in bytes."""

    @property
    def is_packed(self) -> bool:
        """Whether it is compressed, and holds more than its size says."""

    def read(self, config: CorpusConfig, report: ReadReport) -> Iterator[Document]:
        """Yield its documents; none is no error.

        A file that cannot be read on is an error or, if `config.on_error` is "skip", counts as one invalid record.
        """

    def digest(self) -> str:
        """A hash of what it holds."""


@dataclass(frozen=True)
class FileShard:
    """A file, or the lines of one between two positions in bytes."""

    path: Path
    part: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def size(self) -> int:
        return self.part[1] - self.part[0] if self.part else self.path.stat().st_size

    @property
    def is_packed(self) -> bool:
        return self.part is None and self.path.suffix.lower() in _PACKED

    def read(self, config: CorpusConfig, report: ReadReport) -> Iterator[Document]:
        reader, config = READERS[format_of(self.path, config.format)], recognised(self.path, config)
        part = () if self.part is None else (self.part,)
        try:
            yield from documents_of(reader.read(self.path, config, *part), config, report)
        except (FileError, CorpusError) as error:
            if config.on_error == "raise":
                raise
            report.skip(str(error))

    def digest(self) -> str:
        try:
            with open_regular(self.path) as file:
                if self.part is None:
                    return hashlib.file_digest(file, "sha256").hexdigest()
                file.seek(self.part[0])
                return _hash(file, self.size)
        except OSError as error:
            raise FileError(f"{self.path}: cannot be read: {error.strerror or error}") from error


@dataclass(frozen=True)
class RemoteShard:
    """A file at a URL, fetched by whoever reads it."""

    file: RemoteFile

    @property
    def name(self) -> str:
        return self.file.url

    @property
    def size(self) -> int:
        return self.file.size

    @property
    def is_packed(self) -> bool:
        return Path(self.file.name).suffix.lower() in _PACKED

    def read(self, config: CorpusConfig, report: ReadReport) -> Iterator[Document]:
        with self.file.fetched() as local:
            yield from FileShard(local).read(config, report)

    def digest(self) -> str:
        return self.file.stamp()


@dataclass(frozen=True)
class DocumentShard:
    """Documents that were read already, from a file that cannot be cut; or why it cannot be read on."""

    name: str
    documents: Sequence[Document]
    skipped: int = 0
    problems: tuple[str, ...] = ()
    error: TaxoCapsError | None = None

    @property
    def size(self) -> int:
        return sum(_characters(document) for document in self.documents)

    @property
    def is_packed(self) -> bool:
        return False

    def read(self, config: CorpusConfig, report: ReadReport) -> Iterator[Document]:
        report.add(self.skipped, self.problems)
        yield from self.documents
        if self.error is not None and config.on_error == "raise":
            raise self.error
        if self.error is not None:
            report.skip(str(self.error))

    def digest(self) -> str:
        digest = hashlib.sha256(f"{self.skipped} {self.problems} {self.error}".encode("utf-8", "surrogatepass"))
        for document in self.documents:
            digest.update(repr(document).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


InputFile = Path | RemoteFile
"""A file or folder of documents, here or at a URL."""


def input_files(given: Iterable[Path | str], config: CorpusConfig) -> list[InputFile]:
    """The files that paths, URLs, patterns and folders of shards stand for, each once.

    A folder with files of records (JSONL, CSV, TSV, Parquet) in it, at any depth, stands for these, in the order of
    their names; names that begin with a dot or an underscore do not count. Other folders, of text files, stay what they
    are.

    Raises:
        FileError: If something is not there, a folder holds both, or there are both paths and URLs.
    """
    listed = list(given)
    urls = [str(one) for one in listed if is_url(one)]
    if urls and len(urls) < len(listed):
        raise FileError(f"{urls[0]}: is a URL; give paths or URLs, not both")
    if urls:
        return list(matching_urls(urls, _record_suffixes()))
    return list(matching_paths(file for path in matching_paths(listed) for file in _files(path, config)))


def cut(files: Sequence[InputFile], config: CorpusConfig) -> Iterator[Shard]:
    """The shards of files, in order.

    Large files with a record in each line are cut into ranges of lines. Of several files that cannot be cut, each is a
    shard; a single one is read here, a few thousand documents at a time. A file at a URL is a shard.
    """
    for path in files:
        if isinstance(path, RemoteFile):
            yield RemoteShard(path)
        elif _is_cut(path, config):
            yield from _ranges(path)
        elif len(files) > 1 and path.is_file():
            yield FileShard(path)
        else:
            yield from _read(path, config)


def total_size(files: Sequence[InputFile]) -> int | None:
    """The sizes of the shards of files in all; None where that is not known beforehand."""
    first = files[0]
    if len(files) == 1 and isinstance(first, Path) and (not first.is_file() or first.suffix.lower() in _PACKED):
        return None
    sizes = (one.size if isinstance(one, RemoteFile) else one.stat().st_size if one.is_file() else 0 for one in files)
    return sum(sizes)


def nothing_read(files: Sequence[InputFile], config: CorpusConfig, report: ReadReport) -> CorpusError:
    """What to tell a user whose input has no documents."""
    name = "standard input" if str(files[0]) == "-" else str(files[0])
    where = f"{name} and {len(files) - 1:,} more" if files[1:] else name
    if report.skipped:
        first = report.messages[0]
        return CorpusError(
            f"{where}: no documents, because all {report.skipped:,} records are invalid; the first: {first}"
        )
    if config.split is not None:
        return CorpusError(f"{where}: no document of the split '{config.split}' (field '{config.split_field}')")
    return CorpusError(f"{where}: contains no documents; give a file with at least one document")


def _hash(file: IO[bytes], size: int) -> str:
    """A hash of the next bytes."""
    found = hashlib.sha256()
    while size and (block := file.read(min(size, _BLOCK))):
        found.update(block)
        size -= len(block)
    return found.hexdigest()


def _files(path: Path, config: CorpusConfig) -> list[Path]:
    if not path.is_dir() or config.format == "text":
        return [path]
    suffixes = _record_suffixes()
    found = sorted(_visible_files(path))
    records = [file for file in found if format_suffix(file) in suffixes]
    texts = [file for file in found if format_suffix(file) in READERS["text"].suffixes]
    if records and texts:
        raise FileError(
            f"{path}: holds both texts ({texts[0].name}) and files of documents ({records[0].name}); give a pattern "
            f"such as '{path}/*{records[0].suffix}', or say --format text for the texts"
        )
    return records or [path]


def _record_suffixes() -> set[str]:
    return {suffix for name, reader in READERS.items() if name != "text" for suffix in reader.suffixes}


def _visible_files(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        yield from (Path(place) / name for name in files if not name.startswith((".", "_")))


def _is_cut(path: Path, config: CorpusConfig) -> bool:
    if str(path) == "-" or not path.is_file() or path.suffix.lower() in COMPRESSIONS:
        return False
    is_by_lines = READERS[format_of(path, config.format)].splits_at_lines
    return is_by_lines and recognised(path, config).encoding.lower() in _WHOLE_LINES


def _ranges(path: Path) -> Iterator[FileShard]:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = 0
        while start < size:
            file.seek(min(start + SHARD_BYTES, size) - 1)
            while (line := file.readline(_BLOCK)) and not line.endswith(b"\n"):
                pass  # a long line does not fit into memory
            stop = min(file.tell(), size)
            yield FileShard(path, (start, stop))
            start = stop
    if not size:
        yield FileShard(path)


def _read(path: Path, config: CorpusConfig) -> Iterator[DocumentShard]:
    name, report = "standard input" if str(path) == "-" else str(path), ReadReport()
    documents: list[Document] = []
    characters, skipped = 0, 0  # of the documents; before them

    def shard(error: TaxoCapsError | None = None) -> DocumentShard:
        problems = () if skipped else tuple(report.messages)  # the first few of the file are enough
        return DocumentShard(name, documents, report.skipped - skipped, problems, error)

    try:
        for document in read_documents(path, config, report=report):
            documents.append(document)
            characters += _characters(document)
            if len(documents) == SHARD_DOCUMENTS or characters >= SHARD_BYTES:
                yield shard()
                documents, characters, skipped = [], 0, report.skipped
    except TaxoCapsError as error:
        yield shard(error)
    else:
        if documents or report.skipped > skipped:
            yield shard()


def _characters(document: Document) -> int:
    return len(document.text) if document.tokens is None else sum(map(len, document.tokens))
