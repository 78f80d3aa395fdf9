"""From scores to labels: calibration, thresholds and hierarchy, fitted on documents that were not learned from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.config import Between, Config
from taxocaps.corpus.labels import Classes
from taxocaps.errors import ConfigError
from taxocaps.metrics.calibration import logistic, logit
from taxocaps.metrics.thresholds import best_threshold, label_thresholds
from taxocaps.registry import Registry
from taxocaps.results import ValidationKind
from taxocaps.taxonomy.tree import Taxonomy

__all__ = [
    "DECISION_RULES",
    "MOST_LABELS",
    "Calibration",
    "DecisionConfig",
    "DecisionOptions",
    "DecisionRule",
    "HeldOut",
    "Hierarchy",
    "add_ancestors",
    "apply_hierarchy",
    "choose_labels",
    "count_labels",
    "fit_calibration",
    "raise_ancestors",
]

Scores = NDArray[np.float32]
Hierarchy = Literal["as-is", "add-ancestors", "drop-orphans"]

MOST_LABELS = 1_000_000
"""The largest number of labels that can be asked for."""

_FEWEST_POSITIVES = 10
"""With fewer true labels in documents that were not learned from, there are no probabilities."""
_PAIRS_OF_A_DOCUMENT = 50
"""Labels of a document that calibration looks at."""


class DecisionConfig(Config):
    """How scores become labels.

    Attributes:
        rule: How thresholds are chosen on documents that were not learned from: `by-frequency` (one threshold with the
            best micro-F1, lower for labels with few training documents), `global` (one threshold with the best
            micro-F1), `macro` (one with the best macro-F1), `precision` (the lowest one with this share of right
            labels), `count` (one that gives documents so many labels on average), `per-label` (a threshold for each
            label with the best F1 of that label: SCutFBR.1); or without such documents, `fixed`, `top-k` and `one` (the
            best of the lowest labels). `auto` is `one` if each training document has one label, its ancestors apart,
            and otherwise `by-frequency` for joined models and `global` for all others.
        threshold: The threshold of the rule `fixed`.
        k: Labels per document of the rules `top-k` and `count`.
        precision: The precision of the rule `precision`.
        at_least: Labels that every document gets, whatever their scores; 1 for no empty answers.
        hierarchy: Take labels as they are, add their ancestors, or drop labels whose parents are not chosen; `auto`
            adds ancestors if training documents carry the ancestors of all their labels.
        calibration: Whether scores are made probabilities by a logistic model of score and label frequency.
        unseen: Whether joined models give labels that no training document carries, by their names.
    """

    section: ClassVar[str] = "decision"

    rule: str = "auto"
    threshold: Annotated[float, Between(0, 1)] = 0.5
    k: Annotated[int, Between(1, MOST_LABELS)] = 5
    precision: Annotated[float, Between(0.01, 1)] = 0.9
    at_least: Annotated[int, Between(0, MOST_LABELS)] = 0
    hierarchy: Hierarchy | Literal["auto"] = "auto"
    calibration: Literal["logistic", "none"] = "logistic"
    unseen: bool = True

    def model_post_init(self, context: object, /) -> None:
        """The rule must be known."""
        if self.rule not in DECISION_RULES:
            raise ConfigError(f"{self.key('rule')} must be one of {', '.join(DECISION_RULES)}; got {self.rule!r}")

    @property
    def top_k(self) -> int | None:
        """Labels that each document gets by the rule, whatever their scores; None if thresholds decide."""
        rule = DECISION_RULES[self.rule]
        return (1 if rule.takes_one else self.k) if rule.takes_best else None


class DecisionOptions(Config):
    """How labels are chosen in a prediction; None leaves an option as the model was trained.

    Attributes:
        top_k: Give each document its k best labels, whatever their scores.
        threshold: Use this threshold for all labels.
        at_least: Give each document with words at least this many labels.
        hierarchy: Leave labels as they are, add their ancestors, or drop labels whose parents are not chosen.
    """

    top_k: Annotated[int, Between(1, MOST_LABELS)] | None = None
    threshold: Annotated[float, Between(0, 1)] | None = None
    at_least: Annotated[int, Between(0, MOST_LABELS)] | None = None
    hierarchy: Hierarchy | None = None

    def model_post_init(self, context: object, /) -> None:
        """Refuse options that exclude each other."""
        if self.top_k is not None and self.threshold is not None:
            raise ConfigError("top_k takes labels whatever their scores; leave out threshold")


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of documents by models that have not learned from them, unless there are too few to hold any out.

    Attributes:
        labels: CSR [documents, L] of bool, the true labels.
        scores: float32 [documents, L], from 0 to 1.
        counts: int64 [F, L], for each of F models the training documents of each label.
        models: int64 [documents], which of these scored each document.
        kind: Whether documents were held out, were scored out of fold, or had to be learned from, too.
    """

    labels: csr_array
    scores: Scores
    counts: NDArray[np.int64]
    models: NDArray[np.int64]
    kind: ValidationKind = "held-out"

    @classmethod
    def of_folds(cls, labels: csr_array, scores: Scores, folds: NDArray[np.int64]) -> Self:
        """Out-of-fold scores of documents, whose folds are numbers from 0."""
        counts = [count_labels(labels[folds != fold]) for fold in range(int(folds.max()) + 1)]
        return cls(labels, scores, np.stack(counts), folds, "out-of-fold")

    @property
    def total_counts(self) -> NDArray[np.int64]:
        """The largest number of training documents that any of the models had of each label; int64 [L]."""
        found: NDArray[np.int64] = self.counts.max(axis=0)
        return found


def count_labels(labels: csr_array) -> NDArray[np.int64]:
    """The number of documents of each label, of CSR [documents, L]; int64 [L]."""
    return np.asarray(labels.sum(axis=0)).ravel().astype(np.int64)


@dataclass(frozen=True)
class DecisionRule:
    """A way to choose labels.

    Attributes:
        fit: Finds the threshold of each label, float32 [L], from calibrated scores of documents that were not learned
            from, and the options.
        is_tuned: Whether thresholds depend on these scores.
        takes_best: Whether the `k` best labels are taken instead of those above their thresholds.
        takes_one: Whether only one is taken, of the labels that have none below them if ancestors are added.
    """

    fit: Callable[[HeldOut, DecisionConfig], Scores]
    is_tuned: bool = True
    takes_best: bool = False
    takes_one: bool = False


def _one_threshold(held_out: HeldOut, config: DecisionConfig) -> Scores:
    return _for_all(best_threshold(held_out.labels, held_out.scores).threshold, held_out)


def _threshold_by_frequency(held_out: HeldOut, config: DecisionConfig) -> Scores:
    """One threshold of the logit, lowered by 1 / sqrt(1 + n) for a label with n training documents."""
    lift = 1 / np.sqrt(1.0 + held_out.total_counts)  # [L]
    lifted = np.where(held_out.scores > 0, logistic(logit(held_out.scores) + lift), 0).astype(np.float32)
    best = np.array(best_threshold(held_out.labels, lifted).threshold)
    return logistic(logit(best) - lift).astype(np.float32)


def _threshold_for_macro(held_out: HeldOut, config: DecisionConfig) -> Scores:
    from taxocaps.metrics.classification import flat_metrics

    tried = np.linspace(0.02, 0.98, 49, dtype=np.float32)
    found = [flat_metrics(held_out.labels, csr_array(held_out.scores >= one)).macro.f1 for one in tried]
    return _for_all(float(tried[int(np.argmax(found))]), held_out)


def _threshold_for_precision(held_out: HeldOut, config: DecisionConfig) -> Scores:
    """The lowest threshold above which this share of labels is right; if there is none, one that few labels reach."""
    truth = held_out.labels.toarray()
    order = np.argsort(-held_out.scores, axis=None, kind="stable")
    scores = held_out.scores.ravel()[order]
    precision = np.cumsum(truth.ravel()[order]) / np.arange(1, len(order) + 1)
    is_last = np.append(scores[1:] < scores[:-1], True)  # equal scores are taken together
    enough = np.flatnonzero((precision >= config.precision) & (scores > 0) & is_last)
    return _for_all(float(scores[enough[-1]]) if len(enough) else 1.0, held_out)


def _threshold_for_count(held_out: HeldOut, config: DecisionConfig) -> Scores:
    wanted = min(config.k * len(held_out.scores), held_out.scores.size)
    lowest = float(np.partition(held_out.scores.ravel(), -wanted)[-wanted])
    return _for_all(lowest or float(np.finfo(np.float32).tiny), held_out)  # a score of 0 gives no label


def _threshold_per_label(held_out: HeldOut, config: DecisionConfig) -> Scores:
    fallback = best_threshold(held_out.labels, held_out.scores).threshold
    return label_thresholds(held_out.labels, held_out.scores, fallback)


def _fixed_threshold(held_out: HeldOut, config: DecisionConfig) -> Scores:
    return _for_all(config.threshold, held_out)


def _for_all(threshold: float, held_out: HeldOut) -> Scores:
    return np.full(held_out.scores.shape[1], threshold, np.float32)


BY_FREQUENCY = DecisionRule(_threshold_by_frequency)
GLOBAL = DecisionRule(_one_threshold)
MACRO = DecisionRule(_threshold_for_macro)
PRECISION = DecisionRule(_threshold_for_precision)
COUNT = DecisionRule(_threshold_for_count)
PER_LABEL = DecisionRule(_threshold_per_label)
FIXED = DecisionRule(_fixed_threshold, is_tuned=False)
TOP_K = DecisionRule(_one_threshold, is_tuned=False, takes_best=True)
ONE = DecisionRule(_one_threshold, is_tuned=False, takes_best=True, takes_one=True)

DECISION_RULES: Registry[DecisionRule] = Registry(
    "decision rule",
    "taxocaps.decision_rules",
    {
        "auto": "taxocaps.scorers.decision:GLOBAL",  # a fitted model has one of the others
        "by-frequency": "taxocaps.scorers.decision:BY_FREQUENCY",
        "global": "taxocaps.scorers.decision:GLOBAL",
        "macro": "taxocaps.scorers.decision:MACRO",
        "precision": "taxocaps.scorers.decision:PRECISION",
        "count": "taxocaps.scorers.decision:COUNT",
        "per-label": "taxocaps.scorers.decision:PER_LABEL",
        "fixed": "taxocaps.scorers.decision:FIXED",
        "top-k": "taxocaps.scorers.decision:TOP_K",
        "one": "taxocaps.scorers.decision:ONE",
    },
)
"""The rules by `decision.rule`."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """A logistic curve over the logit of a score for each label: it keeps the order of documents.

    Attributes:
        slopes: float32 [L], above 0; or one number for all labels.
        intercepts: float32 [L].

    >>> Calibration().apply(np.array([[0.25]], np.float32)).round(3).tolist()
    [[0.25]]
    """

    slopes: Scores | float = 1.0
    intercepts: Scores | float = 0.0

    @property
    def is_identity(self) -> bool:
        """Whether scores stay as they are."""
        return bool(np.all(np.equal(self.slopes, 1)) and np.all(np.equal(self.intercepts, 0)))

    def apply(self, scores: Scores) -> Scores:
        """Calibrated scores."""
        if self.is_identity:
            return scores
        calibrated = logistic(self.slopes * logit(scores) + self.intercepts)
        return calibrated.astype(np.float32)

    def calibrate_documents(self, scores: Scores) -> Scores:
        """Calibrated scores, [documents, L]; those of a document without words, which are all 0, stay 0."""
        return np.where(scores.any(axis=1, keepdims=True), self.apply(scores), np.float32(0))


def fit_calibration(held_out: HeldOut, counts: NDArray[np.int64]) -> Calibration:
    """Fit the curves: a regularized logistic model of the logit and of how many training documents a label has.

    Only labels with training documents take part and, of each document, the labels with the best scores: the many
    others are clear. With too few true labels, scores stay as they are.

    Args:
        held_out: Documents that were not learned from, with scores as the scorer gives them.
        counts: int64 [L], the training documents of each label in the model that is kept.
    """
    documents, labels = _best_pairs(held_out)
    if not len(documents):
        return Calibration()
    truth = np.asarray(held_out.labels[documents, labels]).ravel().astype(bool)
    if truth.sum() < _FEWEST_POSITIVES or truth.all():
        return Calibration()
    from sklearn.linear_model import LogisticRegression

    found = logit(held_out.scores[documents, labels]).astype(np.float64)
    frequency = np.log1p(held_out.counts[held_out.models[documents], labels].astype(np.float64))
    centre, spread = frequency.mean(), frequency.std() + 1e-9
    rows = _crossed(found, (frequency - centre) / spread)
    scale = rows.std(axis=0) + 1e-9
    model = LogisticRegression(C=1.0, max_iter=1_000).fit(rows / scale, truth)
    weights = model.coef_[0] / scale
    # No curve reaches beyond the frequencies that it was fitted to: a parabola soon is anything there.
    within = np.clip(np.log1p(counts.astype(np.float64)), frequency.min(), frequency.max())
    z = (within - centre) / spread
    slopes = weights[0] + weights[1] * z + weights[2] * z * z
    intercepts = model.intercept_[0] + weights[3] * z + weights[4] * z * z
    # A falling curve would turn the order round: such a label has the slope of all labels together, or a small one.
    slopes = np.maximum(slopes, max(0.1 * float(np.median(slopes)), 1e-3))
    return Calibration(slopes.astype(np.float32), intercepts.astype(np.float32))


def _best_pairs(held_out: HeldOut) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The labels of each document with the best scores, of those that its model had documents of."""
    known = np.where(held_out.counts[held_out.models] > 0, held_out.scores, -1)
    count = min(_PAIRS_OF_A_DOCUMENT, known.shape[1])
    labels = np.argpartition(-known, count - 1, axis=1)[:, :count]
    documents = np.repeat(np.arange(len(known)), count)
    has_words = np.asarray(held_out.scores.any(axis=1))
    kept = (known[documents, labels.ravel()] >= 0) & has_words[documents]
    return documents[kept], labels.ravel()[kept]


def _crossed(logits: NDArray[np.float64], frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    columns = (logits, logits * frequency, logits * frequency**2, frequency, frequency**2)
    return np.stack(columns, axis=1)


def choose_labels(
    scores: Scores, thresholds: Scores | float, *, top_k: int | None = None, at_least: int = 0
) -> NDArray[np.bool_]:
    """The labels of each document: those whose score reaches the threshold, or the best few.

    Args:
        scores: [documents, L].
        thresholds: A threshold for each label, or one for all.
        top_k: Take this many labels of each document instead of those above their thresholds.
        at_least: Take at least this many labels of each document.

    Returns:
        bool [documents, L].
    """
    chosen: NDArray[np.bool_] = np.zeros(scores.shape, bool) if top_k is not None else scores >= thresholds
    wanted = min(max(top_k or 0, at_least), scores.shape[1])
    if wanted:
        # Labels that are chosen already come first: only what is missing is added.
        best = np.argsort(-(scores + 2 * chosen), axis=1, kind="stable")[:, :wanted]
        np.put_along_axis(chosen, best, True, axis=1)
    return chosen


def apply_hierarchy(chosen: NDArray[np.bool_], hierarchy: Hierarchy, classes: Classes) -> NDArray[np.bool_]:
    """Make the labels of each document fit the hierarchy, as far as they are columns.

    Ancestors that are no columns are given by `add_ancestors`, to the labels of one document.

    Args:
        chosen: bool [documents, L].
        hierarchy: `add-ancestors`, `drop-orphans` (from the top down, labels none of whose parents are chosen), or
            `as-is` to leave them.
        classes: The labels of the columns.

    Returns:
        bool [documents, L].
    """
    if hierarchy == "add-ancestors":
        return raise_ancestors(chosen, classes)
    if hierarchy == "drop-orphans":
        chosen = chosen.copy()
        for label, parents in enumerate(classes.parents):  # parents come before their children
            if parents:
                chosen[:, label] &= chosen[:, parents].any(axis=1)
    return chosen


Values = TypeVar("Values", bound=NDArray[Any])


def raise_ancestors(scores: Values, classes: Classes) -> Values:
    """Scores that fit the hierarchy: a label is at least as probable as every label below it.

    Each score becomes the largest of its own and those of the descendants that are columns; the root keeps its own.
    Labels that are chosen or not choose their ancestors in the same way.

    Args:
        scores: float32 or bool [documents, L].
        classes: The labels of the columns.

    Returns:
        [documents, L]; `scores` itself if no column is below another.
    """
    if not classes.families:
        return scores
    raised: Any = scores.copy()
    for parents, children, starts in classes.families:
        below = np.maximum.reduceat(raised[:, children], starts, axis=1)
        raised[:, parents] = np.maximum(raised[:, parents], below)
    return raised  # type: ignore[no-any-return]


def add_ancestors(scores: Mapping[str, float], taxonomy: Taxonomy) -> dict[str, float]:
    """The labels of a document with all their ancestors, also those that are no columns; the root is never added.

    An ancestor is at least as probable as any label below it: its score is the largest of those of the given labels
    below it and, if it is given itself, its own.

    Args:
        scores: The labels that the document gets, with their scores.
        taxonomy: A taxonomy that contains them.

    >>> topics = Taxonomy.from_edges([("all", "trade"), ("trade", "oil"), ("oil", "crude")])
    >>> add_ancestors({"crude": 0.9, "trade": 0.4}, topics)
    {'crude': 0.9, 'trade': 0.9, 'oil': 0.9}
    """
    found = dict(scores)
    for label in reversed(taxonomy.with_ancestors(scores)):  # children come before their parents
        for parent in taxonomy.parents(label):
            if parent != taxonomy.root:
                found[parent] = max(found.get(parent, 0.0), found[label])
    return found
