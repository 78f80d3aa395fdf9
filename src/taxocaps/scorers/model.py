"""A fitted model: a scorer with its calibration, its thresholds and its taxonomy; from documents to labels."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.document import Document
from taxocaps.corpus.labels import Classes
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.errors import CorpusError
from taxocaps.metrics.calibration import calibration_error
from taxocaps.metrics.diagnosis import Diagnosis, diagnose
from taxocaps.metrics.evaluation import Evaluation, evaluate
from taxocaps.results import FitReport, ModelCard, Prediction, ScoredLabel, TaxonomyLabel, TaxonomyView, plain
from taxocaps.scorers.base import Examples, FitContext, ModelConfig, Scorer
from taxocaps.scorers.decision import (
    DECISION_RULES,
    Calibration,
    DecisionOptions,
    Hierarchy,
    apply_hierarchy,
    choose_labels,
    fit_calibration,
)
from taxocaps.taxonomy.tree import VIRTUAL_ROOT

__all__ = ["FittedModel", "ModelName", "fit_model", "hold_out"]

_AS_TRAINED = DecisionOptions()


@dataclass(frozen=True)
class ModelName:
    """What a user asked for: the name of a model, of a preset, and the seed."""

    model: str
    preset: str
    seed: int

    @property
    def flags(self) -> str:
        """The same for the command line, such as `--model SVM --preset fast`."""
        preset = f" --preset {self.preset}" if self.preset != "default" else ""
        return f"--model {shlex.quote(self.model)}{preset}"


@dataclass(frozen=True)
class FittedModel:
    """All that is needed to label texts.

    Attributes:
        name: What was asked for.
        config: Every option, as it was used.
        scorer: Gives raw scores.
        calibration: Makes probabilities of them.
        thresholds: float32 [L], the threshold of each label.
        hierarchy: What is done about ancestors.
        report: What fitting came to.
        validation: How good the labels are on the validation documents; None in a model that was read from a folder.
        metrics: The same and more as plain values, as in `metrics.json`.
        diagnosis: Where the labels of the validation documents go wrong; None in a model that was read from a folder.
    """

    name: ModelName
    config: ModelConfig
    scorer: Scorer
    calibration: Calibration
    thresholds: NDArray[np.float32]
    hierarchy: Hierarchy
    report: FitReport = field(default_factory=FitReport)
    validation: Evaluation | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None

    @property
    def classes(self) -> Classes:
        """The labels of the columns."""
        return self.scorer.classes

    def raw_scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """Scores as the scorer gives them, such as capsule lengths; float32 [documents, L]."""
        return self.scorer.scores(documents)

    def scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """Calibrated scores; float32 [documents, L], 0 for a document without words."""
        return _calibrated(self.calibration, self.scorer.scores(documents))

    def choose(self, scores: NDArray[np.float32], options: DecisionOptions | None = None) -> csr_array:
        """The labels of documents with these calibrated scores; CSR [documents, L] of bool.

        Args:
            scores: As `scores` gives them.
            options: Where the choice differs from how the model was trained.
        """
        options, decision = options or _AS_TRAINED, self.config.decision
        top_k = options.top_k
        if top_k is None and options.threshold is None and DECISION_RULES[decision.rule].takes_best:
            top_k = decision.k
        chosen = choose_labels(
            scores,
            self.thresholds if options.threshold is None else options.threshold,
            top_k=top_k,
            at_least=decision.at_least if options.at_least is None else options.at_least,
        )
        chosen[~scores.any(axis=1)] = False  # nothing is known about a text without words
        return csr_array(apply_hierarchy(chosen, options.hierarchy or self.hierarchy, self.classes))

    def predictions(
        self,
        documents: Sequence[Document],
        scores: NDArray[np.float32],
        options: DecisionOptions | None = None,
        *,
        first: int = 1,
    ) -> Iterator[Prediction]:
        """The labels of documents that have been scored.

        Args:
            documents: The documents.
            scores: Their calibrated scores, float32 [documents, L].
            options: Which labels they get.
            first: The position of the first document; those without an id are called by their positions.
        """
        chosen = self.choose(scores, options)
        for index, document in enumerate(documents):
            columns = chosen.indices[chosen.indptr[index] : chosen.indptr[index + 1]]
            yield self._prediction(document.id or str(first + index), scores[index], columns.tolist())

    def _prediction(self, id: str, scores: NDArray[np.float32], columns: Sequence[int]) -> Prediction:
        if not scores.any():
            return Prediction(id, (), "the text has no words that the model reads")
        ordered = sorted(columns, key=lambda column: -scores[column])
        names, path = self.classes.names, self.classes.taxonomy.path
        return Prediction(
            id, tuple(ScoredLabel(names[column], float(scores[column]), path(names[column])) for column in ordered)
        )

    def card(self, name: str | None = None) -> ModelCard:
        """What the model is and how good it is; `name` is what it is called, such as its folder."""
        metrics = plain(self.metrics)
        return ModelCard(
            name=name or self.name.model,
            model=self.name.model,
            preset=self.name.preset,
            seed=self.name.seed,
            labels=len(self.classes),
            language=self.config.text.language,
            hierarchy=self.hierarchy,
            rule=self.config.decision.rule,
            takes_best=DECISION_RULES[self.config.decision.rule].takes_best,
            at_least=self.config.decision.at_least,
            **{key: metrics[key] for key in _OF_CARD if metrics.get(key) is not None},
        )

    def taxonomy_view(self, name: str | None = None) -> TaxonomyView:
        """The taxonomy with the thresholds of the labels that the model can give."""
        tree = self.classes.taxonomy
        thresholds = dict(zip(self.classes.names, map(float, self.thresholds), strict=True))
        labels = (
            TaxonomyLabel(
                label, tree.title(label), tree.depth(label), tuple(tree.parents(label)), thresholds.get(label)
            )
            for label in tree.names
        )
        return TaxonomyView(name or self.name.model, tuple(tree.roots), tuple(labels))

    def evaluate(self, truth: csr_array, scores: NDArray[np.float32], *, unseen: Any = None) -> Evaluation:
        """How good the labels of scored documents are.

        Args:
            truth: CSR [documents, L] of bool.
            scores: Their calibrated scores, [documents, L].
            unseen: True labels without a column, with the number of documents that carry them.
        """
        return evaluate(
            truth,
            self.choose(scores),
            names=self.classes.names,
            levels=self.classes.levels,
            closure=self.classes.full_closure,
            scores=scores,
            unseen=unseen,
        )


def _calibrated(calibration: Calibration, raw: NDArray[np.float32]) -> NDArray[np.float32]:
    calibrated = calibration.apply(raw)
    return np.where(raw.any(axis=1, keepdims=True), calibrated, np.float32(0))  # a text without words has no score


def fit_model(
    name: ModelName, scorer: Scorer, training: Examples, validation: Examples, context: FitContext
) -> FittedModel:
    """Fit a scorer, then calibration and thresholds on the validation documents.

    Args:
        name: What was asked for.
        scorer: Not fitted yet.
        training: The training documents.
        validation: The documents that decide when to stop, and that thresholds are tuned on.
        context: Where and how.
    """
    report = scorer.fit(training, validation, context)
    raw = scorer.scores(validation.documents)
    decision = scorer.config.decision
    calibration = fit_calibration(validation.labels, raw) if decision.calibration == "logistic" else Calibration()
    scores = _calibrated(calibration, raw)
    hierarchy = decision.hierarchy
    if hierarchy == "auto":
        hierarchy = "add-ancestors" if scorer.classes.has_all_ancestors(training.labels) else "as-is"
    thresholds = DECISION_RULES[decision.rule].fit(validation.labels, scores, decision)
    fitted = FittedModel(name, scorer.config, scorer, calibration, thresholds, hierarchy, report)
    found = fitted.evaluate(validation.labels, scores)
    metrics = {
        "parameters": scorer.parameters,
        "epochs": report.epochs,
        "best_epoch": report.best_epoch,
        "raw_calibration_error": calibration_error(validation.labels, raw),
        "validation": found.as_dict(),
    }
    diagnosis = diagnose(validation.labels, fitted.choose(scores), scores, _parents(scorer.classes))
    return replace(fitted, validation=found, metrics=metrics, diagnosis=diagnosis)


def hold_out(examples: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """Training and validation documents, drawn at random; very few documents are both.

    Args:
        examples: All documents.
        share: The share of validation documents.
        seed: Random seed.
    """
    count = len(examples)
    if count == 0:
        raise CorpusError("there are no documents to learn from")
    if count < _TOO_FEW_TO_SPLIT:
        return examples, examples
    order = np.random.default_rng(seed).permutation(count)
    end = max(1, round(share * count))
    return examples.select(np.sort(order[end:])), examples.select(np.sort(order[:end]))


_TOO_FEW_TO_SPLIT = 10
"""With fewer documents, holding some out would leave next to nothing; they validate themselves."""

_OF_CARD = ("parameters", "epochs", "best_epoch", "documents", "validation", "test")


def _parents(classes: Classes) -> list[tuple[str, ...]]:
    """The parents of each label, be they columns or not; top labels are siblings of each other."""
    return [classes.taxonomy.parents(name) or (VIRTUAL_ROOT,) for name in classes.names]
