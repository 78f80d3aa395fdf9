"""The configuration of a run is that of a model, and four keys more."""

import dataclasses

import pytest
from taxocaps.config import as_mapping, resolve

from taxocaps.errors import ConfigError
from taxocaps.estimators.config import ModelConfig
from taxocaps.workflows.run_config import RUN_KEYS, RunConfig


def keys(cls):
    return {field.name for field in dataclasses.fields(cls)}


def test_the_keys_of_a_run_are_those_that_a_model_lacks():
    assert set(RUN_KEYS) == keys(RunConfig) - keys(ModelConfig)


def test_what_is_left_is_the_configuration_of_a_model():
    rest = {key: value for key, value in as_mapping(RunConfig()).items() if key not in RUN_KEYS}
    assert resolve(ModelConfig, rest) == ModelConfig()


@pytest.mark.parametrize("seed", [-1, 2**31, 1.5, "x"])
def test_seeds_are_whole_numbers_that_every_library_takes(seed):
    with pytest.raises(ConfigError, match="seed must be"):
        RunConfig(seed=seed)
