"""A model folder: complete, readable, without pickle, and every damage told in one line."""

import dataclasses
import json
import shutil
import sys

import numpy as np
import pytest
from safetensors import safe_open

from taxocaps.errors import ModelError
from taxocaps.nn.networks import NETWORKS
from taxocaps.scorers.base import SCORERS
from taxocaps.scorers.decision import DECISION_RULES, Calibration
from taxocaps.scorers.model_folder import FORMAT, MODEL_FILES, digest, is_model
from taxocaps.scorers.persistence import load_model, save_model

FILES = {
    "config.yaml",
    "labels.json",
    "metrics.json",
    "taxonomy.json",
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


@pytest.fixture
def scores(encode):
    """The scores of texts by a model."""
    return lambda model, texts: model.scores(encode(model.scorer, texts))


def flip(path, position, bit=1):
    content = bytearray(path.read_bytes())
    content[int(position * (len(content) - 1))] ^= bit
    path.write_bytes(content)


def edit(path, change):
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_a_loaded_model_scores_the_same_to_the_bit(fitted, saved, toys, encode):
    loaded = load_model(saved)
    documents = encode(loaded.scorer, [*toys.texts, *TEXTS])
    assert np.array_equal(loaded.raw_scores(documents), fitted.raw_scores(documents))
    scores = loaded.scores(documents)
    assert np.array_equal(scores, fitted.scores(documents))
    assert np.array_equal(loaded.choose(scores).toarray(), fitted.choose(scores).toarray())


def test_a_loaded_model_is_the_same_in_every_part(fitted, saved):
    loaded = load_model(saved)
    assert loaded.name == fitted.name
    assert loaded.config == fitted.config
    assert loaded.classes == fitted.classes
    assert np.array_equal(loaded.calibration.slopes, fitted.calibration.slopes)
    assert np.array_equal(loaded.calibration.intercepts, fitted.calibration.intercepts)
    assert loaded.counts.dtype == np.int64
    assert np.array_equal(loaded.counts, fitted.counts)
    assert loaded.thresholds.dtype == np.float32
    assert np.array_equal(loaded.thresholds, fitted.thresholds)
    assert loaded.hierarchy == fitted.hierarchy
    assert loaded.scorer.parameters == fitted.scorer.parameters
    assert loaded.metrics == fitted.metrics
    assert (loaded.report.epochs, loaded.report.best_epoch) == (fitted.report.epochs, fitted.report.best_epoch)


@pytest.mark.parametrize("head", ["dense", "capsule"])
def test_calibration_and_thresholds_of_each_label_survive(fit, tmp_path, toys, scores, head):
    axes = {"network": {"head": head}, "loss": {"kind": "margin"}, "decision": {"rule": "per-label"}}
    model = fit(axes, {"labels": {"unknown": "add"}})
    save_model(model, tmp_path)
    loaded = load_model(tmp_path)
    assert np.array_equal(loaded.thresholds, model.thresholds)
    assert np.array_equal(scores(loaded, toys.texts), scores(model, toys.texts))


def test_the_files_are_all_readable_and_none_is_pickled(saved):
    assert {path.name for path in saved.iterdir()} == FILES
    with safe_open(saved / "weights.safetensors", "pt") as weights:
        assert "network.embedding.weight" in list(weights.keys())
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
    labels = json.loads((saved / "labels.json").read_text(encoding="utf-8"))
    assert tuple(labels) == fitted.classes.names
    assert tuple(labels.values()) == tuple(fitted.counts.tolist())
    assert sum(labels.values()) > len(labels)


def test_a_loaded_model_can_be_saved_again(saved, tmp_path):
    save_model(load_model(saved), tmp_path)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (saved / name).read_bytes()


@pytest.mark.parametrize("name", sorted(FILES - {"metrics.json"}))
def test_a_missing_file_is_named(copy, name):
    (copy / name).unlink()
    assert name in refused(copy)


@pytest.mark.parametrize("position", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("name", sorted(FILES - {"metrics.json", "thresholds.json", "versions.json"}))
def test_a_flipped_bit_is_noticed(copy, name, position):
    flip(copy / name, position)
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
    assert load_model(copy).metrics == {}
    (copy / "metrics.json").unlink()
    assert load_model(copy).metrics == {}


def test_thresholds_may_be_set_by_hand(copy, fitted):
    edit(copy / "thresholds.json", lambda content: content["thresholds"].update({"Tennis": 0.75}))
    wanted = fitted.thresholds.copy()
    wanted[fitted.classes.names.index("Tennis")] = 0.75
    assert np.array_equal(load_model(copy).thresholds, wanted)


def calibrations(slopes, intercepts):
    return lambda content: content.update(calibration={"slopes": slopes, "intercepts": intercepts})


def test_calibration_may_be_set_by_hand(copy, fitted, toys, encode):
    documents = encode(fitted.scorer, toys.texts)
    edit(copy / "thresholds.json", calibrations(1, 0))
    plain = load_model(copy)
    assert plain.calibration.is_identity
    assert np.array_equal(plain.own_scores(documents), fitted.raw_scores(documents))
    edit(copy / "thresholds.json", calibrations([1.0] * 9 + [2.0], 0.0))
    last = load_model(copy).own_scores(documents)
    assert last[:, :9] == pytest.approx(fitted.raw_scores(documents)[:, :9], abs=1e-5)
    assert not np.allclose(last[:, 9], fitted.raw_scores(documents)[:, 9], atol=1e-3)


def test_unseen_labels_and_a_curve_of_each_label_survive(fitted, tmp_path):
    counts = np.arange(10)
    curves = Calibration(np.linspace(0.1, 3, 10, dtype=np.float32), np.linspace(-2, 2, 10, dtype=np.float32))
    save_model(dataclasses.replace(fitted, counts=counts, calibration=curves), tmp_path)
    loaded = load_model(tmp_path)
    assert np.array_equal(loaded.counts, counts)
    assert np.array_equal(loaded.calibration.slopes, curves.slopes)
    assert np.array_equal(loaded.calibration.intercepts, curves.intercepts)
    content = json.loads((tmp_path / "thresholds.json").read_text(encoding="utf-8"))
    assert content["calibration"]["slopes"] == curves.slopes.tolist()


@pytest.mark.parametrize(
    "content",
    [b"[]", b'["Sport", "Tennis"]', b"null", b"7", b'{"Sport": "many"}', b'{"Sport": null}', b'{"Unheard of": 1}'],
)
def test_labels_of_another_shape_are_refused(copy, content):
    path = copy / "labels.json"
    path.write_bytes(content)
    edit(copy / "versions.json", lambda versions: versions["files"].update({"labels.json": digest(path)}))
    refused(copy)


SLIPS = {
    "a slope too few": calibrations([1.0] * 9, 0.0),
    "an intercept too many": calibrations(1.0, [0.0] * 11),
    "slopes in a matrix": calibrations([[1.0] * 10], 0.0),
    "ragged slopes": calibrations([[1.0], *[1.0] * 9], 0.0),
    "slopes null": calibrations(None, 0.0),
    "an intercept that is no number": calibrations(1.0, float("nan")),
    "an endless slope": calibrations(float("inf"), 0.0),
    "intercepts in words": calibrations(1.0, "none"),
    "a slope that falls": calibrations([1.0] * 9 + [-1.0], 0.0),
    "no slopes": lambda content: content["calibration"].pop("slopes"),
    "one curve as it once was": lambda content: content.update(calibration={"slope": 1.0, "intercept": 0.0}),
    "a list of curves": lambda content: content.update(calibration=[1.0, 0.0]),
    "no calibration": lambda content: content.pop("calibration"),
    "hierarchy": lambda content: content.update(hierarchy="add-ancestor"),
    "another rule": lambda content: content.update(rule="per-label"),
    "no rule": lambda content: content.pop("rule"),
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
    assert refused(tmp_path / "nowhere").endswith(
        "train one with: taxocaps train FILE --out " + str(tmp_path / "nowhere")
    )
    assert refused(tmp_path) == f"{tmp_path}: not a model (no versions.json in it)"
    (tmp_path / "letter.txt").write_text("Dear all", encoding="utf-8")
    assert "not a model" in refused(tmp_path)
    (tmp_path / "versions.json").write_text('{"format": "other/2"}', encoding="utf-8")
    assert "damaged" in refused(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "is a file, not the folder of a model" in refused(tmp_path / "file")


def test_another_format(copy):
    edit(copy / "versions.json", lambda content: content.update(format="taxocaps-model/99"))
    assert refused(copy) == (
        f"{copy}: is of format 'taxocaps-model/99', not '{FORMAT}'; install the version that wrote it"
    )


def test_other_versions_of_libraries_do_not_matter(copy):
    edit(copy / "versions.json", lambda content: content.update(python="9.9", libraries={"torch": "99"}))
    assert load_model(copy).thresholds.shape == (10,)


@pytest.fixture
def own_tokenizer(tmp_path, monkeypatch):
    """A module with a tokenizer, which notes that it was imported."""
    (tmp_path / "own_words.py").write_text("def split(text):\n    return text.lower().split()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_words", raising=False)
    return "own_words:split"


def test_a_models_own_code_runs_only_when_it_is_trusted(fit, tmp_path, own_tokenizer, scores):
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
    assert np.array_equal(scores(loaded, TEXTS), scores(model, TEXTS))


def test_trusted_code_that_is_not_there(fit, tmp_path, own_tokenizer):
    folder = tmp_path / "model"
    folder.mkdir()
    save_model(fit({"text": {"tokenizer": own_tokenizer}}), folder)
    sys.modules.pop("own_words")
    (tmp_path / "own_words.py").unlink()
    assert "own_words" in refused(folder, trust_code=True)


def test_a_list_of_stop_words_travels_with_the_model(fit, tmp_path, toys, scores):
    words = tmp_path / "my words.txt"
    words.write_text("goalkeeper\nplanet\ngene\n", encoding="utf-8")
    model = fit({"text": {"stop_words": str(words)}})
    assert "goalkeeper" not in model.scorer.vocabulary
    folder = tmp_path / "model"
    folder.mkdir()
    save_model(model, folder)
    expected = scores(model, toys.texts)
    words.unlink()
    moved = folder.rename(tmp_path / "moved")
    loaded = load_model(moved)
    assert np.array_equal(scores(loaded, toys.texts), expected)
    assert (moved / "stop_words.txt").read_text(encoding="utf-8") == "goalkeeper\nplanet\ngene\n"
    flip(moved / "stop_words.txt", 0.5)
    assert "stop_words.txt: damaged or changed" in refused(moved)


def test_a_file_of_word_vectors_is_not_needed_any_more(fit, tmp_path, toys, scores):
    vectors = tmp_path / "vectors.vec"
    vectors.write_text("goalkeeper 1 0 0 0\ngene 0 1 0 0\nplanet 0 0 1 0\n", encoding="utf-8")
    model = fit({"vectors": {"source": str(vectors)}})
    folder = tmp_path / "model"
    folder.mkdir()
    save_model(model, folder)
    vectors.unlink()
    assert np.array_equal(scores(load_model(folder), toys.texts), scores(model, toys.texts))


def test_a_read_only_copy_elsewhere(copy, fitted, toys, scores):
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    for path in (*copy.iterdir(), copy):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert np.array_equal(scores(load_model(copy), toys.texts), scores(fitted, toys.texts))
    finally:
        copy.chmod(0o755)
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before


def test_a_model_is_told_from_other_folders(saved, tmp_path):
    assert is_model(saved)
    assert not is_model(tmp_path)
    assert not is_model(tmp_path / "nowhere")
    (tmp_path / "versions.json").write_text("[]", encoding="utf-8")
    assert not is_model(tmp_path)
    assert {path.name for path in saved.iterdir()} <= MODEL_FILES


ENSEMBLE = '''
import numpy as np

from taxocaps.encoding.bag import BagConfig
from taxocaps.linear.config import LinearConfig
from taxocaps.results import FitReport
from taxocaps.scorers.base import ModelConfig, Scorer, make_scorer
from taxocaps.scorers.linear import LinearModelConfig


class EnsembleConfig(ModelConfig):
    scorer: str = "mean-of-two"
    bag: BagConfig = BagConfig(min_documents=1)
    linear: LinearConfig = LinearConfig()


class MeanOfTwo(Scorer):
    """The mean of a weak and a strong linear classifier."""

    Config = EnsembleConfig
    explainer = "occlusion"

    def __init__(self, config, classes, seed=0):
        super().__init__(config, classes, seed)
        shared = {"text": config.text, "bag": config.bag}
        made = [LinearModelConfig(**shared, linear=config.linear.replace(C=C)) for C in (0.1, 10.0)]
        self._members = dict(zip(("weak", "strong"), (make_scorer(one, classes, seed) for one in made)))

    @property
    def members(self):
        return self._members

    @property
    def vocabulary(self):
        return self.members["weak"].vocabulary

    @property
    def parameters(self):
        return sum(member.parameters for member in self.members.values())

    def fit(self, training, validation, context):
        for member in self.members.values():
            member.fit(training, validation, context)
        return FitReport()

    def scores(self, documents):
        return np.mean([member.scores(documents) for member in self.members.values()], axis=0)

    def _save(self, folder):
        pass

    def _load(self, folder):
        pass
'''
IN_MEMBERS = {
    f"members/{name}/{file}" for name in ("weak", "strong") for file in ("vocabulary.tsv", "weights.safetensors")
}


@pytest.fixture
def ensemble(install, fit):
    """A fitted scorer of another package that is made of two others."""
    install("their_ensemble", ENSEMBLE, SCORERS, mean_of_two="MeanOfTwo")
    return fit({"scorer": "mean-of-two"})


@pytest.fixture
def saved_ensemble(ensemble, tmp_path):
    folder = tmp_path / "ensemble"
    folder.mkdir()
    save_model(ensemble, folder)
    return folder


def test_members_have_folders_of_their_own_and_every_file_is_hashed(saved_ensemble):
    files = {path.relative_to(saved_ensemble).as_posix() for path in saved_ensemble.rglob("*") if path.is_file()}
    assert files == FILES - {"vocabulary.tsv", "weights.safetensors"} | IN_MEMBERS
    versions = json.loads((saved_ensemble / "versions.json").read_text(encoding="utf-8"))
    assert set(versions["files"]) == files - {"versions.json", "metrics.json"}
    assert {path.name for path in saved_ensemble.iterdir()} <= MODEL_FILES


def test_what_a_member_writes_is_hashed_whatever_it_is_called(ensemble, tmp_path, monkeypatch):
    weak = ensemble.scorer.members["weak"]
    save = weak._save
    monkeypatch.setattr(weak, "_save", lambda path: (save(path), (path / "metrics.json").write_text("{}")))
    save_model(ensemble, tmp_path)
    (tmp_path / "members" / "weak" / "metrics.json").write_text("[]", encoding="utf-8")
    assert "metrics.json: damaged or changed" in refused(tmp_path, trust_code=True)


def test_a_loaded_model_with_members_scores_the_same(ensemble, saved_ensemble, toys, scores):
    loaded = load_model(saved_ensemble, trust_code=True)
    weak, strong = loaded.scorer.members.values()
    assert (weak.config.linear.C, strong.config.linear.C) == (0.1, 10.0)
    assert np.array_equal(scores(loaded, toys.texts), scores(ensemble, toys.texts))
    assert scores(loaded, toys.texts).any()
    save_model(loaded, saved_ensemble)  # over itself
    assert np.array_equal(scores(load_model(saved_ensemble, trust_code=True), toys.texts), scores(ensemble, toys.texts))


@pytest.mark.parametrize("name", sorted(IN_MEMBERS))
def test_a_changed_or_missing_file_of_a_member_is_refused(saved_ensemble, name):
    flip(saved_ensemble / name, 0.5)
    wanted = f"{saved_ensemble / name}: damaged or changed; copy the model again, or train it anew"
    assert refused(saved_ensemble, trust_code=True) == wanted
    (saved_ensemble / name).unlink()
    assert f"{name}: is missing from the model" in refused(saved_ensemble, trust_code=True)


def test_a_scorer_of_another_package_is_run_only_when_it_is_trusted(saved_ensemble):
    sys.modules.pop("their_ensemble")
    vars(SCORERS)["_loaded"].pop("mean-of-two")
    assert refused(saved_ensemble) == (
        f"{saved_ensemble}: the model's scorer mean-of-two is code of another package, which would be run; "
        "give --trust-code (or trust_code=True) if you trust it"
    )
    assert "their_ensemble" not in sys.modules


def test_a_network_of_another_package_is_run_only_when_it_is_trusted(install, fit_network, tmp_path, toys, scores):
    source = """
from typing import Literal

from taxocaps.nn.sequence.lstm import LSTMConfig, LSTMNetwork

class TheirConfig(LSTMConfig):
    kind: Literal["their-lstm"] = "their-lstm"
    units: int = 4

class TheirLSTM(LSTMNetwork):
    Config = TheirConfig
"""
    install("their_network", source, NETWORKS, their_lstm="TheirLSTM")
    model = fit_network("their-lstm")
    save_model(model, tmp_path)
    assert "the model's network their-lstm is code of another package" in refused(tmp_path)
    assert np.array_equal(scores(load_model(tmp_path, trust_code=True), toys.texts), scores(model, toys.texts))


def test_a_rule_of_another_package_is_run_only_when_it_is_trusted(install, fit, tmp_path):
    source = """
import numpy as np

from taxocaps.scorers.decision import DecisionRule

HALF = DecisionRule(lambda held_out, config: np.full(held_out.scores.shape[1], 0.5, np.float32))
"""
    install("their_rule", source, DECISION_RULES, half="HALF")
    model = fit({"scorer": "linear", "decision": {"rule": "half"}})
    assert set(model.thresholds.tolist()) == {0.5}
    save_model(model, tmp_path)
    assert "the model's decision rule half is code of another package" in refused(tmp_path)
    assert load_model(tmp_path, trust_code=True).config.decision.rule == "half"


def test_a_model_whose_package_is_not_installed_any_more(ensemble, saved_ensemble):
    sys.path.remove(str(saved_ensemble.parent / "site-packages"))
    vars(SCORERS)["_loaded"].pop("mean-of-two")
    vars(SCORERS).pop("_external")
    assert "no scorer is called 'mean-of-two'" in refused(saved_ensemble, trust_code=True)


def test_a_misspelt_model_and_a_file_in_place_of_one(toy_model, tmp_path):
    (tmp_path / "news-model").symlink_to(toy_model)
    with pytest.raises(ModelError, match=r"no model there; did you mean .*news-model\?"):
        load_model(tmp_path / "news-modle")
    with pytest.raises(ModelError, match="no model there; train one with: taxocaps train FILE --out"):
        load_model(tmp_path / "other")
    (tmp_path / "news.csv").write_text("text\n")
    with pytest.raises(ModelError, match=r"news\.csv: is a file, not the folder of a model"):
        load_model(tmp_path / "news.csv")
