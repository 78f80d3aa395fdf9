"""Exports of Label Studio, in the formats that its documentation shows."""

import json

import pytest

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, read_documents
from taxocaps.errors import CorpusError


def result(kind, value, name="labels"):
    return {"id": "Dx_aB91ISN", "from_name": name, "to_name": "text", "type": kind, "origin": "manual", "value": value}


def annotation(*results, **others):
    times = {"created_at": "2021-03-09T22:16:08.728353Z", "updated_at": "2021-03-09T22:16:08.728378Z"}
    return {"id": "1001", "result": list(results), "was_cancelled": False, "ground_truth": False, **times, **others}


PATHS = result("taxonomy", {"taxonomy": [["Online", "Free"], ["Offline"]]})
CHOICES = result("choices", {"choices": ["Free", "Offline"]})


def task(*annotations, **data):
    return {
        "id": 1,
        "project": 83,
        "data": {"text": "a text", **data},
        "annotations": list(annotations),
        "predictions": [],
    }


@pytest.fixture
def read(tmp_path):
    def read_it(*tasks, **options):
        (tmp_path / "export.json").write_text(json.dumps(list(tasks)))
        return list(read_documents(tmp_path / "export.json", CorpusConfig(**options)))

    return read_it


@pytest.mark.parametrize("annotated", [PATHS, CHOICES])
def test_labels_are_the_ends_of_paths_or_choices(read, annotated):
    assert read(task(annotation(annotated))) == [Document("a text", "1", ("Free", "Offline"))]


def test_the_id_of_the_document_wins_over_that_of_the_task(read):
    assert read(task(annotation(PATHS), document="d7"))[0].id == "d7"
    assert read(task(annotation(PATHS), id="d8"))[0].id == "d8"


def test_skipped_annotations_and_predictions_do_not_count(read):
    skipped = annotation(PATHS, was_cancelled=True)
    predicted = {**task(skipped), "predictions": [{"model_version": "1", "score": 0.5, "result": [PATHS]}]}
    assert read(predicted)[0].labels is None
    assert read(task(annotation()))[0].labels == ()


def test_ground_truth_wins_and_then_the_latest(read):
    first, later = annotation(PATHS), annotation(CHOICES, updated_at="2022-01-01T00:00:00Z")
    none = annotation(updated_at="2023-01-01T00:00:00Z")
    assert read(task(later, none, first))[0].labels == ()
    assert read(task(none, {**first, "ground_truth": True}))[0].labels == ("Free", "Offline")


def test_one_of_several_tags_is_meant_by_its_name(read):
    both = annotation(
        result("choices", {"choices": ["good"]}, "mood"), result("choices", {"choices": ["sport"]}, "topic")
    )
    assert read(task(both))[0].labels == ("good", "sport")
    assert read(task(both), labels_field="topic")[0].labels == ("sport",)


# As the converter of Label Studio writes them: one choice as a text, several in an object, paths in a list of objects.
@pytest.mark.parametrize(
    ("value", "labels"),
    [
        ("Positive", ("Positive",)),
        ({"choices": ["a", "b"]}, ("a", "b")),
        ([{"taxonomy": [["Online", "Free"], ["Offline"]]}], ("Free", "Offline")),
    ],
)
def test_json_min(read, value, labels):
    record = {"text": "a text", "document": "d1", "id": 5, "labels": value, "annotator": 1, "annotation_id": 2}
    assert read(record) == [Document("a text", "d1", labels)]
    if not isinstance(value, str):  # a text could be any field
        record["topic"] = record.pop("labels")
        assert read(record)[0].labels == labels
    del record["document"]
    assert read({**record, "id": 6})[0].id == "6"


def test_json_min_leaves_out_a_tag_without_a_choice_and_repeats_tasks(read):
    assert read({"text": "x", "id": 1, "annotation_id": 2})[0].labels == ()
    twice = [{"text": "x", "id": 1, "labels": label, "annotation_id": 2} for label in "ab"]
    assert [one.labels for one in read(*twice)] == [("b",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"text": "a"}', "export.json: not JSON: .* export it again"),
        ("[3]", "export.json, record 1: must be a JSON object"),
        ('[{"id": 1, "data": {"text": "a"}, "annotations": [3]}]', "task 1: annotations that are not of the format"),
        ('[{"id": 1, "data": {"n": "a"}}]', "task 1: no field 'text' with the text"),
    ],
)
def test_other_json_is_refused_in_one_line(tmp_path, text, message):
    (tmp_path / "export.json").write_text(text)
    with pytest.raises(CorpusError, match=message):
        list(read_documents(tmp_path / "export.json"))


def test_lines_of_json_keep_their_suffix(tmp_path):
    (tmp_path / "lines.json").write_text('{"text": "a"}\n{"text": "b"}\n')
    assert [one.text for one in read_documents(tmp_path / "lines.json")] == ["a", "b"]
    with pytest.raises(CorpusError, match="not JSON"):
        list(read_documents(tmp_path / "lines.json", CorpusConfig(format="label-studio")))
    (tmp_path / "one.json").write_text('{"text": "a"}')
    with pytest.raises(CorpusError, match="which is a list of tasks"):
        list(read_documents(tmp_path / "one.json", CorpusConfig(format="label-studio")))
