"""How much scores fall when a word is taken from a document: each distinct word in turn becomes an unknown one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.encoding.corpus_words import Text
from taxocaps.estimators.base import TextScorer
from taxocaps.estimators.neural import NetworkScorer
from taxocaps.text.tokens import Span
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["OccludedDocuments", "occluded_characters", "occluded_words"]

Falls = Mapping[str, NDArray[np.float32]]
"""For each word, the fall of each label's raw score, float32 [L]; below 0 if the score rises without the word."""

_NO_LETTER = "\ufffd"
_NOTHING = -1


@dataclass(frozen=True)
class OccludedDocuments:
    """One document many times over, each time with another word unknown.

    Attributes:
        inputs: What the network takes for the document, each array [1, ...]; the first are the ids of its words.
        words: The id that is unknown in each copy; -1 for none.
    """

    inputs: tuple[NDArray[Any], ...]
    words: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """All copies are the same work."""
        return np.ones(len(self.words), np.int64)

    def arrays(self, documents: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """The inputs of some copies."""
        ids, *others = (np.repeat(array, len(documents), axis=0) for array in self.inputs)
        gone = self.words[documents].reshape(-1, *[1] * (ids.ndim - 1))  # [B, 1, ...]
        return np.where(ids == gone, ids.dtype.type(Vocabulary.UNKNOWN), ids), *others


def occluded_words(scorer: NetworkScorer, text: Text) -> Falls:
    """What every known word of a document does, for a network over words, in whatever order it reads them.

    Args:
        scorer: The network.
        text: The document; only what the network reads of it is looked at.
    """
    inputs = scorer.encoder.read([text]).arrays(np.zeros(1, np.int64))
    ids = np.unique(inputs[0])
    ids = ids[ids >= Vocabulary.FIRST]
    words = scorer.encoder.vocabulary.words
    scores = scorer.score_encoded(OccludedDocuments(inputs, np.r_[_NOTHING, ids].astype(np.int64)))
    return {words[id - Vocabulary.FIRST]: scores[0] - without for id, without in zip(ids, scores[1:], strict=True)}


def occluded_characters(scorer: TextScorer, text: str, places: Iterable[tuple[str, Span]]) -> Falls:
    """What every word of a text does, for a network over characters: its letters become unknown ones.

    Args:
        scorer: The network.
        text: The text.
        places: The words that the network reads, each with its place.
    """
    spans: dict[str, list[tuple[int, int]]] = {}
    for word, span in places:
        if span is not None:
            spans.setdefault(word, []).append(span)
    scores = scorer.predict_scores([text, *(_without(text, gone) for gone in spans.values())])
    return dict(zip(spans, scores[:1] - scores[1:], strict=True))


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    letters = list(text)
    for start, end in spans:
        letters[start:end] = _NO_LETTER * (end - start)
    return "".join(letters)
