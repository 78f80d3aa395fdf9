import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.corpus.document import Document
from taxocaps.corpus.duplicates import Repeats
from taxocaps.corpus.statistics import LevelStatistics, Spread, UnknownLabel, check_corpus
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
    assert train.words == Spread(7 / 5, 1, 3)
    assert test.words == Spread(1.5, 1.5, 2)
    assert train.labels == Spread(1.0, 1, 2)
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
    assert report.splits["train"].lacking_ancestors == Repeats(1, "document 'b'")
    assert report.splits["test"].lacking_ancestors == Repeats(1, "document 'b'")  # film lacks its second parent


def test_duplicates(report):
    assert report.splits["train"].duplicate_texts == Repeats(1, "document 'a'")
    assert report.splits["train"].duplicate_ids == Repeats(1, "document 'a'")
    assert report.splits["test"].duplicate_texts == Repeats()
    assert report.shared_texts == {("train", "test"): Repeats(1, "document 'b'")}
    assert report.shared_ids == {("train", "test"): Repeats(1, "document 'b'")}


def test_unused_labels_leave_the_root_out():
    report = check({"train": [Document("x", labels=("art",))]}, TREE)
    assert report.unused_labels == ("sport", "tennis", "film")
    assert check({"train": [Document("x", labels=("all",))]}, TREE).label_counts == {"all": 1}


def test_without_a_taxonomy_nothing_is_unknown():
    report = check({"train": TRAIN})
    assert list(report.label_counts) == ["sport", "tenis", "tennis"]
    assert (report.levels, report.unused_labels, report.unknown_labels) == ((), (), ())
    assert report.splits["train"].lacking_ancestors == Repeats()


def test_several_roots():
    taxonomy = Taxonomy.from_edges([("a", "b")], labels=["c"])
    report = check({"train": [Document("x", labels=("b",))]}, taxonomy)
    assert report.splits["train"].lacking_ancestors.count == 1
    assert set(report.unused_labels) == {"a", "c"}
    assert [level.labels for level in report.levels] == [2, 1]
    assert [level.level for level in report.levels] == [1, 2]


def test_no_documents_count_nothing():
    empty = check({"train": []}, TREE)
    assert (empty.documents, empty.splits, empty.label_counts) == (0, {}, {})


def test_words_are_counted_as_asked():
    pairs = [("train", Document("one two three")), ("train", Document(tokens=("x", "y")))]
    assert check_corpus(pairs, words_of=lambda text: text.split()[1:]).splits["train"].words == Spread(2.0, 2.0, 2)


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
    assert found.lacking_ancestors.count == sum(set(TREE.close(names)) != set(names) for names in known)
    assert found.label_counts == dict(Counter(name for names in lists for name in names))
