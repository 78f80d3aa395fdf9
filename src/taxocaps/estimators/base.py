"""What every model does: learn from texts and a label matrix, and give scores."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from taxocaps.corpus.classes import Classes
from taxocaps.encoding.corpus_words import Text
from taxocaps.estimators.config import ModelConfig
from taxocaps.progress import Progress, silent

__all__ = ["FitReport", "Labelled", "TextScorer", "Work"]


@dataclass(frozen=True)
class Labelled:
    """Texts with their labels, CSR [documents, L] of bool."""

    texts: Sequence[Text]
    labels: Any

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Work:
    """How a model is fitted, as far as it does not change the result.

    Attributes:
        folder: Where checkpoints and encoded documents go.
        resume: Go on with what an earlier run left in `folder`.
        threads: Threads of the compiled kernels.
        progress: Told where the work stands.
        tell: Told what a person should know, such as the memory that training will take.
    """

    folder: Path
    resume: bool = False
    threads: int = 1
    progress: Progress = silent
    tell: Callable[[str], None] = lambda message: None


@dataclass(frozen=True)
class FitReport:
    """What fitting came to: epochs trained, the one that was kept, and numbers of every epoch, if there are epochs."""

    epochs: int = 0
    best_epoch: int = 0
    history: Sequence[dict[str, float]] = field(default_factory=tuple)


class TextScorer(ABC):
    """Learns from texts and a label matrix, and gives each document a score per label.

    The labels of the columns, and with them the taxonomy, are fixed when the scorer is made; scores lie between 0 and
    1. What becomes of scores, calibration and cuts, is the same for all scorers and is done elsewhere.

    Attributes:
        start: A fitted scorer of the same kind, perhaps with other labels, from whose weights `fit` goes on.
    """

    def __init__(self, config: ModelConfig, classes: Classes, seed: int = 0) -> None:
        """Prepare a scorer.

        Args:
            config: The options of all stages.
            classes: The labels of the columns.
            seed: Of all randomness.
        """
        self.config, self.classes, self.seed = config, classes, seed
        self.start: TextScorer | None = None

    @abstractmethod
    def fit(self, training: Labelled, validation: Labelled, work: Work) -> FitReport:
        """Learn from `training`; `validation` may decide when to stop."""

    @abstractmethod
    def predict_scores(self, texts: Sequence[Text]) -> NDArray[np.float32]:
        """The score of each label for each text; float32 [documents, L], from 0 to 1."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write all that was learned into an existing folder."""

    @abstractmethod
    def load(self, folder: Path) -> Self:
        """Read what `save` wrote."""

    @property
    @abstractmethod
    def parameters(self) -> int:
        """The number of weights that were learned."""
