"""From texts to sequences of word ids, whole or cut into sentences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import Between, Config
from taxocaps.encoding.corpus_words import Pipeline, Text
from taxocaps.progress import Progress, silent
from taxocaps.text.token_chunk import TokenChunk
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["SentenceDocuments", "SentenceEncoder", "TokenDocuments", "TokenEncoder", "TokensConfig"]

_Count = Annotated[int, Between(1, 1_000_000)]


class TokensConfig(Config):
    """How much of a document networks over sequences read.

    Attributes:
        unit: What is read one after another.
        length: The most units of a document; the rest of it is not read.
        sentences: The most sentences of a document, for networks that read by the sentence.
        sentence_length: The most words of a sentence; a longer one is read as several.
    """

    section: ClassVar[str] = "tokens"

    unit: Literal["words", "characters"] = "words"
    length: _Count = 400
    sentences: _Count = 40
    sentence_length: _Count = 40


@dataclass(frozen=True)
class TokenDocuments:
    """Documents as sequences of ids: document i has those from `offsets[i]` on, `lengths[i]` of them."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def arrays(self, documents: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Ids [B, T], 0 where a document has ended, and lengths [B]."""
        lengths = self.lengths[documents]  # [B]
        return _padded(self.ids, self.offsets[documents], lengths), lengths


@dataclass(frozen=True)
class SentenceDocuments:
    """Documents as sentences: document i has those from `offsets[i]` to `offsets[i + 1]`, s from `starts[s]` on."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The sentences of each document."""
        return np.diff(self.offsets)

    def arrays(self, documents: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Ids [B, S, W], 0 where nothing is, and the words of each sentence [B, S], 0 where there is none."""
        first, counts = self.offsets[documents], self.offsets[documents + 1] - self.offsets[documents]  # [B], [B]
        sizes, starts = (_padded(values, first, counts) for values in (self.sizes, self.starts))  # [B, S], [B, S]
        words = _padded(self.ids, starts.ravel(), sizes.ravel())  # [B S, W]
        return words.reshape(*sizes.shape, -1), sizes


@dataclass(frozen=True)
class TokenEncoder:
    """Encodes documents as sequences against a fixed vocabulary."""

    pipeline: Pipeline
    vocabulary: Vocabulary
    config: TokensConfig = field(default_factory=TokensConfig)

    def read(self, texts: Iterable[Text]) -> TokenDocuments:
        """The ids of some texts."""
        return self._documents([self.pipeline.chunk(texts)])

    def store(
        self, chunks: Sequence[TokenChunk], folder: Path, progress: Progress = silent, stage: str = ""
    ) -> TokenDocuments:
        """The ids of tokenised documents; they are few enough to stay in memory."""
        return self._documents(chunks)

    def _documents(self, chunks: Sequence[TokenChunk]) -> TokenDocuments:
        offsets = _joined([chunk.offsets for chunk in chunks])
        lengths = np.minimum(np.diff(offsets), self.config.length)
        return TokenDocuments(_ids(chunks, self.vocabulary), offsets[:-1], lengths)


@dataclass(frozen=True)
class SentenceEncoder:
    """Encodes documents as sentences against a fixed vocabulary."""

    pipeline: Pipeline
    vocabulary: Vocabulary
    config: TokensConfig = field(default_factory=TokensConfig)

    def read(self, texts: Iterable[Text]) -> SentenceDocuments:
        """The sentences of some texts."""
        return self._documents([self.pipeline.chunk(texts)])

    def store(
        self, chunks: Sequence[TokenChunk], folder: Path, progress: Progress = silent, stage: str = ""
    ) -> SentenceDocuments:
        """The sentences of tokenised documents; they are few enough to stay in memory."""
        return self._documents(chunks)

    def _documents(self, chunks: Sequence[TokenChunk]) -> SentenceDocuments:
        offsets = _joined([chunk.offsets for chunk in chunks])
        ends = _joined([np.r_[0, chunk.sentence_ends] for chunk in chunks], [len(chunk.ids) for chunk in chunks])
        cuts = _pieces(np.unique(np.r_[offsets, ends]), self.config.sentence_length)
        first = np.searchsorted(cuts, offsets)  # the piece that each document begins with
        count = np.minimum(np.diff(first), self.config.sentences)
        kept = np.repeat(first[:-1] - np.r_[0, np.cumsum(count)[:-1]], count) + np.arange(count.sum())
        return SentenceDocuments(
            _ids(chunks, self.vocabulary), cuts[kept], np.diff(cuts)[kept], np.r_[0, np.cumsum(count)]
        )


def _ids(chunks: Sequence[TokenChunk], vocabulary: Vocabulary) -> NDArray[np.int32]:
    found = [vocabulary.ids(chunk.words)[chunk.ids] for chunk in chunks]
    return np.concatenate(found) if found else np.zeros(0, np.int32)


def _joined(places: Sequence[NDArray[np.int64]], sizes: Sequence[int] | None = None) -> NDArray[np.int64]:
    """Places in one array after another, each starting with 0, as places in all of them; without the doubled bounds."""
    sizes = sizes or [int(each[-1]) for each in places]
    before = np.cumsum([0, *sizes])
    shifted = [each[1:] + start for each, start in zip(places, before[:-1].tolist(), strict=True)]
    return np.concatenate([np.zeros(1, np.int64), *shifted])


def _pieces(bounds: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Bounds with more between them, so that no two are further apart than `most`."""
    counts = -(-np.diff(bounds) // most)  # pieces of each stretch
    inner = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.concatenate([np.repeat(bounds[:-1], counts) + inner * most, bounds[-1:]])


def _padded(values: NDArray[Any], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[Any]:
    """Stretches of an array as rows, filled up with 0; [rows, greatest length, at least 1]."""
    width = max(1, int(lengths.max(initial=0)))
    places = np.arange(width)
    is_there = places < lengths[:, None]  # [rows, width]
    padded = np.zeros(is_there.shape, values.dtype)
    padded[is_there] = values[(starts[:, None] + places)[is_there]]
    return padded
