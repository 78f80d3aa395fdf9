"""Which scorer a configuration asks for."""

from collections.abc import Mapping

from taxocaps.corpus.classes import Classes
from taxocaps.estimators.base import TextScorer
from taxocaps.estimators.config import ModelConfig
from taxocaps.estimators.linear import LinearScorer
from taxocaps.estimators.neural import NetworkScorer

__all__ = ["make_scorer"]

_SCORERS: Mapping[str, type[TextScorer]] = {"network": NetworkScorer, "linear": LinearScorer}


def make_scorer(config: ModelConfig, classes: Classes, seed: int) -> TextScorer:
    """A scorer that is not fitted yet.

    Args:
        config: The options of all stages.
        classes: The labels of the columns.
        seed: Of all randomness.
    """
    return _SCORERS[config.family](config, classes, seed)
