"""Where documents come from: files in any format, or stores that `encode` made; one stream for every command."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, ReadReport, read_documents
from taxocaps.encoding.documents import DocumentEncoder, EncodedDocuments
from taxocaps.encoding.store import is_store, open_store
from taxocaps.errors import CorpusError

__all__ = ["encoded_stream", "find_encoded", "listed_documents", "read_source"]


def encoded_stream(
    path: Path,
    encoder: DocumentEncoder,
    corpus: CorpusConfig | None = None,
    *,
    size: int = 256,
    report: ReadReport | None = None,
) -> Iterator[EncodedDocuments]:
    """The encoded documents of a file or a store, some at a time.

    Args:
        path: A file or folder of documents, or a store.
        encoder: How a model reads documents; a store must have been made with the same options.
        corpus: How to read a file.
        size: Documents at a time.
        report: Told how many documents were read and which were broken.
    """
    if not is_store(path):
        yield from encoder.stream(read_documents(path, corpus, report=report), size)
        return
    store = open_store(path, encoder)
    listing = iter(store.documents)
    for start in range(0, len(store), size):
        part = store.select(np.arange(start, min(start + size, len(store))))
        yield replace(part, documents=list(islice(listing, len(part))))
        if report is not None:
            report.documents += len(part)


def listed_documents(path: Path, corpus: CorpusConfig | None = None) -> Iterator[Document]:
    """The documents of a file or a store with ids and labels; those of a store come without their texts."""
    return iter(open_store(path).documents) if is_store(path) else read_documents(path, corpus)


def read_source(
    path: Path, corpus: CorpusConfig | None = None, *, report: ReadReport | None = None
) -> Iterator[Document]:
    """The documents of a file or a store; those of a store have their words as ready tokens."""
    if not is_store(path):
        yield from read_documents(path, corpus, report=report)
        return
    store = open_store(path)
    words = (words for tokens in store.token_chunks() for words in tokens.documents())
    for document, tokens in zip(store.documents, words, strict=True):
        yield replace(document, tokens=tuple(tokens))
        if report is not None:
            report.documents += 1


def find_encoded(path: Path, encoder: DocumentEncoder, id: str | None) -> EncodedDocuments:
    """One document of a store; its encodings are made anew from its words.

    Raises:
        CorpusError: If there is no such document, or there are several and none is named.
    """
    store = open_store(path, encoder)
    if id is None and len(store) > 1:
        raise CorpusError(f"{path}: has several documents; choose one of them with --id")
    for index, document in enumerate(store.documents):
        if id is None or (document.id or str(index + 1)) == id:
            tokens = store.tokens.select(np.array([index]))
            return EncodedDocuments([document], tokens, encoder.encode_tokens(tokens))
    raise CorpusError(f"{path}: no document has the id {id!r}")
