"""The configuration of a whole run, from files of documents to a trained model."""

from dataclasses import field
from typing import Annotated

from taxocaps.catalogue.presets import DEFAULT_MODEL
from taxocaps.config import Between
from taxocaps.corpus.fields import CorpusConfig
from taxocaps.estimators.config import ModelConfig

__all__ = ["RUN_KEYS", "RunConfig"]

RUN_KEYS = ("model", "preset", "seed", "corpus")
"""The keys of a run that are no part of the model's own configuration."""


class RunConfig(ModelConfig):
    """Everything that decides a training run.

    Attributes:
        model: The name of a model; `taxocaps models` lists them.
        preset: Named settings that the other keys change.
        seed: Of all randomness.
        corpus: How documents are read.
    """

    model: str = DEFAULT_MODEL
    preset: str = "default"
    seed: Annotated[int, Between(0, 2**31 - 1)] = 0
    corpus: CorpusConfig = field(default_factory=CorpusConfig)
