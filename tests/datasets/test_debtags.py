import gzip
import json

import pytest

from taxocaps.datasets import debtags
from taxocaps.errors import CorpusError, FileError

TREE = (
    "Root\tdevel\ndevel\tdevel::lang\ndevel::lang\tdevel::lang:c++\nRoot\tworks-with\nworks-with\tworks-with::im-log\n"
)


def package(id, source, split="train", labels=("devel::lang:c++",)):
    return {"id": id, "title": "t", "text": f"About {id}", "labels": labels, "source": source, "split": split}


@pytest.fixture
def prepared(tmp_path):
    records = [package(f"lib{number}-{part}", f"lib{number}") for number in range(20) for part in ("dev", "doc")]
    records += [records[0], package("chat", "chat", "test", ["works-with::im-log", "works-with::im-log"])]
    with gzip.open(tmp_path / "debtags.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    (tmp_path / "taxonomy.tsv").write_text(TREE)
    return tmp_path


def test_packages_of_one_source_stay_together(prepared):
    splits = debtags.load(prepared, check=False).splits
    assert {name: len(documents) for name, documents in splits.items()} == {"train": 36, "dev": 4, "test": 1}
    sources = {name: {document.id.partition("-")[0] for document in part} for name, part in splits.items()}
    assert not sources["train"] & sources["dev"]
    assert {document.split for document in splits["dev"]} == {"dev"}
    assert splits == debtags.load(prepared, check=False).splits


def test_a_package_that_is_listed_twice_is_one_document(prepared):
    ids = [document.id for _, document in debtags.load(prepared, check=False).documents()]
    assert len(ids) == len(set(ids)) == 41


def test_tags_keep_their_ids_and_get_names(prepared):
    dataset = debtags.load(prepared, check=False)
    assert dataset.splits["test"][0].text == "About chat"
    assert dataset.splits["test"][0].labels == ("works-with::im-log",)
    assert dataset.taxonomy.parents("devel::lang:c++") == ("devel::lang",)
    assert dataset.taxonomy.title("devel::lang:c++") == "devel: lang: c++"
    assert dataset.taxonomy.title("works-with::im-log") == "works with: im log"


def test_missing_and_wrong_files(prepared):
    with pytest.raises(CorpusError, match="40 training documents, but officially there are 24,212"):
        debtags.load(prepared)
    (prepared / "debtags.jsonl.gz").write_bytes(gzip.compress(json.dumps(package("a", "a", "dev")).encode()))
    with pytest.raises(FileError, match="a is in the split 'dev', which is not train or test"):
        debtags.load(prepared, check=False)
    (prepared / "debtags.jsonl.gz").unlink()
    with pytest.raises(FileError, match=r"no debtags\.jsonl"):
        debtags.load(prepared)
