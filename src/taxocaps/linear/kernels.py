"""Compiled dual coordinate descent: for one label by features or by products of documents, and for paths."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import kernel
from taxocaps.splitmix import random_below

__all__ = [
    "add_products",
    "add_rows",
    "add_sparse_products",
    "descend_gram",
    "descend_label",
    "descend_paths",
    "fill_rows",
    "violations",
]

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Rows = tuple[Float32s, Int32s, Int64s]
UInt32s = NDArray[np.uint32]
Unsigned = tuple[Float32s, UInt32s, NDArray[np.uint64]]
Lists = tuple[Int32s, Int64s]

_STEPS = 20  # exchanges within one example, at most
_NEAR = 16_384  # documents among which the next one is drawn


@kernel
def add_rows(data: Float32s, indices: Int32s, starts: Int64s, factors: Float64s, total: Float64s) -> None:
    """Add the rows of the features times their factors, [n], to `total`, [V + 1]; the last entry is the intercept."""
    last = len(total) - 1
    for row in range(len(factors)):
        factor = factors[row]
        if factor != 0:
            total[last] += factor
            for i in range(starts[row], starts[row + 1]):
                total[indices[i]] += factor * data[i]


@kernel
def add_products(gram: Float32s, factors: Float64s, total: Float64s) -> None:
    """Add the products of each document with all others, [n, n], times its factor, [n], to `total`, [n]."""
    for row in range(len(factors)):
        factor = factors[row]
        if factor != 0:
            for i in range(len(total)):
                total[i] += factor * gram[row, i]


@kernel
def add_sparse_products(
    data: Float32s, documents: UInt32s, features: UInt32s, others: Unsigned, total: Float32s
) -> None:
    """Add the product of two sparse matrices, [n, V] and [V, K], to `total`, [n, K].

    Args:
        data: The values of the first one, in any order.
        documents: Their rows.
        features: Their columns.
        others: The second one, CSR, as data, indices and starts; of whole rows, the indices are not read.
        total: In and out.
    """
    values, columns, begins = others
    width = total.shape[1]
    for i in range(len(data)):
        value, sums = data[i], total[documents[i]]
        begin, end = begins[features[i]], begins[features[i] + np.uint64(1)]
        if end - begin == width:
            whole = values[begin:end]
            for k in range(width):
                sums[k] += value * whole[k]
        else:
            for j in range(begin, end):
                sums[columns[j]] += value * values[j]


@kernel
def fill_rows(rows: Unsigned, width: int, filled: Unsigned) -> None:
    """Add a CSR matrix to one of zeros, whose starts say which rows have space for all of their `width` columns."""
    values, columns, starts = rows
    new_values, new_columns, new_starts = filled
    for row in range(len(starts) - 1):
        begin, is_whole = new_starts[row], new_starts[row + 1] - new_starts[row] == width
        for i in range(starts[row], starts[row + 1]):
            place = begin + (np.uint64(columns[i]) if is_whole else i - starts[row])
            new_values[place] += values[i]
            new_columns[place] = columns[i]


@kernel
def descend_label(
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
    """Optimize one label while the weights it shares with others are fixed; changes `alphas` and `weights` in place.

    Each pass after the first visits only the documents whose dual variables changed by more than a fraction of the
    largest change in the pass before.

    Args:
        data: Features, CSR [n, V], with `indices` and `starts`.
        indices: See `data`.
        starts: See `data`.
        lengths: [n], the squared norms of the documents, with the 1 of the intercept.
        signs: [n], 1 for documents with the label, -1 for others.
        alphas: [n], the dual variables.
        weights: [V + 1], the label's weights, the intercept last.
        scale: How much a weight changes per unit of a dual variable and of its feature.
        C: The cost of an error.
        logistic: Whether the loss is logistic; otherwise it is the squared hinge.
        visited: The documents to visit.
        passes: The maximum number of passes.
        seed: Random seed of the order of the documents.

    Returns:
        The duality gap and the cost of errors of the visited documents, each as the first pass finds it.
    """
    gap, cost = 0.0, 0.0
    order, off = visited.copy(), np.empty(len(visited))
    n_active, state = len(visited), seed
    for epoch in range(passes):
        worst = 0.0
        for i in range(n_active):
            state, row = _draw(order, i, n_active, state)
            margin = signs[row] * _product(data, indices, starts, row, weights)
            old = np.float64(alphas[row])
            if epoch == 0:
                loss, conjugate = _loss_pair(margin, old, C, logistic)
                gap += loss + conjugate + old * margin
                cost += loss
            alphas[row] = _dual_step(margin, old, scale * lengths[row], C, logistic)
            change = np.float64(alphas[row]) - old  # as rounded to float32, so that weights and dual variables agree
            off[i] = abs(change)
            worst = max(worst, off[i])
            if change != 0:
                _add(data, indices, starts, row, scale * signs[row] * change, weights)
        n_active = _still_changing(order, off, n_active, worst)
        if n_active == 0:
            break
    return gap, cost


@kernel
def descend_gram(
    gram: Float32s,
    signs: Float64s,
    alphas: Float32s,
    products: Float32s,
    C: float,
    logistic: bool,
    visited: Int64s,
    passes: int,
    seed: np.uint64,
) -> tuple[float, float]:
    """Optimize one label as `descend_label` does, but by the products of all documents instead of their features.

    A change of a dual variable takes n steps, however many features documents have.

    Args:
        gram: [n, n], the products of all documents, with the 1 of the intercept.
        signs: [n], 1 for documents with the label, -1 for others.
        alphas: [n], the dual variables.
        products: [n], the product of each document with the weights; kept up to date.
        C: The cost of an error.
        logistic: Whether the loss is logistic; otherwise it is the squared hinge.
        visited: The documents to visit.
        passes: The maximum number of passes.
        seed: Random seed of the order of the documents.

    Returns:
        The duality gap and the cost of errors of the visited documents, each as the first pass finds it.
    """
    gap, cost = 0.0, 0.0
    order, off = visited.copy(), np.empty(len(visited))
    n_active, state = len(visited), seed
    for epoch in range(passes):
        worst = 0.0
        for i in range(n_active):
            state, row = _draw(order, i, n_active, state)
            margin = signs[row] * products[row]
            old = np.float64(alphas[row])
            if epoch == 0:
                loss, conjugate = _loss_pair(margin, old, C, logistic)
                gap += loss + conjugate + old * margin
                cost += loss
            alphas[row] = _dual_step(margin, old, np.float64(gram[row, row]), C, logistic)
            change = np.float32(np.float64(alphas[row]) - old)
            off[i] = abs(change)
            worst = max(worst, off[i])
            if change != 0:
                factor = np.float32(signs[row]) * change
                for j in range(len(products)):
                    products[j] += factor * gram[row, j]
        n_active = _still_changing(order, off, n_active, worst)
        if n_active == 0:
            break
    return gap, cost


@kernel
def _draw(order: Int64s, i: int, n_active: int, state: np.uint64) -> tuple[Any, Any]:
    """Shuffle step i: swap a random one of the next entries into place i; returns the new state and the entry.

    Of very many entries, only those not far behind are drawn: their documents are still in the processor's cache.
    """
    state, other = random_below(state, min(n_active - i, _NEAR))
    other += i
    order[i], order[other] = order[other], order[i]
    return state, order[i]


@kernel
def _still_changing(order: Int64s, off: Float64s, n_active: int, worst: float) -> int:
    """Put the documents that changed by more than a fraction of the largest change first; returns their number."""
    kept = 0
    for i in range(n_active):
        if off[i] > 0.05 * worst:
            order[kept], order[i] = order[i], order[kept]
            kept += 1
    return kept


@kernel
def _product(data: Float32s, indices: Int32s, starts: Int64s, row: int, weights: Float64s) -> Any:
    total = weights[len(weights) - 1]
    for i in range(starts[row], starts[row + 1]):
        total += weights[indices[i]] * data[i]
    return total


@kernel
def _add(data: Float32s, indices: Int32s, starts: Int64s, row: int, factor: float, weights: Float64s) -> None:
    weights[len(weights) - 1] += factor
    for i in range(starts[row], starts[row + 1]):
        weights[indices[i]] += factor * data[i]


@kernel
def _loss_pair(margin: float, alpha: float, C: float, logistic: bool) -> Any:
    """The loss of a document, and its conjugate at -alpha."""
    return _logistic_pair(margin, alpha, C) if logistic else _hinge_pair(margin, alpha, C)


@kernel
def _dual_step(margin: float, alpha: float, curve: float, C: float, logistic: bool) -> Any:
    """The dual variable of a document at the minimum of the dual objective over it alone."""
    return _logistic_step(margin, alpha, curve, C) if logistic else _hinge_step(margin, alpha, curve, C)


@kernel
def _hinge_pair(margin: float, alpha: float, C: float) -> tuple[float, float]:
    """C max(0, 1 - margin)^2, and its conjugate at -alpha."""
    short = max(0.0, 1 - margin)
    return C * short * short, alpha * alpha / (4 * C) - alpha


@kernel
def _hinge_step(margin: float, alpha: float, curve: float, C: float) -> float:
    """The minimum of the dual objective over one variable."""
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
    """The minimum of the dual objective over one variable: alpha = C / (1 + exp(m)), with m the margin it leads to.

    m solves m - margin = curve * (C / (1 + exp(m)) - alpha), whose left side rises and whose right side falls with m:
    Newton's method finds it, with bisection where a step would leave the bounds.
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
def descend_paths(
    rows: Rows,
    document_labels: Lists,
    paths: Lists,
    common: Float32s,
    examples: Int32s,
    C: float,
    labels: Int32s,
    alphas: Float32s,
    weights: Float32s,
    seed: np.uint64,
) -> tuple[float, float]:
    """Visit all examples once, in random order (see `_draw`); changes `labels`, `alphas` and `weights` in place.

    An example has a dual variable for each label, its true one included; they sum to C. A step moves mass from the
    label with the least violation and a positive variable to the label with the greatest violation.

    Args:
        rows: Features, CSR [n, V], as data, indices and starts.
        document_labels: The labels of each document, as indices and starts.
        paths: The nodes on the path of each label, as indices and starts.
        common: [L, L], the number of nodes that two paths have in common.
        examples: [E, 2], document and label.
        C: The cost of an error.
        labels: [E, slots], the labels with a dual variable above 0, or -1.
        alphas: [E, slots], their dual variables.
        weights: [V + 1, nodes], intercepts last.
        seed: Random seed of the order.

    Returns:
        The duality gap and the cost of errors, of each example as the pass finds it.
    """
    gap, cost, state = 0.0, 0.0, seed
    order = np.arange(len(examples))
    changes, found = np.zeros(weights.shape[1], np.float32), np.empty(len(common))
    for i in range(len(order)):
        state, example = _draw(order, i, len(order), state)
        document, label = examples[example]
        violations(rows, document_labels, paths, common, document, label, weights, found)
        worst = found.max()
        cost += C * worst
        for slot in range(labels.shape[1]):
            if labels[example, slot] >= 0:
                gap += alphas[example, slot] * (worst - found[labels[example, slot]])
        changes[:] = 0
        if _exchange(rows, paths, common, document, label, found, labels[example], alphas[example], changes):
            _add_nodes(rows, document, changes, weights)
    return gap, cost


@kernel
def violations(
    rows: Rows,
    document_labels: Lists,
    paths: Lists,
    common: Float32s,
    document: int,
    label: int,
    weights: Float32s,
    found: Float64s,
) -> None:
    """Write distance(y, y') + f(x, y') - f(x, y) of each label y' to `found`, [L]; -inf for the other labels of x."""
    data, indices, starts = rows
    nodes = weights[weights.shape[0] - 1].copy()
    for i in range(starts[document], starts[document + 1]):
        value, row = data[i], weights[indices[i]]
        for node in range(len(nodes)):
            nodes[node] += value * row[node]
    for other in range(len(found)):
        total = np.float64(common[label, label] + common[other, other] - 2 * common[label, other])
        for i in range(paths[1][other], paths[1][other + 1]):
            total += nodes[paths[0][i]]
        found[other] = total
    own = found[label]
    for i in range(document_labels[1][document], document_labels[1][document + 1]):
        found[document_labels[0][i]] = -np.inf
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
    """Move mass between the dual variables of one example; adds the changes of the weights to `changes`, [nodes]."""
    length = np.float64(1.0)
    for i in range(rows[2][document], rows[2][document + 1]):
        length += rows[0][i] ** 2
    moved = False
    for _ in range(_STEPS):
        source, target = _slots(found, labels, alphas)
        least, most = labels[source], labels[target]
        excess = found[most] - found[least]
        if source == target or excess <= 1e-6:
            break
        apart = common[least, least] + common[most, most] - 2 * common[least, most]
        mass = np.float32(min(np.float64(alphas[source]), excess / (length * apart)))
        alphas[source] -= mass
        alphas[target] += mass
        for other in range(len(found)):
            gain = common[other, least] - common[other, most] - common[label, least] + common[label, most]
            found[other] += mass * length * gain
        for i in range(paths[1][least], paths[1][least + 1]):
            changes[paths[0][i]] += mass
        for i in range(paths[1][most], paths[1][most + 1]):
            changes[paths[0][i]] -= mass
        moved = True
    return moved


@kernel
def _slots(found: Float64s, labels: Int32s, alphas: Float32s) -> tuple[Any, Any]:
    """The slots of the label with the least violation and a positive variable, and of the greatest violation.

    If the latter label has no slot, it gets an empty one; if all are in use, the greatest of those with slots is taken.
    """
    most = np.argmax(found)
    source, best, empty, target = -1, -1, -1, -1
    for slot in range(len(labels)):
        if labels[slot] == most:
            target = slot
        if alphas[slot] <= 0:
            empty = slot
            continue
        if source < 0 or found[labels[slot]] < found[labels[source]]:
            source = slot
        if best < 0 or found[labels[slot]] > found[labels[best]]:
            best = slot
    if target >= 0:
        return source, target
    if empty >= 0:
        labels[empty] = most
        return source, empty
    return source, best


@kernel
def _add_nodes(rows: Rows, document: int, changes: Float32s, weights: Float32s) -> None:
    data, indices, starts = rows
    touched = np.flatnonzero(changes)
    last = weights.shape[0] - 1
    for node in touched:
        weights[last, node] += changes[node]
    for i in range(starts[document], starts[document + 1]):
        for node in touched:
            weights[indices[i], node] += data[i] * changes[node]
