"""Documents on their way from a file to a model: each is tokenised once and encoded once, and travels as one object."""

import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.corpus.document import Document
from taxocaps.encoding.encoders import ENCODERS, Encoder, Encoding
from taxocaps.errors import StoreError
from taxocaps.text.pipeline import Content, TextConfig, TextPipeline
from taxocaps.text.tokens import Tokens
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["DocumentEncoder", "EncodedDocuments", "chunks", "plain_text"]

_CHUNK_DOCUMENTS = 1_024
_CHUNK_CHARACTERS = 4_000_000


@dataclass(frozen=True, eq=False)
class EncodedDocuments:
    """Tokenised and encoded documents, in memory or memory-mapped from a store.

    Attributes:
        documents: The documents; those of a store have no texts, and are read from disk at each iteration.
        tokens: Their words.
        encodings: Their encodings, by name.
        indices: Which of the documents in `tokens` and `encodings` are selected; None for all.
        store: The folder of the store that they come from, if any; its encodings are checked when they are read.
    """

    documents: Iterable[Document]
    tokens: Tokens
    encodings: Mapping[str, Encoding]
    indices: NDArray[np.int64] | None = None
    store: Path | None = None

    def __len__(self) -> int:
        return len(self.tokens) if self.indices is None else len(self.indices)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of words of each document; int64 [documents]."""
        return self.tokens.lengths if self.indices is None else self.tokens.lengths[self.indices]

    @property
    def selected_tokens(self) -> Tokens:
        """The words of the selected documents alone."""
        return self.tokens if self.indices is None else self.tokens.select(self.indices)

    def select(self, indices: NDArray[np.int64]) -> "EncodedDocuments":
        """Some of the documents, in the order given; nothing is copied."""
        indices = np.asarray(indices, np.int64)
        return replace(self, indices=indices if self.indices is None else self.indices[indices])

    def with_others(self, others: "EncodedDocuments") -> "EncodedDocuments":
        """These documents and others, none of which may have encodings, together in memory."""
        if self.encodings or others.encodings:
            raise ValueError("only documents without encodings can be put together")
        tokens = Tokens.concatenate([self.selected_tokens, others.selected_tokens])
        return EncodedDocuments([*self.documents, *others.documents], tokens, {})

    def encoding(self, name: str) -> Encoding:
        """One of the encodings, of the selected documents."""
        encoding = self.encodings[name]
        if self.store is not None:
            encoding = _Stored(encoding, self.store / name, len(self.tokens.words))
        return encoding if self.indices is None else _Selection(encoding, self.indices)

    def token_chunks(self, size: int = _CHUNK_DOCUMENTS) -> Iterator[Tokens]:
        """The words of the selected documents, some documents at a time."""
        if self.indices is None and len(self) <= size and not isinstance(self.tokens.ids, np.memmap):
            yield self.tokens  # all of them, in memory
            return
        for start in range(0, len(self), size):
            positions = np.arange(start, min(start + size, len(self)))
            yield self.tokens.select(positions if self.indices is None else self.indices[positions])
            self.release_pages()

    def release_pages(self) -> None:
        """Return the memory pages of a store that were read to the system.

        They stay in the system's cache, but no longer count as memory of this process, which would otherwise grow to
        the size of the store.
        """
        for owner in (self.tokens, *self.encodings.values()):
            for array in vars(owner).values():
                if isinstance(array, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
                    array._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class _Stored:
    """An encoding of a store, which may be damaged: word ids and positions are checked when they are read."""

    encoding: Encoding
    path: Path
    words: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.encoding.lengths

    def arrays(self, documents: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        words, *others = self.encoding.arrays(documents)
        places = [array for array in others if array.dtype == np.int8]
        is_sound = _within(words, self.words + Vocabulary.FIRST) and all(
            _within(array, words.shape[-1] + 1) for array in places
        )
        if not is_sound or not all(np.isfinite(array).all() for array in others):
            raise StoreError(
                f"{self.path}: damaged: it holds words or places that do not exist; encode the corpus again"
            )
        return words, *others


def _within(array: NDArray[Any], count: int) -> bool:
    return not array.size or bool(array.min() >= 0 and array.max() < count)


@dataclass(frozen=True, eq=False)
class _Selection:
    """Some documents of an encoding."""

    encoding: Encoding
    indices: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.encoding.lengths[self.indices]

    def arrays(self, documents: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        return self.encoding.arrays(self.indices[documents])


class DocumentEncoder:
    """Tokenises and encodes documents, by the options of a model.

    Attributes:
        pipeline: Turns texts into words.
        encoders: Turn words into arrays, by the name of the encoding.
        reads_raw: Whether an encoder also reads the raw tokens, which are then kept with the words.
    """

    def __init__(self, text: TextConfig, sections: Mapping[str, Any], threads: int = 1) -> None:
        """Prepare the text pipeline and the encoders.

        Args:
            text: The options of the text pipeline.
            sections: The options of each encoding, by name.
            threads: Threads of compiled parts.
        """
        self.pipeline = TextPipeline(text)
        self.encoders: Mapping[str, Encoder] = {
            name: ENCODERS[name](config, threads) for name, config in sections.items()
        }
        self.reads_raw = any(encoder.reads_raw for encoder in self.encoders.values())
        for encoder in self.encoders.values():
            encoder.check()

    @property
    def options(self) -> dict[str, Any]:
        """The options by which documents are read, as plain values: the section `text`, then those of the encoders."""
        sections = {encoder.Config.section: encoder.portable.as_mapping() for encoder in self.encoders.values()}
        return {"text": self.pipeline.config.portable.as_mapping(), **sections}

    def encode(self, documents: Sequence[Document], *, spans: bool = False) -> EncodedDocuments:
        """Tokenise and encode some documents.

        Args:
            documents: The documents; a few hundred at a time are fast and small enough.
            spans: Also find the position of each word in its text.
        """
        tokens = self.tokenize([document.content for document in documents], spans=spans)
        return EncodedDocuments(documents, tokens, self.encode_tokens(tokens))

    def tokenize(self, contents: Iterable[Content], *, spans: bool = False) -> Tokens:
        """The words of documents, with the raw tokens if an encoder reads them; see `TextPipeline.tokenize`."""
        return self.words(self.tokenizer.tokenize(contents, spans=spans))

    @property
    def tokenizer(self) -> TextPipeline:
        """The pipeline that reads texts: that of the words or, if raw tokens are kept, that of raw tokens."""
        return self.pipeline.raw if self.reads_raw else self.pipeline

    def words(self, tokens: Tokens) -> Tokens:
        """The words, from the tokens that `tokenizer` gives."""
        return self.pipeline.reread(tokens, keep_raw=True) if self.reads_raw else tokens

    def reread(self, documents: EncodedDocuments) -> EncodedDocuments:
        """Encode documents that have raw tokens; their texts are not tokenised again."""
        tokens = self.reread_tokens(documents.selected_tokens)
        return EncodedDocuments(documents.documents, tokens, self.encode_tokens(tokens))

    def reread_tokens(self, raw: Tokens) -> Tokens:
        """The words that this encoder reads in raw tokens."""
        return self.pipeline.reread(raw, keep_raw=self.reads_raw)

    def encode_tokens(self, tokens: Tokens) -> dict[str, Encoding]:
        """The encodings of tokenised documents."""
        return {name: encoder.encode(tokens) for name, encoder in self.encoders.items()}

    def stream(self, documents: Iterable[Document], size: int = _CHUNK_DOCUMENTS) -> Iterator[EncodedDocuments]:
        """Tokenise and encode a stream of documents; one chunk is in memory at a time."""
        return map(self.encode, chunks(documents, size))


def chunks(documents: Iterable[Document], size: int = _CHUNK_DOCUMENTS) -> Iterator[list[Document]]:
    """Cut a stream of documents into lists that are long enough to be fast and short enough to be small."""
    chunk: list[Document] = []
    characters = 0
    for document in documents:
        chunk.append(document)
        characters += len(document.text) if document.tokens is None else sum(map(len, document.tokens))
        if len(chunk) == size or characters > _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def plain_text(document: Document) -> str:
    """The text of a document; ready tokens are joined by spaces."""
    return document.text if document.tokens is None else " ".join(document.tokens)
