"""Presets: each resolves with each network, and none contradicts what a model's name says."""

import itertools
import re

import pytest

import taxocaps.catalogue.presets
from taxocaps.catalogue import DEFAULT_MODEL, DEFAULT_NETWORK
from taxocaps.catalogue.models import AUTO, MODELS, VARIANTS, find_model
from taxocaps.catalogue.presets import PRESETS, encoding_config, model_config
from taxocaps.errors import ConfigError

names = [variant.name for variant in VARIANTS]
BY_NAME = {variant.name: variant for variant in VARIANTS}
PAIRS = [(model, name) for model in MODELS for name in PRESETS if model.has_presets or name == "default"]
PAIR_NAMES = [f"{model.name}-{preset}" for model, preset in PAIRS]
AXES = {
    "graph.row_order": ("unordered", "ordered"),
    "network.recurrent": ("none", "lstm"),
    "network.attention": ("none", "blocks"),
    "network.head": ("dense", "capsule"),
    "loss.label_weights": ("uniform", "taxonomy"),
}


def value_of(config, key):
    section, name = key.split(".")
    return getattr(getattr(config, section), name)


def test_the_names():
    assert set(PRESETS) == {"default", "fast", "paper-rcv1", "paper-reuters", "paper-eurlex"}
    assert find_model(DEFAULT_MODEL) is AUTO
    assert find_model(DEFAULT_NETWORK).reads == ("words-matrix",)


def test_the_default_is_the_defaults_themselves():
    assert PRESETS["default"] == {}
    config = model_config(DEFAULT_NETWORK, "default")
    assert config == type(config)()


@pytest.mark.parametrize(("preset", "name"), list(itertools.product(PRESETS, names)))
def test_every_preset_resolves_with_every_variant(preset, name):
    config, variant = model_config(name, preset), BY_NAME[name]
    for key in AXES:
        assert value_of(config, key) == getattr(variant, key.split(".")[1])


@pytest.mark.parametrize(("model", "preset"), PAIRS, ids=PAIR_NAMES)
def test_a_configuration_survives_a_file(model, preset):
    config = model_config(model.name, preset)
    assert type(config).model_validate(config.as_mapping()) == config
    assert model_config(model.name, preset, config.as_mapping()) == config
    assert config.scorer == (model.family if model.family in ("joined", "linear") else "network")
    if not model.is_variant and hasattr(config, "loss"):
        assert config.loss.label_weights == "uniform"


@pytest.mark.parametrize(("model", "preset"), PAIRS, ids=PAIR_NAMES)
def test_documents_are_encoded_for_a_model_as_it_reads_them(model, preset):
    config = model_config(model.name, preset)
    text, encodings = encoding_config(model.name, preset)
    assert (text, encodings) == (config.text, dict(config.encodings))


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_leave_the_axes_to_the_models(preset):
    for key in AXES:
        section, name = key.split(".")
        assert name not in PRESETS[preset].get(section, {})


def test_a_dense_head_with_uniform_weights_takes_cross_entropy():
    kinds = {variant.name: model_config(variant.name, "default").loss.kind for variant in VARIANTS}
    wanted = {name for name in names if name.startswith("T")}
    assert {name for name, kind in kinds.items() if kind == "cross-entropy"} == wanted
    assert model_config("TGCNN", "default", {"loss": {"kind": "margin"}}).loss.kind == "margin"


def test_self_attention_may_stand_in_place_of_an_lstm():
    options = {"network": {"recurrent": "self-attention"}}
    assert model_config("HE-AGCRCNN", "default", options).network.recurrent == "self-attention"
    with pytest.raises(ConfigError, match=r"network.recurrent=self-attention contradicts the model GCCNN"):
        model_config("GCCNN", "default", options)


def test_thousands_of_labels_share_their_matrices():
    """128 compressed capsules with a matrix each would have twice the weights of 64 channels."""
    networks = {preset: model_config(DEFAULT_NETWORK, preset).network for preset in ("paper-rcv1", "paper-eurlex")}
    assert (networks["paper-rcv1"].sharing, networks["paper-rcv1"].compress) == ("channel", None)
    assert (networks["paper-eurlex"].sharing, networks["paper-eurlex"].compress) == ("label", 128)


@pytest.mark.parametrize(
    ("preset", "p", "N", "size"),
    [("paper-rcv1", 0.01, 100, 32), ("paper-reuters", 0.1, 100, 32), ("paper-eurlex", 0.001, 200, 64)],
)
def test_the_numbers_of_the_paper(preset, p, N, size):
    config = model_config(DEFAULT_NETWORK, preset)
    assert (config.loss.p, config.graph.N, config.network.label_capsule_size) == (p, N, size)
    assert (config.graph.window, config.graph.K, config.graph.T) == (3, 25, 20)
    assert (config.loss.upper, config.loss.lower, config.loss.down) == (0.9, 0.1, 0.5)
    network = config.network
    assert (network.filters, network.units, network.channels, network.capsule_size) == ((64, 128), 128, 64, 16)
    assert (network.stride, network.iterations, network.gain, config.prior.kind) == (2, 3, None, "none")
    assert (network.dropout, network.word_dropout, network.normalization) == (0.0, 0.0, "none")
    training = config.training
    assert (training.batch_size, training.learning_rate, training.schedule) == (32, 1e-3, "constant")
    assert (training.vectors_rate, training.vectors_epsilon, training.weight_decay) == (1.0, 1e-8, 0.0)
    assert (training.warmup, config.walks.kind) == (0.0, "meta-path")
    assert (config.vocabulary.min_count, config.loss.floor) == (1, 0.0)
    assert (config.vectors.source, config.vectors.dimension) == ("skip-gram", 50)
    assert (config.walks.length, config.walks.per_label, config.label_vectors.dimension) == (500, 10, 200)


def test_later_layers_win():
    config = model_config("agcrcnn", "paper-rcv1", {"graph": {"N": 7}}, {"graph": {"N": 8}, "training": {"epochs": 3}})
    assert (config.graph.N, config.graph.K, config.training.epochs) == (8, 25, 3)


@pytest.mark.parametrize("key", AXES)
def test_what_contradicts_the_model_is_refused(key):
    section, name = key.split(".")
    variant = BY_NAME["TGRCNN"]  # its attention and label weights can be changed without another contradiction
    right = getattr(variant, name)
    wrong = next(value for value in AXES[key] if value != right)
    assert model_config("TGRCNN", "default", {section: {name: right}}) == model_config("TGRCNN", "default")
    with pytest.raises(ConfigError) as caught:
        model_config("TGRCNN", "default", {section: {name: wrong}})
    assert str(caught.value) == (
        f"{key}={wrong} contradicts the model TGRCNN, which has {right}; "
        "leave it out, or choose another model (see: taxocaps models)"
    )


def test_unknown_names_give_the_nearest():
    with pytest.raises(ConfigError, match=re.escape("no preset is called 'paper-rcv'; did you mean paper-rcv1?")):
        model_config(DEFAULT_MODEL, "paper-rcv")
    with pytest.raises(ConfigError, match="no preset is called 'zzz'; there are default, fast, paper-rcv1"):
        model_config(DEFAULT_MODEL, "zzz")
    with pytest.raises(ConfigError, match=re.escape("no model is called 'AGRCNN'; did you mean")):
        model_config("AGRCNN", "default")
    with pytest.raises(ConfigError, match=re.escape("graph.windw; did you mean graph.window?")):
        model_config(DEFAULT_NETWORK, "default", {"graph": {"windw": 4}})


@pytest.mark.parametrize("model", ["auto", "SVM", "SVM+LR"])
def test_a_preset_for_networks_is_refused_by_other_models(model):
    message = (
        f"the preset fast is for networks and has no settings for {model}; "
        "give --model HE-AGCRCNN --preset fast, or leave it out"
    )
    for resolve in (model_config, encoding_config):
        with pytest.raises(ConfigError, match=re.escape(message)):
            resolve(model, "fast")


def test_a_preset_reaches_the_networks_among_members():
    members = model_config("SVM+XML-CNN", "fast").members
    assert members["XML-CNN"] == model_config("XML-CNN", "fast")
    assert members["SVM"] == model_config("SVM", "default")


def test_what_a_name_decides_cannot_be_changed():
    with pytest.raises(ConfigError, match=re.escape("linear.loss=logistic contradicts the model SVM, which has hinge")):
        model_config("SVM", "default", {"linear": {"loss": "logistic"}})
    with pytest.raises(ConfigError, match=re.escape("scorer=network contradicts the model SVM, which has linear")):
        model_config("SVM", "default", {"scorer": "network"})
    with pytest.raises(ConfigError, match=re.escape("scorer=linear contradicts the model LSTM, which has network")):
        model_config("LSTM", "default", {"scorer": "linear"})
    with pytest.raises(ConfigError, match=re.escape("network.kind=sgm contradicts the model LSTM, which has lstm")):
        model_config("LSTM", "default", {"network": {"kind": "sgm"}})
    with pytest.raises(ConfigError, match=re.escape("network.directions=2 contradicts the model LSTM")):
        model_config("LSTM", "default", {"network": {"directions": 2}})


def test_what_a_model_never_reads_is_refused():
    with pytest.raises(ConfigError, match="SVM has no option network"):
        model_config("SVM", "default", {"network": {"kind": "lstm"}})
    with pytest.raises(ConfigError, match=r"SGM\+GE has no option loss"):
        model_config("SGM+GE", "default", {"loss": {"down": 1.0}})
    with pytest.raises(
        ConfigError,
        match=r"SVM has no option graph\.\w+; its options are those of bag, decision, folds, labels, linear, scorer",
    ):
        model_config("SVM", "default", {"graph": {"window": 4}})
    with pytest.raises(
        ConfigError, match=r"LSTM has no option graph\.\w+; its options are those of decision, folds, label_vectors"
    ):
        model_config("LSTM", "default", {"graph": {"window": 4}})
    with pytest.raises(ConfigError, match="HE-AGCRCNN has no option tokens"):
        model_config("HE-AGCRCNN", "default", {"tokens": {"length": 4}})
    with pytest.raises(ConfigError, match=r"auto has no option training.*; networks have it: --model HE-AG"):
        model_config(DEFAULT_MODEL, "default", {"training": {"epochs": 4}})
    with pytest.raises(ConfigError, match=r"auto has no option linear.* validation, without$"):
        model_config(DEFAULT_MODEL, "default", {"linear": {"C": 4}})
    with pytest.raises(ConfigError, match="DCNN reads characters; it has no options of words"):
        model_config("DCNN", "default", {"text": {"lemmas": "none"}})


def test_more_time_lets_networks_take_part():
    assert set(model_config("auto", "default").members) == {"words", "pairs", "characters"}
    members = model_config("auto", "default", {"time": "1h"}).members
    assert list(members) == ["words", "pairs", "characters", "XML-CNN", "HE-AGCRCNN"]


def test_networks_are_not_tried_without_their_libraries(monkeypatch):
    monkeypatch.setattr(taxocaps.catalogue.presets, "find_spec", lambda name: None)
    assert set(model_config("auto", "default", {"time": "1h"}).members) == {"words", "pairs", "characters"}


def test_time_is_an_option_of_joined_models_only():
    with pytest.raises(ConfigError, match="SVM has no option time"):
        model_config("SVM", "default", {"time": "10m"})
