"""Bags of words, pairs of words or character n-grams of a document, weighted by how rare they are (tf-idf)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.compiled import pays
from taxocaps.config import AtLeast, Config, Search, SearchAmong
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.text.tokens import Tokens
from taxocaps.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from taxocaps.encoding.features import FeatureCounter

__all__ = ["IDF_BOUNDS", "BagConfig", "BagOfWords"]

_LENGTHS = (3, 4, 5)
"""The lengths of character n-grams, a space before and after each word included."""
IDF_BOUNDS = (1e-3, 100.0)
"""Every idf lies between these, however many documents there are."""


_Features = Literal["words", "pairs", "characters"]
_Counts = Literal["all", "logarithm", "once"]


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

    features: Annotated[_Features, SearchAmong("words", "pairs", "characters")] = "words"
    counts: Annotated[_Counts, SearchAmong("all", "logarithm", "once")] = "logarithm"
    min_documents: Annotated[int, AtLeast(1), Search(1, 5)] = 2
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
        from taxocaps.encoding.features import FREQUENCIES

        found = FREQUENCIES[config.features](documents, config.min_documents)
        found.pop("", None)
        chosen = sorted((-count, name) for name, count in found.items())[: config.max_features]
        vocabulary = Vocabulary([name for _, name in chosen], [-count for count, _ in chosen])
        idf = 1 + np.log((1 + len(documents)) / (1 + np.array(vocabulary.counts, np.float64)))
        return cls(vocabulary, idf, config)

    def with_features_of(self, older: "BagOfWords") -> "BagOfWords":
        """These features, and those that only an older bag knows, with the weights that they have there."""
        weights = dict(zip(older.vocabulary.words, older.idf.tolist(), strict=True))
        weights.update(zip(self.vocabulary.words, self.idf.tolist(), strict=True))
        counts = dict(zip(older.vocabulary.words, older.vocabulary.counts, strict=True))
        counts.update(zip(self.vocabulary.words, self.vocabulary.counts, strict=True))
        chosen = sorted((-count, name) for name, count in counts.items())[: self.config.max_features]
        vocabulary = Vocabulary([name for _, name in chosen], [-count for count, _ in chosen])
        return BagOfWords(vocabulary, np.array([weights[name] for name in vocabulary.words], np.float64), self.config)

    def transform(self, documents: EncodedDocuments) -> csr_array:
        """The vectors of documents; CSR float32 [documents, V] with sorted indices."""
        parts = [self._counter(tokens) for tokens in documents.token_chunks()]
        bags = self._matrix(*map(np.concatenate, zip(*parts, strict=True))) if parts else self._matrix(*_NOTHING)
        weights = _WEIGHTS[self.config.counts](bags.data) * self.idf[bags.indices]
        rows = np.repeat(np.arange(len(documents)), np.diff(bags.indptr))
        lengths = np.sqrt(np.bincount(rows, weights * weights, len(documents)))  # [documents]
        bags.data = (weights / lengths[rows]).astype(np.float32)
        return bags

    def counts(self, tokens: Tokens) -> csr_array:
        """How often each known feature occurs in each document; CSR [documents, V] with sorted indices."""
        return self._matrix(*self._counter(tokens))

    def _matrix(self, lengths: Any, columns: Any, values: Any) -> csr_array:
        starts = np.zeros(len(lengths) + 1, np.int32)  # as solvers have them
        np.cumsum(lengths, out=starts[1:])
        bags = csr_array((values, columns, starts), shape=(len(lengths), len(self.idf)))
        bags.has_canonical_format = True
        return bags

    @cached_property
    def _counter(self) -> "_Counter":
        return _Counter(self.vocabulary, self.config.features)

    def knows(self, word: str) -> bool:
        """Whether a word is a feature or, where character n-grams are counted, has one inside."""
        if self.config.features == "characters":
            return any(gram in self.vocabulary for gram in _ngrams(word))
        return word in self.vocabulary


class _Counter:
    """Counts the features of documents: by numpy, or by compiled code as soon as that pays."""

    def __init__(self, vocabulary: Vocabulary, features: str) -> None:
        self._vocabulary, self._features = vocabulary, features

    def __call__(self, tokens: Tokens) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """How many features each document has; which, in order; and how often each occurs."""
        if self._features in _KERNELS and pays(_KERNELS[self._features], _SAVED * len(tokens.ids)):
            starts, columns, counts = self._compiled(tokens)
            return np.diff(starts), columns, counts
        ids, positions = _FEATURES[self._features](tokens, self._vocabulary)
        known, width = ids >= Vocabulary.FIRST, len(self._vocabulary)
        documents = np.searchsorted(tokens.offsets, positions[known], side="right") - 1
        found, times = np.unique(documents * width + ids[known], return_counts=True)
        lengths = np.bincount(found // width, minlength=len(tokens))
        return lengths, (found % width - Vocabulary.FIRST).astype(np.int32), times.astype(np.float64)

    @cached_property
    def _compiled(self) -> "FeatureCounter":
        from taxocaps.encoding.features import COUNTERS

        return COUNTERS[self._features](self._vocabulary)


_NOTHING = (np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0))


Features = tuple[NDArray[np.int32], NDArray[np.int64]]
"""The ids of features, 1 for an unknown one, and which of the words of all documents each begins with."""


def _words(tokens: Tokens, vocabulary: Vocabulary) -> Features:
    return vocabulary.ids(tokens.words)[tokens.ids], np.arange(len(tokens.ids))


def _pairs(tokens: Tokens, vocabulary: Vocabulary) -> Features:
    """Words, and pairs of neighbouring words."""
    ids, positions = _words(tokens, vocabulary)
    begins = np.setdiff1d(positions[:-1], tokens.offsets - 1)  # of pairs: all words but the last of each document
    codes = tokens.ids[begins] * np.int64(len(tokens.words)) + tokens.ids[begins + 1]
    pairs, pair = np.unique(codes, return_inverse=True)
    first, second = (part.tolist() for part in np.divmod(pairs, max(1, len(tokens.words))))
    names = (f"{tokens.words[one]} {tokens.words[other]}" for one, other in zip(first, second, strict=True))
    return np.concatenate([ids, vocabulary.ids(names)[pair]]), np.concatenate([positions, begins])


def _characters(tokens: Tokens, vocabulary: Vocabulary) -> Features:
    """The character n-grams inside words."""
    used, word = np.unique(tokens.ids, return_inverse=True)
    grams = [_ngrams(tokens.words[id]) for id in used.tolist()]
    lengths = np.array([len(one) for one in grams], np.int64)
    ids, ends = vocabulary.ids(gram for one in grams for gram in one), np.cumsum(lengths)
    positions = np.repeat(np.arange(len(word)), lengths[word])
    shifts = np.cumsum(lengths[word]) - ends[word]  # from where the n-grams of a word stand in `ids` to where they go
    return ids[np.arange(len(positions)) - shifts[positions]], positions


def _ngrams(word: str) -> list[str]:
    """The n-grams of a word with a space on either side, as in scikit-learn's char_wb.

    >>> _ngrams("oil")
    [' oi', 'oil', 'il ', ' oil', 'oil ', ' oil ']
    """
    padded = f" {word} "
    return [padded[start : start + length] for length in _LENGTHS for start in range(len(padded) - length + 1)]


_FEATURES: Mapping[str, Callable[[Tokens, Vocabulary], Features]] = {
    "words": _words,
    "pairs": _pairs,
    "characters": _characters,
}

_KERNELS = {
    "pairs": "taxocaps.encoding.bag_kernels:count_with_pairs",
    "characters": "taxocaps.encoding.bag_kernels:spell",
}
"""The compiled twins of counting, by `bag.features`; for words, numpy is as fast."""
_SAVED = 1e-6
"""CPU seconds a word that they save."""

_WEIGHTS: Mapping[str, Callable[[Any], Any]] = {
    "all": lambda counts: counts,
    "logarithm": lambda counts: 1 + np.log(counts),
    "once": np.ones_like,
}
