import gzip
import hashlib
import json
import zipfile

import pytest

from taxocaps.datasets import arxiv
from taxocaps.errors import CorpusError, FileError

RECORDS = [
    {
        "id": f"0704.{number:04}",
        "title": f"On\n  {number}",
        "abstract": f"  We show\n{number}.\n",
        "categories": categories,
    }
    for number, categories in enumerate(
        ["hep-th math.MP", "cs.CL stat.ML", "alg-geom", "cs.IT math.IT", "physics.optics"] * 6
    )
]


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "dump" / "arxiv-metadata-oai-snapshot.json"
    path.parent.mkdir()
    path.write_text("".join(json.dumps({**record, "authors": "A"}) + "\n" for record in RECORDS))
    return path.parent


def test_the_dump_is_parted_by_the_hash_of_the_id(dump):
    dataset = arxiv.load(dump)
    for split, rests in (("test", (0, 1)), ("dev", (2,)), ("train", range(3, 10))):
        wanted = [r["id"] for r in RECORDS if int(hashlib.md5(r["id"].encode()).hexdigest(), 16) % 10 in rests]
        assert [document.id for document in dataset.splits[split]] == wanted
        assert {document.split for document in dataset.splits[split]} == {split}
        assert arxiv.split_of(wanted[0]) == split


def test_texts_and_labels(dump):
    documents = {document.id: document for _, document in arxiv.load(dump).documents()}
    assert documents["0704.0000"].text == "On 0. We show 0."
    assert documents["0704.0000"].labels == ("Physics", "hep-th", "math-ph")
    assert documents["0704.0001"].labels == ("cs", "cs.CL", "stat", "stat.ML")
    assert documents["0704.0002"].labels == ("math", "math.AG")
    assert documents["0704.0003"].labels == ("cs", "cs.IT")
    assert documents["0704.0004"].labels == ("Physics", "physics", "physics.optics")


def test_the_taxonomy_comes_from_the_categories(dump):
    taxonomy = arxiv.load(dump).taxonomy
    assert taxonomy.children("Root") == ("Physics", "cs", "math", "stat")
    assert taxonomy.children("Physics") == ("hep-th", "math-ph", "physics")
    assert "math.IT" not in taxonomy
    assert not set(arxiv.ALIASES) & set(arxiv.ALIASES.values())


def test_the_dump_need_not_be_unpacked(dump, tmp_path):
    packed = tmp_path / "packed"
    packed.mkdir()
    with zipfile.ZipFile(packed / "archive.zip", "w") as archive:
        archive.write(dump / "arxiv-metadata-oai-snapshot.json", "arxiv-metadata-oai-snapshot.json")
    assert list(arxiv.load(packed).documents()) == list(arxiv.load(dump).documents())


def test_prepared_records_give_the_same(dump, tmp_path):
    folder = tmp_path / "prepared"
    folder.mkdir()
    with gzip.open(folder / "arxiv_subset.jsonl.gz", "wt") as file:
        for _, document in arxiv.load(dump).documents():
            leaves = next(record for record in RECORDS if record["id"] == document.id)["categories"].split()
            record = {"id": document.id, "title": "On", "text": document.text, "leaf_labels": leaves}
            file.write(json.dumps(record) + "\n")
    prepared, official = arxiv.load(folder, check=False), arxiv.load(dump)
    assert set(prepared.documents()) == set(official.documents())
    assert prepared.taxonomy == official.taxonomy
    with pytest.raises(CorpusError, match="train documents, but officially there are 43,557"):
        arxiv.load(folder)


def test_missing_and_broken_files(tmp_path):
    with pytest.raises(FileError, match=r"no arxiv-metadata-oai-snapshot\.json .*kaggle\.com"):
        arxiv.load(tmp_path)
    path = tmp_path / "arxiv-metadata-oai-snapshot.json"
    path.write_text(json.dumps(RECORDS[0]) + "\n{broken\n")
    with pytest.raises(FileError, match="line 2: Invalid JSON"):
        arxiv.load(tmp_path)
    path.write_text('{"title": "x"}\n')
    with pytest.raises(FileError, match="line 1: id: Field required"):
        arxiv.load(tmp_path)
