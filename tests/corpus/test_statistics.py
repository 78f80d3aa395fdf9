"""Corpus statistics and duplicates."""

import statistics
import tracemalloc
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.corpus.document import Document
from taxocaps.corpus.statistics import DuplicateFinder, Finding, LevelStatistics, Summary, UnknownLabel, check_corpus
from taxocaps.taxonomy.tree import Taxonomy

TREE = Taxonomy.from_edges([("all", "sport"), ("sport", "tennis"), ("all", "art"), ("art", "film"), ("sport", "film")])

TRAIN = [
    Document("one two three", "a", ("sport", "tennis")),
    Document("four", "b", ("tennis",)),
    Document(" one\ntwo  three ", "a", ("sport", "tenis")),
    Document("", "c", ()),
    Document(" \n", None, None),
]
TEST = [Document("four", "b", ("film", "art")), Document(tokens=("x", "y"), labels=("tenis",))]


def check(splits, taxonomy=None):
    return check_corpus(((name, document) for name, documents in splits.items() for document in documents), taxonomy)


@pytest.fixture(scope="module")
def report():
    return check({"train": iter(TRAIN), "test": iter(TEST)}, TREE)


def test_sizes(report):
    train, test = report.splits["train"], report.splits["test"]
    assert report.documents == 7
    assert (train.documents, train.empty_texts, train.unlabelled) == (5, 2, 2)
    assert (test.documents, test.empty_texts, test.unlabelled) == (2, 0, 0)
    assert train.words == Summary(7 / 5, 1, 3, 3)
    assert test.words == Summary(1.5, 1.5, 2, 2)
    assert train.labels == Summary(1.0, 1, 2, 2)
    assert train.labels_histogram == {0: 2, 1: 1, 2: 2}


def test_label_counts(report):
    assert list(report.label_counts.items()) == [("sport", 2), ("tennis", 2), ("art", 1), ("film", 1), ("tenis", 2)]
    assert report.splits["test"].label_counts == {"art": 1, "film": 1, "tenis": 1}
    assert report.unused_labels == ()
    assert report.unknown_labels == (UnknownLabel("tenis", 2, "document 'a'"),)
    assert report.levels == (
        LevelStatistics(0, 1, 0, 0),
        LevelStatistics(1, 2, 2, 3),
        LevelStatistics(2, 2, 2, 3),
    )


def test_missing_ancestors(report):
    assert report.splits["train"].missing_ancestors == Finding(1, "document 'b'")
    assert report.splits["test"].missing_ancestors == Finding(1, "document 'b'")  # film lacks its second parent


def test_duplicates(report):
    assert report.splits["train"].duplicate_texts == Finding(1, "document 'a'")
    assert report.splits["train"].duplicate_ids == Finding(1, "document 'a'")
    assert report.splits["test"].duplicate_texts == Finding()
    assert report.shared_texts == {("train", "test"): Finding(1, "document 'b'")}
    assert report.shared_ids == {("train", "test"): Finding(1, "document 'b'")}


def test_unused_labels_leave_the_root_out():
    report = check({"train": [Document("x", labels=("art",))]}, TREE)
    assert report.unused_labels == ("sport", "tennis", "film")
    assert check({"train": [Document("x", labels=("all",))]}, TREE).label_counts == {"all": 1}


def test_without_a_taxonomy_nothing_is_unknown():
    report = check({"train": TRAIN})
    assert list(report.label_counts) == ["sport", "tenis", "tennis"]
    assert (report.levels, report.unused_labels, report.unknown_labels) == ((), (), ())
    assert report.splits["train"].missing_ancestors == Finding()


def test_several_roots():
    taxonomy = Taxonomy.from_edges([("a", "b")], labels=["c"])
    report = check({"train": [Document("x", labels=("b",))]}, taxonomy)
    assert report.splits["train"].missing_ancestors.count == 1
    assert set(report.unused_labels) == {"a", "c"}
    assert [level.labels for level in report.levels] == [2, 1]
    assert [level.level for level in report.levels] == [1, 2]


def test_no_documents_count_nothing():
    empty = check({"train": []}, TREE)
    assert (empty.documents, empty.splits, empty.label_counts) == (0, {}, {})


def test_words_are_counted_as_asked():
    pairs = [("train", Document("one two three")), ("train", Document(tokens=("x", "y")))]
    assert check_corpus(pairs, tokenize=lambda text: text.split()[1:]).splits["train"].words == Summary(2.0, 2.0, 2, 2)


@given(st.lists(st.integers(0, 6), min_size=1))
def test_spreads_are_those_of_the_standard_library(lengths):
    words = check({"all": [Document("w " * length) for length in lengths]}).splits["all"].words
    assert words.mean == pytest.approx(statistics.fmean(lengths))
    assert words.median == statistics.median(lengths)
    assert words.max == max(lengths)


labels = st.lists(st.sampled_from([*TREE.names, "other"]), unique=True)


@given(st.lists(labels, min_size=1))
def test_missing_ancestors_are_what_closing_adds(lists):
    found = check({"all": [Document("x", labels=tuple(names)) for names in lists]}, TREE).splits["all"]
    known = [[name for name in names if name in TREE] for names in lists]
    assert found.missing_ancestors.count == sum(set(TREE.with_ancestors(names)) != set(names) for names in known)
    assert found.label_counts == dict(Counter(name for names in lists for name in names))


def found(splits):
    finder = DuplicateFinder()
    for split, keys in splits.items():
        for number, key in enumerate(keys):
            finder.add(key, split, f"{split}{number}")
    return finder


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from("uvwxyz"))))
def test_counts_are_those_of_sets(splits):
    finder = found(splits)
    for split, keys in splits.items():
        assert finder.within(split).count == len(keys) - len(set(keys))
    shared = {pair: len(set(splits[pair[0]]) & set(splits[pair[1]])) for pair in combinations(splits, 2)}
    assert {pair: repeats.count for pair, repeats in finder.across().items()} == {p: n for p, n in shared.items() if n}


def test_examples_name_the_later_document():
    finder = found({"train": ["x", "y", "x"], "test": ["z", "y", "x"]})
    assert finder.within("train") == Finding(1, "train2")
    assert finder.within("test") == Finding(0, None)
    assert finder.across() == {("train", "test"): Finding(2, "test1")}


def test_odd_characters_are_keys_too():
    assert found({"a": ["\ud800", "\ud800", ""]}).within("a").count == 1


def test_memory_is_bounded_per_key():
    tracemalloc.start()
    finder = found({"train": (f"a text of some length, number {number}, " * 5 for number in range(20_000))})
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert finder.within("train").count == 0
    assert used / 20_000 < 150
