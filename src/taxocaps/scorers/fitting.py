"""Fit a model: the scorer first, then calibration and thresholds on documents that it has not learned from."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.errors import CorpusError
from taxocaps.metrics.calibration import calibration_error
from taxocaps.results import FitReport, ValidationKind
from taxocaps.scorers.base import Examples, FitContext, Scorer
from taxocaps.scorers.decision import (
    DECISION_RULES,
    Calibration,
    HeldOut,
    Hierarchy,
    count_labels,
    fit_calibration,
)
from taxocaps.scorers.folds import document_folds
from taxocaps.scorers.model import FEW_DOCUMENTS, FittedModel, ModelName
from taxocaps.scorers.plan import expected_time

__all__ = ["fit_model", "fit_with_scores", "has_folds", "hold_out", "refit_model"]

_MOST_CELLS = 100_000_000
"""Scores of documents and labels that are in memory together in training, at most; 400 MB."""
_TOO_FEW_TO_SPLIT = 10
"""With fewer documents, holding some out would leave next to nothing; they validate themselves."""
_RARE = 2
"""Labels with at most this many documents are reported as rare."""
_RARE_TOLD = 5
"""Rare labels that are named in a warning; the report lists all."""


def fit_model(
    name: ModelName, scorer: Scorer, training: Examples, validation: Examples | None, context: FitContext
) -> FittedModel:
    """Fit a scorer, then calibration and thresholds on documents that it has not learned from.

    A scorer with folds scores each training document by a scorer fitted without its fold; validation documents are
    then further training documents, since every document serves both purposes. Other scorers use the validation
    documents or, without any, hold out some of the training documents. In the end the scorer has learned from all
    training documents.

    Args:
        name: The name, preset and seed that the user asked for.
        scorer: Not fitted yet.
        training: The training documents.
        validation: Documents for early stopping and for tuning thresholds.
        context: Where and how.
    """
    return fit_with_scores(name, scorer, training, validation, context)[0]


def fit_with_scores(
    name: ModelName,
    scorer: Scorer,
    training: Examples,
    validation: Examples | None,
    context: FitContext,
    *,
    only_validate: bool = False,
) -> tuple[FittedModel, HeldOut]:
    """Fit a model as `fit_model` does; also returns the calibrated scores that the thresholds were fitted on.

    If only these scores matter (`only_validate`), the scorer is not fitted again to documents that were held out.
    """
    if not len(training):
        raise CorpusError("there are no documents to learn from")
    if validation is not None and scorer.config.learns_validation:
        context.tell("validation documents are learned from, too: thresholds come from out-of-fold scores of all")
        training, validation = training.with_others(validation), None
    counts = count_labels(training.labels)
    rare = _rare_labels(scorer.classes, counts)
    for line in (*_warnings(len(training), rare, scorer), *scorer.advice(len(training))):
        context.tell(line)
    report, raw = _fit_scorer(scorer, training, validation, context, only_validate)
    calibration = _calibration(scorer, raw, counts)
    held_out = replace(raw, scores=calibration.calibrate_documents(raw.scores))
    hierarchy = _hierarchy(scorer, training.labels, counts)
    rule = _rule(scorer, training.labels, hierarchy)
    thresholds = DECISION_RULES[rule].fit(held_out, scorer.config.decision)
    model = FittedModel(name, scorer.config, scorer, calibration, thresholds, hierarchy, rule, counts, report)
    for line in _decision_notes(model):
        context.tell(line)
    return _measured(model, raw, held_out, rare), held_out


def refit_model(
    start: FittedModel, scorer: Scorer, training: Examples, folds: NDArray[np.int64], context: FitContext
) -> tuple[FittedModel, NDArray[np.float32]]:
    """Fit a scorer whose scores keep their meaning (`keeps_scale`) to the documents of a model and a few more.

    Calibration and thresholds stay; a new label gets those of the known label with the next larger number of documents.
    A model that gives each document its best label has thresholds, too: they count once documents have several labels.

    Args:
        start: The model, whose scorer is the one that `scorer` starts from.
        scorer: Not fitted yet.
        training: All documents.
        folds: As for `Scorer.refit`.
        context: Where and how.

    Returns:
        The model, and the calibrated scores of the documents that have a fold, 0 for others; float32 [documents, L].
    """
    raw = scorer.refit(training, folds, context)
    ours, theirs = scorer.known_columns
    counts = scorer.with_start_counts(count_labels(training.labels), start.counts)
    order = np.argsort(start.counts, kind="stable")
    like = order[np.searchsorted(start.counts, counts, sorter=order).clip(max=len(order) - 1)]  # [L], columns of start
    like[ours] = theirs
    slopes, intercepts = (
        np.broadcast_to(values, start.counts.shape)[like]
        for values in (start.calibration.slopes, start.calibration.intercepts)
    )
    calibration = Calibration() if start.calibration.is_identity else Calibration(slopes, intercepts)
    metrics = {"parameters": scorer.parameters, "rare_labels": _rare_labels(scorer.classes, counts)}
    rule, thresholds = _rule(scorer, training.labels, start.hierarchy), start.thresholds[like]
    fitted = FittedModel(
        start.name, scorer.config, scorer, calibration, thresholds, start.hierarchy, rule, counts, metrics=metrics
    )
    return fitted, calibration.calibrate_documents(raw)


def has_folds(scorer: Scorer, documents: int) -> bool:
    """Whether a scorer fitted to so many documents, if they are no copies, scores them out of fold."""
    is_too_much = documents * len(scorer.classes) > _MOST_CELLS and not scorer.needs_folds
    return scorer.folds_for(documents) > 1 and not is_too_much


def hold_out(examples: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """Divide documents at random into training and validation documents; very few documents are used as both.

    A document stays for training if it is the last one of a label.

    Args:
        examples: All documents.
        share: The share of validation documents.
        seed: Random seed.
    """
    count = len(examples)
    if count < _TOO_FEW_TO_SPLIT:
        return examples, examples
    order = np.random.default_rng(seed).permutation(count)
    wanted, left = max(1, round(share * count)), count_labels(examples.labels)
    chosen: list[int] = []
    for document in order.tolist():
        columns = examples.labels.indices[examples.labels.indptr[document] : examples.labels.indptr[document + 1]]
        if (left[columns] > 1).all():
            left[columns] -= 1
            chosen.append(document)
        if len(chosen) == wanted:
            break
    if not chosen:
        return examples, examples
    held_out = np.sort(np.array(chosen))
    return examples.select(np.setdiff1d(np.arange(count), held_out)), examples.select(held_out)


def _fit_scorer(
    scorer: Scorer, training: Examples, validation: Examples | None, context: FitContext, only_validate: bool
) -> tuple[FitReport, HeldOut]:
    """Fit a scorer; also returns raw scores of documents by a scorer that has not learned from them."""
    if validation is not None:
        _tell_time(scorer, training, 0, context)
        found = scorer.validated_fit(training, validation, context)
        return found.report, _held_out(found.scores, validation, training)
    folds = _folds(scorer, training)
    if folds is not None:
        _tell_time(scorer, training, int(folds.max()) + 1, context)
        found = scorer.cross_fit(training, folds, context)
        return found.report, HeldOut.of_folds(training.labels, found.scores, folds)
    _tell_time(scorer, training, 1, context)
    share = min(scorer.config.validation, _MOST_CELLS / max(1, len(training) * len(scorer.classes)))
    part, held_out = hold_out(training, share, scorer.seed)
    found = scorer.validated_fit(part, held_out, context.within("held-out"))
    if part is not training and not only_validate:
        everything = context.called("all documents").within("all")
        scorer.fit(training, None, replace(everything, epochs=found.report.best_epoch or None, watch=None))
    return found.report, _held_out(found.scores, held_out, part)


def _tell_time(scorer: Scorer, training: Examples, folds: int, context: FitContext) -> None:
    if expected := expected_time(scorer.config, training.workload, folds):
        context.tell(expected)


def _folds(scorer: Scorer, training: Examples) -> NDArray[np.int64] | None:
    """The fold of each document; None if the scorer wants no folds, or too few documents differ.

    There are no folds either if the scores of all documents would fill the memory: then as many documents are held out
    as have scores in it, which is enough for calibration and thresholds.
    """
    fewest = 2 if scorer.needs_folds else _TOO_FEW_TO_SPLIT
    wanted = scorer.folds_for(len(training))
    return document_folds(training, wanted, scorer.seed, fewest) if has_folds(scorer, len(training)) else None


def _held_out(scores: NDArray[np.float32], examples: Examples, training: Examples) -> HeldOut:
    kind: ValidationKind = "learned" if examples is training else "held-out"
    counts = count_labels(training.labels)[None]
    return HeldOut(examples.labels, scores, counts, np.zeros(len(examples), np.int64), kind)


def _calibration(scorer: Scorer, raw: HeldOut, counts: NDArray[np.int64]) -> Calibration:
    is_wanted = scorer.config.decision.calibration == "logistic" and not scorer.is_calibrated
    return fit_calibration(raw, counts) if is_wanted else Calibration()


def _hierarchy(scorer: Scorer, labels: csr_array, counts: NDArray[np.int64]) -> Hierarchy:
    """What to do about ancestors: as is asked for, or as suits the labels of the training documents."""
    asked: Hierarchy | Literal["auto"] = scorer.config.decision.hierarchy
    if asked != "auto":
        return asked
    return "add-ancestors" if scorer.classes.has_all_ancestors(labels, counts > 0) else "as-is"


def _rule(scorer: Scorer, labels: csr_array, hierarchy: Hierarchy) -> str:
    """The decision rule that is asked for, or the one that suits the labels of the training documents."""
    asked: str = scorer.config.decision.rule
    if asked != "auto":
        return asked
    has_one = scorer.classes.has_one_label(labels, with_ancestors=hierarchy == "add-ancestors")
    return "one" if has_one else scorer.usual_rule


def _decision_notes(model: FittedModel) -> Iterator[str]:
    """What a person should know of how labels are chosen."""
    asked = model.config.decision
    if model.rule != asked.rule and DECISION_RULES[model.rule].takes_one:
        yield "each document has one label, so each gets its best one (--set decision.rule=global for any)"
    if asked.calibration == "logistic" and not model.is_calibrated:
        yield "there are too few documents for probabilities: scores only order the labels"


def _measured(model: FittedModel, raw: HeldOut, held_out: HeldOut, rare: dict[str, int]) -> FittedModel:
    """The model with its metrics and errors on documents that it has not learned from, if there are any."""
    validation = model.evaluate(held_out.labels, held_out.scores)
    metrics = {
        "parameters": model.scorer.parameters,
        "epochs": model.report.epochs,
        "best_epoch": model.report.best_epoch,
        "standings": [asdict(one) for one in model.report.standings],
        "rare_labels": rare,
        "raw_calibration_error": calibration_error(raw.labels, raw.scores),
        "validation": validation.as_dict(),
        "validation_kind": held_out.kind,
    }
    diagnosis = model.diagnose(held_out.labels, held_out.scores)
    return replace(model, validation=validation, metrics=metrics, diagnosis=diagnosis)


def _rare_labels(classes: Classes, counts: NDArray[np.int64]) -> dict[str, int]:
    """The labels with very few training documents, and how many these are."""
    return {name: int(count) for name, count in zip(classes.names, counts, strict=True) if 0 < count <= _RARE}


def _warnings(documents: int, rare: dict[str, int], scorer: Scorer) -> Iterator[str]:
    """What should be known of a corpus that is too small, or of labels that are too rare, in lines."""
    if documents < FEW_DOCUMENTS:
        number = f"{documents} document{'s' * (documents != 1)}"
        yield f"with {number}, probabilities and thresholds are guesses: label more documents"
    if rare:
        named = ", ".join(_named(label, scorer) for label in list(rare)[:_RARE_TOLD])
        number = f"{len(rare):,} labels have" if len(rare) > 1 else "1 label has"
        left = len(rare) - _RARE_TOLD
        more = f" and {left:,} more, listed in the report" if left > 0 else ""
        yield f"{number} only one or two documents: {named}{more}"


def _named(label: str, scorer: Scorer) -> str:
    """A label by its name and, if that differs, its id."""
    title = scorer.classes.taxonomy.title(label, scorer.config.text.language)
    return label if title == label else f"{title} ({label})"
