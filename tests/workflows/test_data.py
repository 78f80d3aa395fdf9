import importlib
import inspect
import json

import pytest

from taxocaps.corpus.readers import read_documents
from taxocaps.datasets import toy
from taxocaps.errors import ConfigError, CorpusError
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


def test_the_known_data_sets_are_listed():
    names = ("pydocs", "toy", "reuters21578", "rcv1", "eurlex", "arxiv", "debtags", "20newsgroups", "wos")
    assert tuple(DATASETS) == names


@pytest.mark.parametrize("name", [name for name, entry in DATASETS.items() if entry.files])
def test_the_table_fits_the_loaders(name):
    entry = DATASETS[name]
    parameters = inspect.signature(importlib.import_module(f"taxocaps.datasets.{entry.module}").load).parameters
    assert set(parameters) == {"source", "check", "progress", *entry.options}
    for option, about in entry.options.items():
        assert parameters[option].default == about.default


@pytest.fixture
def abstracts(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    records = [{"id": str(number), "title": "T", "abstract": "A", "categories": "cs.CL"} for number in range(50)]
    (folder / "arxiv-metadata-oai-snapshot.json").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def test_a_data_set_from_files(tmp_path, abstracts):
    report = write_dataset("arxiv", tmp_path / "out", source=abstracts)
    assert sum(report.documents.values()) == 50
    assert (report.labels, report.levels) == (2, 2)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "train.jsonl",
        "dev.jsonl",
        "test.jsonl",
        "taxonomy.tsv",
    }
    assert len(list(read_documents(tmp_path / "out" / "train.jsonl"))) == report.documents["train"]


def test_files_are_replaced_by_a_second_run(tmp_path, abstracts):
    write_dataset("arxiv", tmp_path / "out", source=abstracts)
    first = (tmp_path / "out" / "train.jsonl").read_text()
    (tmp_path / "out" / "train.jsonl").write_text("old")
    write_dataset("arxiv", tmp_path / "out", source=abstracts)
    assert (tmp_path / "out" / "train.jsonl").read_text() == first


def test_a_split_with_a_wrong_count_does_not_appear(tmp_path, abstracts, monkeypatch):
    from taxocaps.datasets import arxiv
    from taxocaps.datasets.loading import StreamedSplit

    real = arxiv.load(abstracts)
    splits = {"train": StreamedSplit(lambda: iter(real.splits["train"]), title="News", expected=99)}
    wrong = type(real)("news", splits, real.taxonomy)
    monkeypatch.setattr(arxiv, "load", lambda source, check, progress: wrong)
    with pytest.raises(CorpusError, match="officially there are 99"):
        write_dataset("arxiv", tmp_path / "out", source=abstracts)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("nonsense", {}, "unknown data set 'nonsense'; the known ones are pydocs"),
        ("rcv1", {}, "rcv1 needs a source: the folder with lyrl2004"),
        ("wos", {"options": {"seed": 1}}, "wos has no option 'seed'; it has: subset"),
        ("toy", {"options": {"seed": 1}}, "toy has no option 'seed'; it has: none"),
    ],
)
def test_mistakes_are_told(tmp_path, name, arguments, message):
    with pytest.raises(ConfigError, match=message):
        write_dataset(name, tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()
