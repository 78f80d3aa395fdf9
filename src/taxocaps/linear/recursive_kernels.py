"""Compiled: dual coordinate descent on one label while the weights it shares with others stand still."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import kernel

__all__ = ["add_rows", "descend"]

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]


@kernel
def add_rows(data: Float32s, indices: Int32s, starts: Int64s, factors: Float64s, total: Float64s) -> None:
    """Add to `total`, [V + 1], the rows of the features by their factors, [n]; the last weight is the intercept's."""
    last = len(total) - 1
    for row in range(len(factors)):
        factor = factors[row]
        if factor != 0:
            total[last] += factor
            for place in range(starts[row], starts[row + 1]):
                total[indices[place]] += factor * data[place]


@kernel
def descend(
    data: Float32s,
    indices: Int32s,
    starts: Int64s,
    lengths: Float64s,
    signs: Float64s,
    alphas: Float32s,
    weights: Float64s,
    scale: float,
    C: float,
    logistic: bool,
    visited: Int64s,
    passes: int,
    seed: np.uint64,
) -> tuple[float, float]:
    """Pass over documents, changing their dual variables and the weights, both in place.

    After the first pass, each visits only those documents of the pass before it that were off by more than a share of
    the worst.

    Args:
        data: Features, CSR [n, V], with `indices` and `starts`.
        indices: See `data`.
        starts: See `data`.
        lengths: [n], the squared lengths of the documents, the 1 of the intercept among them.
        signs: [n], 1 for documents that carry the label, -1 for others.
        alphas: [n], the dual variables.
        weights: [V + 1], the label's weights, the intercept last.
        scale: What the weights gain when a dual variable and a feature grow by 1 each.
        C: The cost of an error.
        logistic: Whether the loss is the logistic one, or the squared hinge.
        visited: The documents to visit.
        passes: How many to make, at most.
        seed: Of the order of the documents.

    Returns:
        The duality gap and the cost of errors of the visited documents, each one's when the first pass came to it.
    """
    gap, cost = 0.0, 0.0
    order, off = visited.copy(), np.empty(len(visited))
    n_active, state = len(visited), seed
    for number in range(passes):
        worst = 0.0
        for place in range(n_active):
            state, other = _drawn(state, n_active - place)
            other += place
            order[place], order[other] = order[other], order[place]
            row = order[place]
            margin = signs[row] * _product(data, indices, starts, row, weights)
            old = np.float64(alphas[row])
            if number == 0:
                loss, conjugate = _logistic_pair(margin, old, C) if logistic else _hinge_pair(margin, old, C)
                gap += loss + conjugate + old * margin
                cost += loss
            curve = scale * lengths[row]
            best = _logistic_step(margin, old, curve, C) if logistic else _hinge_step(margin, old, curve, C)
            alphas[row] = best
            change = np.float64(alphas[row]) - old  # of what float32 keeps, so that weights and dual variables agree
            off[place] = abs(change)
            worst = max(worst, off[place])
            if change != 0:
                _add(data, indices, starts, row, scale * signs[row] * change, weights)
        kept = 0
        for place in range(n_active):
            if off[place] > 0.05 * worst:
                order[kept], order[place] = order[place], order[kept]
                kept += 1
        n_active = kept
        if n_active == 0:
            break
    return gap, cost


@kernel
def _product(data: Float32s, indices: Int32s, starts: Int64s, row: int, weights: Float64s) -> Any:
    total = weights[len(weights) - 1]
    for place in range(starts[row], starts[row + 1]):
        total += weights[indices[place]] * data[place]
    return total


@kernel
def _add(data: Float32s, indices: Int32s, starts: Int64s, row: int, factor: float, weights: Float64s) -> None:
    weights[len(weights) - 1] += factor
    for place in range(starts[row], starts[row + 1]):
        weights[indices[place]] += factor * data[place]


@kernel
def _hinge_pair(margin: float, alpha: float, C: float) -> tuple[float, float]:
    """C max(0, 1 - margin)^2, and its conjugate at -alpha."""
    short = max(0.0, 1 - margin)
    return C * short * short, alpha * alpha / (4 * C) - alpha


@kernel
def _hinge_step(margin: float, alpha: float, curve: float, C: float) -> float:
    """Where the dual objective of one variable has its minimum."""
    return max(0.0, alpha - (margin - 1 + alpha / (2 * C)) / (curve + 1 / (2 * C)))


@kernel
def _logistic_pair(margin: float, alpha: float, C: float) -> tuple[float, float]:
    """C log(1 + exp(-margin)), and its conjugate at -alpha."""
    loss = max(0.0, -margin) + np.log1p(np.exp(-abs(margin)))
    share = min(max(alpha / C, 0.0), 1.0)
    entropy = 0.0
    if 0 < share < 1:
        entropy = share * np.log(share) + (1 - share) * np.log1p(-share)
    return C * loss, C * entropy


@kernel
def _logistic_step(margin: float, alpha: float, curve: float, C: float) -> Any:
    """Where the dual objective of one variable has its minimum: alpha = C / (1 + exp(m)), m the margin it leads to.

    m - margin = curve * (C / (1 + exp(m)) - alpha) grows in m on the left and falls on the right: Newton's method finds
    the m at which both are equal, with bisection where a step would leave the bounds.
    """
    low = margin - curve * alpha
    high = low + curve * C
    base, m = low, min(max(margin, low), high)
    for _ in range(50):
        share = 1 / (1 + np.exp(m))
        value = m - base - curve * C * share
        if abs(value) <= 1e-9 * (1 + abs(m)):
            break
        if value > 0:
            high = m
        else:
            low = m
        m -= value / (1 + curve * C * share * (1 - share))
        if not low < m < high:
            m = (low + high) / 2
    return C / (1 + np.exp(m))


@kernel
def _drawn(state: np.uint64, n: int) -> tuple[Any, Any]:
    """The next state of a SplitMix64 generator, and a number from 0 to n - 1."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    value = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    value = value ^ (value >> np.uint64(31))
    return state, np.int64(((value >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))
