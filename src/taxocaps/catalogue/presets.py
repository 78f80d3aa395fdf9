"""Named settings: the paper's own for its three data sets, the best here, and a quick one."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from taxocaps.catalogue import DEFAULT_MODEL, DEFAULT_NETWORK
from taxocaps.catalogue.models import ModelSpec, find_model
from taxocaps.config import Config, merge, seconds
from taxocaps.encoding.encoders import ENCODERS
from taxocaps.encoding.pieces import EncoderConfig
from taxocaps.errors import ConfigError, MissingExtraError, nearest
from taxocaps.scorers.base import SCORERS, ModelConfig
from taxocaps.text.pipeline import TextConfig

__all__ = ["PRESETS", "encoding_config", "model_config", "slow_members"]


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
    "walks": {"kind": "meta-path", "length": 500},
    "prior": {"kind": "none"},
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
        "network": {"units": 64},
        "training": {"epochs": 5, "batch_size": 64, "learning_rate": 3e-3},
    },
    "paper-rcv1": merge(_PAPER, {"loss": {"p": 0.01}}),
    "paper-reuters": merge(_PAPER, {"loss": {"p": 0.1}}),
    "paper-eurlex": merge(
        _PAPER,
        {
            "graph": {"N": 200},
            "network": {"label_capsule_size": 64, "hidden": (2048, 4096), "sharing": "label", "compress": 128},
            "loss": {"p": 0.001},
        },
    ),
}
"""What each preset sets apart from the defaults; `default` is the defaults themselves."""


def model_config(model: str, preset: str, *layers: Mapping[str, Any], beside: Sequence[str] = ()) -> ModelConfig:
    """The configuration of a model: the preset, then what the model's name decides, then `layers`, the later winning.

    Args:
        model: The name of a model, in any case.
        preset: The name of a preset.
        layers: Nested mappings of further options.
        beside: Keys that stand beside the options; an unknown key may be one of these misspelt.

    Raises:
        ConfigError: For an unknown name or option, or for one that contradicts the model.
    """
    spec, given = find_model(model), merge(*layers)
    _check_axes(spec, given)
    options = merge(spec.axes, given)
    try:
        kind = SCORERS[str(options["scorer"])].config_type(options)
    except MissingExtraError as error:
        raise MissingExtraError(error.library, error.extra, f"the model {spec.name}") from error
    models = (*spec.members, *(slow_members(spec) if _has_more_time(spec, given) else ()))
    members = {name: _member_config(name, preset).as_mapping() for name in models}
    usual = merge(_preset(spec, preset), spec.usual, {"members": members} if members else {})
    sections = {section: values for section, values in usual.items() if section in kind.model_fields}
    _check_sections(spec, kind, given)
    return kind.model_validate(merge(sections, options), context={"beside": beside})


def _member_config(model: str, preset: str) -> ModelConfig:
    return model_config(model, preset if find_model(model).has_presets else "default").as_member()


def encoding_config(model: str, preset: str, *layers: Mapping[str, Any]) -> tuple[TextConfig, dict[str, Config]]:
    """How a model reads documents: the options of the text pipeline, and those of each encoding by its name.

    A model of the catalogue needs no library that only networks need, and sections of `layers` that do not matter here
    are passed over. What a scorer of another package reads, only its whole configuration tells.
    """
    spec = find_model(model)
    if spec.reads is None:
        config = model_config(model, preset, *layers)
        return config.text, dict(config.encodings)
    options = merge(_preset(spec, preset), spec.usual, spec.axes, *layers)
    configs = {name: ENCODERS[name].Config for name in spec.reads}
    sections = {name: config.model_validate(options.get(config.section, {})) for name, config in configs.items()}
    pretrained = EncoderConfig.model_validate(options.get(EncoderConfig.section, {}))
    if pretrained.encoding is not None:
        model_config(model, preset, *layers)  # refuses an encoder for a model that reads none
        sections[pretrained.encoding] = pretrained
    return TextConfig.model_validate(options.get(TextConfig.section, {})), sections


def slow_members(spec: ModelSpec) -> tuple[str, ...]:
    """The models that a joined model tries if there is time; none without the libraries of networks."""
    return spec.slow if find_spec("torch") else ()


def _has_more_time(spec: ModelSpec, given: Mapping[str, Any]) -> bool:
    """Whether a joined model is given more time than it usually takes."""
    time = given.get("time")
    return bool(spec.slow) and time is not None and seconds(time) > spec.usual["time"]


def _preset(spec: ModelSpec, name: str) -> Mapping[str, Any]:
    if name not in PRESETS:
        close = nearest(name, PRESETS)
        hint = f"did you mean {close}?" if close else f"there are {', '.join(PRESETS)}"
        raise ConfigError(f"no preset is called {name!r}; {hint}")
    if PRESETS[name] and not spec.has_presets:
        raise ConfigError(
            f"the preset {name} is for networks and has no settings for {spec.name}; "
            f"give --model {DEFAULT_NETWORK} --preset {name}, or leave it out"
        )
    if spec.is_variant:
        return PRESETS[name]
    # Presets have settings for the sizes and the loss of the paper's own networks only.
    return {section: values for section, values in PRESETS[name].items() if section not in ("network", "loss")}


def _check_axes(spec: ModelSpec, given: Mapping[str, Any]) -> None:
    """Refuse options that contradict the name of a model."""
    for section, decided in spec.axes.items():
        found = given.get(section)
        if not isinstance(decided, Mapping):
            _check_axis(spec, section, given.get(section, decided), decided)
        elif isinstance(found, Mapping):
            for key, value in decided.items():
                _check_axis(spec, f"{section}.{key}", found.get(key, value), value)


def _check_axis(spec: ModelSpec, key: str, found: Any, decided: Any) -> None:
    plain = [tuple(value) if isinstance(value, list) else value for value in (found, decided)]
    if str(plain[0]) != str(plain[1]) and found not in spec.alternatives.get(key, ()):
        raise ConfigError(
            f"{key}={found} contradicts the model {spec.name}, which has {decided}; "
            "leave it out, or choose another model (see: taxocaps models)"
        )


def _check_sections(spec: ModelSpec, kind: type[ModelConfig], given: Mapping[str, Any]) -> None:
    """Refuse options that the model would never look at, with what it has instead."""
    usual = TextConfig(tokenizer="characters").as_mapping()  # a file with all options has these, too
    changed = {key for key, value in given.get("text", {}).items() if value != usual.get(key)}
    if spec.axes.get("text") == {"tokenizer": "characters"} and changed - {"language"}:
        raise ConfigError(f"{spec.name} reads characters; it has no options of words (text)")
    for section in given:
        if section not in kind.model_fields and section in _SECTIONS:
            is_default = spec.name == DEFAULT_MODEL and section in _OF_NETWORKS
            hint = f"; networks have it: --model {DEFAULT_NETWORK}" if is_default else ""
            raise ConfigError(
                f"{spec.name} has no option {_first_key(section, given[section])}; its options are those of "
                f"{', '.join(sorted(kind.model_fields))}{hint}"
            )


def _first_key(section: str, found: Any) -> str:
    """The full name of the first option of a section; that of the section, if it has no keys."""
    return f"{section}.{next(iter(found))}" if isinstance(found, Mapping) and found else section


_OF_NETWORKS = {"label_vectors", *(section for preset in PRESETS.values() for section in preset)}
_SECTIONS = {
    "bag",
    "choose",
    "join",
    "linear",
    "members",
    "time",
    "without",
    *_OF_NETWORKS,
    *(ENCODERS[name].Config.section for name in ENCODERS),
}
