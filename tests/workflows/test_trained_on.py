"""A model remembers which fields it was trained on, so that files with the same fields are read like them."""

import csv
import random
import shutil
from pathlib import Path

import pandas as pd
import pytest

import taxocaps
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.feedback import read_corrections
from taxocaps.workflows.explain import explain
from taxocaps.workflows.feedback import import_feedback
from taxocaps.workflows.serve import load_served
from taxocaps.workflows.trained_on import read_like
from taxocaps.workflows.uploads import read_upload

WORDS = {
    "ships": ["harbour", "cargo", "vessel"],
    "wheat": ["grain", "harvest", "crop"],
    "gold": ["mine", "ounce", "ore"],
}
REMARK = "a remark that says nothing about the subject but is the longest text of the row by far"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table whose longest texts, which would be taken for the text, tell nothing."""
    generator, path = random.Random(1), tmp_path_factory.mktemp("fields") / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["line", "remark", "chapter"])
        for label in list(WORDS) * 30:
            rows.writerow([" ".join(generator.choices(WORDS[label], k=4)), REMARK, label])
    return path


@pytest.fixture(scope="module")
def model(table):
    fields = {"corpus__text_field": "line", "corpus__labels_field": "chapter"}
    taxocaps.train(table, table.parent / "model", model="SVM", **fields)
    return table.parent / "model"


def labels_of(predictions):
    return [[one.label for one in prediction.labels] for prediction in predictions]


def test_labels_come_from_the_text_that_the_model_was_trained_on(model, table, tmp_path):
    wanted = [[label] for label in list(WORDS) * 30]
    assert labels_of(taxocaps.predict(model, table)) == wanted
    assert labels_of(taxocaps.predict(model, pd.read_csv(table))) == wanted
    taxocaps.predict(model, table, output=tmp_path / "labels.jsonl")
    assert (tmp_path / "labels.jsonl").read_text().count('"label": "gold"') == 30
    assert taxocaps.evaluate(model, table).flat.micro.f1 == 1


def test_what_is_asked_for_counts_more(model, table):
    found = taxocaps.predict(model, table, corpus=CorpusConfig(text_field="remark"))
    assert {tuple(one) for one in labels_of(found)} == {()}


def test_a_file_with_other_fields_is_recognised(model, tmp_path):
    (tmp_path / "other.jsonl").write_text('{"text": "grain and crop"}\n')
    assert labels_of(taxocaps.predict(model, tmp_path / "other.jsonl")) == [["wheat"]]


def test_explanations_and_uploads_read_the_same_text(model, table):
    assert explain(model, table, id="2").text.split()[0] in WORDS["wheat"]
    upload = read_upload(table.read_bytes(), "table.csv", corpus=load_served("model", model).corpus)
    assert upload.text_fields == ("line",)


def test_imported_corrections_are_read_from_the_same_fields(model, tmp_path):
    (tmp_path / "corrected.csv").write_text("text,line,chapter\na heading,grain and crop,wheat\n")
    shutil.copytree(model, tmp_path / "model")
    import_feedback(tmp_path / "model", tmp_path / "corrected.csv", "ann")
    assert [(one.text, one.labels) for one in read_corrections(tmp_path / "model")] == [("grain and crop", ("wheat",))]


def test_weights_of_fields_are_remembered(table, tmp_path):
    fields = {"corpus__text_field": "line*2,remark", "corpus__labels_field": "chapter"}
    taxocaps.train(table, tmp_path / "model", model="SVM", **fields)
    assert read_like(tmp_path / "model").trained_text_fields == ("line", "line", "remark")


def test_nothing_is_known_of_a_model_without_a_folder():
    assert read_like(object()) == CorpusConfig()
    assert read_like(Path("nowhere")) == CorpusConfig()


def test_the_field_of_ids_is_remembered(table, tmp_path):
    lines = table.read_text().splitlines()
    rows = [f"{'Ticket' if number == 0 else f'T{number}'},{line}" for number, line in enumerate(lines)]
    (tmp_path / "tickets.csv").write_text("\n".join(rows) + "\n")
    fields = {"corpus__text_field": "line", "corpus__labels_field": "chapter", "corpus__id_field": "Ticket"}
    taxocaps.train(tmp_path / "tickets.csv", tmp_path / "model", model="SVM", **fields)
    found = [one.id for one in taxocaps.predict(tmp_path / "model", tmp_path / "tickets.csv")]
    assert found[:2] == ["T1", "T2"]
