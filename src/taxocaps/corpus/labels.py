"""Labels of documents: checked against the taxonomy, collected as classes, and put into matrices."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Protocol

from pydantic import Field

from taxocaps.config import Config
from taxocaps.corpus.document import document_name
from taxocaps.corpus.label_names import NAMED_BY, LabelMatch, LabelResolver, NamedBy
from taxocaps.errors import ConfigError, CorpusError, nearest
from taxocaps.taxonomy.tree import Taxonomy

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "Ancestors",
    "Classes",
    "Family",
    "Ids",
    "LabelConfig",
    "ResolvedLabels",
    "UnknownLabels",
    "collect_classes",
    "label_matrix",
    "likely_separator",
    "resolve_labels",
    "taxonomy_of",
    "unseen_labels",
]

Ancestors = Literal["as-given", "add"]
UnknownLabels = Literal["error", "add", "drop"]
LabelLists = Iterable[Sequence[str] | None]
"""The labels of each document; `None`, a document without a label field, counts as no labels."""


class Ids(Protocol):
    """The ids of documents by index, such as a list."""

    def __getitem__(self, index: int, /) -> str | int | None:
        """The id of a document; or, if it has none, its position in its file, counted from 1, where that is known."""


class LabelConfig(Config):
    """Processing of the labels of documents.

    Attributes:
        ancestors: Use the labels as given, or add all their ancestors; a root without documents is never added.
        unknown: What to do with a label that is not in the taxonomy: raise an error, add it below the root, or drop it.
        path_separator: Without a taxonomy, labels are paths whose parts this text separates, such as "/" in
            "animals/dogs", and make one; by default labels are a flat list.
    """

    section: ClassVar[str] = "labels"

    ancestors: Ancestors = "as-given"
    unknown: UnknownLabels = "error"
    path_separator: Annotated[str, Field(min_length=1)] | None = None


@dataclass(frozen=True)
class ResolvedLabels:
    """Labels that are all in the taxonomy.

    Attributes:
        labels: The ids of the labels of each document.
        taxonomy: The taxonomy, with the unknown labels below the root if they were added.
        unknown: The labels that were not in the taxonomy or ambiguous, with their numbers of documents.
        named_by: How many labels of documents were given by id, notation, preferred or alternative name.
    """

    labels: tuple[tuple[str, ...], ...]
    taxonomy: Taxonomy
    unknown: Mapping[str, int]
    named_by: Mapping[NamedBy, int]


def resolve_labels(
    label_lists: LabelLists,
    taxonomy: Taxonomy,
    unknown: UnknownLabels = "error",
    *,
    ids: Ids | None = None,
) -> ResolvedLabels:
    """Find the labels of documents in the taxonomy, by id or by name; see `LabelResolver`.

    Args:
        label_lists: The labels of each document.
        taxonomy: The known labels.
        unknown: "error", "add" (below the root, sorted by name) or "drop".
        ids: The ids of the documents, for messages.

    Raises:
        CorpusError: For an unknown or ambiguous label if `unknown` is "error"; the message names the document, and the
            nearest label or those that share the name.
    """
    resolver = LabelResolver(taxonomy)
    lists = resolver.resolve_all(label_lists)
    unknown_names = set(chain.from_iterable(lists)).difference(taxonomy.names)
    if not unknown_names:
        return ResolvedLabels(lists, taxonomy, {}, resolver.counts)
    if unknown == "error":
        raise CorpusError(_unknown_message(lists, unknown_names, resolver, ids))
    counts = Counter(label for labels in lists for label in unknown_names.intersection(labels))
    found = {name: counts[name] for name in sorted(counts)}
    if unknown == "add":
        return ResolvedLabels(lists, taxonomy.with_labels(found), found, resolver.counts)
    kept = tuple(tuple(label for label in labels if label not in unknown_names) for labels in lists)
    return ResolvedLabels(kept, taxonomy, found, resolver.counts)


def collect_classes(
    label_lists: LabelLists, taxonomy: Taxonomy | None = None, ancestors: Ancestors = "as-given"
) -> tuple[str, ...]:
    """The labels that occur in documents, which become the columns of a model.

    Args:
        label_lists: The labels of each training document.
        taxonomy: Determines the order; without one the labels are sorted by name.
        ancestors: Whether to add the ancestors of the labels.

    Raises:
        TaxonomyError: For a label that is not in the taxonomy; see `resolve_labels`.

    >>> collect_classes([["b"], ["c", "a"], None])
    ('a', 'b', 'c')
    """
    used = set(chain.from_iterable(labels or () for labels in label_lists))
    if taxonomy is None:
        _refuse_ancestors(ancestors)
        return tuple(sorted(used))
    return taxonomy.with_ancestors(used) if ancestors == "add" else tuple(sorted(used, key=taxonomy.position))


def taxonomy_of(labels: Iterable[str], path_separator: str | None = None) -> Taxonomy:
    """A taxonomy of labels alone: a flat list, or the tree of which they are paths.

    Args:
        labels: The labels.
        path_separator: What stands between the parts of paths. A label keeps its path as its id, and its last part is
            its name.

    >>> tree = taxonomy_of(["animals/dogs", "plants"], "/")
    >>> tree.parents("animals/dogs"), tree.title("animals/dogs"), tree.roots
    (('animals',), 'dogs', ('animals', 'plants'))
    """
    names = sorted(labels)
    if path_separator is None:
        return Taxonomy.from_edges((), labels=names)
    paths = {name: _prefixes(name, path_separator) for name in names}
    edges = dict.fromkeys(edge for path in paths.values() for edge in itertools.pairwise(path))
    titles = {one: one.rpartition(path_separator)[2].strip() for path in paths.values() for one in path}
    return Taxonomy.from_edges(edges, labels=[path[0] for path in paths.values()], titles=titles)


def likely_separator(labels: Collection[str]) -> str | None:
    """What separates the parts of labels that look like paths: all have several parts, and share the first ones.

    >>> likely_separator(["animals/dogs", "animals/cats", "plants/ferns"])
    '/'
    >>> likely_separator(["input/output", "client/server"]) is None
    True
    """
    for separator in _PATH_SEPARATORS:
        firsts = {label.partition(separator)[0] for label in labels if len(_prefixes(label, separator)) > 1}
        if len(firsts) < len(labels) and all(separator in label for label in labels):
            return separator
    return None


_PATH_SEPARATORS = ("/", "::", " > ", ">")


def _prefixes(label: str, separator: str) -> list[str]:
    """A path and those above it, the shortest first; one with an empty part is a name, and no path."""
    parts = label.split(separator)
    if not all(part.strip() for part in parts):
        return [label]
    return [separator.join(parts[: end + 1]) for end in range(len(parts))]


def unseen_labels(taxonomy: Taxonomy) -> tuple[str, ...]:
    """The labels that may be given though no training document carries them: all but the root, if not too many."""
    if len(taxonomy) > _MOST_UNSEEN:
        return ()
    return tuple(name for name in taxonomy.names if name != taxonomy.root)


_MOST_UNSEEN = 50_000


def label_matrix(
    label_lists: LabelLists,
    classes: Sequence[str],
    taxonomy: Taxonomy | None = None,
    ancestors: Ancestors = "as-given",
) -> "csr_array":
    """The labels of documents as a boolean matrix.

    A label that is not in `classes`, such as one without training documents, has no column; if ancestors are added, its
    ancestors still have theirs.

    Args:
        label_lists: The labels of each document.
        classes: The labels of the columns.
        taxonomy: Needed to add ancestors.
        ancestors: Whether to add the ancestors of the labels.

    Returns:
        CSR `[documents, classes]` of bool, with sorted indices and no explicit zeros.
    """
    import numpy as np

    lists = [labels or () for labels in label_lists]
    ids: defaultdict[str, int] = defaultdict(count().__next__)  # by order of first occurrence
    given = np.fromiter(map(ids.__getitem__, chain.from_iterable(lists)), dtype=np.int32)
    columns = {name: column for column, name in enumerate(classes)}
    closures = _closures(ids, taxonomy, ancestors)
    spread = [[columns[name] for name in closure if name in columns] for closure in closures]
    targets = np.fromiter(chain.from_iterable(spread), dtype=np.int32)
    # One sparse product adds the ancestors of all documents: [documents, names] @ [names, classes].
    matrix = _indicator(lists, given, len(ids)) @ _indicator(spread, targets, len(columns))
    matrix.sort_indices()
    return matrix


class Family(NamedTuple):
    """Some labels, and those directly below them.

    Attributes:
        parents: int64 [parents], columns.
        children: int64 [children], the columns below the first parent, then those below the second, and so on.
        starts: int64 [parents], where in `children` those of each parent begin.
    """

    parents: Any
    children: Any
    starts: Any


@dataclass(frozen=True)
class Classes:
    """The labels that a model can predict, its columns, in taxonomy order: parents before children.

    Attributes:
        names: The labels.
        taxonomy: A taxonomy that contains all of them.

    >>> topics = Taxonomy.from_edges([("all", "trade"), ("trade", "oil"), ("oil", "crude")])
    >>> Classes(("trade", "crude"), topics).parents
    ((), (0,))
    """

    names: tuple[str, ...]
    taxonomy: Taxonomy

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def closure(self) -> "csr_array":
        """CSR [L, L] of bool: the row of a label marks itself and those of its ancestors that are columns."""
        return label_matrix([(name,) for name in self.names], self.names, self.taxonomy, "add")

    @cached_property
    def full_closure(self) -> "csr_array":
        """CSR [L, labels of the taxonomy] of bool: a row marks the label itself and all its ancestors but the root."""
        return self.full_closure_of(range(len(self)))

    def full_closure_of(self, columns: Iterable[int]) -> "csr_array":
        """The same with empty rows for all other labels: in a deep taxonomy, the rows of all would be too many."""
        rows: list[tuple[str, ...]] = [()] * len(self)
        for column in columns:
            rows[column] = (self.names[column],)
        return label_matrix(rows, self.taxonomy.names, self.taxonomy, "add")

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """For each label the columns of its nearest ancestors that are columns."""
        columns = {name: column for column, name in enumerate(self.names)}
        above: dict[str, frozenset[int]] = {}
        for name in self.taxonomy.names:  # parents come before their children
            found = [
                frozenset({columns[parent]}) if parent in columns else above[parent]
                for parent in self.taxonomy.parents(name)
            ]
            above[name] = found[0] if len(found) == 1 else frozenset().union(*found)
        return tuple(tuple(sorted(above[name])) for name in self.names)

    @cached_property
    def families(self) -> "tuple[Family, ...]":
        """The labels but the root with others directly below them, those that are above families after these.

        Whoever goes through them in this order hands something up from the lowest labels to the highest, in a time that
        grows with the number of labels, and not with that of all pairs of a label and an ancestor.
        """
        children: list[list[int]] = [[] for _ in self.names]
        heights = [0] * len(self)  # of each label, the most steps down to a label without any below it
        for label in sorted(range(len(self)), key=lambda label: -self.taxonomy.position(self.names[label])):
            for parent in self.parents[label]:
                if self.names[parent] != self.taxonomy.root:
                    children[parent].append(label)
                    heights[parent] = max(heights[parent], heights[label] + 1)
        by_height: defaultdict[int, list[int]] = defaultdict(list)
        for label, height in enumerate(heights):
            by_height[height].append(label)
        return tuple(_family(by_height[height], children) for height in range(1, len(by_height)))

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The depth of each label below the root."""
        return tuple(map(self.taxonomy.depth, self.names))

    def has_all_ancestors(self, labels: "csr_array", used: Any = None) -> bool:
        """Whether every document with a label also has all its ancestors that are columns.

        Args:
            labels: CSR [documents, L] of bool.
            used: bool [L], the columns that count; by default all.
        """
        closed = labels @ self.closure
        return bool((closed if used is None else closed[:, used.nonzero()[0]]).nnz == labels.nnz)

    def has_one_label(self, labels: "csr_array", *, with_ancestors: bool) -> bool:
        """Whether each document has one label and there are several to choose from.

        Args:
            labels: CSR [documents, L] of bool.
            with_ancestors: Whether the ancestors of a label come with it, and do not count; then no document may end at
                a label that others have labels below.
        """
        import numpy as np

        if with_ancestors:
            labels = labels[:, np.flatnonzero(~self.are_above(labels.sum(axis=0) > 0))]
        counts = np.diff(labels.indptr)
        return bool(len(counts)) and bool((counts == 1).all()) and len(np.unique(labels.indices)) > 1

    def are_above(self, used: Any) -> Any:
        """Which labels are parents of used ones; bool [L] of bool [L]."""
        import numpy as np

        above = np.zeros(len(self), bool)
        above[[parent for label in np.flatnonzero(used).tolist() for parent in self.parents[label]]] = True
        return above

    def label_lists(self, chosen: "csr_array") -> list[tuple[str, ...]]:
        """The names of the labels of each document, from CSR [documents, L] of bool."""
        names = [self.names[column] for column in chosen.indices.tolist()]
        return [tuple(names[start:end]) for start, end in itertools.pairwise(chosen.indptr.tolist())]


def _family(parents: Sequence[int], children: Sequence[Sequence[int]]) -> Family:
    import numpy as np

    below = [children[parent] for parent in parents]
    counts = np.fromiter(map(len, below), np.int64, len(below))
    flat = np.fromiter(chain.from_iterable(below), np.int64, int(counts.sum()))
    return Family(np.array(parents, np.int64), flat, np.cumsum(counts) - counts)


def _unknown_message(
    lists: Sequence[Sequence[str]], unknown_names: set[str], resolver: LabelResolver, ids: Ids | None
) -> str:
    index, label = next((i, label) for i, labels in enumerate(lists) for label in labels if label in unknown_names)
    found = ids[index] if ids else None
    where = document_name(None, found) if isinstance(found, int) else document_name(found, index + 1)
    match = resolver.match(label)
    if match is not None:
        return f"{where}: the label {label!r} is {_shared(match)}; give the id, or say --unknown-labels add or drop"
    hint = _separator_hint(label, resolver) or _space_hint(label, resolver.taxonomy)
    if hint:
        return f"{where}: the label {label!r} is not in the taxonomy; {hint}"
    close = nearest(label, _all_names(resolver.taxonomy))
    hint = f" (nearest: {close!r})" if close else ""
    more = len(unknown_names) - 1
    others = "" if not more else ", nor is 1 other label" if more == 1 else f", nor are {more} other labels"
    return (
        f"{where}: the label {label!r} is not in the taxonomy{hint}"
        f"{others}; correct {'it' if not more else 'them'}, or say --unknown-labels add or drop"
    )


def _all_names(taxonomy: Taxonomy) -> Iterator[str]:
    """All that documents may call labels, ids first."""
    yield from taxonomy.names
    yield from (term.text for label in taxonomy.names for term in taxonomy.terms(label) if term.kind != "hidden")


def _separator_hint(label: str, resolver: LabelResolver) -> str | None:
    """What to type if a label is several labels, with something between them."""
    for separator in _SEPARATORS:
        parts = [part.strip() for part in label.split(separator) if part.strip()]
        if len(parts) > 1 and all(resolver.match(part) for part in parts):
            return f"but {parts[0]!r} and {parts[1]!r} are: name what separates labels, --label-separator {separator!r}"
    return None


_SEPARATORS = (";", "|", ",", "/", "\t", "\n", " ")
"""What may stand between labels."""


def _space_hint(label: str, taxonomy: Taxonomy) -> str | None:
    """What to correct if a taxonomy has spaces where there should be tabs, so that lines became labels."""
    if any(taxonomy.parents(name) not in ((), (taxonomy.root,)) for name in taxonomy.names):
        return None
    line = next((name for name in taxonomy.names if label in name.split() and name != label), None)
    return line and f"it has {line!r}, with a space where a tab belongs between parent and child; put tabs there"


def _shared(match: LabelMatch) -> str:
    first, second, *others = match.labels
    more = f" and {len(others):,} more" if others else ""
    return f"ambiguous, the {NAMED_BY[match.named_by]} of {first!r} and {second!r}{more}"


def _closures(names: Iterable[str], taxonomy: Taxonomy | None, ancestors: Ancestors) -> list[tuple[str, ...]]:
    if ancestors == "as-given":
        return [(name,) for name in names]
    if taxonomy is None:
        _refuse_ancestors(ancestors)
    assert taxonomy is not None
    return [taxonomy.with_ancestors((name,)) if name in taxonomy else (name,) for name in names]


def _refuse_ancestors(ancestors: Ancestors) -> None:
    if ancestors == "add":
        raise ConfigError("--ancestors add needs a taxonomy; give one, or leave it out")


def _indicator(lists: Sequence[Sequence[Any]], columns: Any, width: int) -> "csr_array":
    import numpy as np
    from scipy.sparse import csr_array

    ends = np.zeros(len(lists) + 1, dtype=np.int32)
    np.cumsum(np.fromiter(map(len, lists), dtype=np.int32, count=len(lists)), out=ends[1:])
    return csr_array((np.ones(len(columns), dtype=bool), columns, ends), shape=(len(lists), width))
