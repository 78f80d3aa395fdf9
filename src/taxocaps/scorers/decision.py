"""From scores to labels: calibration, thresholds and the hierarchy, fitted on validation documents."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.config import Between, Config
from taxocaps.corpus.labels import Classes
from taxocaps.errors import ConfigError
from taxocaps.metrics.calibration import logistic
from taxocaps.metrics.thresholds import best_threshold, label_thresholds
from taxocaps.registry import Registry

__all__ = [
    "DECISION_RULES",
    "MOST_LABELS",
    "Calibration",
    "DecisionConfig",
    "DecisionOptions",
    "DecisionRule",
    "Hierarchy",
    "apply_hierarchy",
    "choose_labels",
    "fit_calibration",
]

Scores = NDArray[np.float32]
Hierarchy = Literal["as-is", "add-ancestors", "drop-orphans"]

MOST_LABELS = 1_000_000
"""The largest number of labels that can be asked for."""

_FEWEST_POSITIVES = 50
_NEAR_ZERO = 1e-6


class DecisionConfig(Config):
    """How scores become labels.

    Attributes:
        rule: `global` (one threshold, with the best micro-F1 on validation documents), `per-label` (a threshold for
            each label, with the best F1 of that label: SCutFBR.1), `fixed` (the threshold below), or `top-k`.
        threshold: The threshold of the rule `fixed`.
        k: Labels per document of the rule `top-k`.
        at_least: Labels that every document gets, whatever their scores; 1 for no empty answers.
        hierarchy: Take labels as they are, add their ancestors, or drop labels whose parents are not chosen; `auto`
            adds ancestors if training documents carry the ancestors of all their labels.
        calibration: Whether scores are made probabilities by a logistic curve fitted on validation documents.
    """

    section: ClassVar[str] = "decision"

    rule: str = "global"
    threshold: Annotated[float, Between(0, 1)] = 0.5
    k: Annotated[int, Between(1, MOST_LABELS)] = 5
    at_least: Annotated[int, Between(0, MOST_LABELS)] = 0
    hierarchy: Hierarchy | Literal["auto"] = "auto"
    calibration: Literal["logistic", "none"] = "logistic"

    def model_post_init(self, context: object, /) -> None:
        """The rule must be known."""
        if self.rule not in DECISION_RULES:
            raise ConfigError(f"{self.key('rule')} must be one of {', '.join(DECISION_RULES)}; got {self.rule!r}")


class DecisionOptions(Config):
    """Which labels documents get, where that differs from how the model was trained.

    Attributes:
        top_k: So many labels, whatever their scores.
        threshold: One threshold for all labels.
        at_least: Labels that every document with words gets.
        hierarchy: What is done about ancestors.
    """

    top_k: Annotated[int, Between(1, MOST_LABELS)] | None = None
    threshold: Annotated[float, Between(0, 1)] | None = None
    at_least: Annotated[int, Between(0, MOST_LABELS)] | None = None
    hierarchy: Hierarchy | None = None

    def model_post_init(self, context: object, /) -> None:
        """Refuse what excludes itself."""
        if self.top_k is not None and self.threshold is not None:
            raise ConfigError("top_k takes labels whatever their scores; leave out threshold")


@dataclass(frozen=True)
class DecisionRule:
    """A way to choose labels.

    Attributes:
        fit: From the true labels of validation documents (CSR [documents, L] of bool), their calibrated scores
            ([documents, L]) and the options to the threshold of each label, float32 [L].
        is_tuned: Whether thresholds depend on validation documents.
        takes_best: Whether the `k` best labels are taken instead of those above their thresholds.
    """

    fit: Callable[[Any, Scores, DecisionConfig], Scores]
    is_tuned: bool = True
    takes_best: bool = False


def _one_threshold(truth: Any, scores: Scores, config: DecisionConfig) -> Scores:
    return np.full(scores.shape[1], best_threshold(truth, scores).threshold, np.float32)


def _threshold_per_label(truth: Any, scores: Scores, config: DecisionConfig) -> Scores:
    return label_thresholds(truth, scores, best_threshold(truth, scores).threshold)


def _fixed_threshold(truth: Any, scores: Scores, config: DecisionConfig) -> Scores:
    return np.full(scores.shape[1], config.threshold, np.float32)


GLOBAL = DecisionRule(_one_threshold)
PER_LABEL = DecisionRule(_threshold_per_label)
FIXED = DecisionRule(_fixed_threshold, is_tuned=False)
TOP_K = DecisionRule(_one_threshold, is_tuned=False, takes_best=True)

DECISION_RULES: Registry[DecisionRule] = Registry(
    "decision rule",
    "taxocaps.decision_rules",
    {
        "global": "taxocaps.scorers.decision:GLOBAL",
        "per-label": "taxocaps.scorers.decision:PER_LABEL",
        "fixed": "taxocaps.scorers.decision:FIXED",
        "top-k": "taxocaps.scorers.decision:TOP_K",
    },
)
"""The rules by `decision.rule`."""


@dataclass(frozen=True)
class Calibration:
    """A logistic curve over the logit of a score, the same for all labels: it keeps their order.

    >>> Calibration().apply(np.array([[0.25]], np.float32)).round(3).tolist()
    [[0.25]]
    """

    slope: float = 1.0
    intercept: float = 0.0

    def apply(self, scores: Scores) -> Scores:
        """Calibrated scores; with slope 1 and intercept 0, the scores themselves."""
        if (self.slope, self.intercept) == (1.0, 0.0):
            return scores
        calibrated = logistic(self.slope * _logit(scores) + self.intercept)
        return calibrated.astype(np.float32)


def fit_calibration(truth: Any, scores: Scores) -> Calibration:
    """Fit the curve on validation documents, all labels pooled; the identity if they carry fewer than 50 labels.

    Args:
        truth: CSR [documents, L] of bool.
        scores: [documents, L], from 0 to 1.
    """
    if truth.nnz < _FEWEST_POSITIVES or truth.nnz == scores.size:
        return Calibration()
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=np.inf).fit(_logit(scores).reshape(-1, 1), truth.toarray().ravel())
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    # A falling curve would turn the order round: the scores say nothing, and stay as they are.
    return Calibration(slope, intercept) if slope > 0 else Calibration()


def choose_labels(
    scores: Scores, thresholds: Scores | float, *, top_k: int | None = None, at_least: int = 0
) -> NDArray[np.bool_]:
    """The labels of each document: those whose score reaches the threshold, or the best few.

    Args:
        scores: [documents, L].
        thresholds: A threshold for each label, or one for all.
        top_k: Take so many labels, and no thresholds.
        at_least: Take at least so many.

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
    """Make the labels of each document fit the hierarchy.

    Args:
        chosen: bool [documents, L].
        hierarchy: `add-ancestors`, `drop-orphans` (from the top down, labels none of whose parents are chosen), or
            anything else to leave them.
        classes: The labels of the columns.

    Returns:
        bool [documents, L].
    """
    if hierarchy == "add-ancestors":
        closed: NDArray[np.bool_] = (csr_array(chosen) @ classes.closure).toarray()
        return closed
    if hierarchy == "drop-orphans":
        chosen = chosen.copy()
        for label, parents in enumerate(classes.parents):  # parents come before their children
            if parents:
                chosen[:, label] &= chosen[:, parents].any(axis=1)
    return chosen


def _logit(scores: Scores) -> Scores:
    inside = np.clip(scores, _NEAR_ZERO, 1 - _NEAR_ZERO)
    logit: Scores = np.log(inside / (1 - inside))
    return logit
