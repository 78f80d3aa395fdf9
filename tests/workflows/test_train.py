"""From files to a model folder: what is read, what is written, and that interruptions cost nothing."""

import csv
import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from taxocaps.corpus.document import Document
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import CheckpointError, ConfigError, CorpusError, FileError, ModelError, TaxoCapsError
from taxocaps.scorers.persistence import load_model
from taxocaps.taxonomy import Taxonomy, Term, read_taxonomy
from taxocaps.workflows.config import resolve_run_config
from taxocaps.workflows.encode import encode
from taxocaps.workflows.train import TrainFiles, train

MODEL_FILES = [
    "README.md",
    "config.yaml",
    "history.csv",
    "labels.json",
    "metrics.json",
    "report.html",
    "sources.json",
    "taxonomy.json",
    "thresholds.json",
    "versions.json",
    "vocabulary.tsv",
    "weights.safetensors",
]


class StopError(Exception):
    pass


@pytest.fixture
def files(toy_files):
    """The toy documents, one file for all three parts."""
    documents = toy_files.documents
    return TrainFiles(documents, toy_files.taxonomy, documents, documents)


@pytest.fixture
def train_it(tmp_path, files, tiny):
    """Train a tiny model into a folder of `tmp_path`; what is not given is as for `toy_model`."""

    def call(*overrides, out="model", files=files, **options):
        return train(files, tmp_path / out, resolve_run_config(overrides=[*tiny, *overrides]), **options)

    return call


@pytest.fixture
def train_linear(tmp_path):
    """Train a linear model, which takes less time: for what is decided before any model is fitted."""

    def call(*overrides, files, out="model"):
        options = resolve_run_config(overrides=["model=SVM", "bag.min_documents=1", *overrides])
        return train(files, tmp_path / out, options)

    return call


@pytest.fixture
def write(tmp_path):
    def call(*documents, name="documents.jsonl"):
        write_documents(documents, tmp_path / name)
        return tmp_path / name

    return call


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def weights(folder):
    return (folder / "weights.safetensors").read_bytes()


def scores(folder, texts):
    model = load_model(folder)
    return model.scores(model.scorer.encoder.encode([Document(text) for text in texts]))


def labels(folder):
    return list(json.loads((folder / "labels.json").read_text()))


def test_the_folder_of_a_model(toy_model):
    assert names(toy_model) == MODEL_FILES
    versions = json.loads((toy_model / "versions.json").read_text())
    assert versions["format"] == "taxocaps-model/2"
    assert set(versions["files"]) < set(MODEL_FILES)


def test_nothing_in_a_model_is_a_pickle(toy_model):
    for path in toy_model.iterdir():
        if path.suffix == ".safetensors":
            assert load_file(path)
        else:  # text, all of it
            assert path.read_text(encoding="utf-8").isprintable() or "\n" in path.read_text(encoding="utf-8")
        assert path.read_bytes()[:2] not in (b"PK", b"\x80\x02", b"\x80\x04", b"\x80\x05")


def test_a_model_works_wherever_it_is_moved(toy_model, tmp_path):
    texts = ["The striker scored for his club.", "Genes of wheat and mice."]
    shutil.copytree(toy_model, tmp_path / "elsewhere")
    assert (scores(tmp_path / "elsewhere", texts) == scores(toy_model, texts)).all()


def test_report_figures_and_card_say_the_same(train_it, tmp_path, toy_model):
    report = train_it()
    found = report.card
    assert (found.model, found.preset, found.seed) == ("HE-AGCRCNN", "default", 0)
    assert found.documents == {"train": 8, "dev": 2, "test": 2}
    assert (found.labels, found.epochs, found.best_epoch, report.unknown) == (10, 1, 1, {})
    assert found.parameters == sum(
        tensor.size for tensor in load_file(tmp_path / "model" / "weights.safetensors").values()
    )
    figures = json.loads((tmp_path / "model" / "metrics.json").read_text())
    assert figures["documents"] == found.documents
    assert figures["validation"] == found.validation == report.validation.as_dict()
    assert figures["test"] == found.test == report.test.as_dict()
    card = (tmp_path / "model" / "README.md").read_text()
    assert f"{found.parameters:,} parameters" in card
    assert f"{report.test.flat.micro.f1:.4f}" in card
    assert "8 train, 2 dev, 2 test" in card
    with (tmp_path / "model" / "history.csv").open() as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == ["1"]


def test_a_model_keeps_all_names_of_its_labels(toy_files, tmp_path):
    tree = toy_files.data.taxonomy
    terms = {"Sport": [Term("Sports"), Term("Sport", language="de"), Term("athletics", "alternative")]}
    terms["Science"] = [Term("scinece", "hidden", "en"), Term("500", "notation")]
    taxonomy = Taxonomy.from_edges(tree.edges, labels=tree.roots, terms=terms)
    train(toy_files.documents, tmp_path / "svm", model="SVM", taxonomy=taxonomy)
    assert load_model(tmp_path / "svm").classes.taxonomy == taxonomy
    assert read_taxonomy(tmp_path / "svm" / "taxonomy.json") == taxonomy


def test_the_same_run_gives_the_same_weights_and_another_seed_others(train_it, tmp_path, toy_model):
    train_it()
    assert weights(tmp_path / "model") == weights(toy_model)
    train_it("seed=1", out="other")
    assert weights(tmp_path / "other") != weights(toy_model)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "jsonl.gz", "parquet"])
def test_formats_and_splits_do_not_matter(train_it, tmp_path, toy_files, toy_model, suffix):
    """Three files of one format give the same model as one file that a field parts."""
    paths = {}
    for split, documents in toy_files.data.splits.items():
        paths[split] = tmp_path / f"{split}.{suffix}"
        write_documents([replace(document, split=None) for document in documents], paths[split])
    train_it(files=TrainFiles(paths["train"], toy_files.taxonomy, paths["dev"], paths["test"]))
    assert weights(tmp_path / "model") == weights(toy_model)


def test_without_parts_some_training_documents_are_held_out(train_it, toy_files):
    report = train_it(files=TrainFiles(toy_files.documents, toy_files.taxonomy))
    assert report.card.documents == {"train": 12}
    assert report.validation.documents == 1
    assert report.test is None


def test_one_file_for_two_parts_leaves_the_third_out(train_linear, toy_files):
    report = train_linear(files=TrainFiles(toy_files.documents, toy_files.taxonomy, test=toy_files.documents))
    assert report.card.documents == {"train": 8, "test": 2}


def test_a_split_by_name_wins_over_the_parts(train_linear, toy_files):
    files = TrainFiles(toy_files.documents, toy_files.taxonomy, test=toy_files.documents)
    assert train_linear("corpus.split=dev", files=files).card.documents == {"train": 2, "test": 2}


def test_one_file_for_several_parts_needs_the_field(train_it, write):
    path = write(Document("cats chase mice", labels=("a",)))
    with pytest.raises(CorpusError, match=r"documents\.jsonl: no document of the split 'test'"):
        train_it(files=TrainFiles(path, test=path))


def test_without_a_taxonomy_labels_stand_side_by_side(train_linear, tmp_path, toy_files):
    train_linear(files=TrainFiles(toy_files.documents))
    assert labels(tmp_path / "model") == sorted(set(toy_files.data.taxonomy.names) - {"Topics"})
    assert all(not parents for parents in load_model(tmp_path / "model").classes.parents)


@pytest.fixture
def strange(write):
    """Documents with a misspelt label and one that is nowhere."""
    return write(
        Document("cats chase mice", id="good", labels=("Tennis",)),
        Document("dogs chase cats", id="bad", labels=("Footbal", "Sport")),
        Document("mice chase nobody", id="worse", labels=("Cooking", "Footbal")),
        name="strange.jsonl",
    )


def test_an_unknown_label_is_told_with_its_place_and_the_nearest(train_it, tmp_path, toy_files, strange):
    with pytest.raises(
        CorpusError,
        match=r"strange\.jsonl: document 'bad': the label 'Footbal' .*nearest: 'Football'.*--unknown-labels",
    ):
        train_it(files=TrainFiles(strange, toy_files.taxonomy))
    with pytest.raises(CorpusError, match=r"strange\.jsonl: document 'bad'"):
        train_it(files=TrainFiles(toy_files.documents, toy_files.taxonomy, test=strange))
    assert not (tmp_path / "model").exists()


def test_unknown_labels_are_added(train_linear, tmp_path, toy_files, strange):
    report = train_linear("labels.unknown=add", files=TrainFiles(strange, toy_files.taxonomy))
    assert report.unknown == {"Cooking": 1, "Footbal": 2}
    assert labels(tmp_path / "model") == ["Sport", "Tennis", "Cooking", "Footbal"]
    assert load_model(tmp_path / "model").classes.taxonomy.parents("Footbal") == ("Topics",)


def test_unknown_labels_are_dropped(train_linear, tmp_path, toy_files, strange):
    report = train_linear("labels.unknown=drop", files=TrainFiles(strange, toy_files.taxonomy))
    assert report.unknown == {"Cooking": 1, "Footbal": 2}
    assert labels(tmp_path / "model") == ["Sport", "Tennis"]


def test_unknown_labels_are_counted_over_all_parts(train_linear, toy_files, strange, write):
    test = write(Document("mice", labels=("Footbal", "Sport")), name="test.jsonl")
    report = train_linear("labels.unknown=drop", files=TrainFiles(strange, toy_files.taxonomy, test=test))
    assert report.unknown == {"Cooking": 1, "Footbal": 3}


def test_ancestors_are_added(train_linear, tmp_path, toy_files, write):
    path = write(Document("cats chase mice", labels=("Football",)), Document("comets", labels=("Physics",)))
    train_linear("labels.ancestors=add", files=TrainFiles(path, toy_files.taxonomy))
    assert labels(tmp_path / "model") == ["Sport", "Ball games", "Football", "Science", "Physics"]
    train_linear(files=TrainFiles(path, toy_files.taxonomy), out="as-given")
    assert labels(tmp_path / "as-given") == ["Football", "Physics"]


def test_some_documents_without_labels_are_learned_from(train_linear, write):
    path = write(Document("cats chase mice", labels=("a",)), Document("dogs bark"), Document("mice", labels=()))
    assert train_linear(files=TrainFiles(path)).card.documents == {"train": 3}


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_parts_without_any_label_are_refused(train_it, tmp_path, files, write, part):
    bare = write(Document("cats chase mice"), Document("dogs bark", labels=()), name="bare.jsonl")
    with pytest.raises(CorpusError, match=r"bare\.jsonl: no document carries a label"):
        train_it(files=replace(files, **{part: bare}))
    assert not (tmp_path / "model").exists()


def test_documents_without_a_single_word_are_refused(train_it, tmp_path, write):
    with pytest.raises(TaxoCapsError, match="word"):
        train_it(files=TrainFiles(write(Document("", labels=("a",)), Document("the of", labels=("b",)))))
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_empty_files_are_refused(train_it, tmp_path, files, part):
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(CorpusError, match=r"empty\.jsonl: contains no documents"):
        train_it(files=replace(files, **{part: tmp_path / "empty.jsonl"}))
    assert names(tmp_path) == ["empty.jsonl"]


def test_one_document_is_enough(train_it, tmp_path, write):
    report = train_it(files=TrainFiles(write(Document("cats chase mice", labels=("a", "b")))))
    assert (report.card.documents, report.card.labels) == ({"train": 1}, 2)
    assert report.validation.documents == 1


def test_texts_and_labels_of_all_scripts(train_it, tmp_path, write):
    given = ("животные", "日本 [x]", 'a/b "c"', "🐈")
    path = write(Document("Кошки ловят мышей 猫はネズミを追う 😀 café", id="ü", labels=given))
    train_it("text.lemmas=none", files=TrainFiles(path))
    assert sorted(load_model(tmp_path / "model").classes.names) == sorted(given)
    assert scores(tmp_path / "model", ["Кошки и мыши"]).any()


def test_a_document_of_a_hundred_thousand_words(train_it, write):
    long = " ".join(f"word{number % 3_000}" for number in range(100_000))
    report = train_it(files=TrainFiles(write(Document(long, labels=("a",)), Document("word1 word2", labels=("b",)))))
    assert report.card.documents == {"train": 2}


def test_people_are_told_where_the_work_stands(train_it):
    stages, messages = {}, []
    train_it(progress=lambda stage, done, total=None, note="": stages.setdefault(stage, note), tell=messages.append)
    assert list(stages) == [
        "reading test documents",
        "encoding test documents",
        "reading validation documents",
        "encoding validation documents",
        "reading documents",
        "encoding documents",
        "training word vectors",
        "learning label vectors",
        "training",
    ]
    assert [any(word in message for message in messages) for word in ("guesses", "one or two", "networks", "GB")] == [
        True
    ] * 4


def test_checkpoints_are_kept_if_asked_for(train_it, tmp_path):
    train_it(keep=True)
    assert (tmp_path / "model" / ".training" / "checkpoints" / "best.ckpt").exists()
    assert load_model(tmp_path / "model")


@pytest.mark.parametrize("existing", ["refuse", "resume", "overwrite"])
def test_foreign_places_are_refused(train_it, tmp_path, existing):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    for out in ("home", "home/thesis.txt"):
        with pytest.raises(FileError, match="choose another --out"):
            train_it(out=out, existing=existing)
    assert (tmp_path / "home" / "thesis.txt").read_text() == "years of work"


def test_overwriting_a_model(train_it, tmp_path, toy_model):
    shutil.copytree(toy_model, tmp_path / "model")
    with pytest.raises(FileError, match="has a model already"):
        train_it("seed=1")
    assert weights(tmp_path / "model") == weights(toy_model)
    train_it("seed=1", existing="overwrite")
    assert weights(tmp_path / "model") != weights(toy_model)
    assert names(tmp_path / "model") == MODEL_FILES


def test_what_fails_while_overwriting_leaves_the_old_model(train_it, tmp_path, toy_model, toy_files):
    shutil.copytree(toy_model, tmp_path / "model")
    for error, overrides in {CorpusError: ["corpus.split=none"], ConfigError: ["graph.T=3"]}.items():
        with pytest.raises(error):
            train_it(*overrides, existing="overwrite")
        assert names(tmp_path / "model") == MODEL_FILES
        assert weights(tmp_path / "model") == weights(toy_model)


def stopping(stage_to_stop, after):
    def progress(stage, done, total=None, note=""):
        if stage == stage_to_stop and done >= after:
            raise StopError

    return progress


@pytest.fixture(scope="module")
def whole(tmp_path_factory, toy_files, tiny):
    """The weights of four epochs without an interruption."""
    out = tmp_path_factory.mktemp("whole") / "model"
    files = TrainFiles(toy_files.documents, toy_files.taxonomy, toy_files.documents)
    train(files, out, resolve_run_config(overrides=[*tiny, "training.epochs=4"]))
    return weights(out)


@pytest.mark.parametrize(
    ("stage", "after"),
    [
        ("reading documents", 0),
        ("encoding documents", 8),
        ("reading validation documents", 2),
        ("encoding validation documents", 0),
        ("training word vectors", 1),
        ("learning label vectors", 1),
        ("training", 1),
        ("training", 5),
        ("training", 8),
    ],
)
def test_interrupted_training_resumes_and_ends_the_same(train_it, tmp_path, files, whole, stage, after):
    files = replace(files, test=None)
    with pytest.raises(StopError):
        train_it("training.epochs=4", files=files, progress=stopping(stage, after))
    assert not (tmp_path / "model" / "versions.json").exists()
    report = train_it("training.epochs=4", files=files, existing="resume")
    assert weights(tmp_path / "model") == whole
    assert report.card.epochs == 4
    assert names(tmp_path / "model") == MODEL_FILES


def test_interrupted_several_times(train_it, tmp_path, files, whole):
    files = replace(files, test=None)
    for after in (2, 3, 5, 8):
        with pytest.raises(StopError):
            train_it("training.epochs=4", files=files, existing="resume", progress=stopping("training", after))
    train_it("training.epochs=4", files=files, existing="resume")
    assert weights(tmp_path / "model") == whole


def test_an_overwriting_run_interrupted_while_encoding_is_resumed(train_it, tmp_path, toy_model):
    """As the message of Ctrl-C says: with --resume in place of --overwrite. Until the end, the old model stays."""
    shutil.copytree(toy_model, tmp_path / "model")
    with pytest.raises(StopError):
        train_it("seed=1", existing="overwrite", progress=stopping("encoding documents", 8))
    assert weights(tmp_path / "model") == weights(toy_model)
    train_it("seed=1", existing="resume")
    assert names(tmp_path / "model") == MODEL_FILES
    train_it("seed=1", out="whole")
    assert weights(tmp_path / "model") == weights(tmp_path / "whole") != weights(toy_model)


@pytest.mark.parametrize("name", ["README.md", "taxonomy.json", "versions.json"])
def test_a_crash_while_the_model_is_put_in_place(train_it, tmp_path, toy_model, monkeypatch, name):
    replace_file = Path.replace

    def crash(path, target):
        if path.parent.name == "model" and path.name == name:
            raise StopError
        return replace_file(path, target)

    with monkeypatch.context() as patch, pytest.raises(StopError):
        patch.setattr(Path, "replace", crash)
        train_it()
    with pytest.raises(ModelError, match="not a model"):
        load_model(tmp_path / "model")
    train_it(existing="resume")
    assert names(tmp_path / "model") == MODEL_FILES
    assert weights(tmp_path / "model") == weights(toy_model)


def test_an_interrupted_run_is_neither_begun_anew_nor_resumed_by_mistake(train_it, tmp_path, files, write):
    with pytest.raises(StopError):
        train_it("training.epochs=4", progress=stopping("training", 5))
    with pytest.raises(FileError, match="has an interrupted run; give --resume"):
        train_it("training.epochs=4")
    for override in ("training.epochs=5", "seed=1", "network.units=9", "labels.ancestors=add"):
        with pytest.raises(CheckpointError, match="had other documents or options"):
            train_it("training.epochs=4", override, existing="resume")
    other = write(Document("cats chase mice", labels=("Tennis",)))
    for part in ("train", "dev", "test"):
        with pytest.raises(CheckpointError, match="had other documents or options"):
            train_it("training.epochs=4", files=replace(files, **{part: other}), existing="resume")
    assert train_it("training.epochs=4", existing="resume").card.epochs == 4


def test_overwriting_an_interrupted_run(train_it, tmp_path, toy_model):
    with pytest.raises(StopError):
        train_it("training.epochs=4", progress=stopping("training", 5))
    train_it(existing="overwrite")
    assert weights(tmp_path / "model") == weights(toy_model)


def test_one_run_at_a_time(train_it, tmp_path, toy_model):
    refused = []

    def start_another(stage, done, total=None, note=""):
        if stage not in refused:
            for existing in ("resume", "overwrite"):
                with pytest.raises(FileError, match="another run is writing there"):
                    train_it(existing=existing)
            refused.append(stage)

    train_it(progress=start_another)
    assert len(refused) == 9
    assert weights(tmp_path / "model") == weights(toy_model)


@pytest.fixture
def volcanoes(write):
    return write(
        *(Document(f"Volcanoes erupt with lava number {n}", id=f"v{n}", labels=("Geology",)) for n in range(4)),
        Document("The striker saw lava", labels=("Football",)),
        name="volcanoes.jsonl",
    )


def test_validation_documents_that_a_prior_has_learned_do_not_validate_it_again(
    train_it, tmp_path, toy_files, volcanoes, write
):
    parts = {name: write(*documents, name=f"{name}.jsonl") for name, documents in toy_files.data.splits.items()}
    dev = parts["dev"]
    train_it("prior.kind=linear", out="first", files=TrainFiles(parts["train"], toy_files.taxonomy, dev))
    assert "linear" in load_model(tmp_path / "first").scorer.members
    for name, path in {"the same": dev, "others": parts["test"]}.items():
        told, again = [], TrainFiles(volcanoes, dev=path, start=tmp_path / "first")
        train_it("labels.unknown=add", "prior.kind=linear", files=again, out=name, tell=told.append)
        assert any("knows these validation documents" in line for line in told) == (name == "the same")


def test_starting_from_a_model(train_it, tmp_path, toy_model, volcanoes):
    """Old labels stay, new ones come, and the model's own options hold."""
    files = TrainFiles(volcanoes, start=toy_model)
    with pytest.raises(CorpusError, match=r"'Geology' is not in the taxonomy \(nearest: 'Biology'\)"):
        train_it(files=files)
    report = train_it("labels.unknown=add", "training.epochs=2", "loss.p=0.5", files=files)
    old, new = load_model(toy_model), load_model(tmp_path / "model")
    assert labels(tmp_path / "model") == [*labels(toy_model), "Geology"]
    assert report.card.model == new.name.model == "HE-AGCRCNN"
    assert (new.config.training.epochs, new.config.loss.p) == (2, 0.5)
    for section in ("text", "vocabulary", "graph", "vectors", "network"):
        assert getattr(new.config, section) == getattr(old.config, section)
    assert (tmp_path / "model" / "vocabulary.tsv").read_bytes() == (toy_model / "vocabulary.tsv").read_bytes()
    assert weights(tmp_path / "model") != weights(toy_model)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model=GCCNN", "has model=HE-AGCRCNN, not GCCNN; leave it out"),
        ("preset=fast", "has preset=default, not fast; leave it out"),
        ("network.dropout=0.9", r"has network\.dropout=\S+, not 0\.9; use the same options"),
        ("text.language=de", r"has text\.language=en, not de; use the same options"),
        ("vectors.epochs=7", r"has vectors\.epochs=1, not 7; use the same options"),
    ],
)
def test_options_other_than_those_of_the_model_to_start_from(
    train_it, tmp_path, toy_model, volcanoes, override, message
):
    with pytest.raises(ConfigError, match=f"^the model to start from {message}$"):
        train_it("labels.unknown=add", override, files=TrainFiles(volcanoes, start=toy_model))
    assert not (tmp_path / "model").exists()


def test_the_preset_is_that_of_the_model_to_start_from(train_it, tmp_path, toy_model, volcanoes):
    shutil.copytree(toy_model, tmp_path / "fast")
    config = tmp_path / "fast" / "config.yaml"
    config.write_text(config.read_text().replace("preset: default", "preset: fast"))
    versions = json.loads((tmp_path / "fast" / "versions.json").read_text())
    versions["files"]["config.yaml"] = hashlib.sha256(config.read_bytes()).hexdigest()
    (tmp_path / "fast" / "versions.json").write_text(json.dumps(versions))
    assert train_it("labels.unknown=add", files=TrainFiles(volcanoes, start=tmp_path / "fast")).card.preset == "fast"


def test_what_would_be_passed_over_is_refused(tmp_path, toy_files):
    documents, out = toy_files.documents, tmp_path / "model"
    with pytest.raises(ConfigError, match=r"^taxonomy is part of TrainFiles; give it there"):
        train(TrainFiles(documents), out, taxonomy=toy_files.taxonomy)
    with pytest.raises(ConfigError, match=r"^linear__nonsense is given beside config; give all"):
        train(documents, out, resolve_run_config(options={"model": "SVM"}), linear__nonsense=3)
    with pytest.raises(ConfigError, match=r"key taxonmy; did you mean taxonomy\?$"):
        train(documents, out, taxonmy=toy_files.taxonomy)
    assert not out.exists()


def test_options_for_reading_documents_mean_nothing_for_a_store(tmp_path, toy_files):
    encode(toy_files.documents, tmp_path / "store", model="SVM")
    options = {"model": "SVM", "bag__min_documents": 1, "taxonomy": toy_files.taxonomy}
    with pytest.raises(ConfigError, match=r"store: is a store, .*; corpus\.labels_field means nothing for it"):
        train(tmp_path / "store", tmp_path / "model", corpus__labels_field="foo", **options)
    train(tmp_path / "store", tmp_path / "split", corpus__split="train", **options)
    (tmp_path / "run.yaml").write_text("corpus:\n  labels_field: foo\n")  # that of the documents that were encoded
    config = resolve_run_config(tmp_path / "run.yaml", options={"model": "SVM", "bag.min_documents": 1})
    train(TrainFiles(tmp_path / "store", toy_files.taxonomy), tmp_path / "file", config)


def test_starting_from_a_model_begins_with_its_weights(train_it, tmp_path, toy_model, volcanoes):
    """With steps of next to no length, all weights but those of the new label are as they were."""
    train_it("labels.unknown=add", "training.learning_rate=1e-9", files=TrainFiles(volcanoes, start=toy_model))
    old, new = (load_file(folder / "weights.safetensors") for folder in (toy_model, tmp_path / "model"))
    assert old.keys() == new.keys()
    for name, before in old.items():
        after = new[name][:10] if name == "network.head.labels.weight" else new[name]
        assert np.allclose(before, after, atol=1e-6), name
    assert new["network.head.labels.weight"].shape[0] == 11


def test_starting_from_a_model_with_a_taxonomy_that_has_the_new_labels(train_it, tmp_path, toy_model, volcanoes):
    (tmp_path / "new.tsv").write_text("Topics\tScience\nScience\tGeology\nTopics\tSport\nSport\tFootball\n")
    train_it(files=TrainFiles(volcanoes, tmp_path / "new.tsv", start=toy_model))
    known = {"Science", "Geology", "Sport", "Football"}
    assert set(labels(tmp_path / "model")) == {label for label in labels(toy_model) if label in known} | {"Geology"}
    assert load_model(tmp_path / "model").classes.taxonomy.parents("Geology") == ("Science",)


def test_a_model_can_be_replaced_by_what_starts_from_it(train_it, tmp_path, toy_model, volcanoes):
    shutil.copytree(toy_model, tmp_path / "model")
    files = TrainFiles(volcanoes, start=tmp_path / "model")
    train_it("labels.unknown=add", files=files, existing="overwrite")
    assert labels(tmp_path / "model") == [*labels(toy_model), "Geology"]


def test_starting_from_a_model_interrupted_and_resumed(train_it, tmp_path, toy_model, volcanoes):
    files, options = TrainFiles(volcanoes, start=toy_model), ("labels.unknown=add", "training.epochs=3")
    train_it(*options, files=files, out="whole")
    with pytest.raises(StopError):
        train_it(*options, files=files, progress=stopping("training", 3))
    train_it(*options, files=files, existing="resume")
    assert weights(tmp_path / "model") == weights(tmp_path / "whole")


def test_unseen_labels_of_test_documents_are_missed(train_it, toy_files, write):
    """Without a taxonomy any label may come up later."""
    train_file = write(Document("cats chase mice", labels=("a",)), name="train.jsonl")
    test_file = write(Document("cats chase mice", labels=("a", "z")), name="test.jsonl")
    report = train_it("decision.rule=fixed", "decision.threshold=0", files=TrainFiles(train_file, test=test_file))
    assert report.test.unseen == {"z": 1}
    assert (report.test.flat.micro.precision, report.test.flat.micro.recall) == (1.0, 0.5)


def test_unseen_labels_of_validation_documents_are_missed(train_it, tmp_path, write):
    train_file = write(Document("cats chase mice", labels=("a",)), name="train.jsonl")
    dev_file = write(Document("cats chase mice", labels=("a", "z")), name="dev.jsonl")
    assert train_it(files=TrainFiles(train_file, dev=dev_file)).validation.documents == 1
    assert labels(tmp_path / "model") == ["a"]


@pytest.mark.parametrize("model", ["SVM", "auto"])
def test_labels_of_validation_documents_are_learned_by_models_with_folds(tmp_path, write, model):
    train_file = write(*[Document("cats chase mice", labels=("a",))] * 3, name="train.jsonl")
    dev_file = write(*[Document("dogs chase cats", labels=("z",))] * 3, name="dev.jsonl")
    report = train(train_file, tmp_path / "model", dev=dev_file, model=model)
    assert labels(tmp_path / "model") == ["a", "z"]
    assert report.validation.documents == 6


def test_files_and_options_by_name(tmp_path, toy_files):
    options = {"model": "SVM", "seed": 3, "bag__min_documents": 1}
    report = train(
        str(toy_files.documents),
        str(tmp_path / "model"),
        taxonomy=toy_files.taxonomy,
        test=toy_files.documents,
        **options,
    )
    assert (report.card.model, report.card.seed, report.card.documents) == ("SVM", 3, {"train": 8, "test": 2})
    assert load_model(tmp_path / "model").config.bag.min_documents == 1
    tree = {"Topics": ["Sport", "Science"]}
    report = train(TrainFiles(toy_files.documents, tree), tmp_path / "other", labels__unknown="drop", **options)
    assert set(labels(tmp_path / "other")) == {"Sport", "Science"}


def report_data(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


def test_the_training_report_says_what_the_figures_say(toy_model):
    data = report_data(toy_model)
    figures = json.loads((toy_model / "metrics.json").read_text())
    thresholds = json.loads((toy_model / "thresholds.json").read_text())["thresholds"]
    assert data["summary"].keys() == {"validation", "test"}
    for place, part in enumerate(("validation", "test"), 4):
        assert data["summary"][part]["micro"][2] == pytest.approx(figures[part]["flat"]["micro"]["f1"], abs=1e-4)
        assert [line[place][0] for line in data["labels"]] == [row["support"] for row in figures[part]["label_rows"]]
    assert {line[0]: line[3] for line in data["labels"]} == pytest.approx(thresholds, abs=1e-4)
    assert sum(row[4] for row in data["reliability"]) == 2 * 10  # validation documents times labels
    with (toy_model / "history.csv").open() as file:
        for epoch, row in zip(data["history"], csv.DictReader(file), strict=True):
            assert epoch["loss"] == pytest.approx(float(row["loss"]), abs=1e-4)


@pytest.mark.parametrize(
    ("edges", "pairs", "above"),
    [("x\ta\nx\tb\n", 1, ["x"]), ("all\tx\nall\ty\nx\ta\ny\tb\n", 0, None), (None, 1, [])],
    ids=["siblings", "cousins", "no taxonomy"],
)
def test_confusions_of_the_training_report_are_between_siblings(train_it, tmp_path, write, edges, pairs, above):
    """One text with either label: as each document gets one label, the same for all, some get the wrong one.

    The parents are no labels of the model.
    """
    taxonomy = tmp_path / "topics.tsv" if edges else None
    if taxonomy:
        taxonomy.write_text(edges)
    documents = write(*(Document("cats chase mice", labels=(label,)) for label in "aaabbb"))
    train_it("decision.rule=top-k", "decision.k=1", files=TrainFiles(documents, taxonomy))
    data = report_data(tmp_path / "model")
    assert data["top_k"] == 1
    assert len(data["confusions"]) == pairs
    for _, _, shared, count, carriers, share in data["confusions"]:
        assert (shared, count, carriers, share) == (above, 3, 3, 1)


def test_linear_models_have_a_training_report_without_epochs(toy_files, tmp_path):
    files = TrainFiles(toy_files.documents, toy_files.taxonomy, toy_files.documents)
    train(files, tmp_path / "model", resolve_run_config(overrides=["model=SVM", "bag.min_documents=1"]))
    data = report_data(tmp_path / "model")
    assert (data["history"], data["model"]["epochs"]) == ([], 0)
    assert list(data["summary"]) == ["validation"]


def test_a_damaged_training_report_is_no_damage_to_the_model(toy_model, tmp_path):
    shutil.copytree(toy_model, tmp_path / "model")
    (tmp_path / "model" / "report.html").unlink()
    assert load_model(tmp_path / "model")
