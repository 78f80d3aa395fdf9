"""Compiled: dual coordinate descent for a margin between the paths of labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import kernel

__all__ = ["descend", "violations"]

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Rows = tuple[Float32s, Int32s, Int64s]
Lists = tuple[Int32s, Int64s]

_STEPS = 20  # exchanges within one example, at most, before the next has its turn


@kernel
def descend(
    rows: Rows,
    carried: Lists,
    paths: Lists,
    common: Float32s,
    examples: Int32s,
    C: float,
    labels: Int32s,
    alphas: Float32s,
    weights: Float32s,
    seed: np.uint64,
) -> tuple[float, float]:
    """Visit all examples once, in random order; `labels`, `alphas` and `weights` are changed in place.

    The dual variables of an example are a share of C for each label, its own among them; they add up to C. A step takes
    from the label with the least violation that has a share, and gives to the one with the greatest.

    Args:
        rows: Features, CSR [n, V], as data, indices and starts.
        carried: The labels of each document, as indices and starts.
        paths: The nodes on the path of each label, as indices and starts.
        common: [L, L], how many nodes two paths have in common.
        examples: [E, 2], document and label.
        C: The cost of an error.
        labels: [E, slots], labels that have a share, or -1.
        alphas: [E, slots], the shares.
        weights: [V + 1, nodes], intercepts last.
        seed: Of the order.

    Returns:
        The duality gap and the cost of errors, as they were when each example was come to.
    """
    gap, cost, state = 0.0, 0.0, seed
    order = np.arange(len(examples))
    changes, found = np.zeros(weights.shape[1], np.float32), np.empty(len(common))
    for place in range(len(order)):
        state, other = _drawn(state, len(order) - place)
        order[place], order[place + other] = order[place + other], order[place]
        example = order[place]
        document, label = examples[example]
        violations(rows, carried, paths, common, document, label, weights, found)
        worst = found.max()
        cost += C * worst
        for slot in range(labels.shape[1]):
            if labels[example, slot] >= 0:
                gap += alphas[example, slot] * (worst - found[labels[example, slot]])
        changes[:] = 0
        if _exchange(rows, paths, common, document, label, found, labels[example], alphas[example], changes):
            _add(rows, document, changes, weights)
    return gap, cost


@kernel
def violations(
    rows: Rows,
    carried: Lists,
    paths: Lists,
    common: Float32s,
    document: int,
    label: int,
    weights: Float32s,
    found: Float64s,
) -> None:
    """Write for each label y' to `found`, [L]: distance(y, y') + f(x, y') - f(x, y), and -inf for the others of x."""
    data, indices, starts = rows
    nodes = weights[weights.shape[0] - 1].copy()
    for place in range(starts[document], starts[document + 1]):
        value, row = data[place], weights[indices[place]]
        for node in range(len(nodes)):
            nodes[node] += value * row[node]
    for other in range(len(found)):
        total = np.float64(common[label, label] + common[other, other] - 2 * common[label, other])
        for place in range(paths[1][other], paths[1][other + 1]):
            total += nodes[paths[0][place]]
        found[other] = total
    own = found[label]
    for place in range(carried[1][document], carried[1][document + 1]):
        found[carried[0][place]] = -np.inf
    for other in range(len(found)):
        found[other] -= own
    found[label] = 0.0


@kernel
def _exchange(
    rows: Rows,
    paths: Lists,
    common: Float32s,
    document: int,
    label: int,
    found: Float64s,
    labels: Int32s,
    alphas: Float32s,
    changes: Float32s,
) -> bool:
    """Move shares between the labels of one example, and note in `changes`, [nodes], what the weights gain by it."""
    length = np.float64(1.0)
    for place in range(rows[2][document], rows[2][document + 1]):
        length += rows[0][place] ** 2
    moved = False
    for _ in range(_STEPS):
        giver, taker = _slots(found, labels, alphas)
        least, most = labels[giver], labels[taker]
        excess = found[most] - found[least]
        if giver == taker or excess <= 1e-6:
            break
        apart = common[least, least] + common[most, most] - 2 * common[least, most]
        share = np.float32(min(np.float64(alphas[giver]), excess / (length * apart)))
        alphas[giver] -= share
        alphas[taker] += share
        for other in range(len(found)):
            gain = common[other, least] - common[other, most] - common[label, least] + common[label, most]
            found[other] += share * length * gain
        for place in range(paths[1][least], paths[1][least + 1]):
            changes[paths[0][place]] += share
        for place in range(paths[1][most], paths[1][most + 1]):
            changes[paths[0][place]] -= share
        moved = True
    return moved


@kernel
def _slots(found: Float64s, labels: Int32s, alphas: Float32s) -> tuple[Any, Any]:
    """The slots of the label with the least violation that has a share, and of the one with the greatest violation.

    If that one has no slot, it is given one without a share; if there is none, the best of those with slots is taken.
    """
    most = np.argmax(found)
    giver, best, empty, taker = -1, -1, -1, -1
    for slot in range(len(labels)):
        if labels[slot] == most:
            taker = slot
        if alphas[slot] <= 0:
            empty = slot
            continue
        if giver < 0 or found[labels[slot]] < found[labels[giver]]:
            giver = slot
        if best < 0 or found[labels[slot]] > found[labels[best]]:
            best = slot
    if taker >= 0:
        return giver, taker
    if empty >= 0:
        labels[empty] = most
        return giver, empty
    return giver, best


@kernel
def _add(rows: Rows, document: int, changes: Float32s, weights: Float32s) -> None:
    data, indices, starts = rows
    touched = np.flatnonzero(changes)
    last = weights.shape[0] - 1
    for node in touched:
        weights[last, node] += changes[node]
    for place in range(starts[document], starts[document + 1]):
        for node in touched:
            weights[indices[place], node] += data[place] * changes[node]


@kernel
def _drawn(state: np.uint64, n: int) -> tuple[Any, Any]:
    """The next state of a SplitMix64 generator, and a number from 0 to n - 1."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    value = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    value = value ^ (value >> np.uint64(31))
    return state, np.int64(((value >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))
