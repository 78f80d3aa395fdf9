import pytest

from taxocaps.corpus.readers import CorpusConfig, read_documents
from taxocaps.errors import CorpusError
from taxocaps.workflows.corpus import check_corpus, convert_corpus


@pytest.fixture
def files(tmp_path):
    (tmp_path / "taxonomy.tsv").write_text("Root\tanimal\nanimal\tcat\nanimal\tdog\nRoot\tplant\n")
    (tmp_path / "train.jsonl").write_text(
        '{"id": "1", "title": "One", "text": "A cat.", "labels": ["animal", "cat"]}\n'
        '{"id": "2", "title": "Two", "text": "A  cat.", "labels": ["cat"]}\n'
        '{"id": "2", "title": "Two", "text": "", "labels": []}\n'
    )
    (tmp_path / "test.jsonl").write_text('{"id": "9", "title": "Nine", "text": "A cat.", "labels": ["unicorn"]}\n')
    return tmp_path


def test_findings_name_what_may_be_wrong(files):
    checked = check_corpus([files / "train.jsonl", files / "test.jsonl"], files / "taxonomy.tsv")
    assert list(checked.corpus.splits) == ["train", "test"]
    found = "\n".join(checked.findings)
    for line in (
        "train: 1 documents without text",
        "train: 1 documents without labels",
        "train: 1 documents repeat a text, such as document '2'",
        "train: 1 documents repeat an id, such as document '2'",
        "train: 1 documents lack an ancestor of a label, such as document '2'",
        "train and test share 1 texts, such as document '9'",
        "unknown label 'unicorn' in 1 documents, such as document '9'",
        "2 labels of the taxonomy are in no document, such as 'dog'",
    ):
        assert line in found
    assert checked.corpus.label_counts["cat"] == 2


def test_a_table_without_a_known_column_of_labels_is_told(tmp_path):
    (tmp_path / "d.csv").write_text("text,Ressort\nharbour cargo,sea\n")
    first, *_ = check_corpus([tmp_path / "d.csv"]).findings
    assert first.startswith(
        f"{tmp_path / 'd.csv'}: no field is known to hold labels; the fields are: 'text', 'Ressort'"
    )
    assert first.endswith("--labels-field")
    found = check_corpus([tmp_path / "d.csv"], config=CorpusConfig(labels_field="Ressort"))
    assert not any("--labels-field" in one for one in found.findings)


def test_one_file_is_parted_by_its_split_field(tmp_path):
    path = tmp_path / "all.jsonl"
    path.write_text(
        '{"text": "a", "split": "train"}\n{"text": "b", "split": "test"}\n{"text": "c", "split": "train"}\n'
    )
    checked = check_corpus([path])
    assert {name: split.documents for name, split in checked.corpus.splits.items()} == {"train": 2, "test": 1}


def test_shared_texts_are_counted_once_in_whatever_order_they_come(tmp_path):
    path = tmp_path / "all.jsonl"
    rows = [("train", "a"), ("test", "b"), ("train", "b"), ("test", "a")]
    path.write_text("".join(f'{{"text": "{text}", "split": "{split}"}}\n' for split, text in rows))
    shared = check_corpus([path]).corpus.shared_texts
    assert {pair: found.count for pair, found in shared.items()} == {("train", "test"): 2}


def test_files_of_one_name_are_told_apart(tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "Train.JSONL").write_text('{"text": "a"}\n')
    names = check_corpus([tmp_path / "x" / "Train.JSONL", tmp_path / "y" / "Train.JSONL"]).corpus.splits
    assert list(names) == ["x/Train", "y/Train"]


def test_files_of_one_name_in_folders_of_one_name_are_told_apart_by_their_paths(tmp_path):
    paths = [tmp_path / folder / "data" / "train.jsonl" for folder in ("x", "y")]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text('{"text": "a"}\n')
    assert list(check_corpus(paths).corpus.splits) == [str(path) for path in paths]


def test_words_are_counted_by_the_text_pipeline_of_a_language(files):
    rough = check_corpus([files / "train.jsonl"])
    kept = check_corpus([files / "train.jsonl"], language="en")
    assert rough.corpus.splits["train"].words.max == 2
    assert kept.corpus.splits["train"].words.max == 1


def test_fields_can_be_joined_and_records_skipped(files, tmp_path):
    checked = check_corpus([files / "train.jsonl"], config=CorpusConfig(text_field="title,text"))
    assert checked.corpus.splits["train"].empty_texts == 0
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"text": "a"}\n{\n')
    with pytest.raises(CorpusError, match="line 2"):
        check_corpus([broken])
    checked = check_corpus([broken], config=CorpusConfig(on_error="skip"))
    assert checked.skipped == 1
    assert "line 2" in checked.problems[0]


@pytest.mark.parametrize("name", ["out.csv", "out.tsv.gz", "out.parquet", "out.jsonl.zst"])
def test_conversion_keeps_the_documents(files, name):
    reading = convert_corpus(files / "train.jsonl", files / name)
    assert reading.documents == 3
    before = list(read_documents(files / "train.jsonl"))
    after = list(read_documents(files / name))
    assert [(d.id, d.text, d.labels) for d in after] == [(d.id, d.text, d.labels) for d in before]
