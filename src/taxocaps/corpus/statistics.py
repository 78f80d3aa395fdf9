"""Statistics of a corpus and likely mistakes in it, counted in one pass over the documents."""

import hashlib
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from taxocaps.corpus.document import Document, document_name
from taxocaps.corpus.label_names import LabelResolver, NamedBy
from taxocaps.taxonomy.tree import Taxonomy

__all__ = [
    "CorpusReport",
    "DuplicateFinder",
    "Finding",
    "LevelStatistics",
    "SplitStatistics",
    "Summary",
    "UnknownLabel",
    "check_corpus",
]


@dataclass(frozen=True)
class Finding:
    """A number of documents, and the name of the first."""

    count: int = 0
    example: str | None = None


@dataclass(frozen=True)
class Summary:
    """Mean, median and maximum of integers, and what nine in ten do not exceed; zeros if there are none."""

    mean: float = 0.0
    median: float = 0.0
    max: int = 0
    most: int = 0


@dataclass(frozen=True)
class SplitStatistics:
    """One split of a corpus.

    Attributes:
        documents: Number of documents.
        empty_texts: Number of documents without text and tokens.
        words: Words per document, as counted by `tokenize` of `check_corpus`, or tokens.
        labels: Labels per document.
        labels_histogram: Number of labels -> number of documents.
        unlabelled: Number of documents without labels.
        label_counts: Label -> number of documents, in taxonomy order (unknown ones last, by name).
        missing_ancestors: Documents without an ancestor of one of their labels.
        duplicate_texts: Documents with the text of an earlier one of the split, ignoring white space.
        duplicate_ids: Documents with the id of an earlier one of the split.
    """

    documents: int
    empty_texts: int
    words: Summary
    labels: Summary
    labels_histogram: Mapping[int, int]
    unlabelled: int
    label_counts: Mapping[str, int]
    missing_ancestors: Finding
    duplicate_texts: Finding
    duplicate_ids: Finding


@dataclass(frozen=True)
class LevelStatistics:
    """A level of the taxonomy: its number of labels, of labels in use, and of assignments in all splits."""

    level: int
    labels: int
    used: int
    assignments: int


@dataclass(frozen=True)
class UnknownLabel:
    """A label that is not in the taxonomy, or ambiguous.

    Attributes:
        name: The label as it is in documents.
        documents: The number of documents with it.
        example: One of these documents.
        candidates: The labels that share the name, if it is ambiguous.
    """

    name: str
    documents: int
    example: str
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True)
class CorpusReport:
    """A whole corpus.

    Attributes:
        splits: The statistics of each split.
        label_counts: Label -> number of documents in all splits, in taxonomy order (unknown ones last, by name).
        levels: The levels of the taxonomy; empty without one.
        unused_labels: Labels of the taxonomy without documents, except the root.
        unknown_labels: Labels of documents that are not in the taxonomy or ambiguous, the most frequent first.
        named_by: How many labels of documents were given by id, notation, preferred or alternative name; empty without
            a taxonomy.
        shared_texts: Pair of splits -> distinct texts that are in both.
        shared_ids: Pair of splits -> distinct ids that are in both.
    """

    splits: Mapping[str, SplitStatistics]
    label_counts: Mapping[str, int]
    levels: tuple[LevelStatistics, ...]
    unused_labels: tuple[str, ...]
    unknown_labels: tuple[UnknownLabel, ...]
    named_by: Mapping[NamedBy, int]
    shared_texts: Mapping[tuple[str, str], Finding]
    shared_ids: Mapping[tuple[str, str], Finding]

    @property
    def documents(self) -> int:
        """The number of documents in all splits."""
        return sum(split.documents for split in self.splits.values())

    @property
    def long_tail(self) -> dict[str, int]:
        """How many labels have 1, 2, 3 to 9, 10 to 99, and 100 or more documents, in all splits."""
        ends = {"1": 1, "2": 2, "3 to 9": 9, "10 to 99": 99, "100 or more": math.inf}
        counts = [sum(count <= end for count in self.label_counts.values()) for end in ends.values()]
        return dict(zip(ends, (count - below for below, count in pairwise([0, *counts])), strict=True))


def check_corpus(
    documents: Iterable[tuple[str, Document]],
    taxonomy: Taxonomy | None = None,
    *,
    tokenize: Callable[[str], Sequence[str]] = str.split,
) -> CorpusReport:
    """Read a corpus once and count what is in it.

    Args:
        documents: Every document with the name of its split; only one is in memory at a time.
        taxonomy: The allowed labels, which documents may give by id or by name; without one, no label is unknown and no
            ancestor is missing.
        tokenize: Splits a text into words, to count them; by default at white space.
    """
    texts, ids, parents = DuplicateFinder(), DuplicateFinder(), _parents(taxonomy)
    resolver = LabelResolver(taxonomy) if taxonomy is not None else None
    tallies: dict[str, _Tally] = {}
    for split, document in documents:
        if split not in tallies:
            tallies[split] = _Tally(split, parents, texts, ids)
        labels = resolver.resolve(document.labels) if resolver else document.labels or ()
        tallies[split].add(document, frozenset(labels), tokenize)
    counts = sum((tally.label_counts for tally in tallies.values()), Counter[str]())
    return CorpusReport(
        splits={name: tally.statistics(taxonomy) for name, tally in tallies.items()},
        label_counts=_ordered(counts, taxonomy),
        levels=_levels(counts, taxonomy),
        unused_labels=_unused(counts, taxonomy),
        unknown_labels=_unknown(counts, tallies.values(), resolver),
        named_by=resolver.counts if resolver else {},
        shared_texts=texts.across(),
        shared_ids=ids.across(),
    )


class DuplicateFinder:
    """Finds duplicates within and across splits; stores a 16-byte hash per key, about 100 MB per million documents."""

    def __init__(self) -> None:
        self._seen: dict[bytes, int] = {}
        self._splits: list[str] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], str] = {}

    def add(self, key: str, split: str, name: str) -> None:
        """Add a key of the document `name`."""
        if split not in self._splits:
            self._splits.append(split)
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        here = self._splits.index(split)
        before = self._seen.get(digest, 0)
        self._seen[digest] = before | 1 << here
        if before >> here & 1:
            self._count((split, split), name)
        elif before:
            for number, other in enumerate(self._splits):
                if before >> number & 1:
                    self._count((other, split) if number < here else (split, other), name)

    def within(self, split: str) -> Finding:
        """The documents with the key of an earlier document of the same split."""
        return self._repeats((split, split))

    def across(self) -> Mapping[tuple[str, str], Finding]:
        """For each pair of splits with common keys: the number of distinct keys, and one document."""
        return {pair: self._repeats(pair) for pair in self._counts if pair[0] != pair[1]}

    def _count(self, pair: tuple[str, str], name: str) -> None:
        self._counts[pair] += 1
        self._examples.setdefault(pair, name)

    def _repeats(self, pair: tuple[str, str]) -> Finding:
        return Finding(self._counts[pair], self._examples.get(pair))


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
        self.labels_per_document: Counter[int] = Counter()
        self.label_counts: Counter[str] = Counter()
        self.label_examples: dict[str, str] = {}
        self.missing_ancestors = Finding()

    def add(self, document: Document, labels: frozenset[str], tokenize: Callable[[str], Sequence[str]]) -> None:
        self.documents += 1
        name = document_name(document.id, self.documents)
        self.word_counts[len(tokenize(document.text) if document.tokens is None else document.tokens)] += 1
        self._add_text(document, name)
        self._add_labels(labels, name)
        if document.id is not None:
            self.ids.add(document.id, self.split, name)

    def _add_text(self, document: Document, name: str) -> None:
        words = document.text.split() if document.tokens is None else document.tokens
        if words:
            self.texts.add(" ".join(words), self.split, name)
        else:
            self.empty_texts += 1

    def _add_labels(self, labels: frozenset[str], name: str) -> None:
        self.labels_per_document[len(labels)] += 1
        self.label_counts.update(labels)
        for label in labels:
            if label not in self.parents:
                self.label_examples.setdefault(label, name)
        # If no parent of a label is missing, no ancestor is.
        if any(not self.parents.get(label, labels) <= labels for label in labels):
            self.missing_ancestors = Finding(self.missing_ancestors.count + 1, self.missing_ancestors.example or name)

    def statistics(self, taxonomy: Taxonomy | None) -> SplitStatistics:
        return SplitStatistics(
            documents=self.documents,
            empty_texts=self.empty_texts,
            words=_summary(self.word_counts),
            labels=_summary(self.labels_per_document),
            labels_histogram=dict(sorted(self.labels_per_document.items())),
            unlabelled=self.labels_per_document[0],
            label_counts=_ordered(self.label_counts, taxonomy),
            missing_ancestors=self.missing_ancestors,
            duplicate_texts=self.texts.within(self.split),
            duplicate_ids=self.ids.within(self.split),
        )


def _parents(taxonomy: Taxonomy | None) -> dict[str, frozenset[str]]:
    """The required parents of each label, which do not include the root."""
    if taxonomy is None:
        return {}
    return {name: frozenset(taxonomy.parents(name)) - {taxonomy.root} for name in taxonomy.names}


def _summary(counts: Counter[int]) -> Summary:
    """Mean, median and maximum from counts of values."""
    total = counts.total()
    if not total:
        return Summary()
    values = sorted(counts)
    ends = list(accumulate(counts[value] for value in values))
    low, high = (values[bisect_right(ends, rank)] for rank in ((total - 1) // 2, total // 2))
    most = values[bisect_right(ends, (9 * total - 1) // 10)]
    return Summary(sum(value * counts[value] for value in values) / total, (low + high) / 2, values[-1], most)


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
    counts: Mapping[str, int], tallies: Iterable[_Tally], resolver: LabelResolver | None
) -> tuple[UnknownLabel, ...]:
    if resolver is None:
        return ()
    examples: dict[str, str] = {}
    for tally in tallies:
        examples = tally.label_examples | examples
    names = sorted(examples, key=lambda name: (-counts[name], name))
    matches = {name: resolver.match(name) for name in names}
    return tuple(
        UnknownLabel(name, counts[name], examples[name], match.labels if match else ())
        for name, match in matches.items()
    )
