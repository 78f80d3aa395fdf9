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


def test_a_missing_field_is_named_with_what_is_there(check_refused, run, corpus):
    refused = run("corpus", "check", corpus, "--text-field", "headlines", "--quiet")
    check_refused(refused, "no field 'headlines'", "'headline', 'body'", "did you mean 'headline'?", "--text-field")


def test_check_shows_tail_languages_and_near_copies(run, tmp_path):
    english = "The report says that the price of oil is not what it was, and that it will be higher than it has been."
    german = "Der Bericht sagt, dass der Preis nicht mehr der ist, der er war, und dass er noch höher sein wird."
    texts = [(f"{english} {'It is so. ' * (n % 2)}", ["a", *["b"] * (n < 2)]) for n in range(10)] + [(german, ["c"])]
    for name, rows in {"train": texts, "test": [(f"{english} Today.", ["a"])]}.items():
        lines = (json.dumps({"text": text, "labels": labels}) for text, labels in rows)
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    code, out, _ = run("corpus", "check", tmp_path / "train.jsonl", tmp_path / "test.jsonl")
    assert code == 0
    assert "Languages of documents: en 92%, de 8%" in out
    assert "Documents of labels: 1 for 1 label, 2 for 1 label, 10 to 99 for 1 label" in out
    assert "train: 9 documents are nearly the same as an earlier one" in out
    assert "1 documents of test are nearly the same as one of train" in out
    report = json.loads(run("corpus", "check", tmp_path / "train.jsonl", "--json")[1])
    assert report["copies"] == {"train": 9}
    assert report["long_tail"] == {"1": 1, "2": 1, "3 to 9": 0, "10 to 99": 1, "100 or more": 0}


def test_convert(run, corpus, tmp_path):
    code, out, _ = run("corpus", "convert", corpus, tmp_path / "news.jsonl", *FIELDS)
    assert code == 0
    assert "2 documents written" in out
    record = json.loads((tmp_path / "news.jsonl").read_text().splitlines()[0])
    assert record["text"] == "Cats\nThey purr."
    assert record["labels"] == ["animal", "cat"]
