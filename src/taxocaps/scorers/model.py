"""A fitted model: a scorer with its calibration, thresholds and taxonomy, which gives documents their labels."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from taxocaps.errors import ModelError
from taxocaps.metrics.classification import OtherLabels
from taxocaps.metrics.diagnosis import Diagnosis, diagnose
from taxocaps.metrics.evaluation import Evaluation, evaluate
from taxocaps.results import FitReport, ModelCard, Prediction, ScoredLabel, TaxonomyLabel, TaxonomyView, plain
from taxocaps.scorers.base import ModelConfig, Scorer
from taxocaps.scorers.decision import (
    DECISION_RULES,
    Calibration,
    DecisionConfig,
    DecisionOptions,
    Hierarchy,
    add_ancestors,
    apply_hierarchy,
    choose_labels,
    count_labels,
    raise_ancestors,
)
from taxocaps.taxonomy.tree import VIRTUAL_ROOT

__all__ = ["FEW_DOCUMENTS", "FittedModel", "ModelName"]

_DEEPEST = 500
"""Labels that are further below the root are shown without their paths."""
_AS_TRAINED = DecisionOptions()


@dataclass(frozen=True)
class ModelName:
    """The name of the model and of the preset that a user asked for, and the seed."""

    model: str
    preset: str
    seed: int

    @property
    def flags(self) -> str:
        """Model and preset as options of the command line, such as `--model HAN --preset fast`."""
        preset = f" --preset {self.preset}" if self.preset != "default" else ""
        return f"--model {shlex.quote(self.model)}{preset}"


@dataclass(frozen=True)
class FittedModel:
    """Everything that is needed to label texts.

    Attributes:
        name: The name, preset and seed that the user asked for.
        config: All options, as the user asked for them.
        scorer: Gives raw scores.
        calibration: Turns raw scores into probabilities.
        thresholds: float32 [L], the threshold of each label.
        hierarchy: What is done about ancestors.
        rule: The decision rule; if `auto` was asked for, the one that was picked.
        counts: int64 [L], the number of training documents of each label; 0 for one that is given by its name alone.
        report: The history of the fit.
        validation: Metrics on documents that were not learned from: validation documents, or training documents out of
            fold; None in a model that was read from a folder.
        metrics: These and further metrics as plain values, as in `metrics.json`.
        diagnosis: Which errors the model makes on these documents; None in a model that was read from a folder.
    """

    name: ModelName
    config: ModelConfig
    scorer: Scorer
    calibration: Calibration
    thresholds: NDArray[np.float32]
    hierarchy: Hierarchy
    rule: str
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
    def decision(self) -> DecisionConfig:
        """How scores become labels, with `auto` replaced by what the training documents suggested."""
        return self.config.decision.replace(rule=self.rule, hierarchy=self.hierarchy)

    @cached_property
    def is_calibrated(self) -> bool:
        """Whether scores are probabilities: not with too few documents, nor if calibration is turned off."""
        by_itself = self.scorer.is_calibrated and int(self.counts.sum()) >= FEW_DOCUMENTS
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
        """Calibrated scores of each label on its own, from which labels are chosen; float32 [documents, L].

        They are 0 for a document without words. See `consistent` for scores that respect the hierarchy.
        """
        return self.calibration.calibrate_documents(self.raw_scores(documents))

    def scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """Calibrated scores that respect the hierarchy (see `consistent`); float32 [documents, L]."""
        return self.consistent(self.own_scores(documents))

    def consistent(self, own: NDArray[np.float32], options: DecisionOptions | None = None) -> NDArray[np.float32]:
        """Scores as users see them: if ancestors are added, no label is less probable than one below it."""
        return raise_ancestors(own, self.classes) if self._hierarchy(options) == "add-ancestors" else own

    def choose(self, own: NDArray[np.float32], options: DecisionOptions | None = None) -> csr_array:
        """The labels of documents; CSR [documents, L] of bool.

        Args:
            own: Their scores, as `own_scores` gives them.
            options: How the choice differs from the way in which the model was trained.
        """
        return csr_array(self._fitting(own, options))

    def _fitting(self, own: NDArray[np.float32], options: DecisionOptions | None) -> NDArray[np.bool_]:
        """The labels that fit the hierarchy; bool [documents, L]."""
        return apply_hierarchy(self._chosen(own, options or _AS_TRAINED), self._hierarchy(options), self.classes)

    def _hierarchy(self, options: DecisionOptions | None) -> Hierarchy:
        """What to do about ancestors: the option if it is given, else as the model was trained."""
        return (options or _AS_TRAINED).hierarchy or self.hierarchy

    def _chosen(self, own: NDArray[np.float32], options: DecisionOptions) -> NDArray[np.bool_]:
        """The labels before anything is done about ancestors; bool [documents, L]."""
        decision, top_k, scores = self.decision, options.top_k, own
        if top_k is None and options.threshold is None:
            top_k = decision.top_k
            if DECISION_RULES[self.rule].takes_one:
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
        """The labels of documents, scored in parts so that memory stays bounded however many labels there are.

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

        If ancestors are added, a document gets all of them except the root, even those without a column of their own,
        with scores at least as high as those of their descendants (see `add_ancestors`).

        Args:
            documents: The documents.
            own: Their scores, as `own_scores` gives them.
            options: Which labels they get.
            first: The position of the first document; documents without an id are named by their position.
        """
        rows, columns = self._fitting(own, options).nonzero()
        scores, ends = self.consistent(own, options), np.searchsorted(rows, np.arange(len(own) + 1)).tolist()
        adds_ancestors = self._hierarchy(options) == "add-ancestors" and not self._are_ancestors_columns
        taxonomy, has_words = self.classes.taxonomy, np.asarray(scores.any(axis=1)).tolist()
        names, values = [self.classes.names[column] for column in columns.tolist()], scores[rows, columns].tolist()
        for index, (document, (start, end)) in enumerate(zip(documents, pairwise(ends), strict=True)):
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

    @cached_property
    def _are_ancestors_columns(self) -> bool:
        """Whether all labels above columns are columns: then they are chosen with those, and none has to be added."""
        taxonomy, columns = self.classes.taxonomy, {*self.classes.names, self.classes.taxonomy.root}
        return all(parent in columns for name in self.classes.names for parent in taxonomy.parents(name))

    def _paths(self, label: str) -> tuple[tuple[str, ...], ...]:
        """The paths to a label; none if it is so deep that the paths of all its ancestors would fill the memory."""
        taxonomy = self.classes.taxonomy
        return taxonomy.paths(label) if taxonomy.depth(label) <= _DEEPEST else ()

    @cached_property
    def _shown(self) -> "_ShownLabels":
        return _ShownLabels(self)

    @cached_property
    def _unseen(self) -> frozenset[str]:
        """The labels that are given by their names alone: no training document carries them, or one below them."""
        is_known = self.counts > 0
        if self.hierarchy == "add-ancestors":
            is_known = raise_ancestors(is_known[None], self.classes)[0]
        return frozenset(self.classes.names[column] for column in np.flatnonzero(~is_known).tolist())

    @cached_property
    def _is_lowest(self) -> NDArray[np.bool_]:
        """The labels that are not ancestors of labels with training documents; bool [L]."""
        if self.hierarchy != "add-ancestors":
            return np.ones(len(self.classes), bool)
        is_above: NDArray[np.bool_] = self.classes.are_above(self.counts > 0)
        return ~is_above

    def card(self, name: str | None = None) -> ModelCard:
        """The model card; `name` is what to call the model, such as its folder."""
        metrics = plain(self.metrics)
        return ModelCard(
            name=name or self.name.model,
            model=self.name.model,
            preset=self.name.preset,
            seed=self.name.seed,
            labels=len(self.classes),
            language=self.config.text.language,
            hierarchy=self.hierarchy,
            rule=self.rule,
            takes_best=self.decision.top_k is not None,
            at_least=self.decision.at_least,
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
        """The names by which a label can be searched for, besides its id and the name that is shown."""
        shown = {label, self.title(label)}
        terms = [term for term in self.classes.taxonomy.terms(label) if term.text not in shown]
        hidden = dict.fromkeys(term.text for term in terms if term.kind == "hidden")
        return {
            "alternatives": tuple(dict.fromkeys(term.text for term in terms if term.kind != "hidden")),
            "hidden": tuple(hidden),
        }

    def evaluate(self, truth: csr_array, own: NDArray[np.float32], *, labels: LabelLists | None = None) -> Evaluation:
        """How good the labels of scored documents are.

        True labels without a column count in all but macro-averages: as predicted where the model adds them, being
        ancestors of other labels, and as missed elsewhere. Added ancestors that no document carries, neither one of
        these nor a training document, do not count: such documents are labelled with the lowest labels only.

        Args:
            truth: CSR [documents, L] of bool.
            own: Their scores, as `own_scores` gives them.
            labels: All labels of the documents, if some may have no column.
        """
        chosen, scores = self._measured(truth, own)
        return evaluate(
            truth,
            chosen,
            names=self.classes.names,
            levels=self.classes.levels,
            closure=self.classes.full_closure_of({*truth.indices.tolist(), *chosen.indices.tolist()}),
            scores=scores,
            others=self._other_labels(list(labels or ()), chosen),
            averaged=self.counts > 0,
        )

    def diagnose(self, truth: csr_array, own: NDArray[np.float32]) -> Diagnosis:
        """Where the labels of scored documents go wrong; arguments as of `evaluate`."""
        return diagnose(truth, *self._measured(truth, own), _parents(self.classes))

    def _measured(self, truth: csr_array, own: NDArray[np.float32]) -> tuple[csr_array, NDArray[np.float32]]:
        """Labels and scores as they are measured: a label that no document carries gets nothing from those below it."""
        is_idle = (self.counts == 0) & (count_labels(truth) == 0)
        by_themselves = self._chosen(own, _AS_TRAINED)
        chosen = apply_hierarchy(by_themselves, self.hierarchy, self.classes)
        return csr_array(np.where(is_idle, by_themselves, chosen)), np.where(is_idle, own, self.consistent(own))

    def _other_labels(self, labels: Sequence[Sequence[str] | None], chosen: csr_array) -> OtherLabels | None:
        """The true labels without a column, and where they are added as ancestors; None if there are none."""
        names, taxonomy = self.classes.names, self.classes.taxonomy
        others = sorted(set().union(*(found or () for found in labels)).difference(names))
        if not others:
            return None
        truth = label_matrix(labels, others)
        if self.hierarchy == "add-ancestors":
            added = csr_array(chosen @ label_matrix([(name,) for name in names], others, taxonomy, "add"))
        else:
            added = csr_array(truth.shape, dtype=bool)
        return OtherLabels(others, truth, added)


class _ShownLabels(dict[str, tuple[int, str, str, tuple[tuple[str, ...], ...], bool]]):
    """What predictions show of a label, computed when it is first needed.

    For each label its position in the taxonomy, its id, its name, its paths, and whether it is unseen.
    """

    def __init__(self, model: FittedModel) -> None:
        super().__init__()
        self._model = model

    def __missing__(self, label: str) -> tuple[int, str, str, tuple[tuple[str, ...], ...], bool]:
        model, taxonomy = self._model, self._model.classes.taxonomy
        is_unseen = label in model._unseen
        found = self[label] = (taxonomy.position(label), label, model.title(label), model._paths(label), is_unseen)
        return found


_CELLS_AT_ONCE = 8_000_000
"""Scores that are in memory together in prediction."""

FEW_DOCUMENTS = 50
"""With fewer training documents, even a scorer whose scores are probabilities is not trusted to give them."""

_OF_CARD = (
    "parameters",
    "epochs",
    "best_epoch",
    "documents",
    "standings",
    "rare_labels",
    "validation",
    "validation_kind",
    "test",
)


def _parents(classes: Classes) -> list[tuple[str, ...]]:
    """The parents of each label, with or without a column; top labels are siblings of each other."""
    return [classes.taxonomy.parents(name) or (VIRTUAL_ROOT,) for name in classes.names]
