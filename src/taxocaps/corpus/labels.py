"""From label names to label matrices: names checked against the taxonomy, classes collected, rows built."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from taxocaps.config import Config
from taxocaps.corpus.document import document_name
from taxocaps.errors import ConfigError, CorpusError
from taxocaps.taxonomy.tree import Taxonomy

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "Ancestors",
    "LabelConfig",
    "ResolvedLabels",
    "UnknownLabels",
    "collect_classes",
    "count_unseen",
    "label_matrix",
    "resolve_labels",
]

Ancestors = Literal["as-given", "add"]
UnknownLabels = Literal["error", "add", "drop"]
LabelLists = Iterable[Sequence[str] | None]
"""The labels of each document; `None`, a document without a label field, counts as no labels."""


class LabelConfig(Config):
    """How the labels of documents are understood.

    Attributes:
        ancestors: Take the labels as given, or add all their ancestors; a root that no document carries is never added.
        unknown: What to do with a label that is not in the taxonomy: raise an error, add it under the root, or drop it.
    """

    section: ClassVar[str] = "labels"

    ancestors: Ancestors = "as-given"
    unknown: UnknownLabels = "error"


@dataclass(frozen=True)
class ResolvedLabels:
    """Labels that are all in the taxonomy.

    Attributes:
        labels: The labels of each document.
        taxonomy: The taxonomy, with the unknown labels under the root if they were added.
        unknown: The labels that were not in the taxonomy, with the number of documents that carry them.
    """

    labels: tuple[tuple[str, ...], ...]
    taxonomy: Taxonomy
    unknown: Mapping[str, int]


def resolve_labels(
    label_lists: LabelLists,
    taxonomy: Taxonomy,
    unknown: UnknownLabels = "error",
    *,
    ids: Sequence[str | None] | None = None,
) -> ResolvedLabels:
    """Hold the labels of documents against the taxonomy.

    Args:
        label_lists: The labels of each document.
        taxonomy: The labels there are.
        unknown: "error", "add" (under the root, sorted by name) or "drop".
        ids: The ids of the documents, for messages.

    Raises:
        CorpusError: For an unknown label if `unknown` is "error"; it names the document and the nearest known label.
    """
    lists = tuple(tuple(labels or ()) for labels in label_lists)
    strangers = set(chain.from_iterable(lists)).difference(taxonomy.names)
    if not strangers:
        return ResolvedLabels(lists, taxonomy, {})
    if unknown == "error":
        raise CorpusError(_unknown_message(lists, strangers, taxonomy, ids))
    counts = Counter(label for labels in lists for label in strangers.intersection(labels))
    found = {name: counts[name] for name in sorted(counts)}
    if unknown == "add":
        return ResolvedLabels(lists, taxonomy.with_labels(found), found)
    kept = tuple(tuple(label for label in labels if label not in strangers) for labels in lists)
    return ResolvedLabels(kept, taxonomy, found)


def collect_classes(
    label_lists: LabelLists, taxonomy: Taxonomy | None = None, ancestors: Ancestors = "as-given"
) -> tuple[str, ...]:
    """The labels that documents carry, which become the columns of a model.

    Args:
        label_lists: The labels of each training document.
        taxonomy: Gives the order; without one the labels are sorted by name.
        ancestors: Whether the ancestors of the labels count as carried.

    Raises:
        TaxonomyError: For a label that is not in the taxonomy; see `resolve_labels`.

    >>> collect_classes([["b"], ["c", "a"], None])
    ('a', 'b', 'c')
    """
    used = set(chain.from_iterable(labels or () for labels in label_lists))
    if taxonomy is None:
        _refuse_closure(ancestors)
        return tuple(sorted(used))
    return taxonomy.close(used) if ancestors == "add" else tuple(sorted(used, key=taxonomy.position))


def label_matrix(
    label_lists: LabelLists,
    classes: Sequence[str],
    taxonomy: Taxonomy | None = None,
    ancestors: Ancestors = "as-given",
) -> "csr_array":
    """The labels of documents as a boolean matrix.

    A label outside `classes`, such as one that no training document carries, has no column; its ancestors still have
    theirs if they are added. `count_unseen` counts such labels.

    Args:
        label_lists: The labels of each document.
        classes: The labels of the columns.
        taxonomy: Needed to add ancestors.
        ancestors: Whether a document with a label also gets the label's ancestors.

    Returns:
        CSR `[documents, classes]` of bool, with sorted indices and no explicit zeros.
    """
    import numpy as np

    lists = [labels or () for labels in label_lists]
    numbers: defaultdict[str, int] = defaultdict(count().__next__)  # each name, numbered as it first comes
    given = np.fromiter(map(numbers.__getitem__, chain.from_iterable(lists)), dtype=np.int32)
    columns = {name: column for column, name in enumerate(classes)}
    closures = _closures(numbers, taxonomy, ancestors)
    spread = [[columns[name] for name in closure if name in columns] for closure in closures]
    targets = np.fromiter(chain.from_iterable(spread), dtype=np.int32)
    # A product of sparse matrices closes all documents at once: documents x names times names x classes.
    matrix = _indicator(lists, given, len(numbers)) @ _indicator(spread, targets, len(columns))
    matrix.sort_indices()
    return matrix


def count_unseen(label_lists: LabelLists, classes: Iterable[str]) -> dict[str, int]:
    """The labels that have no column, with the number of documents that carry them, sorted by name.

    >>> count_unseen([["a", "z"], ["z"], None], ["a", "b"])
    {'z': 2}
    """
    known = frozenset(classes)
    counts = Counter(chain.from_iterable(set(labels or ()) - known for labels in label_lists))
    return {name: counts[name] for name in sorted(counts)}


def _unknown_message(
    lists: Sequence[Sequence[str]], strangers: set[str], taxonomy: Taxonomy, ids: Sequence[str | None] | None
) -> str:
    number, label = next((n, label) for n, labels in enumerate(lists) for label in labels if label in strangers)
    nearest = taxonomy.nearest(label)
    hint = f" (nearest: {nearest!r})" if nearest else ""
    more = len(strangers) - 1
    others = "" if not more else ", nor is 1 other label" if more == 1 else f", nor are {more} other labels"
    return (
        f"{document_name(ids[number] if ids else None, number + 1)}: the label {label!r} is not in the taxonomy{hint}"
        f"{others}; correct {'it' if not more else 'them'}, or set labels.unknown to add or drop"
    )


def _closures(names: Iterable[str], taxonomy: Taxonomy | None, ancestors: Ancestors) -> list[tuple[str, ...]]:
    if ancestors == "as-given":
        return [(name,) for name in names]
    if taxonomy is None:
        _refuse_closure(ancestors)
    assert taxonomy is not None
    return [taxonomy.close((name,)) if name in taxonomy else (name,) for name in names]


def _refuse_closure(ancestors: Ancestors) -> None:
    if ancestors == "add":
        raise ConfigError(f"{LabelConfig.key('ancestors')} = add needs a taxonomy; give one, or use as-given")


def _indicator(lists: Sequence[Sequence[Any]], columns: Any, width: int) -> "csr_array":
    import numpy as np
    from scipy.sparse import csr_array

    ends = np.zeros(len(lists) + 1, dtype=np.int32)
    np.cumsum(np.fromiter(map(len, lists), dtype=np.int32, count=len(lists)), out=ends[1:])
    return csr_array((np.ones(len(columns), dtype=bool), columns, ends), shape=(len(lists), width))
