"""Bags of words, pairs of words or character n-grams of a document, weighted by how rare they are (tf-idf)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack

from taxocaps.config import AtLeast, Config
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.text.tokens import Tokens
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["IDF_BOUNDS", "BagConfig", "BagOfWords"]

_LENGTHS = (3, 4, 5)
"""The lengths of character n-grams, a space before and after each word included."""
IDF_BOUNDS = (1e-3, 100.0)
"""Every idf lies between these, however many documents there are."""
_REMEMBERED = 2**17
"""Words whose n-grams are remembered."""


class BagConfig(Config):
    """What is counted in a document, and how.

    Attributes:
        features: Single words; words and pairs of neighbouring words; or character n-grams of 3 to 5 inside words.
        counts: Whether a feature counts as often as it occurs, one plus the logarithm of that, or once.
        min_documents: The least number of training documents that have a feature; linear models with less than ten
            times as many documents take fewer.
        max_features: The largest number of features, the most frequent ones; null for no limit.
    """

    section: ClassVar[str] = "bag"

    features: Literal["words", "pairs", "characters"] = "words"
    counts: Literal["all", "logarithm", "once"] = "logarithm"
    min_documents: Annotated[int, AtLeast(1)] = 2
    max_features: Annotated[int, AtLeast(1)] | None = None


@dataclass(frozen=True, eq=False)
class BagOfWords:
    """Documents as tf-idf vectors of length 1, against a fixed vocabulary of features.

    tf-idf is as in scikit-learn: idf(f) = 1 + ln((1 + documents) / (1 + documents with f)).

    Attributes:
        vocabulary: The features that count; the column of a feature is its id, less the two special ones.
        idf: The weight of each feature; float64 [V].
        config: What is counted, and how.
    """

    vocabulary: Vocabulary
    idf: NDArray[np.float64]
    config: BagConfig

    @classmethod
    def learn(cls, documents: EncodedDocuments, config: BagConfig) -> "BagOfWords":
        """Choose features and weigh them, from training documents."""
        found: dict[str, int] = {}  # documents with each feature
        for tokens in documents.token_chunks():
            names, counts = _FEATURES[config.features](tokens)
            present = np.bincount(counts.indices, minlength=len(names))
            for index in np.flatnonzero(present).tolist():
                found[names[index]] = found.get(names[index], 0) + int(present[index])
        found.pop("", None)
        frequent = ((-count, name) for name, count in found.items() if count >= config.min_documents)
        chosen = sorted(frequent)[: config.max_features]
        vocabulary = Vocabulary([name for _, name in chosen], [-count for count, _ in chosen])
        idf = 1 + np.log((1 + len(documents)) / (1 + np.array(vocabulary.counts, np.float64)))
        return cls(vocabulary, idf, config)

    def transform(self, documents: EncodedDocuments) -> csr_array:
        """The vectors of documents; CSR float64 [documents, V]."""
        parts = [self.counts(tokens) for tokens in documents.token_chunks()]
        if not parts:
            return csr_array((0, len(self.idf)), dtype=np.float64)
        bags = csr_array(vstack(parts, format="csr"))
        bags.indices, bags.indptr = bags.indices.astype(np.int32), bags.indptr.astype(np.int32)  # as solvers have them
        bags.data = _WEIGHTS[self.config.counts](bags.data) * self.idf[bags.indices]
        lengths = np.sqrt(bags.power(2).sum(axis=1))  # [documents]
        bags.data /= np.repeat(lengths, np.diff(bags.indptr))
        return bags

    @cached_property
    def _columns(self) -> "_Spellings":
        return _Spellings(self.vocabulary)

    def knows(self, word: str) -> bool:
        """Whether a word is a feature or, where character n-grams are counted, has one inside."""
        if self.config.features == "characters":
            return any(gram in self.vocabulary for gram in _ngrams(word))
        return word in self.vocabulary

    def counts(self, tokens: Tokens) -> csr_array:
        """How often each known feature occurs in each document; CSR [documents, V]."""
        if self.config.features == "characters":
            words, counts = _words(tokens)
            return csr_array(counts @ _spelled([self._columns[word] for word in words], len(self.idf)))
        names, counts = _FEATURES[self.config.features](tokens)
        columns = self.vocabulary.ids(names) - Vocabulary.FIRST
        kept = columns[counts.indices] >= 0
        rows = np.repeat(np.arange(len(tokens)), np.diff(counts.indptr))[kept]
        pairs = (rows, columns[counts.indices][kept])
        return csr_array((counts.data[kept], pairs), shape=(len(tokens), len(self.idf)))


Counted = tuple[Sequence[str], csr_array]
"""Features by name, and how often each occurs in each document, CSR [documents, features]."""


def _words(tokens: Tokens) -> Counted:
    """The distinct words of some documents."""
    used, ids = np.unique(tokens.ids, return_inverse=True)
    return [tokens.words[index] for index in used.tolist()], _matrix(tokens, ids, len(used))


def _pairs(tokens: Tokens) -> Counted:
    """Words, and pairs of neighbouring words of a document."""
    words, single = _words(tokens)
    _, ids = np.unique(tokens.ids, return_inverse=True)
    is_last = np.zeros(len(ids), bool)
    is_last[tokens.offsets[1:][tokens.lengths > 0] - 1] = True
    first = np.flatnonzero(~is_last)
    codes, index = np.unique(ids[first] * max(1, len(words)) + ids[first + 1], return_inverse=True)
    names = [f"{words[code // len(words)]} {words[code % len(words)]}" for code in codes.tolist()]
    rows = np.repeat(np.arange(len(tokens)), tokens.lengths)[first]
    double = csr_array((np.ones(len(index)), (rows, index)), shape=(len(tokens), len(names)))
    return [*words, *names], csr_array(hstack([single, double], format="csr"))


def _characters(tokens: Tokens) -> Counted:
    """Character n-grams inside words, counted once for each distinct word and then multiplied."""
    words, single = _words(tokens)
    number: dict[str, int] = {}
    columns = [[number.setdefault(gram, len(number)) for gram in _ngrams(word)] if word else [] for word in words]
    return list(number), csr_array(single @ _spelled(columns, len(number)))


def _spelled(columns: Sequence[Sequence[int]], width: int) -> csr_array:
    """How often words have n-grams; CSR [words, width].

    Args:
        columns: The columns of the n-grams of each word.
        width: The number of columns.
    """
    ends = np.cumsum([0, *map(len, columns)])
    indices = np.fromiter(chain.from_iterable(columns), np.int64, int(ends[-1]))
    return csr_array((np.ones(len(indices)), indices, ends), shape=(len(columns), width))


class _Spellings(dict[str, tuple[int, ...]]):
    """The columns of the known n-grams of words, worked out when first asked for; emptied when full."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _REMEMBERED:
            self.clear()
        columns = self._vocabulary.ids(_ngrams(word) if word else ()) - Vocabulary.FIRST
        found = self[word] = tuple(columns[columns >= 0].tolist())
        return found


def _ngrams(word: str) -> list[str]:
    """The n-grams of a word with a space on either side; a shorter word is one n-gram, as in scikit-learn's char_wb.

    >>> _ngrams("oil")
    [' oi', 'oil', 'il ', ' oil', 'oil ', ' oil ']
    """
    padded = f" {word} "
    grams = []
    for length in _LENGTHS:
        grams += [padded[start : start + length] for start in range(len(padded) - length + 1)] or [padded]
        if len(padded) <= length:
            break
    return grams


def _matrix(tokens: Tokens, columns: NDArray[np.integer], width: int) -> csr_array:
    rows = np.repeat(np.arange(len(tokens)), tokens.lengths)
    return csr_array((np.ones(len(columns)), (rows, columns)), shape=(len(tokens), width))


_FEATURES: Mapping[str, Callable[[Tokens], Counted]] = {"words": _words, "pairs": _pairs, "characters": _characters}

_WEIGHTS: Mapping[str, Callable[[Any], Any]] = {
    "all": lambda counts: counts,
    "logarithm": lambda counts: 1 + np.log(counts),
    "once": np.ones_like,
}
