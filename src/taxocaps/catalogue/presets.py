"""Named settings: the paper's own for its three data sets, the best here, and a quick one."""

import difflib
from collections.abc import Mapping
from typing import Any

from taxocaps.catalogue.model import Model
from taxocaps.catalogue.registry import find_model
from taxocaps.config import merge, resolve
from taxocaps.errors import ConfigError
from taxocaps.estimators.config import ModelConfig, used_sections

__all__ = ["DEFAULT_MODEL", "PRESETS", "model_config"]

DEFAULT_MODEL = "HE-AGCRCNN"

_PAPER: Mapping[str, Any] = {
    "graph": {"window": 3, "radius": 5, "N": 100, "K": 25, "T": 20},
    "vocabulary": {"min_count": 1},
    "vectors": {"source": "skip-gram", "dimension": 50, "epochs": 5},
    "network": {
        "filters": (64, 128),
        "units": 128,
        "channels": 64,
        "capsule_size": 16,
        "label_capsule_size": 32,
        "iterations": 3,
        "gain": None,
        "normalization": "none",
        "pooling": "sum",
        "dropout": 0.0,
        "word_dropout": 0.0,
    },
    "loss": {"down": 0.5, "floor": 0.0},
    "walks": {"kind": "meta-path"},
    "training": {
        "epochs": 20,
        "batch_size": 32,
        "learning_rate": 1e-3,
        "vectors_rate": 1.0,
        "vectors_epsilon": 1e-8,
        "schedule": "constant",
        "warmup": 0.0,
    },
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "fast": {
        "graph": {"N": 32},
        "vectors": {"epochs": 3},
        "network": {"units": 64, "dropout": 0.1, "word_dropout": 0.0},
        "training": {"epochs": 5, "batch_size": 64, "learning_rate": 3e-3},
    },
    "paper-rcv1": merge(_PAPER, {"loss": {"p": 0.01}}),
    "paper-reuters": merge(_PAPER, {"loss": {"p": 0.1}}),
    "paper-eurlex": merge(
        _PAPER,
        {
            "graph": {"N": 200},
            "network": {"label_capsule_size": 64, "hidden": (2048, 4096), "compress": 128},
            "loss": {"p": 0.001},
        },
    ),
}
"""What each preset sets apart from the defaults; `default` is the defaults themselves."""


def model_config(model: str, preset: str, *layers: Mapping[str, Any]) -> ModelConfig:
    """The configuration of a model: the preset, then what the model's name decides, then `layers`, the later winning.

    Args:
        model: The name of a model, in any case.
        preset: The name of a preset.
        layers: Nested mappings of further options.

    Raises:
        ConfigError: For an unknown name or option, or for one that contradicts the model.
    """
    found = find_model(model)
    named = _find_preset(preset)
    if not found.is_variant:  # presets have settings for the sizes and the loss of our own networks only
        named = {section: values for section, values in named.items() if section not in ("network", "loss")}
    given = merge(*layers)
    _check_kind(found, given)
    config = resolve(ModelConfig, named, found.usual, found.axes, given)
    _check_sections(found, config, given)
    _check_axes(found, config)
    return config


def _check_kind(model: Model, given: Mapping[str, Any]) -> None:
    """Refuse another kind of network before its options are looked at, which are others."""
    network, decided = given.get("network"), model.axes.get("network", {}).get("kind")
    if decided and isinstance(network, Mapping) and network.get("kind", decided) != decided:
        raise _contradiction(model, "network.kind", network["kind"], decided)


def _check_axes(model: Model, config: ModelConfig) -> None:
    """Refuse options that contradict the name of a model."""
    for section, decided in model.axes.items():
        found = getattr(config, section)
        if not isinstance(decided, Mapping):
            if found != decided:
                raise _contradiction(model, section, found, decided)
            continue
        for key, value in decided.items():
            if getattr(found, key) != value:
                raise _contradiction(model, f"{section}.{key}", getattr(found, key), value)


def _contradiction(model: Model, key: str, found: object, wanted: object) -> ConfigError:
    return ConfigError(
        f"{key}={found} contradicts the model {model.name}, which has {wanted}; "
        "leave it out, or choose another model (see: taxocaps models)"
    )


def _check_sections(model: Model, config: ModelConfig, given: Mapping[str, Any]) -> None:
    """Refuse options that the model would never look at."""
    used = used_sections(config)
    for section in given:
        if section in vars(config) and section not in used:
            raise ConfigError(f"{model.name} has no options {section}; it has {', '.join(sorted(used))}")


def _find_preset(name: str) -> Mapping[str, Any]:
    if name in PRESETS:
        return PRESETS[name]
    nearest = difflib.get_close_matches(name, PRESETS, n=1)
    hint = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(PRESETS)}"
    raise ConfigError(f"no preset is called {name!r}; {hint}")
