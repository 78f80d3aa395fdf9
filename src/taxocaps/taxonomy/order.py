"""Orders and reaches of an acyclic graph given as children by label; nothing recurses, so chains may be long."""

from collections.abc import Callable, Iterable, Mapping

__all__ = ["invert", "levels", "reachable", "taxonomy_order"]

Neighbours = Mapping[str, tuple[str, ...]]


def taxonomy_order(roots: Iterable[str], children: Neighbours) -> tuple[str, ...]:
    """All labels, parents before children; in a tree, depth first with siblings as they come.

    It is the reverse postorder of a depth-first search that visits the last root and the last child first.

    >>> taxonomy_order(["a"], {"a": ("b", "c"), "b": ("d",), "c": ("d",), "d": ()})
    ('a', 'b', 'c', 'd')
    """
    finished: list[str] = []
    seen: set[str] = set()
    waiting = [(name, False) for name in roots]
    while waiting:
        name, is_done = waiting.pop()
        if is_done:
            finished.append(name)
        elif name not in seen:
            seen.add(name)
            waiting.append((name, True))
            waiting.extend((child, False) for child in children[name])
    return tuple(reversed(finished))


def invert(names: Iterable[str], children: Neighbours) -> dict[str, tuple[str, ...]]:
    """The parents of each label, in the order of `names`.

    >>> invert("abc", {"a": ("b", "c"), "b": ("c",), "c": ()})
    {'a': (), 'b': ('a',), 'c': ('a', 'b')}
    """
    parents: dict[str, list[str]] = {name: [] for name in names}
    for parent in parents:
        for child in children[parent]:
            parents[child].append(parent)
    return {name: tuple(found) for name, found in parents.items()}


def levels(roots: Iterable[str], children: Neighbours) -> list[list[str]]:
    """The labels by their smallest number of edges from a root.

    >>> levels(["a"], {"a": ("b", "c"), "b": ("c",), "c": ()})
    [['a'], ['b', 'c']]
    """
    found = []
    level = list(roots)
    seen = set(level)
    while level:
        found.append(level)
        below = dict.fromkeys(child for name in level for child in children[name])
        level = [name for name in below if name not in seen]
        seen.update(level)
    return found


def reachable(name: str, step: Callable[[str], Iterable[str]]) -> set[str]:
    """Everything that repeated steps from `name` lead to, itself left out.

    >>> sorted(reachable("a", {"a": ("b",), "b": ("c",), "c": ()}.__getitem__))
    ['b', 'c']
    """
    reached: set[str] = set()
    waiting = list(step(name))
    while waiting:
        found = waiting.pop()
        if found not in reached:
            reached.add(found)
            waiting.extend(step(found))
    return reached
