"""What networks read: words-matrices, sequences of words, sequences of sentences.

An encoder makes arrays out of tokens. Words are written as ids relative to `Tokens.words`: 0 is padding, 1 an unknown
word, and k + 2 the word `words[k]`; whoever reads the arrays maps them to the vocabulary of a model.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import Between, Config
from taxocaps.graph.config import GraphConfig
from taxocaps.graph.words_matrix import WordsMatrices, encode_documents
from taxocaps.registry import Registry
from taxocaps.text.tokens import Tokens
from taxocaps.text.vocabulary import Vocabulary

__all__ = [
    "ENCODERS",
    "Encoder",
    "Encoding",
    "SentenceEncoder",
    "SentencesConfig",
    "TokenEncoder",
    "TokensConfig",
    "WordsMatrixEncoder",
]

Ids = NDArray[np.int32]
Indices = NDArray[np.int64]


class Encoding(Protocol):
    """Encoded documents as arrays that can be cut into batches."""

    @property
    def lengths(self) -> Indices:
        """How much work each document is, such as its number of rows; [documents]."""

    def arrays(self, documents: Indices) -> tuple[NDArray[Any], ...]:
        """What a network reads, for some documents; each array is [B, ...], and the first holds word ids."""


class Encoder(ABC):
    """Makes an encoding out of tokens.

    Attributes:
        Config: The options, a section of a model's configuration.
        stored: A dataclass of ragged arrays that a store keeps on disk; `offsets` [documents + 1] divides the first
            axis of the others, and `words`, if it is there, holds word ids. None for an encoding that is a view of the
            tokens.
        reads_raw: Whether it reads the raw tokens of texts (`Tokens.raw`), too.
        is_slow: Whether encoding takes so long that a store keeps what is done for a run that goes on later.
    """

    Config: ClassVar[type[Config]]
    stored: ClassVar[type[Any] | None] = None
    reads_raw: ClassVar[bool] = False
    is_slow: ClassVar[bool] = False

    def __init__(self, config: Any, threads: int = 1) -> None:
        """Take the options, and the number of threads of compiled parts."""
        self.config, self.threads = config, threads

    @abstractmethod
    def encode(self, tokens: Tokens, word_ids: Ids | None = None) -> Encoding:
        """Encode documents.

        Args:
            tokens: The documents.
            word_ids: What is written for each of `tokens.words`; by default its index plus 2.
        """

    @property
    def shape(self) -> Mapping[str, int]:
        """The sizes that a network must know beforehand, such as N and T."""
        return {}

    @property
    def portable(self) -> Any:
        """The options that decide what comes out, the same on every machine; a store is known by them."""
        return self.config

    def check(self) -> None:  # noqa: B027 - most name nothing
        """Raise an error at once if what the options name is not there."""

    def estimate(self, documents: int, words: int, tokens: int) -> str | None:
        """What encoding will take, for people; None if it is not worth a word.

        Args:
            documents: The number of documents.
            words: Their words in all.
            tokens: Their raw tokens in all, if `reads_raw`.
        """
        return None


class WordsMatrixEncoder(Encoder):
    """Words-matrices of the graph-of-words: words [B, N, T], blocks [B, N, T] and block counts [B, N]."""

    Config = GraphConfig
    stored = WordsMatrices

    def encode(self, tokens: Tokens, word_ids: Ids | None = None) -> WordsMatrices:
        """Compute the words-matrices of documents with the compiled kernels."""
        if word_ids is None:
            word_ids = np.arange(Vocabulary.FIRST, Vocabulary.FIRST + len(tokens.words), dtype=np.int32)
        return encode_documents(
            tokens.ids,
            tokens.offsets,
            word_ids,
            self.config,
            sentence_ends=tokens.sentence_ends,
            threads=self.threads,
        )

    @property
    def shape(self) -> Mapping[str, int]:
        """N rows of T words."""
        return {"N": self.config.N, "T": self.config.T}


class TokensConfig(Config):
    """How much of a document networks over sequences read.

    Attributes:
        length: The largest number of words of a document; the rest of it is not read.
    """

    section: ClassVar[str] = "tokens"

    length: Annotated[int, Between(1, 1_000_000)] = 400


class SentencesConfig(Config):
    """How much of a document networks over sentences read.

    Attributes:
        count: The largest number of sentences of a document.
        length: The largest number of words of a sentence; a longer one is read as several.
    """

    section: ClassVar[str] = "sentences"

    count: Annotated[int, Between(1, 1_000_000)] = 40
    length: Annotated[int, Between(1, 1_000_000)] = 40


class TokenEncoder(Encoder):
    """Sequences of words: ids [B, T], 0 where a document has ended, and lengths [B]."""

    Config = TokensConfig

    def encode(self, tokens: Tokens, word_ids: Ids | None = None) -> "Encoding":
        """A view of the tokens."""
        return _TokenSequences(tokens, word_ids, self.config.length)


class SentenceEncoder(Encoder):
    """Sequences of sentences: ids [B, S, W], 0 where there is nothing, and the words of each sentence [B, S]."""

    Config = SentencesConfig

    def encode(self, tokens: Tokens, word_ids: Ids | None = None) -> "Encoding":
        """A view of the tokens."""
        return _SentenceSequences(tokens, word_ids, self.config)


ENCODERS: Registry[type[Encoder]] = Registry(
    "encoder",
    "taxocaps.encoders",
    {
        "words-matrix": "taxocaps.encoding.encoders:WordsMatrixEncoder",
        "tokens": "taxocaps.encoding.encoders:TokenEncoder",
        "sentences": "taxocaps.encoding.encoders:SentenceEncoder",
        "pieces": "taxocaps.encoding.pieces:PieceEncoder",
        "contextual": "taxocaps.scorers.pretrained:ContextualEncoder",
    },
)
"""The encoders by the names that networks read them under."""


@dataclass(frozen=True, eq=False)
class _TokenSequences:
    """The first words of each document."""

    tokens: Tokens
    word_ids: Ids | None
    most: int

    @cached_property
    def lengths(self) -> Indices:
        return np.minimum(self.tokens.lengths, self.most)

    def arrays(self, documents: Indices) -> tuple[NDArray[Any], ...]:
        lengths = self.lengths[documents]  # [B]
        return _padded_ids(self.tokens, self.word_ids, self.tokens.offsets[documents], lengths), lengths


@dataclass(frozen=True, eq=False)
class _SentenceSequences:
    """The first sentences of each document; long ones are cut into pieces of equal length, the last one shorter."""

    tokens: Tokens
    word_ids: Ids | None
    config: SentencesConfig

    @cached_property
    def lengths(self) -> Indices:
        """The pieces of each document, counted without looking at its words."""
        offsets, ends = self.tokens.offsets, self.tokens.sentence_ends
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) if len(ends) else ends
        pieces = -(-(ends - starts) // self.config.length)  # of each sentence; the end of a document is that of one
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(pieces)])
        return np.minimum(np.diff(before[np.searchsorted(ends, offsets, side="right")]), self.config.count)

    def arrays(self, documents: Indices) -> tuple[NDArray[Any], ...]:
        pieces = [self._pieces(int(document)) for document in documents]  # (starts, sizes) of each document
        S = max(1, max((len(sizes) for _, sizes in pieces), default=1))
        starts, sizes = np.zeros((len(pieces), S), np.int64), np.zeros((len(pieces), S), np.int64)  # [B, S]
        for index, (first, size) in enumerate(pieces):
            starts[index, : len(first)], sizes[index, : len(size)] = first, size
        words = _padded_ids(self.tokens, self.word_ids, starts.ravel(), sizes.ravel())  # [B S, W]
        return words.reshape(*sizes.shape, -1), sizes

    def _pieces(self, document: int) -> tuple[Indices, Indices]:
        begin = int(self.tokens.offsets[document])
        ends = np.array(self.tokens.document_sentence_ends(document), np.int64) + begin
        starts = np.concatenate([[begin], ends[:-1]]).astype(np.int64)[: len(ends)]
        counts = -(-(ends - starts) // self.config.length)
        inner = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        first = np.repeat(starts, counts) + inner * self.config.length
        sizes = np.minimum(np.repeat(ends, counts) - first, self.config.length)
        return first[: self.config.count], sizes[: self.config.count]


def _padded_ids(tokens: Tokens, word_ids: Ids | None, starts: Indices, lengths: Indices) -> Ids:
    """Stretches of the words as rows, filled up with 0; [rows, greatest length, at least 1]."""
    positions = np.arange(max(1, int(lengths.max(initial=0))))
    is_word = positions < lengths[:, None]  # [rows, width]
    found = tokens.ids[(starts[:, None] + positions)[is_word]]
    padded = np.zeros(is_word.shape, np.int32)
    padded[is_word] = found + Vocabulary.FIRST if word_ids is None else word_ids[found]
    return padded
