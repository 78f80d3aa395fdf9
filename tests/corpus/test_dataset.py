from taxocaps.corpus.dataset import Dataset
from taxocaps.corpus.document import Document
from taxocaps.taxonomy.tree import Taxonomy


def test_a_dataset_holds_splits_and_taxonomy():
    taxonomy = Taxonomy.from_edges([("all", "a")])
    dataset = Dataset("mini", {"train": (Document("x", labels=("a",)),)}, taxonomy)
    assert dataset.splits["train"][0].labels == ("a",)
    assert dataset.taxonomy is taxonomy
    assert dataset.description == ""
    assert list(dataset.documents()) == [("train", dataset.splits["train"][0])]
