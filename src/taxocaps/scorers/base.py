"""Scorers: the interface of everything that learns from encoded documents and scores labels."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from taxocaps.config import Between, Config
from taxocaps.corpus.labels import Classes, LabelConfig
from taxocaps.encoding.documents import DocumentEncoder, EncodedDocuments
from taxocaps.files import atomic_path
from taxocaps.metrics.classification import flat_metrics
from taxocaps.metrics.thresholds import best_threshold
from taxocaps.progress import Progress, silent
from taxocaps.registry import Registry
from taxocaps.results import FitReport, Interim
from taxocaps.scorers.decision import DecisionConfig
from taxocaps.text.pipeline import TextConfig
from taxocaps.text.vocabulary import Vocabulary

__all__ = [
    "SCORERS",
    "CrossFit",
    "Examples",
    "FitContext",
    "ModelConfig",
    "Scorer",
    "Workload",
    "make_scorer",
    "out_of_fold",
]


class ModelConfig(Config):
    """The options that all models have; a scorer adds its own sections.

    Attributes:
        scorer: The kind of scorer.
        labels: How the labels of documents are understood.
        text: How texts become words.
        folds: Number of folds: every training document is scored by a model that was fitted without it, thresholds and
            calibration come from these scores, and the model is fitted once more on all documents; 0 holds out a share
            of the documents instead.
        validation: The share of training documents that is held out without folds, if no validation documents are
            given; afterwards the model is fitted once more on all documents.
        decision: How scores become labels.
    """

    fold_cost: ClassVar[float] = 1.0
    """The cost of fitting to all documents but one fold, relative to a fit to all."""

    scorer: str
    labels: LabelConfig = LabelConfig()
    text: TextConfig = TextConfig()
    folds: Annotated[int, Between(0, 20)] = 0
    validation: Annotated[float, Between(0.001, 0.9)] = 0.1
    decision: DecisionConfig = DecisionConfig()

    @property
    def encodings(self) -> Mapping[str, Config]:
        """The encodings that the scorer reads, by name, each with its options; none for one that reads the tokens."""
        return {}

    def seconds(self, workload: "Workload") -> float:
        """The approximate time of one fit on one core: a rule of thumb, which is the same on all machines."""
        return 0.0

    def as_member(self) -> Self:
        """The options of the same model as a member of a joined model."""
        return self

    @property
    def portable(self) -> Self:
        """The options as they are written into a model's folder: files in that folder go by their names there."""
        return self

    @property
    def learns_validation(self) -> bool:
        """Whether validation documents are added to the training documents: out of fold, all serve both purposes.

        Not if the scorer reads encodings: only words of two sets of documents can be put together.
        """
        return self.folds > 1 and not self.encodings

    @property
    def gives_unseen(self) -> bool:
        """Whether labels that no training document carries get columns, too."""
        return False


@dataclass(frozen=True)
class Workload:
    """The amount of training data: the numbers of documents, of words, and of labels that some document carries."""

    documents: int
    words: int
    labels: int


@dataclass(frozen=True, eq=False)
class Examples:
    """Encoded documents with their labels, CSR [documents, L] of bool."""

    documents: EncodedDocuments
    labels: Any

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def workload(self) -> Workload:
        """The amount of data in these documents."""
        labels = np.count_nonzero(np.asarray(self.labels.sum(axis=0)))
        return Workload(len(self), int(self.documents.lengths.sum()), int(labels))

    def select(self, indices: NDArray[np.int64]) -> "Examples":
        """Some of the documents with their labels."""
        return Examples(self.documents.select(indices), self.labels[indices])

    def with_others(self, others: "Examples") -> "Examples":
        """These and others together, as one set of documents in memory."""
        return Examples(
            self.documents.with_others(others.documents), vstack([self.labels, others.labels], format="csr")
        )


@dataclass(frozen=True)
class FitContext:
    """The circumstances of a fit, which are no options of the scorer.

    Attributes:
        folder: Where checkpoints go.
        resume: Continue from what an earlier run left in `folder`.
        threads: The number of threads of compiled code.
        progress: Called with the progress of the work.
        tell: Called with messages for the user, such as how much memory training will take.
        epochs: The number of epochs to train, if an earlier fit with validation documents has shown how many are best.
        watch: Called after each epoch or fold with the quality of scores on documents that were not learned from; it
            may raise an error to end the fit.
    """

    folder: Path
    resume: bool = False
    threads: int = 1
    progress: Progress = silent
    tell: Callable[[str], None] = lambda message: None
    epochs: int | None = None
    watch: Callable[[Interim], None] | None = None

    def within(self, *names: str) -> "FitContext":
        """The context of a part of the work, with a folder of its own."""
        folder = self.folder.joinpath(*names)
        folder.mkdir(parents=True, exist_ok=True)
        return replace(self, folder=folder)

    def called(self, name: str) -> "FitContext":
        """The context of a part of the work, with a name in progress reports."""

        def report(stage: str, done: int, total: int | None = None, note: str = "") -> None:
            self.progress(f"{name}: {stage}", done, total, note)

        return replace(self, progress=report)

    def judge(self, step: int, truth: Any, scores: NDArray[np.float32]) -> None:
        """Tell `watch` how good the scores of some documents are; CSR of bool and float32, both [documents, L]."""
        if self.watch is not None:
            best = best_threshold(truth, scores)
            found = flat_metrics(truth, csr_array(scores >= best.threshold))
            self.watch(Interim(step, best.f1, found.macro.f1))

    def has(self, name: str) -> bool:
        """Whether an earlier run, which this one resumes, has computed an array."""
        return self.resume and (self.folder / f"{name}.npy").exists()

    def kept(self, name: str, compute: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
        """Compute an array and keep it for a resumed run; whatever computing it left in the folder is removed."""
        path = self.folder / f"{name}.npy"
        if not self.has(name):
            found = compute()
            for other in self.folder.iterdir():
                shutil.rmtree(other) if other.is_dir() else other.unlink()
            with atomic_path(path) as part, part.open("wb") as file:
                np.save(file, found)
        result: NDArray[np.float32] = np.load(path, allow_pickle=False)
        return result


@dataclass(frozen=True, eq=False)
class CrossFit:
    """The report of a fit, and scores of documents by a scorer that has not learned from them.

    Attributes:
        report: The history of the fit.
        scores: float32 [documents, L], of validation documents, or of all training documents out of fold.
    """

    report: FitReport
    scores: NDArray[np.float32]


class Scorer(ABC):
    """Learns from encoded documents and a label matrix, and gives each document a score per label.

    The labels of the columns, and with them the taxonomy, are fixed when the scorer is made. Scores lie between 0 and
    1; calibration and thresholds are the same for all scorers, and not their business. A scorer may be composed of
    others, its members, whose folders lie inside its own.

    Attributes:
        Config: The options that the scorer has; `config_type` may refine it.
        is_calibrated: Whether scores are probabilities already.
        needs_folds: Whether it is fitted in folds even to very few documents.
        usual_rule: The default decision rule for documents with several labels.
        start: A fitted scorer of the same kind, perhaps with other labels, from whose weights `fit` continues.
        origins: The old ids of labels that have another id in the scorer to start from.
        vocabulary: The words that it knows, once it is fitted.
    """

    Config: ClassVar[type[ModelConfig]]
    is_calibrated: ClassVar[bool] = False
    needs_folds: ClassVar[bool] = False
    usual_rule: ClassVar[str] = "global"
    start: Self | None = None
    origins: Mapping[str, str] = MappingProxyType({})
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
        """Encodes documents for this scorer."""
        return DocumentEncoder(self.config.text, self.config.encodings, self.threads)

    def starts_like(self, other: Self) -> None:
        """Share the encoder of another scorer of the same labels, and start from the same scorer."""
        self.encoder, self.start, self.origins = other.encoder, other.start, other.origins

    @property
    def known_columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The columns of the labels that the scorer to start from knows, and their columns in that scorer."""
        theirs = {} if self.start is None else {name: column for column, name in enumerate(self.start.classes.names)}
        meant = ((column, self.origins.get(name, name)) for column, name in enumerate(self.classes.names))
        found = np.array([(column, theirs[name]) for column, name in meant if name in theirs], np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def with_start_counts(self, counts: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.int64]:
        """Training documents of each label, where a label without any keeps those that it had before.

        Args:
            counts: int64 [L], the training documents of this scorer.
            start: The same for the scorer to start from, in its own columns.
        """
        ours, theirs = self.known_columns
        found = counts.copy()
        found[ours] = np.where(counts[ours], counts[ours], start[theirs])
        return found

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
    def fit(self, training: Examples, validation: Examples | None, context: FitContext) -> FitReport:
        """Learn from `training`; `validation`, if there are any, may decide when to stop."""

    def advice(self, documents: int) -> tuple[str, ...]:
        """Lines for the user before the scorer learns from so many documents; by default the lines of its members."""
        return tuple(dict.fromkeys(line for member in self.members.values() for line in member.advice(documents)))

    def folds_for(self, documents: int) -> int:
        """The number of folds for so many training documents; 0 to hold out some of them instead."""
        return min(int(self.config.folds), documents)

    def validated_fit(self, training: Examples, validation: Examples, context: FitContext) -> CrossFit:
        """Learn from `training`, and score the validation documents, which were not learned from.

        Args:
            training: The documents.
            validation: Documents that may decide when to stop.
            context: Where and how.
        """
        report = self.fit(training, validation, context)
        return CrossFit(report, self.scores(validation.documents))

    def cross_fit(self, training: Examples, folds: NDArray[np.int64], context: FitContext) -> CrossFit:
        """Score every training document by a scorer fitted without its fold, then fit this one on all documents.

        Scores of finished folds lie in the folder of `context`, so that a resumed run does not repeat them.

        Args:
            training: The documents.
            folds: int64 [documents], the fold of each.
            context: Where and how.
        """
        scores = out_of_fold(self, training, folds, context)
        return CrossFit(self.fit(training, None, context.within("all")), scores)

    @property
    def keeps_scale(self) -> bool:
        """Whether scores keep their meaning after `refit`, so that calibration and thresholds can stay."""
        return False

    def refit(self, training: Examples, folds: NDArray[np.int64], context: FitContext) -> NDArray[np.float32]:
        """Learn from the documents of the scorer to start from and a few more, keeping what can be kept of it.

        Args:
            training: All documents.
            folds: int64 [documents], the fold of those that are also scored by a scorer fitted without their fold; -1
                for all others.
            context: Where and how.

        Returns:
            float32 [documents, L], the scores of these documents; 0 for others.
        """
        return self.cross_fit(training, folds, context).scores

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
    {
        "joined": "taxocaps.scorers.joined:JoinedScorer",
        "linear": "taxocaps.scorers.linear:LinearScorer",
        "network": "taxocaps.scorers.network:NetworkScorer",
    },
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


def out_of_fold(
    scorer: Scorer, training: Examples, folds: NDArray[np.int64], context: FitContext
) -> NDArray[np.float32]:
    """The scores of all documents, those of each fold by a scorer like this one that was fitted without them.

    Args:
        scorer: Not fitted; it stays as it is.
        training: The documents.
        folds: int64 [documents], the fold of each.
        context: Where and how; the scores of a fold are written there when they are complete.
    """
    scores = np.zeros((len(training), len(scorer.classes)), np.float32)
    count = int(folds.max()) + 1
    for fold in range(count):
        inside = np.flatnonzero(folds == fold)
        within = context.called(f"fold {fold + 1} of {count}").within(f"fold-{fold}")

        def fit_and_score(inside: NDArray[np.int64] = inside, within: FitContext = within) -> NDArray[np.float32]:
            one = make_scorer(scorer.config, scorer.classes, scorer.seed, scorer.threads)
            one.starts_like(scorer)
            rest = np.setdiff1d(np.arange(len(training)), inside)
            one.fit(training.select(rest), None, within)
            return one.scores(training.documents.select(inside))

        scores[inside] = within.kept("scores", fit_and_score)
        done = folds <= fold
        context.judge(fold + 1, training.labels[done], scores[done])
    return scores
