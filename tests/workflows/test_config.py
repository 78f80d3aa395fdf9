from dataclasses import fields

import pytest
import yaml

from taxocaps.catalogue.presets import PRESETS
from taxocaps.errors import ConfigError
from taxocaps.workflows.config import (
    TRAINING_KEYS,
    EncodeConfig,
    config_as_mapping,
    config_as_yaml,
    resolve_config,
    resolve_run_config,
)
from taxocaps.workflows.run_config import RunConfig


def test_file_then_overrides_then_options(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("[graph]\nwindow = 4\nN = 50\nK = 9\n")
    config = resolve_config(file, ["graph.N=60", "graph.K=8"], {"graph.K": 7, "corpus.text_field": "body"})
    assert (config.graph.window, config.graph.N, config.graph.K) == (4, 60, 7)
    assert config.corpus.text_field == "body"


def test_unknown_keys_name_the_nearest():
    with pytest.raises(ConfigError, match=r"unknown configuration key graph\.windows; did you mean graph\.window\?"):
        resolve_config(overrides=["graph.windows=3"])


def test_a_mistake_in_a_file_names_the_file(tmp_path):
    (tmp_path / "run.yaml").write_text("text:\n  language: no\n")
    with pytest.raises(ConfigError, match=r"run\.yaml: text\.language must be text; got False"):
        resolve_config(tmp_path / "run.yaml")


def test_the_written_configuration_reads_back(tmp_path):
    config = resolve_run_config(overrides=["graph.window=5", "text.language=de"])
    file = tmp_path / "run.yaml"
    file.write_text(config_as_yaml(config))
    assert resolve_run_config(file) == config
    assert resolve_config(file).graph.window == 5
    assert resolve_config() == EncodeConfig()


def test_a_configuration_shows_what_its_model_reads(tmp_path):
    config = resolve_run_config(overrides=["bag.min_documents=3"], options={"model": "svm"})
    file = tmp_path / "run.yaml"
    file.write_text(config_as_yaml(config))
    assert set(yaml.safe_load(file.read_text())) == {
        *("model", "preset", "seed", "corpus", "family", "labels", "text"),
        *("bag", "linear", "training", "decision"),
    }
    assert config_as_mapping(config)["bag"]["min_documents"] == 3
    assert resolve_run_config(file) == config


def test_a_file_is_read_for_the_model_that_is_asked_for(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("network: {widths: [2, 3]}")
    assert resolve_run_config(file, options={"model": "CNN-non-static"}).network.widths == (2, 3)
    with pytest.raises(ConfigError, match=r"run\.yaml: unknown configuration key network\.widths"):
        resolve_run_config(file)


def test_training_keys_are_those_that_only_training_reads():
    assert set(TRAINING_KEYS) == {f.name for f in fields(RunConfig)} - {f.name for f in fields(EncodeConfig)}
    assert {f.name for f in fields(EncodeConfig)} < {f.name for f in fields(RunConfig)}


def test_a_file_for_training_serves_other_commands_too(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text(config_as_yaml(resolve_run_config(overrides=["graph.window=5", "training.epochs=3", "seed=7"])))
    config = resolve_config(file, ["network.units=9"])
    assert isinstance(config, EncodeConfig)
    assert (config.graph.window, config.graph.N) == (5, resolve_run_config().graph.N)
    with pytest.raises(ConfigError, match="trainin"):
        resolve_config(overrides=["trainin.epochs=3"])


def test_a_run_begins_with_its_preset_and_its_model(tmp_path):
    config = resolve_run_config(options={"preset": "paper-rcv1", "model": "gccnn"})
    assert (config.graph.N, config.graph.T, config.network.channels) == (100, 20, 64)
    assert (config.network.recurrent, config.network.head, config.loss.label_weights) == ("none", "capsule", "uniform")
    file = tmp_path / "run.toml"
    file.write_text('preset = "paper-rcv1"\nmodel = "GCCNN"\n[graph]\nN = 50\nT = 19\n')
    config = resolve_run_config(file, ["graph.T=18"], {"preset": "paper-eurlex"})
    assert (config.preset, config.model) == ("paper-eurlex", "GCCNN")
    assert (config.graph.N, config.graph.T, config.network.compress) == (50, 18, 128)


def test_the_default_preset_is_the_defaults():
    assert resolve_run_config() == RunConfig()


def test_what_contradicts_the_model_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"network\.head=dense contradicts the model GCCNN, which has capsule"):
        resolve_run_config(overrides=["network.head=dense"], options={"model": "gccnn"})
    with pytest.raises(ConfigError, match=r"no model is called 'GCCN'; did you mean GCCNN\?"):
        resolve_run_config(overrides=["model=GCCN"])
    with pytest.raises(ConfigError, match=r"no preset is called 'fats'; did you mean fast\?"):
        resolve_run_config(overrides=["preset=fats"])


def test_a_mistake_in_a_file_for_training_names_the_file(tmp_path):
    (tmp_path / "run.yaml").write_text("training:\n  epoch: 3\n")
    with pytest.raises(ConfigError, match=r"run\.yaml: unknown configuration key training\.epoch; did you mean"):
        resolve_run_config(tmp_path / "run.yaml")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("model", ["HE-AGCRCNN", "tgcnn(no-r)"])
def test_a_written_run_reads_back(tmp_path, preset, model):
    config = resolve_run_config(overrides=["training.epochs=3"], options={"preset": preset, "model": model, "seed": 5})
    (tmp_path / "run.yaml").write_text(config_as_yaml(config))
    assert resolve_run_config(tmp_path / "run.yaml") == config


def test_the_section_of_the_server_may_stand_in_the_same_file(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("serve: {batch: 8}\ngraph: {N: 9}")
    assert resolve_config(file).graph.N == 9
    assert resolve_run_config(file).graph.N == 9
