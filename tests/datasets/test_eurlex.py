"""EUR-Lex 4K, EURLEX57K and the prepared summaries."""

import gzip
import json
import zipfile

import pytest

from taxocaps.datasets import eurlex
from taxocaps.errors import CorpusError, FileError

TREE = "Root\t08 TRADE\n08 TRADE\ttrade policy\ntrade policy\tGATT\n08 TRADE\texport refund\n"


@pytest.fixture
def prepared(tmp_path):
    records = [
        {"id": "3A", "text": "One", "labels": ["GATT", "T\u00fcrkiye"], "split": "train", "full_text": "-"},
        {"id": "3B", "text": "Two", "labels": ["trade policy\n", "trade policy"], "split": "validation"},
        {"id": "3C", "text": "Three", "labels": ["export refund"], "split": "test"},
    ]
    with gzip.open(tmp_path / "eurlexsum_en.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    (tmp_path / "taxonomy.tsv").write_text(TREE)
    return tmp_path


def test_prepared_acts_and_labels_that_the_taxonomy_lacks(prepared):
    dataset = eurlex.load(prepared, check=False)
    assert {name: [document.id for document in split] for name, split in dataset.splits.items()} == {
        "train": ["3A"],
        "dev": ["3B"],
        "test": ["3C"],
    }
    assert dataset.splits["dev"][0].labels == ("trade policy",)
    assert dataset.taxonomy.parents("T\u00fcrkiye") == ("Root",)
    assert "1 of 4 labels" in dataset.description
    with pytest.raises(CorpusError, match="1 training documents, but officially there are 1,129"):
        eurlex.load(prepared)


@pytest.fixture
def four_k(tmp_path):
    for split, count in (("train", 20), ("test", 2)):
        (tmp_path / f"{split}_texts.txt").write_text("".join(f"regul number{number}\n" for number in range(count)))
        (tmp_path / f"{split}_labels.txt").write_text(
            "gatt export_refund\ntrade_policy no_such_label gatt\n" * (count // 2)
        )
    (tmp_path / "taxonomy.tsv").write_text(TREE)
    return tmp_path


def test_eur_lex_4k_with_descriptors_of_eurovoc(four_k):
    dataset = eurlex.load(four_k, check=False)
    assert [len(dataset.splits[name]) for name in ("train", "dev", "test")] == [18, 2, 2]
    first, second = dataset.splits["test"]
    assert (first.id, first.text, first.labels) == ("test-1", "regul number0", ("GATT", "export refund"))
    assert second.labels == ("trade policy", "no such label", "GATT")
    assert dataset.taxonomy.parents("no such label") == ("Root",)
    assert dataset == eurlex.load(four_k, check=False)
    with pytest.raises(CorpusError, match="20 training documents, but officially there are 15,449"):
        eurlex.load(four_k)


def test_eurovoc_may_be_skos(four_k):
    pytest.importorskip("rdflib")
    (four_k / "taxonomy.tsv").unlink()
    concepts = "@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n" + "".join(
        f'<urn:{number}> a s:Concept ; s:prefLabel "{name}"@en {broader} .\n'
        for number, name, broader in (
            (1, "trade policy", ""),
            (2, "GATT", "; s:broader <urn:1>"),
            (3, "export refund", ""),
        )
    )
    (four_k / "eurovoc-skos.ttl").write_text(concepts)
    assert eurlex.load(four_k, check=False).taxonomy.parents("GATT") == ("trade policy",)


def test_files_that_do_not_fit_together(four_k):
    (four_k / "test_labels.txt").write_text("gatt\n")
    with pytest.raises(CorpusError, match=r"test_texts\.txt and test_labels\.txt have different numbers of lines"):
        eurlex.load(four_k, check=False)


@pytest.mark.parametrize("name", ["train_labels.txt", "test_texts.txt", "taxonomy.tsv"])
def test_every_missing_file_is_named(four_k, name):
    (four_k / name).unlink()
    with pytest.raises(FileError, match=rf"no (\w+\.txt or )?{name}"):
        eurlex.load(four_k, check=False)


def test_a_folder_with_none_of_the_three(tmp_path):
    with pytest.raises(FileError, match=r"no train_texts\.txt and no train/\*\.json.*EURLEX57K"):
        eurlex.load(tmp_path)


CONCEPTS = {
    "10": {"label": "domestic trade", "alt_labels": [], "parents": ["20", "99"]},
    "20": {"label": "trade", "alt_labels": ["commerce"], "parents": []},
    "30": {"label": "law", "parents": []},
}


def law(number, concepts):
    return {
        "celex_id": f"3199{number}",
        "uri": "http://publications.europa.eu/x",
        "type": "Regulation",
        "concepts": concepts,
        "title": f"Regulation {number}\n",
        "header": "THE COMMISSION,",
        "recitals": ",\nWhereas;",
        "main_body": ["Article 1", "Article 2"],
        "attachments": "\n",
    }


@pytest.fixture
def laws(tmp_path):
    for number, split in enumerate(("train", "train", "dev", "test")):
        (tmp_path / "dataset" / split).mkdir(parents=True, exist_ok=True)
        path = tmp_path / "dataset" / split / f"3199{number}.json"
        path.write_text(json.dumps(law(number, ["10", "77"] if number else ["30", "30"])))
    (tmp_path / "EURLEX57K.json").write_text(json.dumps(CONCEPTS))
    return tmp_path


def test_laws_with_concept_ids(laws):
    dataset = eurlex.load(laws, check=False)
    assert [len(dataset.splits[name]) for name in ("train", "dev", "test")] == [2, 1, 1]
    first = dataset.splits["train"][0]
    assert (first.id, first.labels, first.split) == ("31990", ("30",), "train")
    assert first.text == "Regulation 0\nTHE COMMISSION,\n,\nWhereas;\nArticle 1\nArticle 2"
    assert dataset.taxonomy.parents("10") == ("20",)
    assert dataset.taxonomy.title("10") == "domestic trade"
    assert "77" in dataset.taxonomy


def test_the_archive_need_not_be_unpacked(laws, tmp_path):
    packed = tmp_path / "packed"
    packed.mkdir()
    with zipfile.ZipFile(packed / "datasets.zip", "w") as archive:
        for path in (laws / "dataset").rglob("*.json"):
            archive.write(path, path.relative_to(laws))
            archive.writestr(f"__MACOSX/dataset/{path.parent.name}/._{path.name}", "junk")
    (packed / "eurovoc_en.json").write_text(json.dumps(CONCEPTS))
    there, here = eurlex.load(laws, check=False), eurlex.load(packed, check=False)
    assert list(there.documents()) == list(here.documents())
    assert there.taxonomy == here.taxonomy


def test_counts_are_checked(laws, monkeypatch):
    with pytest.raises(CorpusError, match="2 train documents, but officially there are 45,000"):
        eurlex.load(laws)
    counts = {"train documents": 2, "dev documents": 1, "test documents": 1}
    monkeypatch.setattr(eurlex, "_EURLEX57K", counts | {"labels": 4_271})
    with pytest.raises(CorpusError, match="3 labels, but officially there are 4,271"):
        eurlex.load(laws)


def test_missing_and_broken_files(laws):
    (laws / "EURLEX57K.json").rename(laws / "away")
    with pytest.raises(FileError, match=r"no EURLEX57K\.json or eurovoc_en\.json"):
        eurlex.load(laws)
    (laws / "away").rename(laws / "EURLEX57K.json")
    path = laws / "dataset" / "dev" / "31992.json"
    path.write_text("{}")
    with pytest.raises(FileError, match=r"31992\.json: celex_id: Field required"):
        eurlex.load(laws)
    path.write_text("{")
    with pytest.raises(FileError, match=r"31992\.json: Invalid JSON"):
        eurlex.load(laws)
    path.unlink()
    with pytest.raises(FileError, match=r"no dev/\*\.json"):
        eurlex.load(laws)
