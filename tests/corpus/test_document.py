"""Documents and data sets."""

import dataclasses

import pytest

from taxocaps.corpus.document import Dataset, Document, document_name
from taxocaps.taxonomy.tree import Taxonomy


def test_defaults_say_that_nothing_is_known():
    assert Document() == Document(text="", id=None, labels=None, tokens=None, split=None)


def test_no_labels_and_no_label_field_differ():
    assert Document("a", labels=()) != Document("a", labels=None)


def test_documents_are_immutable_and_hashable():
    document = Document("a", labels=("x",))
    with pytest.raises(dataclasses.FrozenInstanceError):
        document.text = "b"
    assert len({document, Document("a", labels=("x",))}) == 1


@pytest.mark.parametrize(
    ("id", "name"), [("x7", "document 'x7'"), (None, "document 4"), ("a\nb", "document 'a\\nb'"), ("", "document ''")]
)
def test_document_name(id, name):
    assert document_name(id, 4) == name


def test_ready_tokens_win_over_the_text():
    assert Document("a b").content == "a b"
    assert Document("a b", tokens=("x",)).content == ("x",)
    assert Document("a b", tokens=()).content == ()


def test_a_dataset_holds_splits_and_taxonomy():
    taxonomy = Taxonomy.from_edges([("all", "a")])
    dataset = Dataset("mini", {"train": (Document("x", labels=("a",)),)}, taxonomy)
    assert dataset.splits["train"][0].labels == ("a",)
    assert dataset.taxonomy is taxonomy
    assert dataset.description == ""
    assert list(dataset.documents()) == [("train", dataset.splits["train"][0])]
