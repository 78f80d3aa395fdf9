"""Encode a corpus: from a file of documents to a store of words-matrices, in bounded memory, resumable."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from taxocaps._version import __version__
from taxocaps.corpus.document import Document, document_name
from taxocaps.corpus.readers import ReadReport, read_documents
from taxocaps.encoding.token_cache import TokenCache
from taxocaps.encoding.words_matrix import encode_chunk
from taxocaps.errors import FileError, GraphError, WriteError
from taxocaps.graph.store import StoreWriter
from taxocaps.settings import as_mapping, fingerprint
from taxocaps.text.pipeline import TextPipeline
from taxocaps.text.vector_files import load_vectors
from taxocaps.text.vectors import align, train_skip_gram
from taxocaps.text.vocabulary import Vocabulary, WordCounter
from taxocaps.workflows.config import EncodeConfig
from taxocaps.workflows.progress import Progress, silent

__all__ = ["EncodeReport", "encode"]

_CHUNK_DOCUMENTS = 1_024
_CHUNK_CHARACTERS = 4_000_000


@dataclass(frozen=True)
class EncodeReport:
    """What an encoding run did.

    Attributes:
        out: The folder of the store.
        documents: Documents in the store.
        skipped: Broken records left out (`corpus.on_error = "skip"`), with the first messages in `problems`.
        without_words: Documents that have no words after the text pipeline; they are kept, without rows.
        words: Words kept in all documents.
        rows: Rows of all words-matrices.
        vocabulary: Size of the vocabulary, padding and unknown word included.
        vectors_found: Share of the vocabulary found in a file of word vectors, if one was given.
        problems: The first few broken records.
    """

    out: str
    documents: int
    skipped: int
    without_words: int
    words: int
    rows: int
    vocabulary: int
    vectors_found: float | None
    problems: tuple[str, ...]


def encode(
    corpus: Path | str,
    out: Path | str,
    config: EncodeConfig | None = None,
    *,
    vocabulary: Path | str | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress = silent,
) -> EncodeReport:
    """Encode a corpus into a store.

    The work is done in a hidden folder beside `out` that is renamed at the end. When it is interrupted, the folder
    stays, and the same call goes on from there.

    Args:
        corpus: A file or folder of documents, in any format that can be read.
        out: The folder to make.
        config: The options of all stages.
        vocabulary: A vocabulary file, or the folder of another store, whose vocabulary is to be used. By default the
            vocabulary is made from this corpus.
        overwrite: Whether an `out` that exists is replaced, once the new one is complete.
        threads: Threads for the compiled part; by default one per processor.
        progress: Told where the work stands.

    Returns:
        Counts of what was encoded and left out.
    """
    out = Path(out)
    _check_target(out, overwrite)
    run = _Run(Path(corpus), out, config or EncodeConfig(), threads or os.cpu_count() or 1, progress)
    try:
        return run(_load_vocabulary(Path(vocabulary)) if vocabulary else None)
    except (OSError, WriteError) as error:
        reason = error if isinstance(error, OSError) else error.__cause__
        raise WriteError(
            f"{out}: cannot be written: {getattr(reason, 'strerror', None) or reason}; "
            "the finished part is kept, and the same command goes on from there"
        ) from error
    finally:
        run.tidy()


@dataclass
class _Run:
    """One encoding run: what it works on, and what it has counted so far."""

    corpus: Path
    out: Path
    config: EncodeConfig
    threads: int
    progress: Progress
    reading: ReadReport = field(default_factory=ReadReport)
    counter: WordCounter = field(default_factory=WordCounter)
    words: int = 0
    without_words: int = 0

    @property
    def folder(self) -> Path:
        """Where the work is done."""
        return self.out.parent / f".{self.out.name}.partial"

    def __call__(self, vocabulary: Vocabulary | None) -> EncodeReport:
        pipeline = TextPipeline(self.config.text)
        self.folder.mkdir(parents=True, exist_ok=True)
        cache = TokenCache(self.folder / "tokens", pipeline)
        self._tokenise(cache)
        if vocabulary is None:
            vocabulary = Vocabulary.from_counts(self.counter.counts, self.config.vocabulary)
        vocabulary.save(self.folder / "vocabulary.tsv")
        found = self._write_vectors(cache, vocabulary)
        rows = self._write_rows(cache, vocabulary)
        shutil.rmtree(self.folder / "tokens")
        _replace(self.out, self.folder)
        return EncodeReport(
            out=str(self.out),
            documents=self.reading.documents,
            skipped=self.reading.skipped,
            without_words=self.without_words,
            words=self.words,
            rows=rows,
            vocabulary=len(vocabulary),
            vectors_found=found,
            problems=tuple(self.reading.messages),
        )

    def tidy(self) -> None:
        """Leave nothing behind but work that another run can use."""
        if self.folder.exists() and not any(self.folder.glob("tokens/*.npz")):
            shutil.rmtree(self.folder)

    def _tokenise(self, cache: TokenCache) -> None:
        """Read all documents once: words go to the cache and are counted, ids and labels to `documents.jsonl`."""
        documents = read_documents(self.corpus, self.config.corpus, report=self.reading)
        with (self.folder / "documents.jsonl").open("w", encoding="utf-8") as listing:
            for chunk_of_documents in _chunks(documents):
                chunk = cache.add(chunk_of_documents)
                self.counter.add(chunk)
                self.words += len(chunk.ids)
                self.without_words += int(np.count_nonzero(np.diff(chunk.offsets) == 0))
                listing.writelines(map(_listed, chunk_of_documents))
                self.progress("reading documents", self.reading.documents)

    def _write_vectors(self, cache: TokenCache, vocabulary: Vocabulary) -> float | None:
        """Train or load word vectors as the configuration says; returns the share found in a file."""
        options, found = self.config.vectors, None
        if options.source == "none":
            return None
        if options.source == "skip-gram":
            vectors = train_skip_gram(
                _Sentences(cache),
                vocabulary,
                options,
                progress=lambda done, total: self.progress("training word vectors", done, total),
            )
        else:
            loaded = load_vectors(Path(options.source), words=vocabulary)
            vectors, found = align(vocabulary, loaded, np.random.default_rng(options.seed))
        np.save(self.folder / "vectors.npy", vectors)
        return found

    def _write_rows(self, cache: TokenCache, vocabulary: Vocabulary) -> int:
        """Run the graph kernels over the cached words; returns the number of rows written."""
        graph, done, rows = self.config.graph, 0, 0
        self.progress("building words-matrices", 0, self.reading.documents)  # the very first time, numba compiles now
        with StoreWriter(self.folder, graph.T) as writer:
            for chunk in cache:
                try:
                    matrices = encode_chunk(chunk, vocabulary, graph, self.threads)
                except GraphError as error:
                    raise GraphError(f"{self._document(done + (error.document or 0))}: {error}") from error
                writer.append(matrices)
                done += len(matrices)
                rows += len(matrices.words)
                self.progress("building words-matrices", done, self.reading.documents)
            writer.finish(self._manifest(cache, vocabulary))
        return rows

    def _manifest(self, cache: TokenCache, vocabulary: Vocabulary) -> dict[str, object]:
        return {
            "taxocaps": __version__,
            "config": as_mapping(self.config),
            "hashes": {
                "config": fingerprint([cache.pipeline.fingerprint, as_mapping(self.config.graph)]),
                "vocabulary": vocabulary.fingerprint,
                "source": cache.digest,
            },
            "counts": {"words": self.words, "vocabulary": len(vocabulary), "without_words": self.without_words},
        }

    def _document(self, place: int) -> str:
        """How to name the document at a place, counted from 0."""
        with (self.folder / "documents.jsonl").open(encoding="utf-8") as listing:
            for number, line in enumerate(listing):
                if number == place:
                    return f"{self.corpus}, {document_name(json.loads(line)['id'], place + 1)}"
        raise IndexError(place)


@dataclass(frozen=True)
class _Sentences:
    """The cached documents as lists of words; can be read again for every epoch."""

    cache: TokenCache

    def __iter__(self) -> Iterator[list[str]]:
        for chunk in self.cache:
            yield from chunk.documents()


def _chunks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Cut a stream of documents into lists that are long enough to be fast and short enough to be small."""
    chunk: list[Document] = []
    characters = 0
    for document in documents:
        chunk.append(document)
        characters += len(document.text)
        if len(chunk) == _CHUNK_DOCUMENTS or characters > _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _listed(document: Document) -> str:
    entry = {"id": document.id, "labels": document.labels, "split": document.split}
    return json.dumps(entry, ensure_ascii=False) + "\n"


def _check_target(out: Path, overwrite: bool) -> None:
    """Refuse to write over anything that is not an encoded store, whatever the user says."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / "manifest.json").is_file():
        raise FileError(f"{out}: exists and is not an encoded store; choose another --out")
    if not overwrite:
        raise FileError(f"{out}: exists already; choose another --out, or give --overwrite to replace it")


def _load_vocabulary(path: Path) -> Vocabulary:
    return Vocabulary.load(path / "vocabulary.tsv" if path.is_dir() else path)


def _replace(out: Path, new: Path) -> None:
    """Put the finished folder in place of what may be there; the old one goes last."""
    old = out.parent / f".{out.name}.old"
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        out.rename(old)
    new.rename(out)
    shutil.rmtree(old, ignore_errors=True)
