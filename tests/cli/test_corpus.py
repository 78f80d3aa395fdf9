import json

import pytest


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "news.csv"
    path.write_text("id,headline,body,topics\n1,Cats,They purr.,animal|cat\n2,Dogs,They bark.,animal|[dog]\n")
    (tmp_path / "labels.tsv").write_text("Root\tanimal\nanimal\tcat\n")
    return path


FIELDS = ["--text-field", "headline,body", "--labels-field", "topics", "--label-separator", "|"]


def test_check(run, corpus, tmp_path):
    code, out, _ = run("corpus", "check", corpus, "--taxonomy", tmp_path / "labels.tsv", *FIELDS)
    assert code == 0
    assert "unknown label '[dog]' in 1 documents, such as document '2'" in out
    assert "[dog]" in out
    code, out, _ = run("corpus", "check", corpus, *FIELDS, "--language", "en", "--json")
    report = json.loads(out)["corpus"]
    assert report["label_counts"] == {"[dog]": 1, "animal": 2, "cat": 1}
    assert report["splits"]["news"]["documents"] == 2


def test_check_says_by_what_labels_were_found(run, corpus, tmp_path):
    (tmp_path / "labels.tsv").write_text("Root\tanimal\nanimal\tC\tCat\nanimal\tD\t\t[dog]|puppy\n")
    code, out, _ = run("corpus", "check", corpus, "--taxonomy", tmp_path / "labels.tsv", *FIELDS)
    assert code == 0
    assert "Labels of documents: 2 by id, 1 by preferred name, 1 by alternative name" in out
    assert "unknown" not in out


def test_a_missing_field_is_named_with_what_is_there(run, corpus):
    code, out, err = run("corpus", "check", corpus)
    assert (code, out) == (2, "")
    assert "text" in err
    assert "headline" in err


def test_convert(run, corpus, tmp_path):
    code, out, _ = run("corpus", "convert", corpus, tmp_path / "news.jsonl", *FIELDS)
    assert code == 0
    assert "2 documents written" in out
    record = json.loads((tmp_path / "news.jsonl").read_text().splitlines()[0])
    assert record["text"] == "Cats\nThey purr."
    assert record["labels"] == ["animal", "cat"]
