"""A fitted model: a scorer with its calibration, its thresholds and its taxonomy; from texts to labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.classes import Classes
from taxocaps.encoding.corpus_words import Text
from taxocaps.estimators.base import FitReport, Labelled, TextScorer, Work
from taxocaps.estimators.config import ModelConfig
from taxocaps.estimators.decisions import (
    Calibration,
    Hierarchy,
    apply_hierarchy,
    choose_labels,
    fit_calibration,
    fit_cuts,
)
from taxocaps.metrics.calibration import calibration_error
from taxocaps.metrics.diagnosis import Diagnosis, diagnose
from taxocaps.metrics.evaluation import Evaluation, evaluate
from taxocaps.taxonomy.tree import VIRTUAL_ROOT

__all__ = ["FittedModel", "ModelName", "fit_model"]


@dataclass(frozen=True)
class ModelName:
    """What a user asked for: the name of a model, of a preset, and the seed."""

    model: str
    preset: str
    seed: int


@dataclass(frozen=True)
class FittedModel:
    """All that is needed to label texts.

    Attributes:
        name: What was asked for.
        config: Every option, as it was used.
        scorer: Gives raw scores.
        calibration: Makes probabilities of them.
        cuts: float32 [L], the score from which on each label is given.
        hierarchy: What is done about ancestors.
        report: What fitting came to.
        validation: How good the labels are on the validation documents; None in a model that was read from a folder.
        figures: The same and more as plain values, as they stand in `metrics.json`.
        diagnosis: Where the labels of the validation documents go wrong; None in a model that was read from a folder.
    """

    name: ModelName
    config: ModelConfig
    scorer: TextScorer
    calibration: Calibration
    cuts: NDArray[np.float32]
    hierarchy: Hierarchy
    report: FitReport = field(default_factory=FitReport)
    validation: Evaluation | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None

    @property
    def classes(self) -> Classes:
        """The labels of the columns."""
        return self.scorer.classes

    def raw_scores(self, texts: Sequence[Text]) -> NDArray[np.float32]:
        """Scores as the model gives them, such as capsule lengths; float32 [documents, L]."""
        return self.scorer.predict_scores(texts)

    def scores(self, texts: Sequence[Text]) -> NDArray[np.float32]:
        """Calibrated scores; float32 [documents, L], 0 for a text without words."""
        return _calibrated(self.calibration, self.raw_scores(texts))

    def choose(
        self,
        scores: NDArray[np.float32],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
        at_least: int | None = None,
        hierarchy: Hierarchy | None = None,
    ) -> csr_array:
        """The labels of documents with these calibrated scores; CSR [documents, L] of bool.

        Args:
            scores: As `scores` gives them.
            top_k: Take so many labels, whatever their scores.
            threshold: One threshold for all labels, instead of those of the model.
            at_least: Labels that every document with words gets.
            hierarchy: What is done about ancestors, instead of what the model does.
        """
        decision = self.config.decision
        if top_k is None and threshold is None and decision.rule == "top-k":
            top_k = decision.k
        chosen = choose_labels(
            scores,
            self.cuts if threshold is None else threshold,
            top_k=top_k,
            at_least=decision.at_least if at_least is None else at_least,
        )
        chosen[~scores.any(axis=1)] = False  # nothing is known about a text without words
        return csr_array(apply_hierarchy(chosen, hierarchy or self.hierarchy, self.classes))

    def evaluate(self, documents: Labelled, *, unseen: Any = None) -> Evaluation:
        """How good the labels of some documents are.

        Args:
            documents: Texts with their labels.
            unseen: True labels without a column, with the number of documents that carry them.
        """
        scores = self.scores(documents.texts)
        return self._evaluation(documents.labels, scores, self.choose(scores), unseen)

    def _evaluation(
        self, truth: csr_array, scores: NDArray[np.float32], chosen: csr_array, unseen: Any = None
    ) -> Evaluation:
        return evaluate(
            truth,
            chosen,
            names=self.classes.names,
            levels=self.classes.levels,
            closure=self.classes.full_closure,
            scores=scores,
            unseen=unseen,
        )


def _calibrated(calibration: Calibration, raw: NDArray[np.float32]) -> NDArray[np.float32]:
    calibrated = calibration.apply(raw)
    return np.where(raw.any(axis=1, keepdims=True), calibrated, np.float32(0))  # a text without words has no score


def fit_model(name: ModelName, scorer: TextScorer, training: Labelled, validation: Labelled, work: Work) -> FittedModel:
    """Fit a scorer, then calibration and thresholds on the validation documents.

    Args:
        name: What was asked for.
        scorer: Not fitted yet.
        training: What is learned from.
        validation: What decides when to stop and where to cut.
        work: Where and how.
    """
    report = scorer.fit(training, validation, work)
    raw = scorer.predict_scores(validation.texts)
    decision = scorer.config.decision
    calibration = fit_calibration(validation.labels, raw) if decision.calibration == "logistic" else Calibration()
    calibrated = _calibrated(calibration, raw)
    hierarchy = decision.hierarchy
    if hierarchy == "auto":
        hierarchy = "add-ancestors" if scorer.classes.is_closed(training.labels) else "as-is"
    fitted = FittedModel(
        name,
        scorer.config,
        scorer,
        calibration,
        fit_cuts(validation.labels, calibrated, decision),
        hierarchy,
        report,
    )
    chosen = fitted.choose(calibrated)
    found = fitted._evaluation(validation.labels, calibrated, chosen)
    figures = {
        "parameters": scorer.parameters,
        "epochs": report.epochs,
        "best_epoch": report.best_epoch,
        "raw_calibration_error": calibration_error(validation.labels, raw),
        "validation": found.as_dict(),
    }
    diagnosis = diagnose(validation.labels, chosen, calibrated, _parents(scorer.classes))
    return replace(fitted, validation=found, figures=figures, diagnosis=diagnosis)


def _parents(classes: Classes) -> list[tuple[str, ...]]:
    """The parents of each label, be they columns or not; top labels are siblings of each other."""
    return [classes.taxonomy.parents(name) or (VIRTUAL_ROOT,) for name in classes.names]
