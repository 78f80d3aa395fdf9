import pytest
import yaml

from taxocaps.errors import ConfigError
from taxocaps.workflows.config import EncodeConfig, config_as_yaml, resolve_config


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
    config = resolve_config(overrides=["graph.window=5", "text.language=de"])
    file = tmp_path / "run.yaml"
    file.write_text(config_as_yaml(config))
    assert resolve_config(file) == config
    assert set(yaml.safe_load(file.read_text())) == {"corpus", "text", "vocabulary", "graph", "vectors"}
    assert resolve_config() == EncodeConfig()
