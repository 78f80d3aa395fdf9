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


@pytest.mark.parametrize(
    ("documents", "epochs", "patience"),
    [
        (6_993, 12, 5),  # Reuters: 219 steps an epoch
        (800, 12, 5),  # 25 steps an epoch are enough
        (768, 13, 5),
        (500, 19, 8),
        (33, 150, 62),
        (1, 240, 100),  # never more than 20 times as many
    ],
)
def test_few_documents_are_read_more_often_and_training_is_as_patient(documents, epochs, patience):
    config = TrainingConfig(epochs=12, batch_size=32, patience=5, min_steps=300).for_documents(documents)
    assert (config.epochs, config.patience) == (epochs, patience)


def test_the_epochs_asked_for_and_no_more():
    config = TrainingConfig(min_steps=0, patience=None)
    assert config.for_documents(1) == config
    assert TrainingConfig(patience=None).for_documents(1).patience is None


def test_several_devices_share_a_batch():
    config = TrainingConfig(batch_size=8, devices=4)
    assert [config.batches(documents) for documents in (0, 1, 32, 33)] == [1, 1, 1, 2]


def test_options_survive_a_file():
    config = TrainingConfig(epochs=3, patience=None, schedule="constant")
    assert resolve(TrainingConfig, config.as_mapping()) == config
