from taxocaps.corpus.statistics import check_corpus
from taxocaps.datasets import toy


def test_twelve_documents_under_three_levels():
    dataset = toy.load()
    assert sum(map(len, dataset.splits.values())) == 12
    assert len(dataset.taxonomy.levels) == 4  # the root, and three below
    assert dataset == toy.load()


def test_the_corpus_has_no_fault():
    dataset = toy.load()
    report = check_corpus(dataset.documents(), dataset.taxonomy)
    assert report.unknown_labels == ()
    assert report.unused_labels == ()
    assert report.shared_texts == {}
    for split in report.splits.values():
        assert (split.empty_texts, split.unlabelled) == (0, 0)
        assert (split.missing_ancestors.count, split.duplicate_texts.count, split.duplicate_ids.count) == (0, 0, 0)
        assert split.words.mean > 20


def test_every_label_is_in_training_and_one_document_has_two_branches():
    train = toy.load().splits["train"]
    carried = {label for document in train for label in document.labels}
    assert carried == set(toy.load().taxonomy.names) - {"Topics"}
    assert any({"Sport", "Science"} <= set(document.labels) for document in train)


def test_splits_say_which_they_are():
    for split, documents in toy.load().splits.items():
        assert {document.split for document in documents} == {split}
