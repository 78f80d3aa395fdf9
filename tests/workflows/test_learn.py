"""Learning from corrections: what is fitted, what is compared, and which model stays."""

import json
import random
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file
from sklearn.metrics import f1_score

from taxocaps.corpus.document import Document
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import CorpusError, FileError, ModelError
from taxocaps.feedback.corrections import import_corrections
from taxocaps.feedback.store import FeedbackStore, feedback_path
from taxocaps.scorers.persistence import load_model
from taxocaps.workflows.config import resolve_run_config
from taxocaps.workflows.learn import LearnFiles, before, compare, go_back, learn
from taxocaps.workflows.predict import predict
from taxocaps.workflows.train import TrainFiles, train
from taxocaps.workflows.trained_on import Corrections, read_trained_on

WORDS = {
    "ships": ["harbour", "cargo", "vessel", "port", "crew"],
    "wheat": ["grain", "harvest", "crop", "farmer", "field"],
    "gold": ["mine", "ounce", "metal", "ore", "bullion"],
}


def documents(count, seed, prefix="d", labels=tuple(WORDS)):
    generator = random.Random(seed)
    found = []
    for number in range(count):
        label = labels[number % len(labels)]
        text = " ".join(generator.choices(WORDS[label], k=5) + generator.choices(["day", "price", "week"], k=3))
        found.append(Document(text, f"{prefix}{number}", (label,)))
    return found


@pytest.fixture
def corpus(tmp_path):
    write_documents(documents(90, 1), tmp_path / "train.jsonl")
    write_documents(documents(30, 2, "t"), tmp_path / "test.jsonl")
    (tmp_path / "labels.tsv").write_text("all\tships\nall\twheat\nall\tgold\n")
    return tmp_path


@pytest.fixture
def trained(corpus):
    def fit(**files):
        train(TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv", **files), corpus / "model", model="SVM")
        return corpus / "model"

    return fit


def feedback(folder, corrected):
    write_documents(corrected, folder / "feedback.jsonl")
    return folder / "feedback.jsonl"


def labels_of(model, text):
    return {one.label for one in next(iter(predict(model, [text]))).labels}


def test_a_few_corrections_are_learned_and_what_was_there_before_is_kept(corpus, trained):
    model = trained(test=corpus / "test.jsonl")
    assert labels_of(model, "zebu zebu zebu") == set()
    corrected = [Document("zebu zebu grass", f"z{number}", ("wheat",)) for number in range(4)]
    report = learn(model, feedback(corpus, corrected))
    assert (report.is_replaced, report.corrections, report.added, report.way) == (True, 4, 4, "kept")
    assert (report.comparison.on, report.comparison.documents) == ("test documents", 30)
    assert labels_of(model, "zebu zebu zebu") == {"wheat"}
    assert labels_of(before(model), "zebu zebu zebu") == set()
    assert np.array_equal(load_model(model).thresholds, load_model(before(model)).thresholds)
    go_back(model)
    assert labels_of(model, "zebu zebu zebu") == set()
    go_back(model)
    assert labels_of(model, "zebu zebu zebu") == {"wheat"}
    assert not list(corpus.glob(".*"))


def test_corrections_of_known_documents_take_their_place_and_are_remembered(corpus, trained):
    model = trained(test=corpus / "test.jsonl")
    first = documents(90, 1)[0]
    report = learn(model, feedback(corpus, [Document(first.text, "d0", ("gold",))]))
    assert (report.added, load_model(model).counts.sum()) == (0, 90)
    learn(model, feedback(corpus, [Document("quite new", "new", ("gold",))]))
    known = read_trained_on(model)
    assert [one.id for one in known.corrections] == ["d0", "new"]
    assert load_model(model).counts.sum() == 91
    assert dict(zip(load_model(model).classes.names, load_model(model).counts.tolist(), strict=True))["gold"] == 32


def test_many_corrections_are_fitted_with_thresholds_and_compared_out_of_fold(corpus, trained):
    model = trained()
    report = learn(model, feedback(corpus, documents(45, 3, "c")))
    assert (report.way, report.is_replaced) == ("anew", True)
    assert (report.comparison.on, report.comparison.documents) == ("corrections, out of fold", 45)
    assert load_model(model).counts.sum() == 135


@pytest.mark.parametrize(("corrections", "way"), [(4, "kept"), (45, "anew")])
def test_corrections_with_several_labels_end_the_rule_of_one_label_each(corpus, trained, corrections, way):
    model = trained()
    text = "cargo vessel crew port harvest crop farmer field"
    assert load_model(model).rule == "one"
    assert len(labels_of(model, text)) == 1
    both = [Document(f"{text} {text}", f"b{number}", ("ships", "wheat")) for number in range(corrections)]
    assert learn(model, feedback(corpus, both)).way == way
    assert load_model(model).rule == "global"
    assert labels_of(model, text) == {"ships", "wheat"}


def test_few_corrections_are_compared_out_of_fold_if_there_are_no_test_documents(corpus, trained):
    model = trained()
    # Nobody can know these labels without having seen the document itself: out of fold nothing is gained.
    odd = [Document(f"word{number} word{number}", f"o{number}", ("gold",)) for number in range(5)]
    report = learn(model, feedback(corpus, odd), anyway=True)
    assert report.comparison.documents == 5
    assert report.comparison.after.micro_f1 == report.comparison.before.micro_f1 == 0


def test_ancestors_that_nobody_carries_do_not_count(corpus):
    (corpus / "labels.tsv").write_text("all\tgoods\ngoods\tships\ngoods\twheat\nall\tgold\n")
    files = TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv", test=corpus / "test.jsonl")
    report = train(files, corpus / "model", model="SVM")
    found = learn(corpus / "model", feedback(corpus, documents(3, 4, "c"))).comparison
    assert found.before.micro_f1 == pytest.approx(report.test.flat.micro.f1)
    assert found.before.macro_f1 == pytest.approx(report.test.flat.macro.f1)


@pytest.mark.parametrize(("corrections", "way"), [(6, "kept"), (45, "anew")])
def test_ancestors_of_suggestions_are_not_learned_if_training_documents_carry_none(corpus, corrections, way):
    """Reviewers keep the ancestors that a model adds; as labels they would be wrong in all other documents."""
    (corpus / "labels.tsv").write_text("all\tgoods\ngoods\twheat\ngoods\tgold\nall\tships\n")
    files = TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv", test=corpus / "test.jsonl")
    train(files, corpus / "model", model="SVM")
    corrected = [
        Document(one.text, one.id, (*one.labels, *(["goods"] if one.labels != ("ships",) else ())))
        for one in documents(corrections, 3, "c")
    ]
    alone, told = Document("zebu zebu", "z", ("goods",)), []
    report = learn(corpus / "model", feedback(corpus, [*corrected, alone]), tell=told.append)
    learned = load_model(corpus / "model")
    assert (report.way, report.is_replaced, learned.hierarchy) == (way, True, "add-ancestors")
    assert "goods" not in learned.classes.names
    assert learned.metrics["test"]["flat"]["micro"]["f1"] == report.comparison.after.micro_f1 > 0.9
    assert labels_of(corpus / "model", "harvest crop farmer") == {"wheat", "goods"}
    assert [line for line in told if line.startswith("'goods' is not learned from 1 corrected document:")]


def test_a_worse_model_replaces_none_unless_told(corpus, trained):
    model = trained(test=corpus / "test.jsonl")
    wrong = {"ships": "wheat", "wheat": "gold", "gold": "ships"}
    lies = [Document(one.text, one.id, (wrong[one.labels[0]],)) for one in documents(90, 1)]
    state = (model / "versions.json").read_bytes()
    report = learn(model, feedback(corpus, lies))
    assert report.comparison.is_worse
    assert not report.is_replaced
    assert (model / "versions.json").read_bytes() == state
    assert not before(model).exists()
    other = learn(model, LearnFiles(corpus / "feedback.jsonl", out=corpus / "other"))
    assert other.is_replaced
    assert labels_of(corpus / "other", "harbour cargo vessel") == {"wheat"}
    assert learn(model, feedback(corpus, lies), anyway=True).is_replaced
    assert labels_of(model, "harbour cargo vessel") == {"wheat"}


def test_a_test_document_that_is_corrected_is_not_tested_on(corpus, trained):
    model = trained(test=corpus / "test.jsonl")
    report = learn(model, feedback(corpus, documents(3, 2, "t")))
    assert (report.added, report.comparison.documents) == (3, 27)


def test_training_documents_that_are_gone_or_changed_are_asked_for(corpus, trained):
    model = trained(test=corpus / "test.jsonl")
    given = feedback(corpus, documents(3, 4, "c"))
    source = corpus / "train.jsonl"
    source.write_text(source.read_text() + json.dumps({"text": "more", "labels": ["gold"]}) + "\n")
    with pytest.raises(FileError, match=r"train.jsonl: the documents .* have changed since; give them with --train"):
        learn(model, given)
    source.rename(corpus / "moved.jsonl")
    with pytest.raises(FileError, match="are gone; give them with --train"):
        learn(model, given)
    learn(model, LearnFiles(given, train=corpus / "moved.jsonl"))
    assert load_model(model).counts.sum() == 94
    assert read_trained_on(model).files["train"] == corpus / "moved.jsonl"


def test_what_cannot_be_judged_is_refused(corpus, trained):
    model = trained()
    given = feedback(corpus, documents(3, 1))
    with pytest.raises(CorpusError, match="give others with --test, or --anyway"):
        learn(model, given)
    assert learn(model, given, anyway=True).comparison is None
    assert learn(model, LearnFiles(given, test=corpus / "test.jsonl")).comparison.documents == 30


def test_learning_twice_from_the_same_corrections_keeps_the_model_from_before_them(corpus, trained):
    model = trained(test=corpus / "test.jsonl")
    original = (model / "weights.safetensors").read_bytes()
    for _ in range(2):
        assert learn(model, feedback(corpus, documents(3, 1))).is_replaced
        assert (before(model) / "weights.safetensors").read_bytes() == original
    assert learn(model, feedback(corpus, documents(4, 2))).is_replaced
    assert (before(model) / "weights.safetensors").read_bytes() != original


def test_learning_from_the_same_corrections_otherwise_keeps_the_model_as_it_was(corpus, trained):
    model = trained(test=corpus / "test.jsonl")
    given = feedback(corpus, documents(3, 1))
    learn(model, given)
    learned = (model / "weights.safetensors").read_bytes()
    write_documents(documents(60, 1), corpus / "other.jsonl")
    learn(model, LearnFiles(given, train=corpus / "other.jsonl"), anyway=True)
    assert (before(model) / "weights.safetensors").read_bytes() == learned
    shutil.rmtree(before(model))
    learned = (model / "weights.safetensors").read_bytes()
    learn(model, LearnFiles(given, train=corpus / "other.jsonl"), anyway=True)
    assert (before(model) / "weights.safetensors").read_bytes() == learned


def test_corrections_without_ids_replace_no_document_that_has_another_text(corpus, trained):
    write_documents([replace(one, id=str(n)) for n, one in enumerate(documents(90, 1), 1)], corpus / "train.jsonl")
    model = trained(test=corpus / "test.jsonl")
    with FeedbackStore(feedback_path(model)) as store:
        for seed in (5, 6):
            import_corrections(store, [replace(one, id=None) for one in documents(4, seed)], "ann")
    report = learn(model)
    assert (report.corrections, report.added) == (8, 8)
    assert load_model(model).counts.sum() == 98


@pytest.mark.parametrize("is_gone", [True, False])
def test_validation_documents_that_have_changed_or_are_gone_are_left_out(corpus, trained, is_gone):
    write_documents(documents(30, 3, "v"), corpus / "dev.jsonl")
    model = trained(dev=corpus / "dev.jsonl", test=corpus / "test.jsonl")
    if is_gone:
        (corpus / "dev.jsonl").unlink()
    else:
        write_documents(documents(20, 4, "v"), corpus / "dev.jsonl")
    told = []
    assert learn(model, feedback(corpus, documents(3, 9)), tell=told.append).is_replaced
    assert any("dev.jsonl: the dev documents of" in message and "left out" in message for message in told)


def test_the_store_of_corrections_beside_the_model_is_learned_from(corpus, trained):
    model = trained(test=corpus / "test.jsonl")
    with pytest.raises(FileError, match=r"feedback\.sqlite"):
        learn(model)
    with FeedbackStore(feedback_path(model)) as store:
        import_corrections(store, [Document("zebu zebu grass", f"z{number}", ("wheat",)) for number in range(4)], "me")
    assert learn(model).added == 4
    assert labels_of(model, "zebu zebu zebu") == {"wheat"}
    assert feedback_path(model).exists()


def test_what_is_refused(corpus, trained):
    model = trained()
    with pytest.raises(ModelError, match="there is no earlier model"):
        go_back(model)
    (corpus / "feedback.jsonl").write_text('{"id": "1", "text": "a"}\n')
    with pytest.raises(CorpusError, match="labels"):
        learn(model, corpus / "feedback.jsonl")
    (corpus / "feedback.jsonl").write_text('{"id": "1", "text": "a", "labels": ["silver"]}\n')
    with pytest.raises(CorpusError, match="the label 'silver' is not in the taxonomy"):
        learn(model, corpus / "feedback.jsonl")
    report = learn(model, corpus / "feedback.jsonl", labels__unknown="add", anyway=True)
    assert report.is_replaced
    assert "silver" in load_model(model).classes.names


def test_a_joined_model_keeps_its_join(corpus):
    train(TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv"), corpus / "model", members__words__linear__C=1.0)
    corrected = [Document("zebu zebu grass", f"z{number}", ("wheat",)) for number in range(4)]
    report = learn(corpus / "model", feedback(corpus, corrected))
    assert (report.way, report.is_replaced) == ("kept", True)
    assert labels_of(corpus / "model", "zebu zebu zebu") == {"wheat"}
    older, newer = (load_model(path).scorer.trees for path in (before(corpus / "model"), corpus / "model"))
    assert np.array_equal(older.values, newer.values)


@pytest.mark.slow
def test_a_network_goes_on_from_its_weights(corpus, tiny):
    files = TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv", test=corpus / "test.jsonl")
    train(files, corpus / "model", resolve_run_config(overrides=tiny))
    corrected = [Document("zebu zebu grass", f"z{number}", ("wheat",)) for number in range(4)]
    report = learn(corpus / "model", feedback(corpus, corrected), training__learning_rate=1e-6)
    assert (report.way, report.added, report.comparison.on) == ("anew", 4, "test documents")
    assert report.comparison.documents == 30
    assert report.is_replaced
    older, newer = (load_file(path / "weights.safetensors") for path in (before(corpus / "model"), corpus / "model"))
    for name, weights in older.items():  # one epoch from random weights would end anywhere
        if weights.dtype.kind == "f" and weights.shape == newer[name].shape:
            assert np.allclose(weights, newer[name], atol=1e-3), name


@pytest.mark.slow
def test_a_network_without_test_documents_is_compared_on_corrections_that_it_does_not_learn(corpus, tiny):
    train(
        TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv"), corpus / "model", resolve_run_config(overrides=tiny)
    )
    report = learn(corpus / "model", feedback(corpus, documents(10, 3, "c")), anyway=True)
    assert (report.comparison.on, report.comparison.documents) == ("corrections, held out", 2)


def test_labels_of_a_changed_taxonomy_keep_what_is_known_of_them(corpus, trained):
    model, told = trained(), []
    (corpus / "new.tsv").write_text("all\tS\tships\nall\twheat\nall\ttin\n")
    # Documents may have the old ids, and need not carry all labels.
    write_documents(
        [Document("grain crop field", "1", ("wheat",)), Document("dull tin", "2", ("tin",))] * 6, corpus / "n.jsonl"
    )
    report = train(TrainFiles(corpus / "n.jsonl", corpus / "new.tsv", start=model), corpus / "newer", tell=told.append)
    assert report.lost == ("gold",)
    assert "labels of the model to start from, lost: no longer in the taxonomy: 1 (gold)" in told
    assert "labels of the model to start from, renamed, known all the same: 1 (ships)" in told
    assert load_model(corpus / "newer").classes.names == ("S", "wheat", "tin")
    assert labels_of(corpus / "newer", "harbour cargo vessel port") == {"S"}


def dated(count):
    return [
        {"id": one.id, "text": f"{one.text} word{number}", "labels": one.labels, "day": number}
        for number, one in enumerate(documents(count, 5))
    ]


@pytest.mark.parametrize(("split_by", "held_out"), [("auto", {"test"}), ("day", {"dev", "test"})])
def test_documents_that_training_put_by_are_compared_on_and_not_learned_from(tmp_path, split_by, held_out):
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(one) + "\n" for one in dated(300)))
    report = train(tmp_path / "train.jsonl", tmp_path / "model", model="SVM", split_by=split_by)
    assert set(read_trained_on(tmp_path / "model").held_out) == held_out
    for seed in (6, 7):  # what is put by is remembered by the model that has learned, too
        found = learn(tmp_path / "model", feedback(tmp_path, documents(3, seed, f"c{seed}-")))
        assert (found.comparison.on, found.comparison.documents) == ("test documents", report.card.documents["test"])
    first, last = load_model(before(tmp_path / "model")), load_model(tmp_path / "model")
    assert found.comparison.before.micro_f1 == pytest.approx(first.metrics["test"]["flat"]["micro"]["f1"])
    assert last.metrics["documents"] == {**report.card.documents, "train": report.card.documents["train"] + 6}
    (tmp_path / "train.jsonl").rename(tmp_path / "moved.jsonl")
    moved = LearnFiles(feedback(tmp_path, documents(3, 4, "c")), train=tmp_path / "moved.jsonl")
    assert learn(tmp_path / "model", moved).comparison.documents == report.card.documents["test"]


def test_documents_put_by_from_another_file_are_not_looked_for(tmp_path):
    source, told = tmp_path / "train.jsonl", []
    source.write_text("".join(json.dumps(one) + "\n" for one in dated(300)))
    train(source, tmp_path / "model", model="SVM", split_by="auto")
    source.write_text("".join(json.dumps(one) + "\n" for one in dated(299)))
    files = LearnFiles(feedback(tmp_path, documents(3, 4, "c")), train=source)
    assert learn(tmp_path / "model", files, tell=told.append).comparison.on == "corrections, out of fold"
    assert "was measured on documents drawn from another file" in "".join(told)
    assert read_trained_on(tmp_path / "model").held_out == {}


def test_parts_by_a_field_are_found_in_a_file_that_has_moved(tmp_path):
    parts = ["train"] * 80 + ["dev"] * 10 + ["test"] * 10
    records = [{**one, "split": part} for one, part in zip(dated(100), parts, strict=True)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    train(tmp_path / "train.jsonl", tmp_path / "model", model="SVM", split_by="auto")
    (tmp_path / "train.jsonl").rename(tmp_path / "moved.jsonl")
    files = LearnFiles(feedback(tmp_path, documents(3, 4, "c")), train=tmp_path / "moved.jsonl")
    assert learn(tmp_path / "model", files).comparison.documents == 10
    assert load_model(tmp_path / "model").metrics["documents"] == {"train": 83, "dev": 10, "test": 10}


def test_documents_may_have_labels_of_the_taxonomy_as_it_was(corpus, trained):
    (corpus / "new.tsv").write_text("all\tS\tships\nall\twheat\nall\tgold\n")
    train(TrainFiles(corpus / "train.jsonl", corpus / "new.tsv", start=trained()), corpus / "newer")
    found = load_model(corpus / "newer")
    assert dict(zip(found.classes.names, found.counts.tolist(), strict=True)) == {"S": 30, "wheat": 30, "gold": 30}


def test_paths_move_with_the_model(corpus, trained):
    trained()
    moved = corpus.rename(corpus.with_name("elsewhere"))
    try:
        known = read_trained_on(moved / "model")
        assert known.files == {"train": moved / "train.jsonl"}
        assert known.is_unchanged("train")
    finally:
        moved.rename(corpus)


def test_later_corrections_win_and_others_are_added():
    found = Corrections([Document("x", "1", ("a",)), Document("y", None, ("b",)), Document("z", "1", ("c",))])
    given = [Document("x", "1", ("d",)), Document("y", "7", ()), Document("w", "9", ())]
    assert [one.labels for one in found.corrected(given)] == [("c",), ("b",), ()]
    assert found.others() == []
    assert Corrections(found.documents).others() == list(found.documents)
    assert [one.id for one in found.without(given)] == ["9"]


def test_models_are_compared_as_scikit_learn_does():
    generator = np.random.default_rng(0)
    lists = [
        [["abc"[label] for label in np.flatnonzero(row)] for row in generator.random((40, 3)) < 0.4] for _ in "123"
    ]
    found = compare(*lists)
    rows = [np.array([[name in one for name in "abc"] for one in part]) for part in lists]
    assert found.before.micro_f1 == pytest.approx(f1_score(rows[0], rows[1], average="micro"))
    assert found.after.macro_f1 == pytest.approx(f1_score(rows[0], rows[2], average="macro"))

    def micro_f1(part, drawn):  # scikit-learn's takes milliseconds
        return 2 * (rows[0] & part)[drawn].sum() / (rows[0][drawn].sum() + part[drawn].sum())

    assert micro_f1(rows[1], np.arange(40)) == pytest.approx(found.before.micro_f1)
    drawn = [generator.integers(40, size=40) for _ in range(2_000)]
    differences = [micro_f1(rows[2], one) - micro_f1(rows[1], one) for one in drawn]
    assert found.standard_error == pytest.approx(np.std(differences), rel=0.15)
