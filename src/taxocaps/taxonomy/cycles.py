"""Directed cycles among edges: one example out of every knot of labels that reach each other."""

from collections import Counter, defaultdict, deque
from collections.abc import Container, Iterable, Mapping, Sequence

__all__ = ["find_cycles"]


def find_cycles(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """One cycle out of every strongly connected set of labels, the shortest through its first label.

    Args:
        edges: Pairs of parent and child, without self-loops.

    Returns:
        The labels along each cycle, the edge back to the first left out; nothing if there is no cycle.

    >>> find_cycles([("a", "b"), ("b", "c"), ("c", "b")])
    [['b', 'c']]
    """
    children = _without_free_labels(edges)
    return [_cycle_through(knot[0], set(knot), children) for knot in _knots(children)]


def _without_free_labels(edges: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[str]]:
    """Take away labels without parents until none is left: what remains lies on cycles or below them."""
    children: defaultdict[str, list[str]] = defaultdict(list)
    waiting: Counter[str] = Counter()
    for parent, child in edges:
        children[parent].append(child)
        waiting[child] += 1
    free = [name for name in children if not waiting[name]]
    while free:
        for child in children.pop(free.pop(), ()):
            waiting[child] -= 1
            if not waiting[child]:
                free.append(child)
    return children


def _knots(children: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The strongly connected sets of two labels or more, in order of first mention."""
    if not children:
        return []
    # SciPy takes a while to import and only a faulty taxonomy needs it.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    index = {name: number for number, name in enumerate(children)}
    pairs = [(index[parent], index[child]) for parent in children for child in children[parent] if child in index]
    rows, columns = zip(*pairs, strict=True)
    graph = csr_array(([1] * len(pairs), (rows, columns)), shape=(len(index), len(index)))
    _, component_of = connected_components(graph, directed=True, connection="strong")
    knots: defaultdict[int, list[str]] = defaultdict(list)
    for name, component in zip(children, component_of.tolist(), strict=True):
        knots[component].append(name)
    return [knot for knot in knots.values() if len(knot) > 1]


def _cycle_through(start: str, knot: Container[str], children: Mapping[str, Sequence[str]]) -> list[str]:
    """The labels on a shortest way from `start` back to itself; inside a knot there always is one."""
    reached_from: dict[str, str] = {}
    queue = deque([start])
    while start not in reached_from:
        name = queue.popleft()
        for child in children[name]:
            if child in knot and child not in reached_from:
                reached_from[child] = name
                queue.append(child)
    cycle = [reached_from[start]]
    while cycle[-1] != start:
        cycle.append(reached_from[cycle[-1]])
    return cycle[::-1]
