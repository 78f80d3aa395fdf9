"""The words of one document, with their places in its text, and how much each of them weighs for a label."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taxocaps.encoding.characters import CharacterPipeline
from taxocaps.encoding.corpus_words import Text
from taxocaps.estimators.base import TextScorer
from taxocaps.estimators.explanations import KeptWord, WordWeight
from taxocaps.estimators.linear import LinearScorer
from taxocaps.estimators.neural import NetworkScorer
from taxocaps.estimators.occlusion import Falls, occluded_characters, occluded_words
from taxocaps.linear.evidence import word_evidence
from taxocaps.text.pipeline import TextPipeline
from taxocaps.text.tokens import Span, joined_spans
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["DocumentWords", "plain_text", "rounded"]


@dataclass(frozen=True)
class DocumentWords:
    """One document as a scorer reads it.

    Attributes:
        scorer: Of any family.
        content: The text, or ready tokens.
    """

    scorer: TextScorer
    content: Text

    @property
    def method(self) -> str:
        """What the weights of words are."""
        if isinstance(self.scorer, LinearScorer):
            return "linear"
        return "occlusion" if isinstance(self.scorer, NetworkScorer) else "none"

    @cached_property
    def kept(self) -> tuple[KeptWord, ...]:
        """The words in order; none for a scorer of an unknown kind."""
        if not isinstance(self.scorer, LinearScorer | NetworkScorer):
            return ()
        vocabulary = self.scorer.encoder.vocabulary
        is_known = vocabulary.ids([word for word, _ in self._places]) != Vocabulary.UNKNOWN
        if self._is_by_character:
            is_known = np.ones(len(self._places), bool)
        return tuple(
            KeptWord(word, span[0] if span else None, span[1] if span else None, bool(known))
            for (word, span), known in zip(self._places, is_known, strict=True)
        )

    def weights(self, columns: Sequence[int]) -> list[tuple[WordWeight, ...]]:
        """For each label, the words that weigh anything, the weightiest first."""
        if isinstance(self.scorer, LinearScorer):
            return [_sorted(self._evidence(self.scorer, column)) for column in columns]
        return [_sorted({word: float(fall[column]) for word, fall in self._falls.items()}) for column in columns]

    def _evidence(self, scorer: LinearScorer, column: int) -> Mapping[str, float]:
        bag = scorer.encoder.read([self.content])
        evidence = word_evidence(scorer.weights, bag, column, scorer.classes, scorer.config.linear)
        words = scorer.encoder.vocabulary.words
        return {words[place]: value for place, value in zip(bag.indices.tolist(), evidence.tolist(), strict=True)}

    @cached_property
    def _falls(self) -> Falls:
        if not isinstance(self.scorer, NetworkScorer):
            return {}
        if not self._is_by_character:
            return occluded_words(self.scorer, self.content)
        read = self._places[: self.scorer.config.tokens.length]  # each word has a character at least
        return occluded_characters(self.scorer, plain_text(self.content), read)

    @property
    def _is_by_character(self) -> bool:
        return isinstance(self._pipeline, CharacterPipeline)

    @property
    def _pipeline(self) -> object:
        return self.scorer.encoder.pipeline  # type: ignore[attr-defined]

    @cached_property
    def _places(self) -> list[tuple[str, Span]]:
        """Each word with its place in the text."""
        pipeline, text = self._pipeline, plain_text(self.content)
        if not isinstance(pipeline, TextPipeline):
            return [(match.group().lower(), match.span()) for match in re.finditer(r"\S+", text)]
        if isinstance(self.content, str):
            return list(zip(pipeline(text).words, pipeline.spans(text), strict=True))
        return [(word, span) for word, span in zip(self.content, joined_spans(self.content), strict=True) if word]


def plain_text(content: Text) -> str:
    """The text of a document; ready tokens are joined by spaces."""
    return content if isinstance(content, str) else " ".join(content)


def rounded(number: float) -> float:
    """A number with as many digits as mean anything.

    >>> rounded(0.12345678), rounded(1.2345678e-9)
    (0.123457, 1.23457e-09)
    """
    return float(f"{number:.6g}")


def _sorted(weights: Mapping[str, float]) -> tuple[WordWeight, ...]:
    found = [WordWeight(word, rounded(weight)) for word, weight in weights.items() if weight]
    return tuple(sorted(found, key=lambda one: -one.weight))
