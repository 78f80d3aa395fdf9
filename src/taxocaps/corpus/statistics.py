"""What is in a corpus and what may be wrong with it, counted in one pass over the documents."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from taxocaps.corpus.document import Document, document_name
from taxocaps.corpus.duplicates import DuplicateFinder, Repeats
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["CorpusReport", "LevelStatistics", "SplitStatistics", "Spread", "UnknownLabel", "check_corpus"]


@dataclass(frozen=True)
class Spread:
    """Mean, median and largest of some whole numbers; zeros where there are none."""

    mean: float = 0.0
    median: float = 0.0
    max: int = 0


@dataclass(frozen=True)
class SplitStatistics:
    """One split of a corpus.

    Attributes:
        documents: How many there are.
        empty_texts: Documents with neither text nor tokens.
        words: Words per document: what white space parts, or the text pipeline keeps, or the ready tokens.
        labels: Labels per document.
        labels_histogram: Number of labels -> number of documents.
        unlabelled: Documents without any label.
        label_counts: Label -> number of documents, in taxonomy order (unknown ones last, by name).
        lacking_ancestors: Documents that lack an ancestor of a label they carry.
        duplicate_texts: Documents whose text, white space aside, an earlier one of the split has.
        duplicate_ids: Documents whose id an earlier one of the split has.
    """

    documents: int
    empty_texts: int
    words: Spread
    labels: Spread
    labels_histogram: Mapping[int, int]
    unlabelled: int
    label_counts: Mapping[str, int]
    lacking_ancestors: Repeats
    duplicate_texts: Repeats
    duplicate_ids: Repeats


@dataclass(frozen=True)
class LevelStatistics:
    """A level of the taxonomy: its labels, those that documents carry, and how often, all splits together."""

    level: int
    labels: int
    used: int
    assignments: int


@dataclass(frozen=True)
class UnknownLabel:
    """A label that is not in the taxonomy, the number of documents that carry it, and one of them."""

    name: str
    documents: int
    example: str


@dataclass(frozen=True)
class CorpusReport:
    """A whole corpus.

    Attributes:
        splits: The statistics of each split.
        label_counts: Label -> number of documents in all splits, in taxonomy order (unknown ones last, by name).
        levels: The levels of the taxonomy; empty without one.
        unused_labels: Labels of the taxonomy that no document carries, the root aside.
        unknown_labels: Labels of documents that are not in the taxonomy, the most frequent first.
        shared_texts: Pair of splits -> different texts that are in both.
        shared_ids: Pair of splits -> different ids that are in both.
    """

    splits: Mapping[str, SplitStatistics]
    label_counts: Mapping[str, int]
    levels: tuple[LevelStatistics, ...]
    unused_labels: tuple[str, ...]
    unknown_labels: tuple[UnknownLabel, ...]
    shared_texts: Mapping[tuple[str, str], Repeats]
    shared_ids: Mapping[tuple[str, str], Repeats]

    @property
    def documents(self) -> int:
        """The number of documents in all splits."""
        return sum(split.documents for split in self.splits.values())


def check_corpus(
    documents: Iterable[tuple[str, Document]],
    taxonomy: Taxonomy | None = None,
    *,
    words_of: Callable[[str], Sequence[str]] = str.split,
) -> CorpusReport:
    """Read a corpus once and count what is in it.

    Args:
        documents: Every document with the name of its split; they are taken one at a time.
        taxonomy: The labels there may be; without one no label is unknown and no ancestor missing.
        words_of: Makes words of a text, to count them; by default whatever white space parts.
    """
    texts, ids, parents = DuplicateFinder(), DuplicateFinder(), _parents(taxonomy)
    tallies: dict[str, _Tally] = {}
    for split, document in documents:
        if split not in tallies:
            tallies[split] = _Tally(split, parents, texts, ids)
        tallies[split].add(document, words_of)
    counts = sum((tally.label_counts for tally in tallies.values()), Counter[str]())
    return CorpusReport(
        splits={name: tally.statistics(taxonomy) for name, tally in tallies.items()},
        label_counts=_ordered(counts, taxonomy),
        levels=_levels(counts, taxonomy),
        unused_labels=_unused(counts, taxonomy),
        unknown_labels=_unknown(counts, tallies.values(), taxonomy),
        shared_texts=texts.across(),
        shared_ids=ids.across(),
    )


class _Tally:
    """Counts the documents of one split."""

    def __init__(
        self, split: str, parents: Mapping[str, frozenset[str]], texts: DuplicateFinder, ids: DuplicateFinder
    ) -> None:
        self.split = split
        self.parents = parents
        self.texts, self.ids = texts, ids
        self.documents = 0
        self.empty_texts = 0
        self.word_counts: Counter[int] = Counter()
        self.label_numbers: Counter[int] = Counter()
        self.label_counts: Counter[str] = Counter()
        self.label_examples: dict[str, str] = {}
        self.lacking = Repeats()

    def add(self, document: Document, words_of: Callable[[str], Sequence[str]]) -> None:
        self.documents += 1
        name = document_name(document.id, self.documents)
        self.word_counts[len(words_of(document.text) if document.tokens is None else document.tokens)] += 1
        self._add_text(document, name)
        self._add_labels(frozenset(document.labels or ()), name)
        if document.id is not None:
            self.ids.add(document.id, self.split, name)

    def _add_text(self, document: Document, name: str) -> None:
        words = document.text.split() if document.tokens is None else document.tokens
        if words:
            self.texts.add(" ".join(words), self.split, name)
        else:
            self.empty_texts += 1

    def _add_labels(self, labels: frozenset[str], name: str) -> None:
        self.label_numbers[len(labels)] += 1
        self.label_counts.update(labels)
        for label in labels:
            if label not in self.parents:
                self.label_examples.setdefault(label, name)
        # Labels that have all their parents have all their ancestors.
        if any(not self.parents.get(label, labels) <= labels for label in labels):
            self.lacking = Repeats(self.lacking.count + 1, self.lacking.example or name)

    def statistics(self, taxonomy: Taxonomy | None) -> SplitStatistics:
        return SplitStatistics(
            documents=self.documents,
            empty_texts=self.empty_texts,
            words=_spread(self.word_counts),
            labels=_spread(self.label_numbers),
            labels_histogram=dict(sorted(self.label_numbers.items())),
            unlabelled=self.label_numbers[0],
            label_counts=_ordered(self.label_counts, taxonomy),
            lacking_ancestors=self.lacking,
            duplicate_texts=self.texts.within(self.split),
            duplicate_ids=self.ids.within(self.split),
        )


def _parents(taxonomy: Taxonomy | None) -> dict[str, frozenset[str]]:
    """The parents that must stand beside each label; the root need not."""
    if taxonomy is None:
        return {}
    return {name: frozenset(taxonomy.parents(name)) - {taxonomy.root} for name in taxonomy.names}


def _spread(counts: Counter[int]) -> Spread:
    """Mean, median and largest from value -> how often; the same as over the values written out."""
    total = counts.total()
    if not total:
        return Spread()
    values = sorted(counts)
    ends = list(accumulate(counts[value] for value in values))
    low, high = (values[bisect_right(ends, rank)] for rank in ((total - 1) // 2, total // 2))
    return Spread(sum(value * counts[value] for value in values) / total, (low + high) / 2, values[-1])


def _ordered(counts: Mapping[str, int], taxonomy: Taxonomy | None) -> dict[str, int]:
    known = [name for name in taxonomy.names if name in counts] if taxonomy is not None else []
    return {name: counts[name] for name in (*known, *sorted(set(counts).difference(known)))}


def _levels(counts: Mapping[str, int], taxonomy: Taxonomy | None) -> tuple[LevelStatistics, ...]:
    if taxonomy is None:
        return ()
    return tuple(
        LevelStatistics(
            level=taxonomy.depth(names[0]),
            labels=len(names),
            used=sum(name in counts for name in names),
            assignments=sum(counts.get(name, 0) for name in names),
        )
        for names in taxonomy.levels
        if names
    )


def _unused(counts: Mapping[str, int], taxonomy: Taxonomy | None) -> tuple[str, ...]:
    if taxonomy is None:
        return ()
    return tuple(name for name in taxonomy.names if name not in counts and name != taxonomy.root)


def _unknown(
    counts: Mapping[str, int], tallies: Iterable[_Tally], taxonomy: Taxonomy | None
) -> tuple[UnknownLabel, ...]:
    if taxonomy is None:
        return ()
    examples: dict[str, str] = {}
    for tally in tallies:
        examples = tally.label_examples | examples
    names = sorted(examples, key=lambda name: (-counts[name], name))
    return tuple(UnknownLabel(name, counts[name], examples[name]) for name in names)
