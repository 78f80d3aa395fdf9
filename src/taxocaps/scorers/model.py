"""A fitted model: a scorer with its calibration, its thresholds and its taxonomy; from documents to labels."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.corpus.document import Document
from taxocaps.corpus.labels import Classes, LabelLists, label_matrix
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.errors import CorpusError, ModelError
from taxocaps.metrics.calibration import calibration_error
from taxocaps.metrics.classification import AddedLabels, label_counts
from taxocaps.metrics.diagnosis import Diagnosis, diagnose
from taxocaps.metrics.evaluation import Evaluation, evaluate
from taxocaps.results import FitReport, ModelCard, Prediction, ScoredLabel, TaxonomyLabel, TaxonomyView, plain
from taxocaps.scorers.base import Examples, FitContext, ModelConfig, Scorer
from taxocaps.scorers.decision import (
    DECISION_RULES,
    Calibration,
    DecisionOptions,
    HeldOut,
    Hierarchy,
    add_ancestors,
    apply_hierarchy,
    choose_labels,
    count_labels,
    fit_calibration,
    raise_ancestors,
)
from taxocaps.scorers.folds import document_folds
from taxocaps.scorers.plan import expected_time
from taxocaps.taxonomy.tree import VIRTUAL_ROOT

__all__ = [
    "FittedModel",
    "ModelName",
    "fit_model",
    "fit_with_scores",
    "has_folds",
    "hold_out",
    "known_counts",
    "refit_model",
]

_DEEPEST = 500
"""Labels that are further below the root are shown without their paths."""
_AS_TRAINED = DecisionOptions()


@dataclass(frozen=True)
class ModelName:
    """What a user asked for: the name of a model, of a preset, and the seed."""

    model: str
    preset: str
    seed: int

    @property
    def flags(self) -> str:
        """The same for the command line, such as `--model HAN --preset fast`."""
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
        counts: int64 [L], the training documents of each label; 0 for one that is given by its name alone.
        report: What fitting came to.
        validation: How good the labels are on documents that were not learned from: validation documents, or training
            documents out of fold; None in a model that was read from a folder.
        metrics: The same and more as plain values, as in `metrics.json`.
        diagnosis: Where the labels of these documents go wrong; None in a model that was read from a folder.
    """

    name: ModelName
    config: ModelConfig
    scorer: Scorer
    calibration: Calibration
    thresholds: NDArray[np.float32]
    hierarchy: Hierarchy
    counts: NDArray[np.int64]
    report: FitReport = field(default_factory=FitReport)
    validation: Evaluation | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None

    @property
    def classes(self) -> Classes:
        """The labels of the columns."""
        return self.scorer.classes

    @cached_property
    def is_calibrated(self) -> bool:
        """Whether scores are probabilities; not so with too few documents, or if that was not wanted."""
        by_itself = self.scorer.is_calibrated and int(self.counts.sum()) >= _FEW_DOCUMENTS
        return by_itself or not self.calibration.is_identity

    def title(self, label: str) -> str:
        """The name of a label in the language of the model."""
        return self.classes.taxonomy.title(label, self.config.text.language)

    def raw_scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """Scores as the scorer gives them, such as capsule lengths; float32 [documents, L]."""
        scores = self.scorer.scores(documents)
        if not np.isfinite(scores).all():
            raise ModelError(
                "the model's weights make scores that are no numbers; copy the model again, or train it anew"
            )
        return scores

    def own_scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """Calibrated scores of each label by itself, by which labels are chosen; float32 [documents, L].

        They are 0 for a document without words.
        """
        return _calibrated(self.calibration, self.raw_scores(documents))

    def scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """Scores as they are shown, see `consistent`; float32 [documents, L]."""
        return self.consistent(self.own_scores(documents))

    def consistent(self, own: NDArray[np.float32], options: DecisionOptions | None = None) -> NDArray[np.float32]:
        """Own scores as they are shown: if ancestors are added, none is less probable than what is below it."""
        return raise_ancestors(own, self.classes) if self._hierarchy(options) == "add-ancestors" else own

    def choose(self, own: NDArray[np.float32], options: DecisionOptions | None = None) -> csr_array:
        """The labels of documents; CSR [documents, L] of bool.

        Args:
            own: Their scores, as `own_scores` gives them.
            options: Where the choice differs from how the model was trained.
        """
        chosen = self._chosen(own, options or _AS_TRAINED)
        return csr_array(apply_hierarchy(chosen, self._hierarchy(options), self.classes))

    def _hierarchy(self, options: DecisionOptions | None) -> Hierarchy:
        """What is done about ancestors: as is asked for, or as the model was trained."""
        return (options or _AS_TRAINED).hierarchy or self.hierarchy

    def _chosen(self, own: NDArray[np.float32], options: DecisionOptions) -> NDArray[np.bool_]:
        """The labels before anything is done about ancestors; bool [documents, L]."""
        decision, top_k, scores = self.config.decision, options.top_k, own
        if top_k is None and options.threshold is None:
            top_k = decision.top_k
            if DECISION_RULES[decision.rule].takes_one:
                scores = np.where(self._is_lowest, own, 0)
        chosen = choose_labels(
            scores,
            self.thresholds if options.threshold is None else options.threshold,
            top_k=top_k,
            at_least=decision.at_least if options.at_least is None else options.at_least,
        )
        chosen[~own.any(axis=1)] = False  # nothing is known about a text without words
        return chosen

    def label(
        self, documents: EncodedDocuments, options: DecisionOptions | None = None, *, first: int = 1
    ) -> Iterator[Prediction]:
        """The labels of documents; so few are scored at a time that memory is bounded, however many labels there are.

        Args:
            documents: The documents.
            options: Which labels they get.
            first: The position of the first document.
        """
        listed, step = list(documents.documents), max(1, _CELLS_AT_ONCE // max(1, len(self.classes)))
        for start in range(0, len(listed), step):
            some = listed[start : start + step]
            part = documents if step >= len(listed) else documents.select(np.arange(start, start + len(some)))
            yield from self.predictions(some, self.own_scores(part), options, first=first + start)

    def predictions(
        self,
        documents: Sequence[Document],
        own: NDArray[np.float32],
        options: DecisionOptions | None = None,
        *,
        first: int = 1,
    ) -> Iterator[Prediction]:
        """The labels of documents that have been scored.

        If ancestors are added, a document gets all of them but the root, also those that are no columns, with at least
        the scores of their descendants (see `add_ancestors`).

        Args:
            documents: The documents.
            own: Their scores, as `own_scores` gives them.
            options: Which labels they get.
            first: The position of the first document; those without an id are called by their positions.
        """
        chosen, scores = self.choose(own, options), self.consistent(own, options)
        adds_ancestors = self._hierarchy(options) == "add-ancestors"
        taxonomy, has_words = self.classes.taxonomy, np.asarray(scores.any(axis=1)).tolist()
        names = [self.classes.names[column] for column in chosen.indices.tolist()]
        values = scores[np.repeat(np.arange(len(own)), np.diff(chosen.indptr)), chosen.indices].tolist()
        for index, (document, (start, end)) in enumerate(zip(documents, pairwise(chosen.indptr.tolist()), strict=True)):
            id = document.id or str(first + index)
            if not has_words[index]:
                yield Prediction(id, (), "the text has no words that the model reads")
                continue
            given = dict(zip(names[start:end], values[start:end], strict=True))
            yield self._prediction(id, add_ancestors(given, taxonomy) if adds_ancestors else given)

    def _prediction(self, id: str, given: Mapping[str, float]) -> Prediction:
        """The labels of a document, the most probable first; of equal ones, ancestors before descendants."""
        shown = [(-score, *self._shown[label]) for label, score in given.items()]
        shown.sort(key=itemgetter(0, 1))
        labels = (ScoredLabel(label, name, -score, paths, unseen) for score, _, label, name, paths, unseen in shown)
        return Prediction(id, tuple(labels), is_calibrated=self.is_calibrated)

    def _paths(self, label: str) -> tuple[tuple[str, ...], ...]:
        """The paths to a label; none to one so deep that all its ancestors with their paths would fill the memory."""
        taxonomy = self.classes.taxonomy
        return taxonomy.paths(label) if taxonomy.depth(label) <= _DEEPEST else ()

    @cached_property
    def _shown(self) -> "_ShownLabels":
        return _ShownLabels(self)

    @cached_property
    def _unseen(self) -> frozenset[str]:
        """The columns that are given by their names alone: no document carries them or a label they are added to."""
        is_known = self.counts > 0
        if self.hierarchy == "add-ancestors":
            is_known = raise_ancestors(is_known[None], self.classes)[0]
        return frozenset(self.classes.names[column] for column in np.flatnonzero(~is_known).tolist())

    @cached_property
    def _is_lowest(self) -> NDArray[np.bool_]:
        """The labels that a document may have beside nothing but their ancestors; bool [L]."""
        if self.hierarchy != "add-ancestors":
            return np.ones(len(self.classes), bool)
        is_above: NDArray[np.bool_] = self.classes.are_above(self.counts > 0)
        return ~is_above

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
            takes_best=self.config.decision.top_k is not None,
            at_least=self.config.decision.at_least,
            is_calibrated=self.is_calibrated,
            **{key: metrics[key] for key in _OF_CARD if metrics.get(key) is not None},
        )

    def taxonomy_view(self, name: str | None = None) -> TaxonomyView:
        """The taxonomy with the thresholds of the labels that the model can give."""
        tree = self.classes.taxonomy
        thresholds = dict(zip(self.classes.names, map(float, self.thresholds), strict=True))
        labels = (
            TaxonomyLabel(
                label,
                self.title(label),
                tree.depth(label),
                tuple(tree.parents(label)),
                thresholds.get(label),
                **self._other_names(label),
            )
            for label in tree.names
        )
        return TaxonomyView(name or self.name.model, tuple(tree.roots), tuple(labels))

    def _other_names(self, label: str) -> dict[str, tuple[str, ...]]:
        """The names by which a label can be searched for, beside its id and the name that is shown."""
        shown = {label, self.title(label)}
        terms = [term for term in self.classes.taxonomy.terms(label) if term.text not in shown]
        hidden = dict.fromkeys(term.text for term in terms if term.kind == "hidden")
        return {
            "alternatives": tuple(dict.fromkeys(term.text for term in terms if term.kind != "hidden")),
            "hidden": tuple(hidden),
        }

    def evaluate(self, truth: csr_array, own: NDArray[np.float32], *, labels: LabelLists | None = None) -> Evaluation:
        """How good the labels of scored documents are.

        True labels without a column count in the micro-averages: as predicted where the model adds them as ancestors of
        other labels, and as missed elsewhere. Added ancestors that no document carries, neither of these nor of those
        learned from, do not count: such documents are labelled with the lowest labels only.

        Args:
            truth: CSR [documents, L] of bool.
            own: Their scores, as `own_scores` gives them.
            labels: All labels of the documents, if some may have no column.
        """
        chosen, scores = self._measured(truth, own)
        missed, added = self._beyond_columns(list(labels or ()), chosen)
        return evaluate(
            truth,
            chosen,
            names=self.classes.names,
            levels=self.classes.levels,
            closure=self.classes.full_closure_of({*truth.indices.tolist(), *chosen.indices.tolist()}),
            scores=scores,
            unseen=missed,
            added=added,
            averaged=self.counts > 0,
        )

    def diagnose(self, truth: csr_array, own: NDArray[np.float32]) -> Diagnosis:
        """Where the labels of scored documents go wrong; arguments as of `evaluate`."""
        return diagnose(truth, *self._measured(truth, own), _parents(self.classes))

    def _measured(self, truth: csr_array, own: NDArray[np.float32]) -> tuple[csr_array, NDArray[np.float32]]:
        """Labels and scores as they are measured: those of columns that no document carries owe nothing to others."""
        is_idle = (self.counts == 0) & (count_labels(truth) == 0)
        by_themselves = self._chosen(own, _AS_TRAINED)
        chosen = apply_hierarchy(by_themselves, self.hierarchy, self.classes)
        return csr_array(np.where(is_idle, by_themselves, chosen)), np.where(is_idle, own, self.consistent(own))

    def _beyond_columns(
        self, labels: Sequence[Sequence[str] | None], chosen: csr_array
    ) -> tuple[dict[str, int], AddedLabels]:
        """True labels without a column: in how many documents each is missed, and how often they are added."""
        names, taxonomy = self.classes.names, self.classes.taxonomy
        unseen = sorted(set().union(*(found or () for found in labels)).difference(names))
        if not unseen:
            return {}, AddedLabels()
        truth = label_matrix(labels, unseen)
        if self.hierarchy == "add-ancestors":
            added = chosen @ label_matrix([(name,) for name in names], unseen, taxonomy, "add")
        else:
            added = csr_array(truth.shape, dtype=bool)
        counts = label_counts(truth, added)
        missed = (counts.actual - counts.true_positives).tolist()
        right, predicted = int(counts.true_positives.sum()), int(counts.predicted.sum())
        found = {name: number for name, number in zip(unseen, missed, strict=True) if number}
        return found, AddedLabels(right, predicted - right)


class _ShownLabels(dict[str, tuple[int, str, str, tuple[tuple[str, ...], ...], bool]]):
    """For each label its position in the taxonomy, itself, its name and paths, and whether it is unseen; as needed."""

    def __init__(self, model: FittedModel) -> None:
        super().__init__()
        self._model = model

    def __missing__(self, label: str) -> tuple[int, str, str, tuple[tuple[str, ...], ...], bool]:
        model, taxonomy = self._model, self._model.classes.taxonomy
        is_unseen = label in model._unseen
        found = self[label] = (taxonomy.position(label), label, model.title(label), model._paths(label), is_unseen)
        return found


def _calibrated(calibration: Calibration, raw: NDArray[np.float32]) -> NDArray[np.float32]:
    calibrated = calibration.apply(raw)
    return np.where(raw.any(axis=1, keepdims=True), calibrated, np.float32(0))  # a text without words has no score


def fit_model(
    name: ModelName, scorer: Scorer, training: Examples, validation: Examples | None, context: FitContext
) -> FittedModel:
    """Fit a scorer, then calibration and thresholds on documents that it has not learned from.

    A scorer with folds scores each training document without its fold, and takes validation documents for further
    training documents: all of them serve both purposes. For others these are the validation documents, or some training
    documents that are held out. In the end the scorer has learned from all training documents.

    Args:
        name: What was asked for.
        scorer: Not fitted yet.
        training: The training documents.
        validation: Documents that decide when to stop, and that thresholds are tuned on.
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
    """The same as `fit_model`, with the calibrated scores of the documents that thresholds were fitted on.

    If only these scores matter (`only_validate`), documents that are held out are not learned from in the end.
    """
    if not len(training):
        raise CorpusError("there are no documents to learn from")
    if validation is not None and scorer.config.learns_validation:
        context.tell("validation documents are learned from, too: thresholds come from out-of-fold scores of all")
        training, validation = training.with_others(validation), None
    decision, counts = scorer.config.decision, count_labels(training.labels)
    rare = _rare(scorer.classes, counts)
    titles = (scorer.classes.taxonomy.title(label, scorer.config.text.language) for label in rare)
    named = [label if title == label else f"{title} ({label})" for label, title in zip(rare, titles, strict=True)]
    for line in (*_warnings(len(training), named), *scorer.advice(len(training))):
        context.tell(line)
    report, raw = _fit(scorer, training, validation, context, only_validate)
    is_curved = decision.calibration == "logistic" and not scorer.is_calibrated
    calibration = fit_calibration(raw, counts) if is_curved else Calibration()
    held_out = replace(raw, scores=_calibrated(calibration, raw.scores))
    hierarchy = decision.hierarchy
    if hierarchy == "auto":
        hierarchy = "add-ancestors" if scorer.classes.has_all_ancestors(training.labels, counts > 0) else "as-is"
    if decision.rule == "auto":
        has_one = scorer.classes.has_one_label(training.labels, with_ancestors=hierarchy == "add-ancestors")
        decision = decision.replace(rule="one" if has_one else scorer.usual_rule)
        if has_one:
            context.tell("each document has one label, so each gets its best one (--set decision.rule=global for any)")
    thresholds = DECISION_RULES[decision.rule].fit(held_out, decision)
    config = scorer.config.replace(decision=decision)
    fitted = FittedModel(name, config, scorer, calibration, thresholds, hierarchy, counts, report)
    if decision.calibration == "logistic" and not fitted.is_calibrated:
        context.tell("there are too few documents for probabilities: scores only order the labels")
    found = fitted.evaluate(held_out.labels, held_out.scores)
    metrics = {
        "parameters": scorer.parameters,
        "epochs": report.epochs,
        "best_epoch": report.best_epoch,
        "standings": [asdict(one) for one in report.standings],
        "rare_labels": rare,
        "raw_calibration_error": calibration_error(raw.labels, raw.scores),
        "validation": found.as_dict(),
        "is_out_of_fold": len(held_out.counts) > 1,
    }
    diagnosis = fitted.diagnose(held_out.labels, held_out.scores)
    return replace(fitted, validation=found, metrics=metrics, diagnosis=diagnosis), held_out


def refit_model(
    start: FittedModel, scorer: Scorer, training: Examples, folds: NDArray[np.int64], context: FitContext
) -> tuple[FittedModel, NDArray[np.float32]]:
    """Fit a scorer whose scores keep their meaning (`keeps_scale`) to the documents of a model and a few more.

    Calibration and thresholds stay; a new label has those of the known one with the next larger number of documents.

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
    counts = known_counts(start, scorer, count_labels(training.labels))
    order = np.argsort(start.counts, kind="stable")
    like = order[np.searchsorted(start.counts, counts, sorter=order).clip(max=len(order) - 1)]  # [L], columns of start
    like[ours] = theirs
    slopes, intercepts = (
        np.broadcast_to(values, start.counts.shape)[like]
        for values in (start.calibration.slopes, start.calibration.intercepts)
    )
    calibration = Calibration() if start.calibration.is_identity else Calibration(slopes, intercepts)
    metrics = {"parameters": scorer.parameters, "rare_labels": _rare(scorer.classes, counts)}
    config = scorer.config.replace(decision=scorer.config.decision.replace(rule=start.config.decision.rule))
    fitted = FittedModel(
        start.name, config, scorer, calibration, start.thresholds[like], start.hierarchy, counts, metrics=metrics
    )
    return fitted, _calibrated(calibration, raw)


def known_counts(start: FittedModel, scorer: Scorer, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Training documents of labels; one that none of them carries has those of the model to start from; int64 [L]."""
    ours, theirs = scorer.known_columns
    found = counts.copy()
    found[ours] = np.where(counts[ours], counts[ours], start.counts[theirs])
    return found


def _fit(
    scorer: Scorer, training: Examples, validation: Examples | None, context: FitContext, only_validate: bool
) -> tuple[FitReport, HeldOut]:
    """Fit a scorer; returns what it came to, and scores of documents by a scorer that has not learned from them."""
    folds = _folds(scorer, training) if validation is None else None
    fits = 0 if validation is not None else 1 if folds is None else int(folds.max()) + 1
    if expected := expected_time(scorer.config, training.workload, fits):
        context.tell(expected)
    if validation is not None:
        found = scorer.validated_fit(training, validation, context)
        return found.report, _held_out(found.scores, validation, training)
    if folds is not None:
        found = scorer.cross_fit(training, folds, context)
        return found.report, HeldOut.of_folds(training.labels, found.scores, folds)
    share = min(scorer.config.validation, _MOST_CELLS / max(1, len(training) * len(scorer.classes)))
    part, held_out = hold_out(training, share, scorer.seed)
    found = scorer.validated_fit(part, held_out, context.within("held-out"))
    if part is not training and not only_validate:
        again = replace(
            context.called("all documents").within("all"), epochs=found.report.best_epoch or None, watch=None
        )
        scorer.fit(training, None, again)
    return found.report, _held_out(found.scores, held_out, part)


def _folds(scorer: Scorer, training: Examples) -> NDArray[np.int64] | None:
    """The fold of each document; None if the scorer wants no folds, or too few documents differ.

    Nor are there folds for so many documents and labels that the scores of all of them would fill the memory: some
    documents are held out then, as many as have scores in it, which is enough for calibration and thresholds.
    """
    fewest = 2 if scorer.needs_folds else _TOO_FEW_TO_SPLIT
    wanted = scorer.folds_for(len(training))
    return document_folds(training, wanted, scorer.seed, fewest) if has_folds(scorer, len(training)) else None


def has_folds(scorer: Scorer, documents: int) -> bool:
    """Whether so many documents, unless they are copies, are scored out of fold when a scorer is fitted to them."""
    is_too_much = documents * len(scorer.classes) > _MOST_CELLS and not scorer.needs_folds
    return scorer.folds_for(documents) > 1 and not is_too_much


def _held_out(scores: NDArray[np.float32], examples: Examples, training: Examples) -> HeldOut:
    return HeldOut(examples.labels, scores, count_labels(training.labels)[None], np.zeros(len(examples), np.int64))


def hold_out(examples: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """Training and validation documents, drawn at random; very few documents are both.

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


_MOST_CELLS = 100_000_000
"""Scores of documents and labels that are in memory together in training, at most; 400 MB."""

_CELLS_AT_ONCE = 8_000_000
"""Scores that are in memory together in prediction."""

_TOO_FEW_TO_SPLIT = 10
"""With fewer documents, holding some out would leave next to nothing; they validate themselves."""

_FEW = 2
"""Labels with so few documents are told by name."""

_FEW_DOCUMENTS = 50
_NAMES_TOLD = 5


def _rare(classes: Classes, counts: NDArray[np.int64]) -> dict[str, int]:
    """The labels with very few training documents, and their number."""
    return {name: int(count) for name, count in zip(classes.names, counts, strict=True) if 0 < count <= _FEW}


def _warnings(documents: int, rare: Sequence[str]) -> Iterator[str]:
    """What should be known of a corpus that is too small, or of labels that are too rare, in lines."""
    if documents < _FEW_DOCUMENTS:
        number = f"{documents} document{'s' * (documents != 1)}"
        yield f"with {number}, probabilities and thresholds are guesses: label more documents"
    if rare:
        first, left = rare[:_NAMES_TOLD], len(rare) - _NAMES_TOLD
        number = f"{len(rare):,} labels have" if len(rare) > 1 else "1 label has"
        more = f" and {left:,} more, listed in the report" if left > 0 else ""
        yield f"{number} only one or two documents: {', '.join(first)}{more}"


_OF_CARD = (
    "parameters",
    "epochs",
    "best_epoch",
    "documents",
    "standings",
    "rare_labels",
    "validation",
    "is_out_of_fold",
    "test",
)


def _parents(classes: Classes) -> list[tuple[str, ...]]:
    """The parents of each label, be they columns or not; top labels are siblings of each other."""
    return [classes.taxonomy.parents(name) or (VIRTUAL_ROOT,) for name in classes.names]
