"""Which label of a taxonomy a document means, by its id, notation, preferred or alternative name."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["NAMED_BY", "LabelMatch", "LabelResolver", "NamedBy", "describe_counts"]

NamedBy = Literal["id", "notation", "preferred", "alternative"]

NAMED_BY: Mapping[NamedBy, str] = {
    "id": "id",
    "notation": "notation",
    "preferred": "preferred name",
    "alternative": "alternative name",
}
"""What a text may be of a label, in the order in which it is looked for, with the words for it in messages."""

_KINDS: tuple[Literal["notation", "preferred", "alternative"], ...] = ("notation", "preferred", "alternative")


@dataclass(frozen=True, slots=True)
class LabelMatch:
    """What a text is of labels: of one, or of several, so that it is ambiguous."""

    named_by: NamedBy
    labels: tuple[str, ...]


@dataclass
class LabelResolver:
    """Replaces what documents call labels by the ids of the labels.

    Ids are compared as they are. Other texts are compared without regard to case and white space, first with the
    notations of all labels, then with preferred names, then with alternative names, in all languages. Hidden names do
    not count. A text that is unknown, or that several labels share, is left as it is.

    Attributes:
        taxonomy: The labels.
        counts: How many labels of documents were found by what.

    >>> from taxocaps.taxonomy.terms import Term
    >>> terms = {"D": [Term("dogs"), Term("Hunde", language="de"), Term("599.77", "notation")]}
    >>> resolver = LabelResolver(Taxonomy.from_edges([], labels=["C", "D"], terms=terms))
    >>> resolver.resolve(["C", "599.77", "HUNDE", "birds"])
    ('C', 'D', 'birds')
    >>> describe_counts(resolver.counts)
    '1 by id, 1 by notation, 1 by preferred name'
    """

    taxonomy: Taxonomy
    counts: Counter[NamedBy] = field(default_factory=Counter)
    _known: dict[str, LabelMatch | None] = field(default_factory=dict)

    def resolve(self, labels: Sequence[str] | None) -> tuple[str, ...]:
        """The labels of one document by their ids, each once if any of them was not an id."""
        given = tuple(labels or ())
        others = [text for text in given if text not in self.taxonomy]
        self.counts["id"] += len(given) - len(others)
        if not others:
            return given
        ids: dict[str, str] = {}
        for text in others:
            match = self.match(text)
            if match is not None and len(match.labels) == 1:
                self.counts[match.named_by] += 1
                ids[text] = match.labels[0]
        return tuple(dict.fromkeys(ids.get(text, text) for text in given)) if ids else given

    def resolve_all(self, label_lists: Iterable[Sequence[str] | None]) -> tuple[tuple[str, ...], ...]:
        """The labels of each document by their ids."""
        return tuple(map(self.resolve, label_lists))

    def match(self, text: str) -> LabelMatch | None:
        """The labels that a text may mean; None if it is unknown."""
        if text in self.taxonomy:
            return LabelMatch("id", (text,))
        if text not in self._known:
            self._known[text] = self._index.get(_comparable(text))
        return self._known[text]

    @cached_property
    def _index(self) -> dict[str, LabelMatch]:
        """What comparable texts mean; made when the first text that is no id is looked up."""
        found: dict[str, LabelMatch] = {}
        for kind in _KINDS:
            owners: dict[str, dict[str, None]] = {}
            for label in self.taxonomy:
                for term in self.taxonomy.terms(label):
                    if term.kind == kind:
                        owners.setdefault(_comparable(term.text), {})[label] = None
            for text, labels in owners.items():
                found.setdefault(text, LabelMatch(kind, tuple(labels)))
        return found


def describe_counts(counts: Mapping[NamedBy, int]) -> str:
    """How many labels were found by what.

    >>> describe_counts({"alternative": 3, "id": 1204})
    '1,204 by id, 3 by alternative name'
    """
    return ", ".join(f"{counts[key]:,} by {name}" for key, name in NAMED_BY.items() if counts.get(key))


def _comparable(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text.casefold()).split())
