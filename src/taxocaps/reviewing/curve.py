"""The learning curve: how good labels are with growing shares of the documents, and what twice as many would bring.

Each point comes from models that learned from a part of the documents and are measured on others. Errors 1 - F1 follow
a power law, a + b n^-c for n documents (Hestness et al. 2017), which is fitted to the points and read off at 2 n. How
far that can be trusted is told by two things: the fit is repeated for documents drawn with replacement, and it is made
without the last point, which it then has to foretell; by what it misses that, the interval is widened.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from taxocaps.corpus.labels import Classes
from taxocaps.metrics.thresholds import best_threshold
from taxocaps.scorers.base import Examples, FitContext, make_scorer
from taxocaps.scorers.decision import count_labels
from taxocaps.scorers.linear import LinearModelConfig

__all__ = ["CurvePoint", "Forecast", "LabelCurve", "LearningCurve", "fit_power_law", "learning_curve"]

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""The shares of the documents that are learned from."""

FEWEST = 200
"""With fewer documents there is no curve: its points would be chance."""

LABEL_DOCUMENTS = 50
"""A label with so many documents has a curve of its own."""

_PARTS = 5
"""One fold is measured on, a fifth with five folds; more folds are put together to so many."""
_REPEATS, _MANY = 3, 20_000
"""How often the curve is measured, each time on others; once if there are many documents."""
_DRAWS = 200
_INTERVAL = (5, 95)
_EXPONENTS = np.geomspace(0.05, 2.0, 60)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Forecast:
    """The expected F1 with twice as many documents.

    Attributes:
        now: The F1 by the fitted law if all documents were learned from.
        f1: That with twice as many.
        low: The lower end of an interval of 90 %.
        high: Its upper end.
        missed: By how much the law, fitted without the last point, misses it: above 0 if it promised too much.
    """

    now: float
    f1: float
    low: float
    high: float
    missed: float


@dataclass(frozen=True)
class CurvePoint:
    """The quality of labels after learning from a number of documents.

    Attributes:
        documents: The number of documents learned from.
        micro_f1: Over all pairs of a document and a label.
        macro_f1: The mean over labels that documents measured on have.
    """

    documents: int
    micro_f1: float
    macro_f1: float


@dataclass(frozen=True)
class LabelCurve:
    """The curve of one label.

    Attributes:
        label: Its column.
        f1: Its F1 at each point.
        forecast: What twice as many documents would bring.
    """

    label: int
    f1: tuple[float, ...]
    forecast: Forecast


@dataclass(frozen=True)
class LearningCurve:
    """F1 by the number of documents.

    Attributes:
        points: From few documents to all of them but those measured on.
        micro: The forecast for the micro-F1 with twice as many documents as there are.
        macro: That for the macro-F1.
        labels: The curves of labels with many documents, those that would gain most first.
    """

    points: tuple[CurvePoint, ...]
    micro: Forecast
    macro: Forecast
    labels: tuple[LabelCurve, ...]


def learning_curve(
    config: LinearModelConfig, examples: Examples, classes: Classes, groups: NDArray[np.int64], context: FitContext
) -> LearningCurve | None:
    """Measure the learning curve of a linear model, which is cheap; None with too few documents.

    Args:
        config: The options of the model.
        examples: The documents as this model reads them, with their labels.
        classes: The labels of the columns.
        groups: int64 [documents], the part of each document, such as its fold; documents of one part stay together.
        context: Where and how.
    """
    if len(examples) < FEWEST:
        return None
    parts = groups % _PARTS
    repeats = min(_REPEATS if len(examples) <= _MANY else 1, int(parts.max()) + 1)
    steps, truth, predicted = repeats * len(SHARES), [], []
    sizes = np.zeros(len(SHARES))  # of all repeats together
    for repeat in range(repeats):
        inside = np.flatnonzero(parts == repeat)
        rest = np.random.default_rng(repeat).permutation(np.flatnonzero(parts != repeat))
        measured, found = examples.select(inside), []
        for index, share in enumerate(SHARES):
            context.progress("learning curve", repeat * len(SHARES) + index, steps)
            learned = np.sort(rest[: round(share * len(rest))])
            found.append(_predicted(config, examples.select(learned), measured, classes, context))
            sizes[index] += len(learned)
        truth.append(measured.labels)
        predicted.append(found)
    context.progress("learning curve", steps, steps)
    by_size = [vstack(found, format="csr") for found in zip(*predicted, strict=True)]
    return _curve(sizes / repeats, vstack(truth, format="csr"), by_size, count_labels(examples.labels), len(examples))


def _predicted(
    config: LinearModelConfig, part: Examples, measured: Examples, classes: Classes, context: FitContext
) -> csr_array:
    """The labels of documents by a model of others, with the threshold that was best for those out of fold."""
    scorer = make_scorer(config, classes, 0, context.threads)
    scores = scorer.cross_fit(part, np.arange(len(part)) % 3, _quiet(context)).scores
    threshold = best_threshold(part.labels, scores).threshold
    return csr_array(scorer.scores(measured.documents) >= threshold)


def _quiet(context: FitContext) -> FitContext:
    """The context of the short fits of a curve: no progress reports, and a folder of their own."""
    return FitContext(context.within("curve").folder, threads=context.threads)


def _curve(
    sizes: Array, truth: csr_array, predicted: Sequence[csr_array], counts: NDArray[np.int64], total: int
) -> LearningCurve:
    """The curve and its forecasts, from true and predicted labels of the same documents at each size."""
    draws = np.random.default_rng(0).multinomial(truth.shape[0], [1 / truth.shape[0]] * truth.shape[0], size=_DRAWS)
    weights = np.concatenate([np.ones((1, truth.shape[0])), draws])  # the documents as they are, then as drawn
    actual = weights @ truth.astype(np.float64)  # [draws, L]
    micro, macro, labels = [], [], []
    is_known = actual[0] > 0
    for found in predicted:
        right = weights @ truth.multiply(found).astype(np.float64)
        both = actual + weights @ found.astype(np.float64)
        micro.append(2 * right.sum(axis=1) / np.maximum(1, both.sum(axis=1)))
        each = np.divide(2 * right, both, out=np.zeros_like(both), where=both > 0)  # [draws, L]
        macro.append(each[:, is_known].mean(axis=1))
        labels.append(each)
    micro_f1, macro_f1, label_f1 = (np.stack(one, axis=-1) for one in (micro, macro, labels))  # [draws, (L,) sizes]
    points = zip(sizes.tolist(), micro_f1[0].tolist(), macro_f1[0].tolist(), strict=True)
    exponent = fit_power_law(sizes, 1 - macro_f1[:1])[2]  # too little is known of one label for one of its own
    enough = np.flatnonzero((counts >= LABEL_DOCUMENTS) & is_known).tolist()
    curves = [
        LabelCurve(column, tuple(label_f1[0, column].tolist()), _forecast(sizes, label_f1[:, column], total, exponent))
        for column in enough
    ]
    return LearningCurve(
        tuple(CurvePoint(round(size), *f1) for size, *f1 in points),
        _forecast(sizes, micro_f1, total),
        _forecast(sizes, macro_f1, total),
        tuple(sorted(curves, key=lambda curve: curve.forecast.now - curve.forecast.f1)),
    )


def _forecast(sizes: Array, f1: Array, total: int, exponent: Array | None = None) -> Forecast:
    """The forecast for curves [draws, sizes], the first of which is the one that was measured."""
    law = fit_power_law(sizes, 1 - f1, exponent)
    later = 1 - _error(law, 2 * total)
    missed = float(1 - _error(fit_power_law(sizes[:-1], 1 - f1[:1, :-1], exponent), sizes[-1])[0] - f1[0, -1])
    low, high = np.percentile(later, _INTERVAL).tolist()
    return Forecast(
        now=float(1 - _error(law, total)[0]),
        f1=float(later[0]),
        low=max(0.0, min(low, float(later[0])) - abs(missed)),
        high=min(1.0, max(high, float(later[0])) + abs(missed)),
        missed=missed,
    )


def _error(law: tuple[Array, Array, Array], size: float) -> Array:
    a, b, c = law
    return a + b * size**-c


def fit_power_law(sizes: Array, errors: Array, exponent: Array | None = None) -> tuple[Array, Array, Array]:
    """The law a + b n^-c with a and b not below 0 that is nearest to each of several curves, by least squares.

    A point counts by its number of documents: which few documents there are changes much, which many little.

    Args:
        sizes: float64 [points], numbers of documents.
        errors: float64 [curves, points].
        exponent: float64 [1], c if it is known; else it is looked for between 0.05 and 2.

    Returns:
        a, b and c, float64 [curves] each.

    >>> n = np.array([100.0, 200, 400, 800])
    >>> a, b, c = fit_power_law(n, 0.1 + 3 * n[None] ** -0.5)
    >>> round(float(a[0]), 2), round(float(c[0]), 1)
    (0.1, 0.5)
    """
    exponents = _EXPONENTS if exponent is None else exponent
    x, weights = sizes[None] ** -exponents[:, None], sizes / sizes.sum()  # [exponents, points], [points]
    centred = x - x @ weights[:, None]
    slope = (errors * weights) @ centred.T / (centred**2 @ weights)  # [curves, exponents]
    b = np.maximum(slope, 0)
    a = (errors @ weights)[:, None] - b * (x @ weights)
    through = np.maximum((errors * weights) @ x.T / (x**2 @ weights), 0)  # without a, where it would be below 0
    b, a = np.where(a < 0, through, b), np.maximum(a, 0)
    misfit = ((a[..., None] + b[..., None] * x[None] - errors[:, None]) ** 2) @ weights  # [curves, exponents]
    best = misfit.argmin(axis=1)
    rows = np.arange(len(errors))
    return a[rows, best], b[rows, best], np.broadcast_to(exponents, misfit.shape)[rows, best]
