"""The options of training are validated, with errors of one line."""

import pytest

from taxocaps.config import parse_override, resolve
from taxocaps.errors import ConfigError
from taxocaps.training.config import TrainingConfig


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "training.epochs must be from 1 to 100000; got 0"),
        ({"batch_size": 2.5}, "training.batch_size must be a whole number; got 2.5"),
        ({"learning_rate": 0}, "training.learning_rate must be from 1e-09 to 10; got 0"),
        ({"schedule": "linear"}, "training.schedule must be one of constant, cosine; got 'linear'"),
        ({"warmup": 1.1}, "training.warmup must be from 0 to 1; got 1.1"),
        ({"weight_decay": -1}, "training.weight_decay must be from 0 to 10; got -1"),
        ({"device": "tpu"}, "training.device must be one of auto, cpu, cuda, mps; got 'tpu'"),
        ({"devices": 0}, "training.devices must be from 1 to 10000; got 0"),
    ],
)
def test_every_option_has_its_bounds(options, message):
    with pytest.raises(ConfigError) as caught:
        TrainingConfig(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["clip", "patience"])
def test_options_that_can_be_null_have_bounds_too(name):
    with pytest.raises(ConfigError, match=rf"^training\.{name} must be .*; got 0$"):
        TrainingConfig(**{name: 0})


def test_clipping_and_patience_can_be_switched_off():
    config = TrainingConfig(clip=None, patience=None)
    assert (config.clip, config.patience) == (None, None)
    assert resolve(TrainingConfig, parse_override("patience=null")).patience is None


def test_options_survive_a_file():
    config = TrainingConfig(epochs=3, patience=None, schedule="constant")
    assert resolve(TrainingConfig, config.as_mapping()) == config
