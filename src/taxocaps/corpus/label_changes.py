"""How a taxonomy has changed: which labels were added, removed, renamed, moved, merged or split."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from taxocaps.corpus.label_names import LabelResolver
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["ChangeKind", "LabelChange", "TaxonomyChanges"]

ChangeKind = Literal["added", "removed", "renamed", "moved", "merged", "split"]


@dataclass(frozen=True)
class LabelChange:
    """One change.

    Attributes:
        kind: What has happened.
        old: The labels that were there before.
        new: The labels that are there now.
        before: Where labels are renamed, the name; where they are moved, the parents.
        after: The same now.
    """

    kind: ChangeKind
    old: tuple[str, ...]
    new: tuple[str, ...]
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class TaxonomyChanges:
    """What became of the labels of a taxonomy.

    A label that keeps its id is the same label. One whose id is gone is looked for by its id and its names, in this
    order, among the notations, preferred and alternative names of the other taxonomy. If one label is found, the old
    one was renamed, or merged into it if that has other predecessors; if several share the name, it was split.

    Attributes:
        old: The taxonomy as it was.
        new: The taxonomy as it is.
        language: The language of names.

    >>> from taxocaps.taxonomy.terms import Term
    >>> old = Taxonomy.from_edges([("all", "ship"), ("all", "boat"), ("all", "corn")])
    >>> new = Taxonomy.from_edges([("all", "ship"), ("all", "gold")], terms={"ship": [Term("boat", "alternative")]})
    >>> [(one.kind, one.old, one.new) for one in TaxonomyChanges(old, new).changes]
    [('merged', ('ship', 'boat'), ('ship',)), ('removed', ('corn',), ()), ('added', (), ('gold',))]
    """

    old: Taxonomy
    new: Taxonomy
    language: str = "en"

    @cached_property
    def successors(self) -> Mapping[str, tuple[str, ...]]:
        """For each old label the labels that it has become; none if it was removed."""
        resolver = LabelResolver(self.new)
        return {label: self._found(resolver, label) for label in _labels(self.old)}

    @cached_property
    def predecessors(self) -> Mapping[str, tuple[str, ...]]:
        """For each new label the labels that have become it; none if it was added."""
        found: dict[str, list[str]] = {label: [] for label in _labels(self.new)}
        for old, successors in self.successors.items():
            for label in successors:
                found.setdefault(label, []).append(old)
        return {label: tuple(labels) for label, labels in found.items()}

    @cached_property
    def changes(self) -> tuple[LabelChange, ...]:
        """All changes, in the order of the old labels; those that were added come last."""
        added = (LabelChange("added", (), (label,)) for label, old in self.predecessors.items() if not old)
        return (*(change for label in self.successors for change in self._changes(label)), *added)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many changes of each kind there are."""
        found: defaultdict[str, int] = defaultdict(int)
        for change in self.changes:
            found[change.kind] += 1
        return dict(found)

    def origins(self, known: Iterable[str], weights: Iterable[int]) -> dict[str, str]:
        """For each new label the old one, out of some, that it comes from; of several that with the largest weight."""
        best: dict[str, tuple[int, str]] = {}
        for label, weight in zip(known, weights, strict=True):
            for new in self.successors.get(label, ()):
                rank = (weight + (label == new), label)
                if new not in best or rank[0] > best[new][0]:
                    best[new] = rank
        return {new: label for new, (_, label) in best.items()}

    def _found(self, resolver: LabelResolver, label: str) -> tuple[str, ...]:
        names = sorted(self.old.terms(label), key=lambda term: _ORDER.index(term.kind))
        matches = (resolver.match(text) for text in (label, *(term.text for term in names if term.kind != "hidden")))
        return next((match.labels for match in matches if match is not None), ())

    def _changes(self, label: str) -> Iterator[LabelChange]:
        """What happened to an old label; a merger is told once."""
        found = self.successors[label]
        if len(found) != 1:
            yield LabelChange("split" if found else "removed", (label,), found)
            return
        (new,) = found
        together = self.predecessors[new]
        if len(together) > 1:
            if label == together[0]:
                yield LabelChange("merged", together, found)
            return
        names = self.old.title(label, self.language), self.new.title(new, self.language)
        if label != new or names[0] != names[1]:
            yield LabelChange("renamed", (label,), found, *names)
        above = _parents(self.old, label), _parents(self.new, new)
        if {self._now(parent) for parent in above[0]} != set(above[1]):
            yield LabelChange("moved", (label,), found, ", ".join(above[0]), ", ".join(above[1]))

    def _now(self, label: str) -> str:
        """What a label is called now, if it has become one other label."""
        found = self.successors.get(label, ())
        return found[0] if len(found) == 1 else label


_ORDER = ("preferred", "notation", "alternative", "hidden")


def _labels(taxonomy: Taxonomy) -> list[str]:
    """All labels but the root, which is only a place to begin."""
    return [label for label in taxonomy.names if label != taxonomy.root]


def _parents(taxonomy: Taxonomy, label: str) -> list[str]:
    return [parent for parent in taxonomy.parents(label) if parent != taxonomy.root]
