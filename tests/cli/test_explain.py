"""`taxocaps explain`: a page, data, or a table; bad input ends in one line."""

import json

import pytest

TEXT = "The striker scored for his club. <script>alert(1)</script>"


def test_json_is_the_whole_explanation(run, toy_model):
    code, out, err = run("explain", toy_model, "--text", TEXT, "--label", "Football", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["text"] == TEXT
    assert [one["label"] for one in found["reasons"]] == ["Football"]
    assert set(found) == {
        *("model", "title", "text", "words", "labels", "method", "reasons", "matrix", "graph", "warning"),
        "names",
    }


def test_a_document_of_a_file_as_a_page(run, toy_model, toy_files, tmp_path):
    page = tmp_path / "report.html"
    code, out, err = run("explain", toy_model, "--input", toy_files.documents, "--id", "football-cup", "--out", page)
    assert (code, err) == (0, "")
    assert "football-cup" in out
    assert f"explained in {page}" in " ".join(out.split())
    assert "goalkeeper" in page.read_text(encoding="utf-8")
    assert run("explain", toy_model, "--text", TEXT, "-o", page, "--quiet") == (0, "", "")
    assert "<script>alert" not in page.read_text(encoding="utf-8")


def test_names_have_their_ids_beside_them_on_every_path(run, toy_files, tmp_path):
    (tmp_path / "labels.tsv").write_text("all\tm\tMany things\nall\tn\nm\tx\tOdd one\nn\tx\n")
    texts = {"x": "striker club goal", "n": "gene of wheat"}
    rows = [{"text": f"{text} {number}", "labels": [label]} for number in range(6) for label, text in texts.items()]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = tmp_path / "svm"
    files = [tmp_path / "train.jsonl", tmp_path / "labels.tsv"]
    assert run("train", *files, "--model", "SVM", "--out", model, "--quiet")[0] == 0
    _, out, _ = run("explain", model, "--text", "striker goal", "--label", "x")
    assert "Many things › Odd one (x)" in out
    assert "n › Odd one (x)" in out
    _, out, _ = run("explain", model, "--text", "striker goal", "--label", "x", "--json")
    found = json.loads(out)
    assert found["names"] == {"m": "Many things", "x": "Odd one"}
    assert found["labels"][0]["paths"] == [["m", "x"], ["n", "x"]]
    _, out, _ = run("predict", model, "--text", "striker goal", "--top-k", "1")
    (label,) = json.loads(out)["labels"]
    assert (label["label"], label["name"], label["paths"]) == ("x", "Odd one", [["m", "x"], ["n", "x"]])


def test_an_empty_text_is_warned_about(run, toy_model, tmp_path):
    page = tmp_path / "report.html"
    code, out, err = run("explain", toy_model, "--text", "", "--json", "--out", page)
    assert (code, err) == (0, "warning: the text has no words that the model reads\n")
    assert json.loads(out)["labels"] == []
    assert page.exists()


BAD = {
    "neither": ([], "give either --text, or --input"),
    "both": (["--text", "x", "--input", "FILE"], "give either --text, or --input"),
    "id of a text": (["--text", "x", "--id", "1"], "give either --text, or --input"),
    "no id": (["--input", "FILE"], "choose one of them with --id"),
    "unknown id": (["--input", "FILE", "--id", "none"], "no document has the id 'none'"),
    "missing file": (["--input", "none.jsonl", "--id", "1"], "none.jsonl: no such file"),
    "label": (["--text", "striker", "--label", "Futball"], "no label 'Futball'; did you mean 'Football'?"),
    "unknown method": (["--text", "striker", "--method", "ocluson"], "did you mean occlusion?"),
    "method of others": (["--text", "striker", "--method", "linear"], "occlusion works for all models"),
    "huge": (["--text", "word " * 200_001], "1,000,005 characters; at most 1,000,000"),
    "the input itself": (["--input", "FILE", "--id", "football-cup", "--out", "FILE"], "is the input itself"),
    "a folder to write": (["--text", "striker", "--out", "FOLDER"], "cannot be written"),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD)
def test_bad_input(check_refused, run, toy_model, toy_files, tmp_path, options, message):
    places = {"FILE": toy_files.documents, "FOLDER": tmp_path}
    check_refused(run("explain", toy_model, *(places.get(option, option) for option in options), "--quiet"), message)
