"""Which scorer a configuration asks for."""

from taxocaps.corpus.classes import Classes
from taxocaps.estimators.base import TextScorer
from taxocaps.estimators.config import ModelConfig
from taxocaps.estimators.neural import WordsMatrixScorer

__all__ = ["make_scorer"]


def make_scorer(config: ModelConfig, classes: Classes, seed: int) -> TextScorer:
    """A scorer that is not fitted yet.

    Args:
        config: The options of all stages.
        classes: The labels of the columns.
        seed: Of all randomness.
    """
    return WordsMatrixScorer(config, classes, seed)
