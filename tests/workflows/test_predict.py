"""Labels for documents: which, in what order, as a stream, and a file that is whole or not there."""

import gzip
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import ConfigError, CorpusError, FileError, ModelError
from taxocaps.scorers.persistence import load_model
from taxocaps.taxonomy.terms import Term
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.workflows.evaluate import evaluate
from taxocaps.workflows.predict import DecisionOptions, predict, predict_documents, predict_file
from taxocaps.workflows.train import train

TEXTS = ["The striker scored for his club.", "", "Astronomers saw a comet and a planet.", "the of and"]
WORDLESS = (1, 3)


@pytest.fixture(scope="module")
def model(toy_model):
    return load_model(toy_model)


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def names(prediction):
    return [one.label for one in prediction.labels]


def scores_of(model, texts=TEXTS):
    return model.own_scores(model.scorer.encoder.encode([Document(text) for text in texts]))


def label(model, options=None, texts=TEXTS):
    return list(predict_documents(model, map(Document, texts), options))


def test_labels_are_those_of_the_model_the_surest_first(model):
    scores = scores_of(model)
    wanted = [set(labels) for labels in model.classes.label_lists(model.choose(scores))]
    found = label(model)
    assert [set(names(prediction)) for prediction in found] == wanted
    for row, prediction in zip(scores, found, strict=True):
        given = [one.score for one in prediction.labels]
        assert given == sorted(given, reverse=True)
        own = {name: row[model.classes.names.index(name)] for name in names(prediction)}
        taxonomy = model.classes.taxonomy
        assert given == [
            max(own[other] for other in own if name == other or name in taxonomy.ancestors(other)) for name in own
        ]
        for one in prediction.labels:
            assert one.paths == model.classes.taxonomy.paths(one.label)


def test_a_text_without_words_gets_a_warning_and_never_a_label(model):
    for options in (None, DecisionOptions(top_k=3), DecisionOptions(threshold=0.0), DecisionOptions(at_least=2)):
        found = label(model, options)
        assert [prediction.warning is not None for prediction in found] == [n in WORDLESS for n in range(4)]
        assert all(not found[number].labels for number in WORDLESS)
    assert "warning" in found[1].as_dict()
    assert "warning" not in found[0].as_dict()


def test_so_many_labels(model):
    for k in (1, 2, 10, 99):
        found = label(model, DecisionOptions(top_k=k, hierarchy="as-is"))
        assert [len(prediction.labels) for prediction in found] == [min(k, 10), 0, min(k, 10), 0]
    order = sorted(model.classes.names, key=lambda name: -scores_of(model)[0][model.classes.names.index(name)])
    assert names(found[0]) == order


def test_one_threshold_for_all(model):
    scores = scores_of(model)
    for threshold in (0.0, 0.5, 0.9):
        found = label(model, DecisionOptions(threshold=threshold, hierarchy="as-is"))
        assert [len(prediction.labels) for prediction in found] == [
            0 if number in WORDLESS else int((row >= threshold).sum()) for number, row in enumerate(scores)
        ]


def test_at_least_so_many(model):
    nothing = label(model, DecisionOptions(threshold=1.0))
    assert not any(prediction.labels for prediction in nothing)
    found = label(model, DecisionOptions(threshold=1.0, at_least=1, hierarchy="as-is"))
    best = label(model, DecisionOptions(top_k=1, hierarchy="as-is"))
    assert [names(prediction) for prediction in found] == [names(prediction) for prediction in best]


def test_the_rule_about_ancestors(model):
    taxonomy = model.classes.taxonomy
    plain = [set(names(p)) for p in label(model, DecisionOptions(top_k=2, hierarchy="as-is"))]
    closed = [set(names(p)) for p in label(model, DecisionOptions(top_k=2, hierarchy="add-ancestors"))]
    assert closed == [set(taxonomy.with_ancestors(labels)) for labels in plain]
    dropped = [set(names(p)) for p in label(model, DecisionOptions(top_k=2, hierarchy="drop-orphans"))]
    for labels, kept in zip(plain, dropped, strict=True):
        assert kept == {name for name in labels if set(taxonomy.with_ancestors([name])) <= labels}


def test_what_excludes_itself():
    with pytest.raises(ConfigError, match="top_k takes labels whatever their scores; leave out threshold"):
        DecisionOptions(top_k=2, threshold=0.5)


def test_documents_without_an_id_are_counted(model):
    documents = [Document("a text"), Document("a text", id="named"), Document("a text")]
    assert [prediction.id for prediction in predict_documents(model, documents)] == ["1", "named", "3"]


def test_documents_are_taken_as_they_come(model):
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield Document("The striker scored.")

    stream = predict_documents(model, endless(), DecisionOptions(top_k=1))
    assert next(stream).labels
    assert len(taken) <= 1_024
    for _ in range(1_500):
        prediction = next(stream)
    assert prediction.id == "1501"


def test_alone_or_among_others_a_document_gets_the_same(model, monkeypatch):
    monkeypatch.setattr("taxocaps.workflows.predict._CHUNK", 256)
    many = [TEXTS[number % 4] for number in range(300)]
    found = label(model, texts=many)
    for number in (0, 2, 255, 256, 298):
        (alone,) = label(model, texts=[many[number]])
        assert names(found[number]) == names(alone)
        assert [one.score for one in found[number].labels] == pytest.approx(
            [one.score for one in alone.labels], abs=1e-5
        )


def test_texts(toy_model, model):
    found = list(predict(toy_model, TEXTS))
    assert found == label(model)
    assert list(predict(model, TEXTS, top_k=1, hierarchy="as-is")) == label(
        model, DecisionOptions(top_k=1, hierarchy="as-is")
    )


def test_ready_tokens_and_documents(model):
    given = [("striker", "score"), Document("The striker scored.", id="x"), "The striker scored."]
    tokens, document, text = predict(model, given)
    assert [one.id for one in (tokens, document, text)] == ["1", "x", "3"]
    assert document.labels == text.labels


def test_a_file_in_python(model, toy_files):
    documents = [document for _, document in toy_files.data.documents()]
    found = list(predict(model, toy_files.documents, corpus=CorpusConfig(split="test")))
    assert found == list(predict_documents(model, [one for one in documents if one.split == "test"]))
    assert found == list(predict(model, str(toy_files.documents), corpus=CorpusConfig(split="test")))


@pytest.fixture
def predicted(toy_model, toy_files, tmp_path):
    predict_file(toy_model, toy_files.documents, tmp_path / "labels.jsonl")
    return read(tmp_path / "labels.jsonl")


def test_a_file(toy_files, predicted, model):
    documents = [document for _, document in toy_files.data.documents()]
    assert predicted == [prediction.as_dict() for prediction in predict_documents(model, documents)]
    assert [row["id"] for row in predicted] == [document.id for document in documents]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl.gz", "jsonl.xz", "jsonl.zst"])
def test_all_formats(toy_model, toy_files, tmp_path, predicted, suffix):
    path = tmp_path / f"documents.{suffix}"
    write_documents([document for _, document in toy_files.data.documents()], path)
    report = predict_file(toy_model, path, tmp_path / "found.jsonl")
    assert read(tmp_path / "found.jsonl") == predicted
    assert (report.documents, report.without_words, report.skipped) == (12, 0, 0)


def test_a_folder_of_texts(toy_model, toy_files, tmp_path, predicted):
    documents = [replace(document, split=None) for _, document in toy_files.data.documents()]
    write_documents(documents, tmp_path / "texts", format="text")
    predict_file(toy_model, tmp_path / "texts", tmp_path / "found.jsonl")
    assert sorted(json.dumps(row["labels"]) for row in read(tmp_path / "found.jsonl")) == sorted(
        json.dumps(row["labels"]) for row in predicted
    )


def test_packed_output(toy_model, toy_files, tmp_path, predicted):
    predict_file(toy_model, toy_files.documents, tmp_path / "labels.jsonl.gz")
    unpacked = gzip.decompress((tmp_path / "labels.jsonl.gz").read_bytes()).decode()
    assert [json.loads(line) for line in unpacked.splitlines()] == predicted


def test_standard_input_and_output(toy_model, toy_files, predicted, monkeypatch, capsys):
    content = io.TextIOWrapper(io.BytesIO(toy_files.documents.read_bytes()))
    monkeypatch.setattr("sys.stdin", content)
    report = predict_file(toy_model, Path("-"), Path("-"))
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == predicted
    assert (report.output, report.documents) == ("-", 12)


def test_the_report_counts(toy_model, tmp_path):
    (tmp_path / "documents.jsonl").write_text('{"text": "striker"}\nbroken\n{"text": ""}\n{"body": "x"}\n')
    with pytest.raises(CorpusError, match=r"documents\.jsonl, line 2"):
        predict_file(toy_model, tmp_path / "documents.jsonl", tmp_path / "labels.jsonl")
    assert not (tmp_path / "labels.jsonl").exists()
    report = predict_file(
        toy_model,
        tmp_path / "documents.jsonl",
        tmp_path / "labels.jsonl",
        DecisionOptions(threshold=1.0),
        corpus=CorpusConfig(on_error="skip"),
    )
    assert (report.documents, report.without_words, report.without_labels, report.skipped) == (2, 1, 2, 2)
    assert len(report.problems) == 2
    assert [row["id"] for row in read(tmp_path / "labels.jsonl")] == ["1", "2"]


def test_an_error_in_the_middle_leaves_the_old_file(toy_model, tmp_path):
    lines = ['{"text": "The striker scored."}'] * 2_100
    (tmp_path / "documents.jsonl").write_text("\n".join([*lines, "broken"]))
    old = '{"id": "1", "labels": []}\n'
    (tmp_path / "labels.jsonl").write_text(old)
    told = []
    with pytest.raises(CorpusError, match="line 2101"):
        predict_file(
            toy_model,
            tmp_path / "documents.jsonl",
            tmp_path / "labels.jsonl",
            progress=lambda stage, done, total=None, note="": told.append(done),
        )
    assert told == [*range(256, 2_049, 256)]
    assert (tmp_path / "labels.jsonl").read_text() == old
    assert sorted(path.name for path in tmp_path.iterdir()) == ["documents.jsonl", "labels.jsonl"]


def test_the_input_is_not_written_over(toy_model, toy_files):
    with pytest.raises(FileError, match="is the input itself"):
        predict_file(toy_model, toy_files.documents, toy_files.documents)


def test_a_missing_model(toy_files, tmp_path):
    with pytest.raises(ModelError, match="no model there"):
        predict_file(tmp_path / "none", toy_files.documents, tmp_path / "labels.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_fitted_classifier_is_a_model(toy_model, toy_files):
    import taxocaps

    classifier = taxocaps.load(toy_model)
    documents = toy_files.documents
    assert list(taxocaps.predict(classifier, documents)) == list(taxocaps.predict(toy_model, documents))
    assert taxocaps.evaluate(classifier, documents) == taxocaps.evaluate(toy_model, documents)
    text = "The striker scored."
    assert taxocaps.explain(classifier, text) == taxocaps.explain(toy_model, text)
    for wrong, name in ((taxocaps.TaxoCapsClassifier(), "TaxoCapsClassifier"), (7, "int")):
        with pytest.raises(ModelError, match=f"^a model is a folder or a fitted classifier; got {name} without"):
            list(taxocaps.predict(wrong, documents))


@pytest.mark.parametrize("name", ["SVM", "auto"])
def test_documents_with_the_lowest_labels_only_get_all_labels_above_with_names_and_paths(tmp_path, name):
    edges = [("all", "1"), ("all", "2"), ("1", "11"), ("2", "11"), ("11", "oil"), ("2", "art")]
    terms = {"1": [Term("Trade")], "2": [Term("Goods")], "11": [Term("Energy")]}
    taxonomy = Taxonomy.from_edges(edges, terms=terms)
    words = {"oil": "crude petroleum barrel refinery", "art": "painting museum gallery canvas"}
    texts = {label: [f"{text} number {n}" for n in range(20)] for label, text in words.items()}
    documents = [Document(text, labels=(label,)) for label, some in texts.items() for text in some]
    write_documents(documents, tmp_path / "train.jsonl")
    train(tmp_path / "train.jsonl", tmp_path / "model", taxonomy=taxonomy, model=name)
    (found,) = predict(tmp_path / "model", ["a barrel of crude petroleum"])
    assert {one.label: one.name for one in found.labels} == {"1": "Trade", "2": "Goods", "11": "Energy", "oil": "oil"}
    assert {one.label: one.paths for one in found.labels} == {
        "1": (("1",),),
        "2": (("2",),),
        "11": (("1", "11"), ("2", "11")),
        "oil": (("1", "11", "oil"), ("2", "11", "oil")),
    }
    scores = {one.label: one.score for one in found.labels}
    assert scores["1"] >= scores["11"] >= scores["oil"] <= scores["2"]
    assert not any(one.unseen for one in found.labels)
    (best,) = predict(tmp_path / "model", ["a barrel of crude petroleum"], top_k=1)
    assert {one.label for one in best.labels} == set(scores)
    measured = evaluate(tmp_path / "model", tmp_path / "train.jsonl")
    assert (measured.flat.micro.f1, measured.ranking.precision[1]) == (1.0, 1.0)  # labels above do not count
