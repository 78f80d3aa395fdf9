"""Joined models: members, names and frequencies; interrupted, saved, from stores, with labels that nobody used."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import taxocaps.catalogue.presets
import taxocaps.scorers.linear
from taxocaps.corpus.document import Document
from taxocaps.errors import ConfigError, ModelError
from taxocaps.explanations.explain import explain_document
from taxocaps.scorers.persistence import load_model
from taxocaps.text.pipeline import TextPipeline
from taxocaps.workflows.encode import encode
from taxocaps.workflows.evaluate import evaluate
from taxocaps.workflows.predict import predict
from taxocaps.workflows.train import TrainFiles, train

SUBJECTS = {
    "shipping": "vessel harbour cargo crew anchor sails captain",
    "farming": "wheat harvest tractor field barn soil cattle",
    "banking": "loan credit deposit interest branch account lender",
}

COMMON = ["the", "of", "news", "today"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Ninety documents of three subjects below one root, and a label, `Space travel`, that none of them has."""
    folder, generator = tmp_path_factory.mktemp("corpus"), np.random.default_rng(0)
    with (folder / "train.jsonl").open("w", encoding="utf-8") as file:
        for index in range(90):
            label = list(SUBJECTS)[index % 3]
            words = [
                *generator.choice(SUBJECTS[label].split(), 6),
                *generator.choice(["the", "of", "news", "today"], 4),
            ]
            file.write(json.dumps({"id": str(index), "text": " ".join(words), "labels": [label]}) + "\n")
    edges = [*(("all", label) for label in SUBJECTS), ("all", "Space travel")]
    (folder / "labels.tsv").write_text("".join(f"{parent}\t{child}\n" for parent, child in edges))
    return folder


@pytest.fixture(scope="module")
def model(corpus):
    """The default model, `auto`, trained on them."""
    train(TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv"), corpus / "model")
    return corpus / "model"


def files_of(folder):
    others = ("metrics.json", "README.md", "report.html", "sources.json")  # these tell when and where
    names = [path for path in folder.rglob("*") if path.is_file() and path.name not in others]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def test_documents_get_the_labels_of_their_words(model):
    found = predict(model, ["Cargo for the harbour.", "A tractor in the field."])
    assert [one.labels[0].label for one in found] == ["shipping", "farming"]


def test_members_stand_in_the_card_with_what_they_reach(model):
    card = load_model(model).card()
    standings = card.standings
    assert card.model == "auto"
    assert [one["name"] for one in standings] == ["words", "pairs", "characters", "joined"]
    assert standings[-1]["micro_f1"] > 0.9


def test_every_training_document_is_learned_from_and_validated_on(model):
    loaded = load_model(model)
    assert loaded.counts.tolist() == [30, 30, 30, 0]
    assert loaded.metrics["validation"]["documents"] == 90


def test_scores_are_bounded_and_nothing_speaks_for_a_text_of_unknown_words(model):
    loaded = load_model(model)
    encoded = loaded.scorer.encoder.encode([Document("qqq zzz"), Document(""), Document("cargo")])
    scores = loaded.scores(encoded)
    assert not scores[:2].any()
    assert ((scores >= 0) & (scores <= 1)).all()


def test_unseen_labels_can_be_left_out(corpus, tmp_path):
    options = {"model": "auto", "decision__unseen": False, "seed": 1, "folds": 2}
    train(TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv"), tmp_path / "model", **options)
    assert "Space travel" not in load_model(tmp_path / "model").classes.names


def test_an_unseen_label_is_flagged(model):
    loaded = load_model(model)
    scores = np.zeros((1, 4), np.float32)
    scores[0, loaded.classes.names.index("Space travel")] = 0.9
    (found,) = loaded.predictions([Document("x")], scores)
    assert found.as_dict()["labels"][0]["unseen"] is True
    scores[0, 0] = 1
    (found,) = loaded.predictions([Document("x")], scores)
    assert "unseen" not in found.as_dict()["labels"][0]


def test_ancestors_that_no_document_carries_are_given_but_do_not_count_as_wrong(corpus, tmp_path):
    edges = [("all", "economy"), *(("economy", label) for label in SUBJECTS)]
    (tmp_path / "labels.tsv").write_text("".join(f"{parent}\t{child}\n" for parent, child in edges))
    documents = corpus / "train.jsonl"
    train(TrainFiles(documents, tmp_path / "labels.tsv"), tmp_path / "model", model="auto", folds=3)
    (found,) = predict(tmp_path / "model", ["Cargo for the harbour."])
    assert [one.label for one in found.labels] == ["economy", "shipping"]
    assert evaluate(tmp_path / "model", documents).flat.micro.precision > 0.95


@pytest.mark.slow
def test_the_same_run_gives_the_same_files(corpus, model, tmp_path):
    train(TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv"), tmp_path / "again", model="auto")
    assert files_of(tmp_path / "again") == files_of(model)


class StopError(Exception):
    """Ends a run in the middle."""


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["words: fold 2 of 10", "characters: fold 5 of 10", "joining"])
def test_an_interrupted_run_is_resumed_and_ends_the_same(corpus, model, tmp_path, stage):
    def stop(name, done, total=None, note=""):
        if name.startswith(stage):
            raise StopError

    files = TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv")
    with pytest.raises(StopError):
        train(files, tmp_path / "cut", model="auto", progress=stop)
    train(files, tmp_path / "cut", model="auto", existing="resume")
    assert files_of(tmp_path / "cut") == files_of(model)


def test_a_store_stands_for_its_documents(corpus, model, tmp_path):
    encode(corpus / "train.jsonl", tmp_path / "store", model="auto")
    train(TrainFiles(tmp_path / "store", corpus / "labels.tsv"), tmp_path / "model", model="auto")
    assert files_of(tmp_path / "model") == files_of(model)


def test_a_document_is_tokenised_once(corpus, tmp_path, monkeypatch):
    asked = []
    tokenize = TextPipeline.tokenize

    def counted(self, contents, *, spans=False):
        contents = list(contents)
        asked.extend(contents)
        return tokenize(self, contents, spans=spans)

    monkeypatch.setattr(TextPipeline, "tokenize", counted)
    texts = [json.loads(line)["text"] for line in (corpus / "train.jsonl").read_text().splitlines()]
    train(TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv"), tmp_path / "model", model="auto", folds=3)
    assert sorted(one for one in asked if one in set(texts)) == sorted(texts)
    asked.clear()
    loaded = load_model(tmp_path / "model")
    list(predict(loaded, ["Cargo for the harbour."]))
    explain_document(loaded, Document("Cargo for the harbour!"))
    assert [one for one in asked if "harbour" in one and "Cargo" in one] == [
        "Cargo for the harbour.",
        "Cargo for the harbour!",
    ]


def test_an_explanation_tells_what_each_kind_of_evidence_adds(model):
    loaded = load_model(model)
    found = explain_document(loaded, Document("Cargo for the harbour."))
    (reasons, *_) = found.reasons
    assert reasons.label == "shipping"
    kinds = {one.kind: one for one in reasons.evidence}
    assert {"words", "pairs", "characters", "name", "frequency", "taxonomy"} <= set(kinds)
    assert kinds["words"].score > 0.5
    assert kinds["name"].score is None
    assert {one.word for one in reasons.words if one.weight > 0} <= {"cargo", "harbour", "for", "the"}
    trees = loaded.scorer.trees
    logit = np.log(found.labels[0].raw_score / (1 - found.labels[0].raw_score))
    start = trees.baseline[0] + trees.values[trees.roots].sum()
    assert start + sum(one.weight for one in reasons.evidence) == pytest.approx(logit, abs=1e-3)


@pytest.mark.slow
def test_models_of_different_kinds_are_joined(corpus, tmp_path):
    network = {
        "network": {"filters": 8},
        "vectors": {"source": "none", "dimension": 8},
        "training": {"epochs": 2, "device": "cpu"},
    }
    options = {"model": "SVM+CNN-non-static", "folds": 2, "members": {"CNN-non-static": network}}
    files = TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv")
    train(files, tmp_path / "model", **options)
    loaded = load_model(tmp_path / "model")
    assert [one["name"] for one in loaded.card().standings] == ["SVM", "CNN-non-static", "joined"]
    assert (tmp_path / "model" / "members" / "CNN-non-static" / "weights.safetensors").exists()
    (found,) = predict(loaded, ["Cargo for the harbour."])
    assert found.labels[0].label == "shipping"


def test_one_document_is_enough(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"text": "Old houses in the town.", "labels": ["a"]}\n')
    train(tmp_path / "train.jsonl", tmp_path / "model")
    (found,) = predict(tmp_path / "model", ["An old house."], top_k=1)
    assert [one.label for one in found.labels] == ["a"]


def test_members_take_part_again_when_a_model_starts_from_another(corpus, model, tmp_path):
    train(TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv", start=model), tmp_path / "model")
    older, newer = load_model(model), load_model(tmp_path / "model")
    assert list(newer.scorer.members) == list(older.scorer.members)
    assert newer.counts.tolist() == older.counts.tolist()
    same = predict(model, corpus / "train.jsonl"), predict(tmp_path / "model", corpus / "train.jsonl")
    chosen = [[{label.label for label in one.labels} for one in found] for found in same]
    assert sum(one == other for one, other in zip(*chosen, strict=True)) >= 0.9 * len(chosen[0])


def test_validation_documents_are_learned_from_too(corpus, tmp_path):
    told = []
    lines = (corpus / "train.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "train.jsonl").write_text("".join(lines[:60]))
    (tmp_path / "dev.jsonl").write_text("".join(lines[60:]))
    files = TrainFiles(tmp_path / "train.jsonl", corpus / "labels.tsv", dev=tmp_path / "dev.jsonl")
    train(files, tmp_path / "model", model="auto", folds=3, tell=told.append)
    assert load_model(tmp_path / "model").counts.sum() == 90
    assert any("validation documents are learned from" in message for message in told)


def test_members_for_which_there_is_no_time_are_left_out(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(taxocaps.scorers.linear, "_COUNTING", 1.0)  # as if there were many more documents
    told = []
    files = TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv")
    report = train(files, tmp_path / "model", model="auto", time="5s", tell=told.append)
    assert [one["name"] for one in report.card.standings] == ["words", "joined"]
    assert sorted(path.name for path in (tmp_path / "model" / "members").iterdir()) == ["words"]
    assert any(re.search("no time for pairs and characters: --time [0-9]+m would do", message) for message in told)
    assert load_model(tmp_path / "model").config.members.keys() == {"words"}


def test_a_member_that_only_disturbs_is_left_out(corpus, tmp_path):
    options = {"model": "SVM+LR", "choose": True, "folds": 3, "members": {"LR": {"bag": {"max_features": 1}}}}
    report = train(TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv"), tmp_path / "model", **options)
    used = {one["name"]: one["is_used"] for one in report.card.standings}
    assert used["SVM"]
    assert set(load_model(tmp_path / "model").scorer.members) == {name for name in ("SVM", "LR") if used[name]}


@pytest.mark.slow
@pytest.mark.parametrize("left_out", ["name", "frequency", "rank", "taxonomy", "length", "characters"])
def test_evidence_can_be_left_out(left_out, corpus, tmp_path):
    files = TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv")
    train(files, tmp_path / "model", model="auto", without=left_out, folds=2)
    scorer = load_model(tmp_path / "model").scorer
    assert left_out not in scorer.evidence.kinds.values()
    (found,) = predict(tmp_path / "model", ["Cargo for the harbour."])
    assert found.labels[0].label == "shipping"


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_handful_of_documents_is_enough(corpus, tmp_path, count):
    lines = (corpus / "train.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "few.jsonl").write_text("".join(lines[:count]))
    train(TrainFiles(tmp_path / "few.jsonl", corpus / "labels.tsv"), tmp_path / "model", model="auto")
    assert len(list(predict(tmp_path / "model", ["Cargo for the harbour."]))) == 1


def test_damaged_trees_are_noticed(model, tmp_path):
    import shutil

    from safetensors.numpy import load_file, save_file

    from taxocaps.scorers.model_folder import digest

    shutil.copytree(model, tmp_path / "model")
    path = Path(tmp_path / "model" / "join.safetensors")
    arrays = load_file(path)
    arrays["left"] = np.where(arrays["left"] >= 0, 10**6, arrays["left"]).astype(np.int32)
    save_file(arrays, path)
    versions = json.loads((tmp_path / "model" / "versions.json").read_text())
    versions["files"]["join.safetensors"] = digest(path)
    (tmp_path / "model" / "versions.json").write_text(json.dumps(versions))
    with pytest.raises(ModelError, match=r"join\.safetensors: damaged"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"members": {}}, "members is a section"),
        (
            {"members": {"one": {"scorer": "linear"}}, "without": ["two"]},
            "there is no 'two'; there are one, rank",
        ),
        ({"members": {"one": {"scorer": "linear"}}, "without": ["one"]}, "one member must stay"),
        ({"members": {"length": {"scorer": "linear"}}}, "a member cannot have this name"),
        ({"members": {"../one": {"scorer": "linear"}}}, "a member cannot have this name"),
        ({"members": {"one": {"scorer": "joined"}}}, "a joined model cannot be a member"),
        ({"members": {"one": {"scorer": "linear", "text": {"stop_words": "none"}}}}, "members read texts alike"),
        ({"members": {"one": {}}}, r"members\.one must name its kind of scorer"),
        ({"members": {"one": {"scorer": "linear", "bag": {"features": "letters"}}}}, r"bag\.features must be one of"),
    ],
)
def test_bad_members_are_refused(options, message):
    from taxocaps.scorers.joined import JoinedModelConfig

    with pytest.raises(ConfigError, match=message):
        JoinedModelConfig.model_validate(options)


@pytest.mark.slow
def test_copies_of_documents_do_not_flatter_what_is_reported(tmp_path):
    generator = np.random.default_rng(0)
    words = [f"w{index}" for index in range(300)]

    def documents(count):
        for _ in range(count):
            yield {"text": " ".join(generator.choice(words, 12)), "labels": [str(generator.integers(3))]}

    lines = [json.dumps(one) + "\n" for one in documents(40)] * 6
    (tmp_path / "train.jsonl").write_text("".join(lines))
    report = train(TrainFiles(tmp_path / "train.jsonl"), tmp_path / "model", model="auto")
    assert report.validation.flat.micro.f1 < 0.7  # labels have nothing to do with words


def test_few_documents_in_any_order_tell_their_labels_apart(tmp_path):
    texts = {"fruit": "apple pear plum cherry", "tools": "hammer saw pliers wrench"}
    lines = [
        json.dumps({"text": f"{texts[label]} {index}", "labels": [label]}) for index in range(4) for label in texts
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    train(TrainFiles(tmp_path / "train.jsonl"), tmp_path / "model", model="auto")
    fruit, tools = predict(tmp_path / "model", ["apple plum", "saw wrench"])
    assert [one.labels[0].label for one in (fruit, tools)] == ["fruit", "tools"]
    assert not load_model(tmp_path / "model").is_calibrated


def test_a_member_that_reads_nothing_in_the_texts_is_left_out(tmp_path):
    lines = [json.dumps({"text": text, "labels": [text[0]]}) for text in ["!! ??", "?? !!"] * 10]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    told = []
    report = train(TrainFiles(tmp_path / "train.jsonl"), tmp_path / "model", model="auto", tell=told.append)
    assert "words" not in [one["name"] for one in report.card.standings]
    assert any(message.startswith("words is left out: no word occurs") for message in told)


@pytest.mark.slow
def test_a_model_that_is_fitted_twice_is_the_one_that_is_saved(corpus, tmp_path):
    report = train(TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv"), tmp_path / "model", model="auto", folds=1)
    assert report.card.validation["documents"] < 90  # some were held out, then learned from
    assert load_model(tmp_path / "model").counts.sum() == 90
    (found,) = predict(tmp_path / "model", ["Cargo for the harbour."])
    assert found.labels[0].label == "shipping"


def test_training_without_the_libraries_of_networks_says_what_they_would_add(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(taxocaps.catalogue.presets, "find_spec", lambda name: None)
    told = []
    files = TrainFiles(corpus / "train.jsonl", corpus / "labels.tsv")
    train(files, tmp_path / "model", model="auto", without="pairs,characters", folds=2, tell=told.append)
    assert any("with the extra `networks` and --time 1h it tries XML-CNN and HE-AGCRCNN" in one for one in told)
