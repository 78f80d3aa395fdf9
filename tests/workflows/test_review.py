"""A review finds what was hidden in a corpus, whatever the model, and an interruption costs nothing."""

import json
import random
from dataclasses import replace

import pytest

import taxocaps
from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import read_documents
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import ConfigError, CorpusError, FileError
from taxocaps.taxonomy import Taxonomy
from taxocaps.workflows.review import ReviewFiles, review

TREE = Taxonomy.from_edges(
    [("all", "animals"), ("animals", "cats"), ("animals", "dogs"), ("all", "plants"), ("all", "stones")]
)
WORDS = {
    "cats": ["cat", "purr", "whisker", "kitten", "meow", "mouse", "claw", "paw"],
    "dogs": ["dog", "bark", "tail", "puppy", "bone", "leash", "fetch", "kennel"],
    "plants": ["tree", "leaf", "root", "flower", "seed", "branch", "bloom", "garden"],
}
GERMAN = "Der Hund ist nicht mehr in dem Haus, weil er auf der Wiese mit einem anderen Hund und der Katze spielt."


def text(label, generator):
    return " ".join(generator.choices(WORDS[label], k=12))


def labelled(label, id, generator):
    labels = ("animals", label) if label in ("cats", "dogs") else (label,)
    return Document(text(label, generator), id, labels)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Documents of three labels, with a slip of each kind hidden among them, and a pool."""
    folder, generator = tmp_path_factory.mktemp("corpus"), random.Random(3)
    documents = [labelled(label, f"{label}-{number}", generator) for number in range(30) for label in WORDS]
    documents += [
        Document(text("dogs", generator), "slip", ("plants",)),
        Document(text("cats", generator), "high", ("animals",)),
        Document(documents[0].text, "copy", ("plants",)),
        Document(GERMAN, "german", ("animals", "dogs")),
        Document("", "empty", ("plants",)),
    ]
    write_documents(documents, folder / "train.jsonl")
    pool = [Document(text(label, generator), f"pool-{label}-{number}") for number in range(4) for label in WORDS]
    write_documents([*pool, pool[0]], folder / "pool.jsonl")
    return folder


@pytest.fixture(scope="module")
def found(corpus):
    files = {"pool": corpus / "pool.jsonl", "output": corpus / "found.jsonl", "report": corpus / "found.html"}
    return review(corpus / "train.jsonl", taxonomy=TREE, model="SVM", batch=5, **files)


def test_the_slip_is_the_first_suspect_and_its_right_label_is_missed(found):
    first = {(one.kind, one.label) for one in found.suspects if one.id == "slip"}
    assert ("wrong", "plants") in first
    assert {label for kind, label in first if kind == "forgotten"} & {"dogs", "animals"}
    assert found.suspects[0].id in ("slip", "copy")
    assert found.suspects[0].text
    assert [one.suspicion for one in found.suspects] == sorted((one.suspicion for one in found.suspects), reverse=True)


def test_copies_odd_documents_and_labels_that_end_too_high_are_found(found):
    assert {frozenset(one.id for one in group.documents) for group in found.copies} == {frozenset({"cats-0", "copy"})}
    assert found.copies[0].is_exact
    assert [(one.id, one.language) for one in found.foreign] == [("german", "de")]
    assert [one.id for one in found.wordless] == ["empty"]
    assert [(one.id, one.label, one.child) for one in found.missing_children] == [("high", "animals", "cats")]
    assert found.unused == ("stones",)
    assert found.rare == ()
    assert found.curve is None  # too few documents


def test_the_pool_gives_a_batch_without_its_copy(found):
    ids = [one.id for one in found.next]
    assert len(ids) == len(set(ids)) == 5
    assert all(one.label_documents > 0 for one in found.next if one.label)


def test_the_files_have_all_findings(corpus, found):
    lines = [json.loads(line) for line in (corpus / "found.jsonl").read_text().splitlines()]
    kinds = [line["finding"] for line in lines]
    assert set(kinds) >= {"wrong-label", "copies", "no-words", "other-language", "missing-child", "label-next"}
    assert kinds.count("wrong-label") + kinds.count("forgotten-label") == len(found.suspects)
    assert "train.jsonl: review" in (corpus / "found.html").read_text()
    assert sorted(path.name for path in corpus.iterdir()) == ["found.html", "found.jsonl", "pool.jsonl", "train.jsonl"]


def test_a_store_in_place_of_the_file_gives_the_same(corpus, found, tmp_path):
    taxocaps.encode(corpus / "train.jsonl", tmp_path / "store", model="SVM")
    with pytest.raises(ConfigError, match="is a store"):
        review(tmp_path / "store", taxonomy=TREE, model="SVM", corpus__text_field="body")
    again = review(tmp_path / "store", taxonomy=TREE, model="SVM")
    assert [(one.id, one.label, one.suspicion) for one in again.suspects] == [
        (one.id, one.label, one.suspicion) for one in found.suspects
    ]
    assert again.copies[0].documents == found.copies[0].documents


def test_a_split_is_one_of_the_corpus_and_not_of_the_pool(corpus, tmp_path):
    documents = read_documents(corpus / "train.jsonl")
    divided = [replace(one, split="train" if number < 40 else "test") for number, one in enumerate(documents)]
    write_documents(divided, tmp_path / "divided.jsonl")
    options = {"taxonomy": TREE, "model": "SVM", "pool": corpus / "pool.jsonl", "batch": 99}
    found = review(tmp_path / "divided.jsonl", corpus__split="train", **options)
    assert (found.documents, len(found.next)) == (40, 13)


def test_a_trained_model_gives_its_options_and_its_taxonomy_and_is_fitted_anew(corpus, found, tmp_path):
    taxocaps.train(corpus / "train.jsonl", tmp_path / "model", taxonomy=TREE, model="SVM")
    again = review(corpus / "train.jsonl", model=tmp_path / "model")
    assert again.model == "SVM"
    assert again.micro_f1 == found.micro_f1
    assert [one.id for one in again.suspects] == [one.id for one in found.suspects]
    with pytest.raises(ConfigError, match="is the folder of a model"):
        taxocaps.train(corpus / "train.jsonl", tmp_path / "other", model=tmp_path / "model")


def test_a_review_that_was_stopped_goes_on_with_the_folds_it_has(corpus, found, tmp_path):
    class StopError(Exception):
        pass

    def stop(stage, done, total=None, note=""):
        if stage.startswith("fold 3"):
            raise StopError

    options = {"taxonomy": TREE, "model": "SVM", "output": tmp_path / "out.jsonl"}
    with pytest.raises(StopError):
        review(corpus / "train.jsonl", progress=stop, **options)
    (kept,) = tmp_path.iterdir()
    assert kept.name == ".out.jsonl.partial"
    stages = []
    again = review(corpus / "train.jsonl", progress=lambda stage, *rest: stages.append(stage), **options)
    assert not [stage for stage in stages if stage.startswith(("fold 1", "fold 2"))]
    assert again.suspects == found.suspects
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_what_cannot_be_reviewed_is_refused_and_nothing_is_written(corpus, tmp_path):
    write_documents([Document("a b", "1", ("x",))] * 3, tmp_path / "few.jsonl")
    with pytest.raises(CorpusError, match="too few documents differ"):
        review(tmp_path / "few.jsonl", model="SVM", output=tmp_path / "out.jsonl")
    with pytest.raises(FileError):
        review(corpus / "train.jsonl", output=corpus / "train.jsonl")
    with pytest.raises(ConfigError, match="did you mean"):
        review(corpus / "train.jsonl", modle="SVM")
    with pytest.raises(ConfigError, match="taxonomy is part of ReviewFiles"):
        review(ReviewFiles(corpus / "train.jsonl"), taxonomy=TREE)
    assert [path.name for path in tmp_path.iterdir()] == ["few.jsonl"]


@pytest.mark.parametrize(
    ("documents", "others", "message"),
    [
        ("-", {}, "is read twice; give a file"),
        ("train.jsonl", {"pool": "-"}, "is read twice; give a file"),
        ("train.jsonl", {"output": "."}, "is a directory; give a file"),
        ("train.jsonl", {"report": "."}, "is a directory; give a file"),
        ("train.jsonl", {"output": "same", "report": "./same"}, "same: is both output and report"),
    ],
)
def test_files_that_would_fail_at_the_end_are_refused_before_any_work(corpus, monkeypatch, documents, others, message):
    monkeypatch.chdir(corpus)
    stages = []
    with pytest.raises(FileError, match=message):
        review(documents, model="SVM", progress=lambda stage, *rest: stages.append(stage), **others)
    assert not stages
