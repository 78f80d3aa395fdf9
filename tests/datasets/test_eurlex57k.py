import json
import zipfile

import pytest

from taxocaps.datasets import eurlex, eurlex57k
from taxocaps.errors import CorpusError, FileError

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
    monkeypatch.setattr(eurlex57k, "_OFFICIAL", counts | {"labels": 4_271})
    with pytest.raises(CorpusError, match="3 labels, but officially there are 4,271"):
        eurlex.load(laws)


def test_missing_and_broken_files(laws):
    (laws / "EURLEX57K.json").rename(laws / "away")
    with pytest.raises(FileError, match=r"no EURLEX57K\.json or eurovoc_en\.json"):
        eurlex.load(laws)
    (laws / "away").rename(laws / "EURLEX57K.json")
    path = laws / "dataset" / "dev" / "31992.json"
    path.write_text("{}")
    with pytest.raises(FileError, match=r"31992\.json: no field 'celex_id'"):
        eurlex.load(laws)
    path.write_text("{")
    with pytest.raises(FileError, match=r"31992\.json: invalid JSON"):
        eurlex.load(laws)
    path.unlink()
    with pytest.raises(FileError, match=r"no dev/\*\.json"):
        eurlex.load(laws)
