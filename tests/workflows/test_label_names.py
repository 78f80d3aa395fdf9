"""Documents may call labels by name: every workflow understands them as if they had given ids."""

import json
from dataclasses import replace

import pytest

from taxocaps.classifier import TaxoCapsClassifier
from taxocaps.corpus.readers import read_documents
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import CorpusError
from taxocaps.scorers.persistence import load_model
from taxocaps.taxonomy import Taxonomy, Term, write_taxonomy
from taxocaps.workflows.corpus import check_corpus
from taxocaps.workflows.evaluate import evaluate, evaluate_predictions
from taxocaps.workflows.predict import predict_file
from taxocaps.workflows.train import train


@pytest.fixture
def coded(toy_files, tmp_path):
    """The toy documents with codes as labels, and a taxonomy of these codes whose names are the labels of the toy."""
    tree = toy_files.data.taxonomy
    codes = {name: f"c{position}" for position, name in enumerate(tree)}
    terms = {
        code: [Term(name, "alternative" if name == "Football" else "preferred", "en")] for name, code in codes.items()
    }
    edges = [(codes[parent], codes[child]) for parent, child in tree.edges]
    taxonomy = Taxonomy.from_edges(edges, labels=[codes[root] for root in tree.roots], terms=terms)
    write_taxonomy(taxonomy, tmp_path / "coded.json")
    documents = [
        replace(document, labels=tuple(codes[label] for label in document.labels or ()))
        for document in read_documents(toy_files.documents)
    ]
    write_documents(documents, tmp_path / "coded.jsonl")
    return tmp_path / "coded.jsonl", tmp_path / "coded.json"


def weights(folder):
    return (folder / "weights.safetensors").read_bytes()


def test_training_with_names_is_training_with_ids(coded, toy_files, tmp_path):
    documents, taxonomy = coded
    told: list[str] = []
    train(documents, tmp_path / "ids", model="SVM", taxonomy=taxonomy, tell=told.append)
    assert not any("labels of documents" in message for message in told)
    train(toy_files.documents, tmp_path / "names", model="SVM", taxonomy=taxonomy, tell=told.append)
    assert weights(tmp_path / "names") == weights(tmp_path / "ids")
    assert load_model(tmp_path / "names").classes.names == load_model(tmp_path / "ids").classes.names
    counts = json.loads((tmp_path / "names" / "metrics.json").read_text())["label_names"]
    assert [message for message in told if "labels of documents" in message] == [
        f"labels of documents: {counts['preferred']} by preferred name, {counts['alternative']} by alternative name"
    ]
    assert json.loads((tmp_path / "ids" / "metrics.json").read_text())["label_names"] == {"id": sum(counts.values())}


@pytest.mark.parametrize("position", [1, 130, 260])
def test_an_unknown_label_is_found_in_its_file_and_its_name_is_guessed(tmp_path, position):
    (tmp_path / "labels.tsv").write_text("all\tc1\tHarbours\nall\tc2\tWheat\n")
    rows = [f"cargo{number} vessel,Harbours" if number % 2 else f"crop{number} grain,Wheat" for number in range(260)]
    rows[position - 1] = "ships,Harbuors"
    (tmp_path / "d.csv").write_text("\n".join(["text,labels", *rows]))
    wanted = rf"d\.csv: document {position}: the label 'Harbuors' is not in the taxonomy \(nearest: 'Harbours'\)"
    with pytest.raises(CorpusError, match=wanted):
        train(tmp_path / "d.csv", tmp_path / "out", taxonomy=tmp_path / "labels.tsv", model="SVM", split_by="auto")


def test_evaluation_with_names_is_evaluation_with_ids(coded, toy_files, tmp_path):
    documents, taxonomy = coded
    train(documents, tmp_path / "model", model="SVM", taxonomy=taxonomy)
    by_id, by_name = (evaluate(tmp_path / "model", path) for path in (documents, toy_files.documents))
    assert by_name == by_id
    assert not by_name.unseen
    predict_file(tmp_path / "model", documents, tmp_path / "predictions.jsonl")
    of_file = evaluate_predictions(tmp_path / "predictions.jsonl", toy_files.documents, taxonomy=taxonomy)
    assert of_file.flat.micro == by_id.flat.micro


def test_a_check_counts_by_what_labels_were_found(coded, toy_files, tmp_path):
    documents, taxonomy = coded
    by_id, by_name = (check_corpus([path], taxonomy).corpus for path in (documents, toy_files.documents))
    assert by_name.label_counts == by_id.label_counts
    assert not by_name.unknown_labels
    assert sum(by_name.named_by.values()) == by_id.named_by["id"]
    assert by_name.named_by["alternative"] > 0


def test_a_check_names_the_labels_that_share_a_name(tmp_path):
    (tmp_path / "labels.tsv").write_text("r\ta\tMercury\nr\tb\tmercury\n")
    (tmp_path / "train.jsonl").write_text('{"text": "A planet.", "labels": ["Mercury"]}\n')
    checked = check_corpus([tmp_path / "train.jsonl"], tmp_path / "labels.tsv")
    assert "ambiguous label 'Mercury' ('a' or 'b') in 1 documents, such as document 1" in checked.findings


TEXTS = ["oil prices rose", "crude oil exports", "a painting in the museum", "the museum of art"] * 3
TREE = Taxonomy.from_edges(
    [("all", "t"), ("all", "a")], terms={"t": [Term("Trade")], "a": [Term("Art", "alternative")]}
)


def test_the_classifier_takes_names():
    classifier = TaxoCapsClassifier("SVM", TREE).fit(TEXTS, [["trade"], ["t"], ["ART"], ["a"]] * 3)
    assert classifier.predict(TEXTS[:3]) == [("t",), ("t",), ("a",)]
    assert classifier.score(TEXTS, [["Trade"], ["t"], ["art"], ["a"]] * 3) == 1.0
    single = TaxoCapsClassifier("SVM", TREE).fit(TEXTS, ["trade", "t", "ART", "a"] * 3)
    assert list(single.predict(TEXTS[1:3])) == ["t", "a"]
    assert single.score(TEXTS[:2], ["Trade", "t"]) == 1.0
