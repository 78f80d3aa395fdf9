"""Encode a corpus: from a file of documents to a store of words-matrices, in bounded memory, resumable."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from taxocaps._version import __version__
from taxocaps.config import fingerprint
from taxocaps.corpus.document import Document, document_name
from taxocaps.corpus.readers import ReadReport, read_documents
from taxocaps.encoding.corpus_words import learn_vectors
from taxocaps.encoding.token_cache import TokenCache
from taxocaps.encoding.words_matrix import WordsMatrixEncoder, write_store
from taxocaps.errors import ConfigError, FileError, GraphError, VectorsError, WriteError
from taxocaps.graph.store import STORE_FILES, open_store
from taxocaps.progress import Progress, silent
from taxocaps.text.pipeline import TextPipeline
from taxocaps.text.vocabulary import Vocabulary, WordCounter
from taxocaps.workflows.config import EncodeConfig
from taxocaps.workflows.work_folder import WorkFolder, resume_hint

__all__ = ["EncodeReport", "encode"]

_STORE_FILES = {*STORE_FILES, "documents.jsonl", "vocabulary.tsv", "vectors.npy"}
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
        counts_are_exact: False if there were so many different words that the rarest were forgotten while counting.
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
    counts_are_exact: bool
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
    out, config = Path(out), config or EncodeConfig()
    _check_target(out, overwrite)
    _check_vectors(config)
    given = _load_vocabulary(Path(vocabulary), config) if vocabulary else None
    try:
        with WorkFolder(out) as work:
            run = _Run(Path(corpus), work, config, threads or os.cpu_count() or 1, progress)
            return run(TextPipeline(config.text), given)
    except (OSError, WriteError) as error:
        reason = error if isinstance(error, OSError) else error.__cause__
        text = getattr(reason, "strerror", None) or reason
        raise WriteError(f"{out}: cannot be written: {text}{resume_hint(out)}") from error


@dataclass
class _Run:
    """One encoding run: what it works on, and what it has counted so far."""

    corpus: Path
    work: WorkFolder
    config: EncodeConfig
    threads: int
    progress: Progress
    reading: ReadReport = field(default_factory=ReadReport)
    counter: WordCounter = field(default_factory=WordCounter)
    source: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    words: int = 0
    without_words: int = 0

    def __call__(self, pipeline: TextPipeline, vocabulary: Vocabulary | None) -> EncodeReport:
        cache = TokenCache(self.work.kept, pipeline)
        self._tokenise(cache)
        if vocabulary is None:
            vocabulary = Vocabulary.from_counts(self.counter.counts, self.config.vocabulary)
        vocabulary.save(self.work.result / "vocabulary.tsv")
        found = self._write_vectors(cache, vocabulary)
        rows = self._write_rows(cache, vocabulary)
        self.work.publish()
        return EncodeReport(
            out=str(self.work.target),
            documents=self.reading.documents,
            skipped=self.reading.skipped,
            without_words=self.without_words,
            words=self.words,
            rows=rows,
            vocabulary=len(vocabulary),
            counts_are_exact=self.counter.exact,
            vectors_found=found,
            problems=tuple(self.reading.messages),
        )

    def _tokenise(self, cache: TokenCache) -> None:
        """Read all documents once: words go to the cache and are counted, ids and labels to `documents.jsonl`."""
        documents = read_documents(self.corpus, self.config.corpus, report=self.reading)
        with (self.work.result / "documents.jsonl").open("w", encoding="utf-8") as listing:
            for chunk_of_documents in _chunks(documents):
                chunk = cache.add(chunk_of_documents)
                self.counter.add(chunk)
                self.words += len(chunk.ids)
                self.without_words += int(np.count_nonzero(np.diff(chunk.offsets) == 0))
                for document in chunk_of_documents:
                    listing.write(line := _listed(document))
                    self.source.update(f"{line}{document.content!r}".encode("utf-8", "surrogatepass"))
                self.progress("reading documents", self.reading.documents)

    def _write_vectors(self, cache: TokenCache, vocabulary: Vocabulary) -> float | None:
        """Train or load word vectors as the configuration says; returns the share found in a file."""
        if self.config.vectors.source == "none":
            return None
        vectors, found = learn_vectors(cache, vocabulary, self.config.vectors, self.progress)
        np.save(self.work.result / "vectors.npy", vectors)
        return found

    def _write_rows(self, cache: TokenCache, vocabulary: Vocabulary) -> int:
        """Run the graph kernels over the cached words; returns the number of rows written."""
        encoder = WordsMatrixEncoder(cache.pipeline, vocabulary, self.config.graph, self.threads)
        total = self.reading.documents
        try:
            return write_store(
                cache,
                encoder,
                self.work.result,
                self._manifest(cache, vocabulary),
                lambda done: self.progress("building words-matrices", done, total),
            )
        except GraphError as error:
            raise GraphError(f"{self._document(error.document or 0)}: {error}") from error

    def _manifest(self, cache: TokenCache, vocabulary: Vocabulary) -> dict[str, object]:
        return {
            "taxocaps": __version__,
            "config": self.config.as_mapping(),
            "hashes": {
                "config": fingerprint([cache.pipeline.fingerprint, self.config.graph.as_mapping()]),
                "vocabulary": vocabulary.fingerprint,
                "source": self.source.hexdigest(),
            },
            "counts": {"words": self.words, "vocabulary": len(vocabulary), "without_words": self.without_words},
            "counts_are_exact": self.counter.exact,
        }

    def _document(self, place: int) -> str:
        """How to name the document at a place, counted from 0."""
        with (self.work.result / "documents.jsonl").open(encoding="utf-8") as listing:
            for number, line in enumerate(listing):
                if number == place:
                    return f"{self.corpus}, {document_name(json.loads(line)['id'], place + 1)}"
        raise IndexError(place)


def _chunks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Cut a stream of documents into lists that are long enough to be fast and short enough to be small."""
    chunk: list[Document] = []
    characters = 0
    for document in documents:
        chunk.append(document)
        characters += len(document.text) if document.tokens is None else sum(map(len, document.tokens))
        if len(chunk) == _CHUNK_DOCUMENTS or characters > _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _listed(document: Document) -> str:
    entry = {"id": document.id, "labels": document.labels, "split": document.split}
    return json.dumps(entry) + "\n"  # ASCII: a file's name may hold what UTF-8 cannot


def _check_target(out: Path, overwrite: bool) -> None:
    """Refuse to write over anything that is not an encoded store, whatever the user says."""
    if out.absolute() == Path.cwd():
        raise FileError(f"{out}: is the current folder; choose another --out")
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / "manifest.json").is_file():
        raise FileError(f"{out}: exists and is not an encoded store; choose another --out")
    if not overwrite:
        raise FileError(f"{out}: exists already; choose another --out, or give --overwrite to replace it")
    others = sorted({path.name for path in out.iterdir()} - _STORE_FILES)
    if others:
        raise FileError(f"{out}: holds other files than a store ({others[0]}), which would be lost; move them first")


def _check_vectors(config: EncodeConfig) -> None:
    """A mistyped path should not be found out at the end of a long run."""
    source = config.vectors.source
    if source not in ("none", "skip-gram") and not Path(source).is_file():
        raise VectorsError(f"vectors.source must be none, skip-gram or a file of word vectors; no file {source!r}")


def _load_vocabulary(path: Path, config: EncodeConfig) -> Vocabulary:
    """Read a vocabulary file, or that of a store, which must have been encoded with the same options."""
    if not path.is_dir():
        return Vocabulary.load(path)
    theirs, ours = open_store(path).manifest["config"], config.as_mapping()
    for section in ("text", "graph"):
        for key, value in ours[section].items():
            if theirs[section].get(key) != value:
                raise ConfigError(
                    f"{path} was encoded with {section}.{key}={theirs[section].get(key)}, not {value}; documents that "
                    "belong together need the same options"
                )
    return Vocabulary.load(path / "vocabulary.tsv")
