"""Writing stores: documents are tokenised, counted and encoded in bounded memory, and stores of shards are merged."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps._version import __version__
from taxocaps.corpus.document import Document, document_name
from taxocaps.encoding.documents import DocumentEncoder, EncodedDocuments, chunks
from taxocaps.encoding.encoders import Encoder
from taxocaps.encoding.ragged import RaggedWriter
from taxocaps.encoding.store import (
    DOCUMENTS,
    FORMAT,
    MANIFEST,
    TOKENS,
    VOCABULARY,
    Listing,
    is_store,
    open_arrays,
    read_manifest,
)
from taxocaps.errors import FileError, GraphError, StoreError
from taxocaps.files import atomic_path, atomic_text
from taxocaps.progress import Progress, silent
from taxocaps.text.pipeline import TextPipeline
from taxocaps.text.tokens import Tokens
from taxocaps.text.vocabulary import Vocabulary, WordCounter

__all__ = ["StoreMerger", "TokenCache", "write_store"]


def write_store(  # noqa: PLR0913 - a front door: each argument stands for itself
    documents: Iterable[Document] | EncodedDocuments,
    encoder: DocumentEncoder,
    folder: Path,
    *,
    cache: Path | None,
    source: str = "",
    progress: Progress = silent,
    stage: str = "documents",
    tell: Callable[[str], None] = lambda message: None,
) -> Mapping[str, Any]:
    """Encode documents into a store; memory does not grow with their number.

    An interrupted run leaves its tokenised documents in `cache`, where the next one finds them. A complete store of the
    same documents and options in `folder` is kept as it is.

    Args:
        documents: The documents, read once; or those of another store, whose words are taken as they are.
        encoder: How they are tokenised and encoded.
        folder: An existing folder.
        cache: A folder for tokenised documents, made if need be; None keeps them in memory, if they are few.
        source: Where the documents come from, for messages.
        progress: Called with the progress of the work.
        stage: What the documents are called in progress reports.
        tell: Called with messages for the user beforehand, such as the time that a slow encoder will take.

    Returns:
        The manifest.

    Raises:
        GraphError: For a document that cannot be encoded; it is named.
    """
    if isinstance(documents, EncodedDocuments):
        words: Iterable[Tokens] = _StoredWords(documents)
        parts = _StoredWords(documents).with_documents()
    else:
        kept = TokenCache(cache, encoder.tokenizer) if cache is not None else _TokenList(encoder.tokenizer)
        words = _ReadWords(kept, encoder)
        parts = ((chunk, encoder.words(kept.add(chunk))) for chunk in chunks(documents))
    writer = _StoreWriter(folder, encoder, words, cache)
    with atomic_text(folder / DOCUMENTS) as listing:
        for part in parts:
            listing.writelines(writer.read(*part))
            progress(f"reading {stage}", writer.documents)
    if is_store(folder):
        manifest = read_manifest(folder)
        if manifest["hashes"] == writer.hashes and manifest["config"] == encoder.options:
            return manifest
        (folder / MANIFEST).unlink()
    for line in writer.estimates():
        tell(line)
    try:
        writer.encode(lambda done: progress(f"encoding {stage}", done, writer.documents))
    except GraphError as error:
        raise GraphError(f"{_document_name(folder, source, error.document or 0)}: {error}") from error
    manifest = writer.manifest()
    _write_manifest(folder, manifest)
    writer.forget()
    return manifest


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    with atomic_text(folder / MANIFEST) as file:
        json.dump(manifest, file, indent=2, ensure_ascii=False)
        file.write("\n")


class StoreMerger:
    """Puts stores with the same options together, one after the other; memory does not grow with their number."""

    def __init__(self, folder: Path) -> None:
        """Merge into `folder`, which must exist."""
        self._folder = folder
        self._manifests: dict[Path, Mapping[str, Any]] = {}
        self._counter = WordCounter()

    def add(self, path: Path) -> None:
        """Take in the next store and count its words; more can be in the making."""
        manifest = self._manifests[path] = read_manifest(path)
        if manifest["counts"]["documents"]:
            vocabulary = Vocabulary.load(path / VOCABULARY)
            self._counter.add_counts(vocabulary.words, vocabulary.counts)

    def merge(self, *, progress: Progress = silent) -> Mapping[str, Any]:
        """Write the whole, and return its manifest; at least one of the stores must have documents."""
        full = {path: manifest for path, manifest in self._manifests.items() if manifest["counts"]["documents"]}
        example = next(iter(full.values()))
        total, done = sum(manifest["counts"]["documents"] for manifest in full.values()), 0
        vocabulary = Vocabulary.from_counts(self._counter.counts)
        vocabulary.save(self._folder / VOCABULARY)
        with ExitStack() as files:
            listing = files.enter_context(atomic_text(self._folder / DOCUMENTS))
            writers = {
                name: files.enter_context(RaggedWriter(self._folder / name)) for name in (TOKENS, *example["encodings"])
            }
            for path, manifest in full.items():
                _append_store(path, manifest["arrays"], vocabulary, writers)
                listing.write((path / DOCUMENTS).read_text(encoding="utf-8"))
                progress("joining documents", done := done + manifest["counts"]["documents"], total)
        whole = self._manifest(example, vocabulary, writers)
        _write_manifest(self._folder, whole)
        return whole

    def _manifest(
        self, example: Mapping[str, Any], vocabulary: Vocabulary, writers: Mapping[str, RaggedWriter]
    ) -> dict[str, Any]:
        """What the whole says of itself; `example` is the manifest of a part with documents."""
        parts = self._manifests.values()
        sources = "".join(str(part["hashes"]["source"]) for part in parts)
        counts = {
            key: sum(int(part["counts"][key]) for part in parts) for key in ("documents", "words", "without_words")
        }
        return {
            **example,
            "hashes": {**example["hashes"], "source": hashlib.sha256(sources.encode()).hexdigest()},
            "counts": {**counts, "vocabulary": len(vocabulary.words)},
            "counts_are_exact": self._counter.exact and all(part["counts_are_exact"] for part in parts),
            "arrays": _described(writers),
        }


def _append_store(
    path: Path, described: Mapping[str, Any], vocabulary: Vocabulary, writers: Mapping[str, RaggedWriter]
) -> None:
    """Write the arrays of a store in the numbering of another vocabulary."""
    ids = vocabulary.ids(Vocabulary.load(path / VOCABULARY).words)
    unknown = np.array([Vocabulary.UNKNOWN], np.int32)
    for name, writer in writers.items():
        arrays: Any = open_arrays(path, name, described)
        offsets = arrays.pop("offsets")
        if name == TOKENS:
            # The last entry stands for words that were forgotten, in the part and in the whole.
            indices = _indices(np.concatenate([ids, unknown]), vocabulary)
            ends = {"sentence_ends": arrays["sentence_ends"]}
            writer.append(offsets, positions=ends, ids=indices[arrays["ids"]])
        else:
            padding = np.array([Vocabulary.PADDING], np.int32)
            if "words" in arrays:
                arrays["words"] = np.concatenate([padding, unknown, ids])[arrays["words"]]
            writer.append(offsets, **arrays)


def _described(writers: Mapping[str, RaggedWriter]) -> dict[str, Any]:
    """The arrays that were written, for the manifest."""
    return {f"{name}/{array}": shape for name, writer in writers.items() for array, shape in writer.described.items()}


def _indices(ids: NDArray[np.int32], vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Ids of words as indices into the words of a store, whose last entry stands for words that were forgotten."""
    return np.where(ids == Vocabulary.UNKNOWN, len(vocabulary.words), ids - Vocabulary.FIRST).astype(np.int32)


class TokenCache:
    """A folder of tokenised chunks that an interrupted run finds again.

    Each file carries in its name a digest of its documents, the pipeline and the versions it was made with, so that a
    chunk is used again only when it would come out the same.
    """

    def __init__(self, folder: Path, pipeline: TextPipeline) -> None:
        """Use `folder`, made if need be; chunks already in it are reused where they fit."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._pipeline = pipeline
        self._key = f"{__version__} {version('simplemma')} {pipeline.fingerprint}".encode()
        self._files: list[Path] = []

    def add(self, documents: Sequence[Document]) -> Tokens:
        """Tokenise the next chunk of documents, or read it back if an earlier run got so far."""
        index = len(self._files)
        path = self._folder / f"{index:06d}-{self._digest(documents)}.npz"
        tokens = _load_if_sound(path)
        if tokens is None:
            tokens = self._pipeline.tokenize(document.content for document in documents)
            for outdated in self._folder.glob(f"{index:06d}-*"):
                outdated.unlink()
            tokens.save(path)
        self._files.append(path)
        return tokens

    def __iter__(self) -> Iterator[Tokens]:
        """The chunks in order, read from disk one at a time; may be repeated."""
        return map(Tokens.load, self._files)

    def _digest(self, documents: Sequence[Document]) -> str:
        digest = hashlib.sha256(self._key)
        for document in documents:
            digest.update(_content_bytes(document))
        return digest.hexdigest()[:32]


def _content_bytes(document: Document) -> bytes:
    """What the text pipeline reads of a document, for hashes."""
    content = document.content
    text, kind = (content, "text") if isinstance(content, str) else ("\0".join(content), "tokens")
    return f"{kind} {len(text)} {text}".encode("utf-8", "surrogatepass")


class _TokenList:
    """Tokenised chunks in memory."""

    def __init__(self, pipeline: TextPipeline) -> None:
        self._pipeline = pipeline
        self._chunks: list[Tokens] = []

    def add(self, documents: Sequence[Document]) -> Tokens:
        self._chunks.append(self._pipeline.tokenize(document.content for document in documents))
        return self._chunks[-1]

    def __iter__(self) -> Iterator[Tokens]:
        return iter(self._chunks)


def _load_if_sound(path: Path) -> Tokens | None:
    try:
        return Tokens.load(path) if path.exists() else None
    except (FileError, StoreError):  # cut off or changed by someone: it is made again
        return None


@dataclass(frozen=True)
class _ReadWords:
    """Tokenised chunks as the text pipeline reads them; may be repeated."""

    chunks: Iterable[Tokens]
    encoder: DocumentEncoder

    def __iter__(self) -> Iterator[Tokens]:
        return map(self.encoder.words, self.chunks)


@dataclass(frozen=True)
class _StoredWords:
    """The words of a store in chunks, each with its own words only, as the text pipeline gives them."""

    store: EncodedDocuments

    def __iter__(self) -> Iterator[Tokens]:
        for tokens in self.store.token_chunks():
            used, ids = np.unique(tokens.ids, return_inverse=True)
            yield replace(tokens, words=[tokens.words[index] for index in used.tolist()], ids=ids.astype(np.int32))

    def with_documents(self) -> Iterator[tuple[list[Document], Tokens]]:
        listing = iter(self.store.documents)
        for tokens in self:
            documents = zip(islice(listing, len(tokens)), tokens.documents(), strict=True)
            yield [replace(document, tokens=tuple(words)) for document, words in documents], tokens


class _StoreWriter:
    """Two passes over the documents: words are counted, then arrays are written."""

    def __init__(self, folder: Path, encoder: DocumentEncoder, words: Iterable[Tokens], cache: Path | None) -> None:
        self.documents = 0
        self._slow = (
            {}
            if cache is None
            else {name: _SlowChunks(cache / name, one) for name, one in encoder.encoders.items() if one.is_slow}
        )
        self._raw = 0
        self._folder, self._encoder, self._chunks = folder, encoder, words
        self._stored = {name: one for name, one in encoder.encoders.items() if one.stored}
        self._counter = WordCounter()
        self._source = hashlib.sha256()
        self._words = self._without_words = 0
        self._arrays: dict[str, Any] = {}

    def read(self, chunk: Sequence[Document], tokens: Tokens) -> list[str]:
        """Take in a chunk; returns its lines of the listing."""
        self._counter.add(tokens)
        self.documents += len(chunk)
        self._words += len(tokens.ids)
        self._raw += len(tokens.raw.ids) if tokens.raw is not None else 0
        self._without_words += int(np.count_nonzero(tokens.lengths == 0))
        lines = [_listed(document) for document in chunk]
        for document, line in zip(chunk, lines, strict=True):
            self._source.update(line.encode())
            self._source.update(_content_bytes(document))
        return lines

    def estimates(self) -> Iterator[str]:
        """What slow encoders will take."""
        found = (one.estimate(self.documents, self._words, self._raw) for one in self._stored.values())
        return filter(None, found)

    def forget(self) -> None:
        """Delete what was kept for a run that goes on later."""
        for kept in self._slow.values():
            kept.forget()

    @property
    def hashes(self) -> dict[str, str]:
        return {"source": self._source.hexdigest(), "text": self._encoder.pipeline.fingerprint}

    def encode(self, progress: Callable[[int], None]) -> None:
        """Write the tokens in the numbering of the store, and the encodings that are stored."""
        self._forgotten = self._counter.counts.pop("", 0)  # words that another store forgot have no name
        vocabulary = Vocabulary.from_counts(self._counter.counts)
        vocabulary.save(self._folder / VOCABULARY)
        progress(done := 0)  # the very first time, numba compiles now
        with ExitStack() as files:
            writers = {name: files.enter_context(RaggedWriter(self._folder / name)) for name in (TOKENS, *self._stored)}
            for tokens in self._chunks:
                try:
                    self._append(tokens, vocabulary, writers)
                except GraphError as error:
                    raise GraphError(str(error), document=done + (error.document or 0)) from error
                progress(done := done + len(tokens))
            self._arrays = _described(writers)

    def _append(self, tokens: Tokens, vocabulary: Vocabulary, writers: Mapping[str, RaggedWriter]) -> None:
        ids = vocabulary.ids(tokens.words)
        ends = {"sentence_ends": tokens.sentence_ends}
        writers[TOKENS].append(tokens.offsets, positions=ends, ids=_indices(ids, vocabulary)[tokens.ids])
        for name, encoder in self._stored.items():
            encode = self._slow[name].encode if name in self._slow else encoder.encode
            encoding: Any = encode(tokens, ids)
            writers[name].append(**{field.name: getattr(encoding, field.name) for field in fields(encoding)})

    def manifest(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "taxocaps": __version__,
            "config": self._encoder.options,
            "encodings": list(self._stored),
            "hashes": self.hashes,
            "counts": {
                "documents": self.documents,
                "words": self._words,
                "without_words": self._without_words,
                "vocabulary": len(self._counter.counts),
            },
            "counts_are_exact": self._counter.exact and not self._forgotten,
            "arrays": self._arrays,
        }


class _SlowChunks:
    """A folder of encoded chunks of a slow encoder that an interrupted run finds again."""

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        self._folder, self._encoder = folder, encoder

    def encode(self, tokens: Tokens, ids: NDArray[np.int32]) -> Any:
        """Encode a chunk, or read it back if an earlier run got so far."""
        assert self._encoder.stored is not None
        path = self._folder / f"{self._digest(tokens, ids)}.npz"
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return self._encoder.stored(**arrays)
        except Exception:  # not there yet, or cut off: it is made again
            encoding: Any = self._encoder.encode(tokens, ids)
        self._folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as part, part.open("wb") as file:
            np.savez(file, **{field.name: getattr(encoding, field.name) for field in fields(encoding)})
        return encoding

    def forget(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _digest(self, tokens: Tokens, ids: NDArray[np.int32]) -> str:
        read = tokens if tokens.raw is None else tokens.raw
        digest = hashlib.sha256(json.dumps(self._encoder.portable.as_mapping()).encode())
        digest.update("\0".join((*tokens.words, "", *read.words)).encode("utf-8", "surrogatepass"))
        for array in (ids, tokens.ids, tokens.offsets, read.ids, read.offsets):
            digest.update(array.tobytes())
        return digest.hexdigest()[:32]


def _listed(document: Document) -> str:
    entry = {"id": document.id, "labels": document.labels, "split": document.split}
    return json.dumps(entry) + "\n"  # ASCII: a file's name may hold what UTF-8 cannot


def _document_name(folder: Path, source: str, index: int) -> str:
    for position, document in enumerate(Listing(folder / DOCUMENTS)):
        if position == index:
            name = document_name(document.id, index + 1)
            return f"{source}, {name}" if source else name
    raise IndexError(index)
