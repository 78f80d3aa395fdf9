"""Where documents come from: files in any format, or stores that `encode` made; one stream for every command."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from taxocaps.corpus import shards
from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, ReadReport, describe_file, labels_problem, read_documents
from taxocaps.encoding.documents import DocumentEncoder, EncodedDocuments
from taxocaps.encoding.store import is_store, open_store, read_manifest
from taxocaps.errors import CorpusError
from taxocaps.scorers.model import FittedModel, ModelName
from taxocaps.workflows.bulk import ShardedInput, shards_of

__all__ = [
    "Input",
    "StoreShard",
    "encoded_shard",
    "encoded_stream",
    "find_document",
    "find_encoded",
    "input_files",
    "input_shards",
    "label_problem",
    "listed_documents",
    "open_documents",
    "read_source",
    "recognised_lines",
]

Input = Path | str | Sequence[Path | str]
"""A file, a folder, a pattern such as `news/*.jsonl`, a URL, or several of these."""


def input_files(given: Input, corpus: CorpusConfig | None = None) -> list[shards.InputFile]:
    """The files that an input stands for, each once; or the one store that it is.

    Raises:
        FileError: If something is not there.
        CorpusError: If a store is given beside others.
    """
    paths = [given] if isinstance(given, str | Path) else list(given)
    stores = [path for path in paths if is_store(path)]
    if stores and len(paths) > 1:
        raise CorpusError(f"{stores[0]}: is a store, which is read by itself; give it alone")
    if stores:
        return [Path(stores[0])]
    files = shards.input_files(paths, corpus or CorpusConfig())
    if not files:
        raise CorpusError("no input was given; give a file of documents")
    return files


def open_documents(
    path: Path,
    encoder: DocumentEncoder | None = None,
    corpus: CorpusConfig | None = None,
    *,
    model: ModelName | None = None,
) -> EncodedDocuments:
    """The encoded documents of a store, or of one of its splits.

    Args:
        path: The store.
        encoder: How a model reads documents; the store must have been made with the same options.
        corpus: Which split is meant; all else is fixed in a store.
        model: The model, for messages.
    """
    store = open_store(path, encoder, **({"flags": model.flags} if model else {}))
    if corpus is None or corpus.split is None:
        return store
    found = {index: one for index, one in enumerate(store.documents) if one.split == corpus.split}
    if not found:
        raise CorpusError(f"{path}: no document of the split '{corpus.split}' in this store")
    return replace(store.select(np.array(list(found))), documents=list(found.values()))


@dataclass(frozen=True)
class StoreShard:
    """Some documents of a store, one after the other.

    Attributes:
        path: The store.
        start: The first document, of those of the split that is read.
        stop: The one after the last.
    """

    path: Path
    start: int
    stop: int

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def size(self) -> int:
        """The number of documents."""
        return self.stop - self.start

    def digest(self) -> str:
        """A hash of what the store was made from and of the range."""
        hashes = read_manifest(self.path)["hashes"]
        return hashlib.sha256(f"{sorted(hashes.items())} {self.start} {self.stop}".encode()).hexdigest()

    def encoded(
        self, encoder: DocumentEncoder, corpus: CorpusConfig, model: ModelName, size: int
    ) -> Iterator[EncodedDocuments]:
        """The documents as a model reads them, `size` at a time."""
        return _selected(open_documents(self.path, encoder, corpus, model=model), self.start, self.stop, size)


def input_shards(files: Sequence[shards.InputFile], corpus: CorpusConfig) -> ShardedInput:
    """The shards of files, or of a store."""
    path = files[0]
    if not isinstance(path, Path) or not is_store(path):
        return shards_of(files, corpus)
    count = len(open_documents(path, None, corpus))
    starts = range(0, count, shards.SHARD_DOCUMENTS)
    found = [StoreShard(path, start, min(start + shards.SHARD_DOCUMENTS, count)) for start in starts]
    return ShardedInput([path], found, count, len(found) < 2)


def encoded_shard(
    shard: Any, model: FittedModel, corpus: CorpusConfig, report: ReadReport, size: int = 256
) -> Iterator[EncodedDocuments]:
    """The documents of a shard of files or of a store as a model reads them, `size` at a time."""
    if isinstance(shard, StoreShard):
        return shard.encoded(model.scorer.encoder, corpus, model.name, size)
    return model.scorer.encoder.stream(shard.read(corpus, report), size)


def encoded_stream(
    path: Path,
    encoder: DocumentEncoder,
    corpus: CorpusConfig | None = None,
    *,
    size: int = 256,
    report: ReadReport | None = None,
    model: ModelName | None = None,
) -> Iterator[EncodedDocuments]:
    """The encoded documents of a file or a store, some at a time.

    Args:
        path: A file or folder of documents, or a store.
        encoder: How a model reads documents; a store must have been made with the same options.
        corpus: How to read a file, and which split of it or of a store.
        size: Documents at a time.
        report: Told how many documents were read and which were broken.
        model: The model, for messages about a store.
    """
    if not is_store(path):
        yield from encoder.stream(read_documents(path, corpus, report=report), size)
        return
    store = open_documents(path, encoder, corpus, model=model)
    for part in _selected(store, 0, len(store), size):
        yield part
        if report is not None:
            report.documents += len(part)


def _selected(store: EncodedDocuments, start: int, stop: int, size: int) -> Iterator[EncodedDocuments]:
    """Some documents of a store, `size` at a time."""
    listing = islice(iter(store.documents), start, stop)
    for begin in range(start, stop, size):
        part = store.select(np.arange(begin, min(begin + size, stop)))
        yield replace(part, documents=list(islice(listing, len(part))))


def recognised_lines(given: Input, corpus: CorpusConfig | None = None, *, unusual: bool = False) -> Iterator[str]:
    """What was recognised in the first few files of an input, in one line each for people; nothing of stores."""
    for path in input_files(given, corpus)[:3]:
        if isinstance(path, Path) and not is_store(path) and (line := describe_file(path, corpus, unusual=unusual)):
            yield line


def label_problem(given: Any, corpus: CorpusConfig | None = None, *, only_tables: bool = False) -> str | None:
    """The problem with a file none of whose fields holds labels, see `labels_problem`; None for all that is no file."""
    is_file = isinstance(given, Path) and not is_store(given)
    return labels_problem(given, corpus or CorpusConfig(), only_tables=only_tables) if is_file else None


def listed_documents(path: Path, corpus: CorpusConfig | None = None) -> Iterator[Document]:
    """The documents of a file or a store with ids and labels; those of a store come without their texts."""
    return iter(open_documents(path, None, corpus).documents) if is_store(path) else read_documents(path, corpus)


def read_source(
    path: Path, corpus: CorpusConfig | None = None, *, report: ReadReport | None = None
) -> Iterator[Document]:
    """The documents of a file or a store; those of a store have their words as ready tokens."""
    if not is_store(path):
        yield from read_documents(path, corpus, report=report)
        return
    store = open_documents(path, None, corpus)
    words = (words for tokens in store.token_chunks() for words in tokens.documents())
    for document, tokens in zip(store.documents, words, strict=True):
        yield replace(document, tokens=tuple(tokens))
        if report is not None:
            report.documents += 1


def find_document(source: Path, id: str | None = None, corpus: CorpusConfig | None = None) -> Document:
    """One document of a file; documents without an id have their position, counted from 1.

    Args:
        source: Documents in any format; `-` for standard input.
        id: Which one; may be left out if there is only one.
        corpus: How to read the documents.

    Raises:
        CorpusError: If there is no such document, or there are several and none is named.
    """
    documents = read_documents(source, corpus)
    if id is None:
        first, *others = islice(documents, 2)  # a file without any is refused when it is read
        if others:
            raise CorpusError(f"{source}: has several documents; choose one of them with --id")
        return first
    has_ids = False
    for position, document in enumerate(documents, 1):
        has_ids = has_ids or document.id is not None
        if (document.id or str(position)) == id:
            return document
    hint = "" if has_ids else "; none has an id, only a position from 1: name the field of ids with --id-field"
    raise CorpusError(f"{source}: no document has the id {id!r}{hint}")


def find_encoded(
    path: Path,
    encoder: DocumentEncoder | None,
    id: str | None,
    corpus: CorpusConfig | None = None,
    *,
    model: ModelName | None = None,
) -> EncodedDocuments:
    """One document of a store; its encodings, if there is an encoder, are made anew from its words.

    Raises:
        CorpusError: If there is no such document, or there are several and none is named.
    """
    store = open_documents(path, encoder, corpus, model=model)
    if id is None and len(store) > 1:
        raise CorpusError(f"{path}: has several documents; choose one of them with --id")
    for index, document in enumerate(store.documents):
        if id is None or (document.id or str(index + 1)) == id:
            (tokens,) = store.select(np.array([index])).token_chunks()
            return EncodedDocuments([document], tokens, encoder.encode_tokens(tokens) if encoder else {})
    raise CorpusError(f"{path}: no document has the id {id!r}")
