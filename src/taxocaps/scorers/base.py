"""What every scorer does: learn from encoded documents, and score labels."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from taxocaps.config import Between, Config
from taxocaps.corpus.labels import Classes, LabelConfig
from taxocaps.encoding.documents import DocumentEncoder, EncodedDocuments
from taxocaps.progress import Progress, silent
from taxocaps.registry import Registry
from taxocaps.results import FitReport
from taxocaps.scorers.decision import DecisionConfig
from taxocaps.text.pipeline import TextConfig
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["SCORERS", "Examples", "FitContext", "ModelConfig", "Scorer", "make_scorer"]


class ModelConfig(Config):
    """The options that all models have; a scorer adds its own sections.

    Attributes:
        scorer: The kind of scorer.
        labels: How the labels of documents are understood.
        text: How texts become words.
        validation: Share of the training documents that is held out when no validation documents are given.
        decision: How scores become labels.
    """

    scorer: str
    labels: LabelConfig = LabelConfig()
    text: TextConfig = TextConfig()
    validation: Annotated[float, Between(0.001, 0.9)] = 0.1
    decision: DecisionConfig = DecisionConfig()

    @property
    def encodings(self) -> Mapping[str, Config]:
        """The encodings that the scorer reads, by name, each with its options; none for one that reads the tokens."""
        return {}


@dataclass(frozen=True, eq=False)
class Examples:
    """Encoded documents with their labels, CSR [documents, L] of bool."""

    documents: EncodedDocuments
    labels: Any

    def __len__(self) -> int:
        return len(self.documents)

    def select(self, indices: NDArray[np.int64]) -> "Examples":
        """Some of them."""
        return Examples(self.documents.select(indices), self.labels[indices])


@dataclass(frozen=True)
class FitContext:
    """How a scorer is fitted, as far as it does not change the result.

    Attributes:
        folder: Where checkpoints go.
        resume: Continue from what an earlier run left in `folder`.
        threads: Threads of compiled parts.
        progress: Told where the work stands.
        tell: Told what a person should know, such as the memory that training will take.
    """

    folder: Path
    resume: bool = False
    threads: int = 1
    progress: Progress = silent
    tell: Callable[[str], None] = lambda message: None


class Scorer(ABC):
    """Learns from encoded documents and a label matrix, and gives each document a score per label.

    The labels of the columns, and with them the taxonomy, are fixed when the scorer is made; scores lie between 0 and
    1. What becomes of scores, calibration and thresholds, is the same for all scorers and is done elsewhere. A scorer
    may be made of others, its members, whose folders lie inside its own.

    Attributes:
        Config: The options that the scorer has; `config_type` may refine it.
        start: A fitted scorer of the same kind, perhaps with other labels, from whose weights `fit` continues.
        vocabulary: The words it knows, once it is fitted.
    """

    Config: ClassVar[type[ModelConfig]]
    start: Self | None = None
    vocabulary: Vocabulary

    def __init__(self, config: Any, classes: Classes, seed: int = 0) -> None:
        """Prepare a scorer.

        Args:
            config: Its options.
            classes: The labels of the columns.
            seed: Random seed.
        """
        self.config, self.classes, self.seed = config, classes, seed
        self.threads = 1

    @classmethod
    def config_type(cls, options: Mapping[str, Any]) -> type[ModelConfig]:
        """The configuration class for some options, such as those of one kind of network."""
        return cls.Config

    @cached_property
    def encoder(self) -> DocumentEncoder:
        """What makes encoded documents for this scorer."""
        return DocumentEncoder(self.config.text, self.config.encodings, self.threads)

    def knows(self, word: str) -> bool:
        """Whether a word tells this scorer anything."""
        return word in self.vocabulary

    @property
    def members(self) -> Mapping[str, "Scorer"]:
        """The scorers that this one is made of, by name."""
        return {}

    @property
    @abstractmethod
    def explainer(self) -> str:
        """The name of the explainer that tells why this scorer gives its scores."""

    @property
    @abstractmethod
    def parameters(self) -> int:
        """The number of learned weights."""

    @abstractmethod
    def fit(self, training: Examples, validation: Examples, context: FitContext) -> FitReport:
        """Learn from `training`; `validation` may decide when to stop."""

    @abstractmethod
    def scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """The score of each label for each document; float32 [documents, L], from 0 to 1, all 0 without words."""

    def save(self, folder: Path) -> None:
        """Write all that was learned into an existing folder, members into folders of their own inside it."""
        self._save(folder)
        for name, member in self.members.items():
            path = folder / "members" / name
            path.mkdir(parents=True, exist_ok=True)
            member.save(path)

    def load(self, folder: Path) -> Self:
        """Read what `save` wrote."""
        for name, member in self.members.items():
            member.load(folder / "members" / name)
        self._load(folder)
        return self

    @abstractmethod
    def _save(self, folder: Path) -> None:
        """Write what this scorer itself learned."""

    @abstractmethod
    def _load(self, folder: Path) -> None:
        """Read it back."""


SCORERS: Registry[type[Scorer]] = Registry(
    "scorer",
    "taxocaps.scorers",
    {"linear": "taxocaps.scorers.linear:LinearScorer", "network": "taxocaps.scorers.network:NetworkScorer"},
)
"""The kinds of scorers."""


def make_scorer(config: ModelConfig, classes: Classes, seed: int, threads: int = 1) -> Scorer:
    """A scorer that is not fitted yet.

    Args:
        config: Its options, which name its kind.
        classes: The labels of the columns.
        seed: Random seed.
        threads: Threads of compiled parts.
    """
    scorer = SCORERS[config.scorer](config, classes, seed)
    scorer.threads = threads
    return scorer
