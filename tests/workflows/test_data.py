from taxocaps.corpus.readers import read_documents
from taxocaps.datasets import toy
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.workflows.data import DATASETS, write_dataset


def test_a_data_set_reads_back(tmp_path):
    report = write_dataset("toy", tmp_path / "toy")
    dataset = toy.load()
    assert report.documents == {name: len(split) for name, split in dataset.splits.items()}
    assert read_taxonomy(tmp_path / "toy" / "taxonomy.tsv") == dataset.taxonomy
    for name, split in dataset.splits.items():
        again = list(read_documents(tmp_path / "toy" / f"{name}.jsonl"))
        assert [document.text for document in again] == [document.text for document in split]
        assert [document.labels for document in again] == [document.labels for document in split]


def test_the_embedded_corpus_is_listed():
    assert "pydocs" in DATASETS
