"""Labels go to the tools in which people correct them, and come back as documents."""

import csv
import json
from xml.etree import ElementTree

import pytest

from taxocaps.corpus.readers import read_documents
from taxocaps.errors import CorpusError
from taxocaps.taxonomy.terms import Term
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.taxonomy.writers import write_taxonomy
from taxocaps.workflows.encode import encode
from taxocaps.workflows.explain import explain
from taxocaps.workflows.predict import predict, predict_file
from taxocaps.workflows.train import train

WORDS = {"sea": "harbour cargo vessel port", "corn": "grain harvest crop field"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("trips")
    rows = [
        {"id": f"{label}{n}", "text": f"{WORDS[label]} {n}", "labels": [label]} for n in range(12) for label in WORDS
    ]
    (path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    unnamed = [{"text": text, "note": "x"} for text in WORDS.values()]
    (path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in unnamed))
    (path / "labels.tsv").write_text("all\ttrade\ntrade\tsea\tMaritime\ntrade\tcorn\n")
    train(path / "train.jsonl", path / "model", taxonomy=path / "labels.tsv", model="SVM")
    return path


def annotated(tasks):
    """What Label Studio exports when every prediction is accepted."""
    return [
        {
            **task,
            "id": number,
            "annotations": [{"id": 1, "was_cancelled": False, "result": task["predictions"][0]["result"]}],
        }
        for number, task in enumerate(tasks, 7)
    ]


@pytest.mark.parametrize(("format", "kind"), [("label-studio", "taxonomy"), ("label-studio-choices", "choices")])
def test_tasks_with_predictions_come_back_as_documents(folder, tmp_path, format, kind):
    output = tmp_path / "tasks.json"
    predict_file(folder / "model", folder / "train.jsonl", output, format=format, jobs=1)
    tasks = json.loads(output.read_text())
    (first,) = tasks[0]["predictions"][0]["result"]
    assert tasks[0]["data"] == {"document": "sea0", "text": "harbour cargo vessel port 0"}
    assert first == {
        "from_name": "labels",
        "to_name": "text",
        "type": kind,
        "value": {kind: [["trade"], ["trade", "sea"]] if kind == "taxonomy" else ["trade", "sea"]},
    }
    assert 0 < tasks[0]["predictions"][0]["score"] <= 1
    output.write_text(json.dumps(annotated(tasks)))
    back = list(read_documents(output))
    expected = [
        (one.id, tuple(label.label for label in one.labels))
        for one in predict(folder / "model", folder / "train.jsonl")
    ]
    assert [(one.id, one.labels) for one in back] == expected


def test_documents_without_ids_have_their_positions_and_fields_are_kept(folder, tmp_path):
    from taxocaps.corpus.readers import CorpusConfig

    corpus = CorpusConfig(keep="note,text")
    predict_file(folder / "model", folder / "new.jsonl", tmp_path / "t.json", corpus=corpus)
    found = [task["data"] for task in json.loads((tmp_path / "t.json").read_text())]
    assert found[1] == {"document": "2", "text": WORDS["corn"], "note": "x"}
    predict_file(folder / "model", folder / "new.jsonl", tmp_path / "t.csv", corpus=corpus)
    with (tmp_path / "t.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "text", "labels", "names", "scores", "note"]
    assert (rows[1]["id"], rows[1]["labels"], rows[1]["note"]) == ("2", "trade;corn", "x")
    assert rows[0]["names"] == "trade;Maritime"


def test_a_table_for_spreadsheets_comes_back_as_documents(folder, tmp_path):
    predict_file(folder / "model", folder / "train.jsonl", tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_bytes().startswith(b"\xef\xbb\xbf")  # so that spreadsheets take it for UTF-8
    back, source = (list(read_documents(path)) for path in (tmp_path / "labels.csv", folder / "train.jsonl"))
    assert [(one.id, one.text) for one in back] == [(one.id, one.text) for one in source]
    assert [one.labels for one in back] == [("trade", *one.labels) for one in source]


def test_a_label_is_explained_by_its_name(folder):
    by_name, by_id = (explain(folder / "model", WORDS["sea"], labels=[one]) for one in ("maritime", "sea"))
    assert by_name == by_id
    assert by_id.reasons[0].label == "sea"


def test_a_store_has_nothing_to_show_to_people(folder, tmp_path):
    encode(folder / "new.jsonl", tmp_path / "store", model="SVM")
    with pytest.raises(CorpusError, match="a store has no texts for people to read; give the documents themselves"):
        predict_file(folder / "model", tmp_path / "store", tmp_path / "tasks.json")


def test_the_labeling_configuration_shows_names_and_stores_ids(tmp_path):
    taxonomy = Taxonomy.from_edges(
        [("all", "a"), ("a", "b"), ("a", "c"), ("all", "d"), ("d", "c")], terms={"b": [Term('Bread & "butter"')]}
    )
    write_taxonomy(taxonomy, tmp_path / "tree.xml", format="label-studio")
    view = ElementTree.parse(tmp_path / "tree.xml").getroot()
    assert view.find("Text").attrib == {"name": "text", "value": "$text"}
    tree = view.find("Taxonomy")
    assert tree.attrib == {"name": "labels", "toName": "text"}
    assert [choice.get("value") for choice in tree] == ["a", "d"]
    assert [choice.attrib for choice in tree[0]] == [{"value": 'Bread & "butter"', "alias": "b"}, {"value": "c"}]
    assert [choice.get("value") for choice in tree[1]] == ["c"]
    write_taxonomy(taxonomy, tmp_path / "list.xml", format="label-studio-choices")
    choices = ElementTree.parse(tmp_path / "list.xml").getroot().find("Choices")
    assert choices.get("choice") == "multiple"
    assert [choice.get("alias") or choice.get("value") for choice in choices] == ["a", "b", "d", "c"]
