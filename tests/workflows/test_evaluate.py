"""A model measured on documents and its predictions measured against the truth say the same."""

import json

import pytest
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.preprocessing import MultiLabelBinarizer

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import CorpusError, FileError
from taxocaps.workflows.config import resolve_run_config
from taxocaps.workflows.evaluate import evaluate, evaluate_predictions
from taxocaps.workflows.predict import predict, predict_file
from taxocaps.workflows.train import TrainFiles, train


@pytest.fixture
def predictions(toy_model, toy_files, tmp_path):
    predict_file(toy_model, toy_files.documents, tmp_path / "predictions.jsonl")
    return tmp_path / "predictions.jsonl"


@pytest.fixture
def write(tmp_path):
    def call(name, *rows):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return tmp_path / name

    return call


def test_figures_are_those_of_the_training_report(toy_model, toy_files):
    found = evaluate(toy_model, toy_files.documents, corpus=CorpusConfig(split="test"))
    figures = json.loads((toy_model / "metrics.json").read_text())
    for section, values in found.as_dict().items():
        if section in ("flat", "hierarchical", "label_rows", "level_rows", "documents", "labels", "unseen"):
            assert values == figures["test"][section]
    assert found.calibration_error == pytest.approx(figures["test"]["calibration_error"], abs=1e-5)
    found = evaluate(toy_model, toy_files.documents, corpus=CorpusConfig(split="dev"))
    assert found.flat.micro.f1 == pytest.approx(figures["validation"]["flat"]["micro"]["f1"])


def test_predictions_give_the_same_figures_as_the_model(toy_model, toy_files, predictions):
    by_model = evaluate(toy_model, toy_files.documents)
    found = evaluate_predictions(predictions, toy_files.documents, taxonomy=toy_files.taxonomy)
    assert found.documents == by_model.documents == 12
    assert found.label_rows == by_model.label_rows
    assert found.level_rows == by_model.level_rows
    assert found.hierarchical == by_model.hierarchical
    assert found.flat == by_model.flat
    assert found.ranking is None


def test_figures_are_those_of_scikit_learn(toy_files, predictions):
    rows = [json.loads(line) for line in predictions.read_text().splitlines()]
    binarizer = MultiLabelBinarizer()
    truth = binarizer.fit_transform([document.labels for _, document in toy_files.data.documents()])
    guess = binarizer.transform([[one["label"] for one in row["labels"]] for row in rows])
    found = evaluate_predictions(predictions, toy_files.documents).flat
    for average, figures in {"micro": found.micro, "macro": found.macro, "samples": found.samples}.items():
        options = {"average": average, "zero_division": 0}
        assert figures.precision == pytest.approx(precision_score(truth, guess, **options))
        assert figures.recall == pytest.approx(recall_score(truth, guess, **options))
        if average != "samples":
            assert figures.f1 == pytest.approx(f1_score(truth, guess, **options))


def test_without_a_taxonomy_there_are_no_levels(toy_files, predictions):
    found = evaluate_predictions(predictions, toy_files.documents)
    assert found.hierarchical is None
    assert found.level_rows == ()


def test_the_order_of_predictions_does_not_matter(toy_files, predictions, tmp_path):
    lines = predictions.read_text().splitlines(keepends=True)
    (tmp_path / "turned.jsonl").write_text("".join(reversed(lines)))
    turned = evaluate_predictions(tmp_path / "turned.jsonl", toy_files.documents)
    assert turned == evaluate_predictions(predictions, toy_files.documents)


def test_names_alone_are_predictions_too(write):
    """Worked by hand: 2 of 3 given labels are right, and 2 of 4 true ones are found."""
    truth = write(
        "truth.jsonl", *({"id": i, "text": "x", "labels": labels} for i, labels in ((1, ["a", "b"]), (2, ["a", "c"])))
    )
    found = evaluate_predictions(
        write("p.jsonl", {"id": "2", "labels": ["a", "d"]}, {"id": 1, "labels": [{"label": "b"}]}), truth
    )
    assert (found.flat.micro.precision, found.flat.micro.recall) == (pytest.approx(2 / 3), 0.5)
    assert [row.label for row in found.label_rows] == ["a", "b", "c", "d"]


def test_documents_without_ids_are_matched_one_by_one(write):
    truth = write("truth.jsonl", *({"text": "x", "labels": [label]} for label in "abc"))
    right = [{"labels": [label]} for label in "abc"]
    assert evaluate_predictions(write("p.jsonl", *right), truth).flat.subset_accuracy == 1
    assert evaluate_predictions(write("p.jsonl", *reversed(right)), truth).flat.subset_accuracy == pytest.approx(1 / 3)
    with pytest.raises(CorpusError, match=r"short\.jsonl: has 2 predictions.*, and .*truth\.jsonl 3 documents"):
        evaluate_predictions(write("short.jsonl", *right[:2]), truth)


def test_documents_without_ids_are_matched_as_predict_names_them(toy_model, tmp_path, write):
    truth = write(
        "truth.jsonl",
        {"text": "striker", "labels": ["Sport"]},
        {"text": "comet", "labels": ["Science"], "id": "c"},
        {"text": "gene", "labels": ["Science"]},
    )
    predict_file(toy_model, truth, tmp_path / "p.jsonl")
    found = evaluate_predictions(tmp_path / "p.jsonl", truth)
    assert found.flat.micro == evaluate(toy_model, truth).flat.micro


def test_predictions_that_do_not_fit_the_truth(write):
    truth = write("truth.jsonl", *({"id": i, "text": "x", "labels": ["a"]} for i in ("1", "2", "3")))
    with pytest.raises(CorpusError, match=r"p\.jsonl: no prediction for document '2' of .*truth\.jsonl and 1 other"):
        evaluate_predictions(write("p.jsonl", {"id": "1", "labels": []}), truth)
    twice = [{"id": "1", "labels": []}] * 2
    with pytest.raises(CorpusError, match="more than once"):
        evaluate_predictions(write("p.jsonl", *twice, {"id": "2", "labels": []}, {"id": "3", "labels": []}), truth)


def test_predictions_with_and_without_ids_are_not_mixed(write):
    truth = write("truth.jsonl", *({"id": i, "text": "x", "labels": ["a"]} for i in ("1", "2", "3")))
    with pytest.raises(CorpusError, match="some predictions have no id"):
        evaluate_predictions(write("p.jsonl", {"id": "1", "labels": []}, {"labels": []}, {"labels": []}), truth)


def test_invalid_records_that_are_skipped_are_told(toy_model, write):
    path = write("test.jsonl", *({"text": text, "labels": ["Sport"]} for text in ("striker", "goal")), 7, 8)
    told = []
    evaluate(toy_model, path, corpus=CorpusConfig(on_error="skip"), tell=told.append)
    assert len(told) == 1
    assert told[0].startswith("2 invalid records skipped, the first: ")


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        "7",
        "{}",
        '{"id": "1"}',
        '{"id": "1", "labels": [3]}',
        '{"id": "1", "labels": [{"score": 1}]}',
        '{"id": "1", "labels": 7}',
        '{"id": "1", "labels": "Football"}',
    ],
)
def test_what_is_no_prediction(tmp_path, write, line):
    truth = write("truth.jsonl", {"id": "1", "text": "x", "labels": ["a"]})
    (tmp_path / "p.jsonl").write_text("\n" + line + "\n")
    with pytest.raises(CorpusError, match=r"p\.jsonl, line 2: not a prediction; it must look like"):
        evaluate_predictions(tmp_path / "p.jsonl", truth)


def test_nothing_to_measure_against(toy_model, write):
    bare = write("bare.jsonl", {"id": "1", "text": "x"})
    with pytest.raises(
        CorpusError,
        match=r"bare\.jsonl: no document carries a label; no field is known .*: 'id', 'text'; name the right one",
    ):
        evaluate(toy_model, bare)
    with pytest.raises(CorpusError, match=r"bare\.jsonl: no document carries a label"):
        evaluate_predictions(write("p.jsonl", {"id": "1", "labels": []}), bare)
    with pytest.raises(FileError, match=r"none\.jsonl"):
        evaluate_predictions(bare.with_name("none.jsonl"), write("t.jsonl", {"text": "x", "labels": ["a"]}))


def test_unknown_labels_count_as_missed(toy_model, toy_files, tmp_path):
    documents = list(toy_files.data.splits["test"])
    write_documents(documents, tmp_path / "known.jsonl")
    stranger = [Document(d.text, id=d.id, labels=(*d.labels, "Cooking", f"only {d.id}")) for d in documents]
    write_documents(stranger, tmp_path / "unknown.jsonl")
    known, unknown = (evaluate(toy_model, tmp_path / f"{name}.jsonl") for name in ("known", "unknown"))
    assert unknown.unseen == {"Cooking": 2, "only astronomy-moon": 1, "only football-transfer": 1}
    assert unknown.flat.micro.precision == known.flat.micro.precision
    assert unknown.flat.micro.recall == pytest.approx(known.flat.micro.recall * 6 / 10)
    predict_file(toy_model, tmp_path / "unknown.jsonl", tmp_path / "p.jsonl")
    found = evaluate_predictions(tmp_path / "p.jsonl", tmp_path / "unknown.jsonl", taxonomy=toy_files.taxonomy)
    assert found.flat.micro.f1 == pytest.approx(unknown.flat.micro.f1)


def test_unknown_labels_count_as_missed_though_ancestors_are_added(toy_files, tmp_path, tiny):
    write_documents([Document("cats chase mice", labels=("Football",))], tmp_path / "train.jsonl")
    write_documents([Document("cats chase mice", labels=("Football", "Cooking"))], tmp_path / "test.jsonl")
    config = resolve_run_config(overrides=[*tiny, "labels.ancestors=add", "decision.rule=top-k", "decision.k=3"])
    train(TrainFiles(tmp_path / "train.jsonl", toy_files.taxonomy), tmp_path / "model", config)
    found = evaluate(tmp_path / "model", tmp_path / "test.jsonl")
    assert found.unseen == {"Cooking": 1}
    assert (found.flat.micro.precision, found.flat.micro.recall) == (1.0, 0.75)


def test_a_model_of_the_lowest_labels_gives_those_above_and_is_measured_on_them(write):
    taxonomy = write("labels.json")
    taxonomy.write_text('{"all": {"Trade": {"Energy": ["oil"]}, "Culture": ["art"]}}')
    texts = {"oil": "crude oil prices rose", "art": "a painting in the museum"}
    rows = [{"text": f"{text} {number}", "labels": [label]} for number in range(6) for label, text in texts.items()]
    train(TrainFiles(write("train.jsonl", *rows), taxonomy), taxonomy.parent / "svm", model="SVM")
    model = taxonomy.parent / "svm"
    given = [{one.label for one in found.labels} for found in predict(model, ["crude oil", "the museum"])]
    assert given == [{"Trade", "Energy", "oil"}, {"Culture", "art"}]
    lowest = evaluate(model, write("lowest.jsonl", *rows))
    assert (lowest.flat.micro.f1, dict(lowest.unseen)) == (1.0, {})
    above = {"oil": ["Trade", "Energy", "oil"], "art": ["Culture", "art", "Odd"]}
    closed = evaluate(model, write("closed.jsonl", *({**row, "labels": above[row["labels"][0]]} for row in rows)))
    assert dict(closed.unseen) == {"Odd": 6}
    assert (closed.added.right, closed.added.wrong) == (18, 0)
    assert (closed.flat.micro.precision, closed.flat.micro.recall) == (1.0, 30 / 36)


def test_people_are_told(toy_model, toy_files):
    told = []
    evaluate(
        toy_model, toy_files.documents, progress=lambda stage, done, total=None, note="": told.append((done, total))
    )
    assert told == [(12, None), (12, 12)]
