"""What a data set must be like to be the published one: its counts, and no document twice."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from taxocaps.errors import CorpusError

__all__ = ["check_count", "check_counts", "distinct"]

T = TypeVar("T")

_GO_ON = "complete or correct the files, or take them as they are with --any-counts (check=False in Python)"


def check_counts(title: str, found: Mapping[str, int], official: Mapping[str, int]) -> None:
    """Compare what was counted with the official counts.

    Args:
        title: The name of the data set.
        found: How many there are of what, such as {"training documents": 7}.
        official: How many there should be; what is not named may be any number.

    Raises:
        CorpusError: For the first difference.
    """
    for what, expected in official.items():
        check_count(title, what, found[what], expected)


def check_count(title: str, what: str, found: int, expected: int) -> None:
    """Compare one count with the official one.

    >>> check_count("Reuters-21578", "documents", 21_577, 21_578)
    Traceback (most recent call last):
    taxocaps.errors.CorpusError: Reuters-21578: 21,577 documents, but officially there are 21,578; complete or \
correct the files, or take them as they are with --any-counts (check=False in Python)
    """
    if found != expected:
        raise CorpusError(f"{title}: {found:,} {what}, but officially there are {expected:,}; {_GO_ON}")


def distinct(items: Iterable[T], key: Callable[[T], Hashable], title: str, check: bool) -> Iterator[T]:
    """The items, each id once: a second item with the same id is an error or, if nothing is checked, is left out.

    Raises:
        CorpusError: For an id that occurs twice, if `check`.
    """
    seen = set()
    for item in items:
        id_ = key(item)
        if id_ not in seen:
            seen.add(id_)
            yield item
        elif check:
            raise CorpusError(f"{title}: the id {id_!r} occurs twice, but officially once; {_GO_ON}")
