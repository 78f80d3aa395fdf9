"""A model folder: complete, readable, without pickle, and every damage told in one line."""

import json
import shutil
import sys

import numpy as np
import pytest
from safetensors import safe_open

from taxocaps.errors import ModelError
from taxocaps.scorers.persistence import FORMAT, load_model, save_model

FILES = {
    "config.yaml",
    "labels.json",
    "metrics.json",
    "taxonomy.tsv",
    "thresholds.json",
    "versions.json",
    "vocabulary.tsv",
    "weights.safetensors",
}
TEXTS = ["The goalkeeper saved a penalty in the cup final.", "A gene of wild wheat", "", "unheard-of words"]


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    save_model(fitted, folder)
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    """A copy that may be damaged."""
    return shutil.copytree(saved, tmp_path / "model")


def refused(folder, **options):
    """The message with which a model is refused."""
    with pytest.raises(ModelError) as caught:
        load_model(folder, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(folder))
    return message


def flip(path, place, bit=1):
    content = bytearray(path.read_bytes())
    content[int(place * (len(content) - 1))] ^= bit
    path.write_bytes(content)


def edit(path, change):
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_a_loaded_model_scores_the_same_to_the_bit(fitted, saved, toys):
    loaded = load_model(saved)
    texts = [*toys[0].texts, *TEXTS]
    assert np.array_equal(loaded.raw_scores(texts), fitted.raw_scores(texts))
    assert np.array_equal(loaded.scores(texts), fitted.scores(texts))
    assert np.array_equal(loaded.choose(loaded.scores(texts)).toarray(), fitted.choose(fitted.scores(texts)).toarray())


def test_a_loaded_model_is_the_same_in_every_part(fitted, saved):
    loaded = load_model(saved)
    assert loaded.name == fitted.name
    assert loaded.config == fitted.config
    assert loaded.classes == fitted.classes
    assert loaded.calibration == fitted.calibration
    assert loaded.cuts.dtype == np.float32
    assert np.array_equal(loaded.cuts, fitted.cuts)
    assert loaded.hierarchy == fitted.hierarchy
    assert loaded.scorer.parameters == fitted.scorer.parameters
    assert loaded.figures == fitted.figures
    assert (loaded.report.epochs, loaded.report.best_epoch) == (fitted.report.epochs, fitted.report.best_epoch)


@pytest.mark.parametrize("head", ["dense", "capsule"])
def test_calibration_and_cuts_of_each_label_survive(fit, tmp_path, toys, head):
    axes = {"network": {"head": head}, "loss": {"kind": "margin"}, "decision": {"rule": "per-label"}}
    model = fit(axes, {"labels": {"unknown": "add"}})
    save_model(model, tmp_path)
    loaded = load_model(tmp_path)
    assert np.array_equal(loaded.cuts, model.cuts)
    assert np.array_equal(loaded.scores(toys[0].texts), model.scores(toys[0].texts))


def test_the_files_are_all_readable_and_none_is_pickled(saved):
    assert {path.name for path in saved.iterdir()} == FILES
    with safe_open(saved / "weights.safetensors", "pt") as weights:
        assert "embedding.weight" in list(weights.keys())
    for name in FILES - {"weights.safetensors"}:
        text = (saved / name).read_text(encoding="utf-8")
        assert all(character.isprintable() or character in "\n\t" for character in text)


def test_what_is_written_about_a_model(saved, fitted):
    metrics = json.loads((saved / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["parameters"] == fitted.scorer.parameters
    assert (metrics["epochs"], metrics["best_epoch"]) == (2, fitted.report.best_epoch)
    assert metrics["validation"]["flat"]["micro"]["f1"] == fitted.validation.flat.micro.f1
    versions = json.loads((saved / "versions.json").read_text(encoding="utf-8"))
    assert versions["format"] == FORMAT
    assert set(versions["files"]) == FILES - {"versions.json", "metrics.json"}
    assert json.loads((saved / "labels.json").read_text(encoding="utf-8")) == list(fitted.classes.names)


def test_a_loaded_model_can_be_saved_again(saved, tmp_path):
    save_model(load_model(saved), tmp_path)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (saved / name).read_bytes()


@pytest.mark.parametrize("name", sorted(FILES - {"metrics.json"}))
def test_a_missing_file_is_named(copy, name):
    (copy / name).unlink()
    assert name in refused(copy)


@pytest.mark.parametrize("place", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("name", sorted(FILES - {"metrics.json", "thresholds.json", "versions.json"}))
def test_a_flipped_bit_is_noticed(copy, name, place):
    flip(copy / name, place)
    assert refused(copy) == f"{copy / name}: damaged or changed; copy the model again, or train it anew"


@pytest.mark.parametrize("name", ["thresholds.json", "versions.json"])
def test_a_file_that_is_no_json_any_more(copy, name):
    flip(copy / name, 0.0)
    assert refused(copy).startswith(f"{copy / name}: damaged")
    for content in (b"\xff", b"[]", b"7", b"null"):
        (copy / name).write_bytes(content)
        assert refused(copy).startswith(f"{copy / name}: damaged")


def test_a_cut_off_file_is_noticed(copy):
    path = copy / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    assert "damaged or changed" in refused(copy)


def test_metrics_are_for_people_only(copy):
    (copy / "metrics.json").write_bytes(b"\xff")
    assert load_model(copy).figures == {}
    (copy / "metrics.json").unlink()
    assert load_model(copy).figures == {}


def test_thresholds_may_be_set_by_hand(copy, fitted):
    edit(copy / "thresholds.json", lambda content: content["thresholds"].update({"Tennis": 0.75}))
    wanted = fitted.cuts.copy()
    wanted[fitted.classes.names.index("Tennis")] = 0.75
    assert np.array_equal(load_model(copy).cuts, wanted)


SLIPS = {
    "hierarchy": lambda content: content.update(hierarchy="add-ancestor"),
    "too high": lambda content: content["thresholds"].update({"Tennis": 7}),
    "null": lambda content: content["thresholds"].update({"Tennis": None}),
    "text": lambda content: content["thresholds"].update({"Tennis": "high"}),
    "missing label": lambda content: content["thresholds"].pop("Tennis"),
    "unknown label": lambda content: content["thresholds"].update({"Tenis": 0.5}),
}


@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS.keys())
def test_slips_in_thresholds_set_by_hand(copy, slip):
    edit(copy / "thresholds.json", slip)
    assert "thresholds.json" in refused(copy)


def test_no_folder_an_empty_one_and_a_foreign_one(tmp_path):
    assert refused(tmp_path / "nowhere").endswith("train one with: taxocaps train --out " + str(tmp_path / "nowhere"))
    assert refused(tmp_path) == f"{tmp_path}: not a model (no versions.json in it)"
    (tmp_path / "letter.txt").write_text("Dear all", encoding="utf-8")
    assert "not a model" in refused(tmp_path)
    (tmp_path / "versions.json").write_text('{"format": "other/2"}', encoding="utf-8")
    assert "damaged" in refused(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "no model there" in refused(tmp_path / "file")


def test_another_format(copy):
    edit(copy / "versions.json", lambda content: content.update(format="taxocaps-model/2"))
    assert refused(copy) == (
        f"{copy}: is of format 'taxocaps-model/2', not '{FORMAT}'; install the version that wrote it"
    )


def test_other_versions_of_libraries_do_not_matter(copy):
    edit(copy / "versions.json", lambda content: content.update(python="9.9", libraries={"torch": "99"}))
    assert load_model(copy).cuts.shape == (10,)


@pytest.fixture
def own_tokenizer(tmp_path, monkeypatch):
    """A module with a tokenizer, which notes that it was imported."""
    (tmp_path / "own_words.py").write_text("def split(text):\n    return text.lower().split()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_words", raising=False)
    return "own_words:split"


def test_a_models_own_code_runs_only_when_it_is_trusted(fit, tmp_path, own_tokenizer):
    model = fit({"text": {"tokenizer": own_tokenizer}})
    folder = tmp_path / "model"
    folder.mkdir()
    save_model(model, folder)
    sys.modules.pop("own_words")
    assert refused(folder) == (
        f"{folder}: the model's tokenizer own_words:split is Python code, which would be run; "
        "give --trust-code (or trust_code=True) if you trust it"
    )
    assert "own_words" not in sys.modules
    loaded = load_model(folder, trust_code=True)
    assert np.array_equal(loaded.scores(TEXTS), model.scores(TEXTS))


def test_trusted_code_that_is_not_there(fit, tmp_path, own_tokenizer):
    folder = tmp_path / "model"
    folder.mkdir()
    save_model(fit({"text": {"tokenizer": own_tokenizer}}), folder)
    sys.modules.pop("own_words")
    (tmp_path / "own_words.py").unlink()
    assert "own_words" in refused(folder, trust_code=True)


def test_a_list_of_stop_words_travels_with_the_model(fit, tmp_path, toys):
    words = tmp_path / "my words.txt"
    words.write_text("goalkeeper\nplanet\ngene\n", encoding="utf-8")
    model = fit({"text": {"stop_words": str(words)}})
    assert "goalkeeper" not in model.scorer.encoder.vocabulary
    folder = tmp_path / "model"
    folder.mkdir()
    save_model(model, folder)
    expected = model.scores(toys[0].texts)
    words.unlink()
    moved = folder.rename(tmp_path / "moved")
    loaded = load_model(moved)
    assert np.array_equal(loaded.scores(toys[0].texts), expected)
    assert (moved / "stop_words.txt").read_text(encoding="utf-8") == "goalkeeper\nplanet\ngene\n"
    flip(moved / "stop_words.txt", 0.5)
    assert "stop_words.txt: damaged or changed" in refused(moved)


def test_a_file_of_word_vectors_is_not_needed_any_more(fit, tmp_path, toys):
    vectors = tmp_path / "vectors.vec"
    vectors.write_text("goalkeeper 1 0 0 0\ngene 0 1 0 0\nplanet 0 0 1 0\n", encoding="utf-8")
    model = fit({"vectors": {"source": str(vectors)}})
    folder = tmp_path / "model"
    folder.mkdir()
    save_model(model, folder)
    vectors.unlink()
    assert np.array_equal(load_model(folder).scores(toys[0].texts), model.scores(toys[0].texts))


def test_a_read_only_copy_elsewhere(copy, fitted, toys):
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    for path in (*copy.iterdir(), copy):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert np.array_equal(load_model(copy).scores(toys[0].texts), fitted.scores(toys[0].texts))
    finally:
        copy.chmod(0o755)
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before
