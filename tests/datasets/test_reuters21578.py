import pytest

from taxocaps.datasets import reuters21578
from taxocaps.errors import ConfigError, CorpusError


def ids(dataset, *splits):
    return [int(document.id) for split in splits for document in dataset.splits[split]]


def load(folder, subset="r90"):
    return reuters21578.load(folder, subset=subset, check=False)


@pytest.mark.parametrize("subset", ["r90", "r10", "all", "transfer"])
def test_both_kinds_of_files_give_the_same_data_set(reuters_official, reuters_prepared, subset):
    assert load(reuters_official, subset) == load(reuters_prepared, subset)


def test_r90_has_the_documents_with_a_topic_of_r90(reuters_official):
    dataset = load(reuters_official)
    assert ids(dataset, "train", "dev") == [1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert ids(dataset, "dev") == [10]  # the latest
    assert ids(dataset, "test") == [11, 12, 13, 14, 16]
    assert dataset.splits["dev"][0].labels == ("earn",)  # without tin
    assert dataset.splits["test"][-1].labels == ("gold",)
    assert {document.split for document in dataset.splits["dev"]} == {"dev"}
    labels = {label for _, document in dataset.documents() for label in document.labels}
    assert labels <= set(dataset.taxonomy.names)


def test_all_keeps_documents_without_topics(reuters_official):
    dataset = load(reuters_official, "all")
    assert ids(dataset, "train", "dev") == list(range(1, 11))
    assert ids(dataset, "test") == list(range(11, 17))
    assert dataset.splits["test"][4].labels == ()


def test_r10_takes_the_most_frequent_topics(reuters_official, monkeypatch):
    counts = reuters21578.Counter({"b": 2, "a": 2, "c": 3, "d": 1})
    assert reuters21578._most_frequent(counts, 3) == ["c", "a", "b"]
    dataset = load(reuters_official, "r10")  # there are nine topics with a training document
    assert ids(dataset, "train", "dev") == [1, 2, 3, 4, 5, 6, 7, 8, 10]


def test_official_counts_and_subsets_are_checked(reuters_prepared):
    with pytest.raises(CorpusError, match="officially"):
        reuters21578.load(reuters_prepared)
    with pytest.raises(ConfigError, match="must be one of r90, r10, all, transfer; got 'r8'"):
        reuters21578.load(reuters_prepared, subset="r8")
