"""The configuration of a whole run: the sections of all stages, resolved from files and `--set` overrides."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxocaps.config import Config, nested, parse_override, read_mapping, resolve
from taxocaps.corpus.fields import CorpusConfig
from taxocaps.errors import ConfigError
from taxocaps.graph.config import GraphConfig
from taxocaps.text.pipeline import TextConfig
from taxocaps.text.vectors import VectorsConfig
from taxocaps.text.vocabulary import VocabularyConfig

if TYPE_CHECKING:
    from taxocaps.workflows.run_config import RunConfig

__all__ = [
    "TRAINING_KEYS",
    "EncodeConfig",
    "config_as_mapping",
    "config_as_yaml",
    "resolve_config",
    "resolve_run_config",
]

TRAINING_KEYS = (
    *("model", "preset", "seed", "labels"),
    *("family", "bag", "linear", "tokens", "network"),
    *("loss", "walks", "label_vectors", "training", "decision"),
)
"""The keys of a configuration that only training reads; named here so that other commands need not load torch."""


class EncodeConfig(Config):
    """Everything that decides how documents become words-matrices."""

    corpus: CorpusConfig = field(default_factory=CorpusConfig)
    text: TextConfig = field(default_factory=TextConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    graph: GraphConfig = field(default_factory=GraphConfig)
    vectors: VectorsConfig = field(default_factory=VectorsConfig)


def resolve_config(
    file: Path | None = None, overrides: Iterable[str] = (), options: Mapping[str, object] | None = None
) -> EncodeConfig:
    """The defaults, then a YAML or TOML file, then overrides, then options.

    Args:
        file: A configuration file.
        overrides: Texts such as `graph.window=4`.
        options: Values by their full key, such as `{"corpus.text_field": "body"}`.
    """
    layers = _layers(file, overrides, options)
    # One file may serve all commands: what only training reads is passed over here.
    encoding = [{key: value for key, value in layer.items() if key not in TRAINING_KEYS} for layer in layers]
    if file is not None:
        try:
            resolve(EncodeConfig, encoding[0])
        except ConfigError as error:  # name the file if it alone, the first of the layers, is at fault
            raise ConfigError(f"{file}: {error}") from error
    return resolve(EncodeConfig, *encoding)


def resolve_run_config(
    file: Path | None = None, overrides: Iterable[str] = (), options: Mapping[str, object] | None = None
) -> "RunConfig":
    """The configuration of training: the preset, what the model decides, then as `resolve_config`."""
    layers = _layers(file, overrides, options)
    if file is not None:
        try:  # with the model that is meant: its name decides which keys there are
            _run_config([*layers[:1], *({"model": layer["model"]} for layer in layers if "model" in layer)])
        except ConfigError as error:
            raise ConfigError(f"{file}: {error}") from error
    return _run_config(layers)


def _run_config(layers: Sequence[Mapping[str, Any]]) -> "RunConfig":
    from taxocaps.catalogue.presets import model_config
    from taxocaps.workflows.run_config import RUN_KEYS, RunConfig

    def part(*, of_run: bool) -> list[Mapping[str, Any]]:
        return [{key: value for key, value in layer.items() if (key in RUN_KEYS) == of_run} for layer in layers]

    named = resolve(RunConfig, *part(of_run=True))
    return replace(named, **vars(model_config(named.model, named.preset, *part(of_run=False))))


def config_as_mapping(config: "RunConfig") -> Mapping[str, Any]:
    """The options that the model reads, as nested plain values."""
    from taxocaps.estimators.config import used_options

    return used_options(config)


def config_as_yaml(config: "RunConfig") -> str:
    """The options that the model reads, as the text of a YAML file."""
    import yaml

    return str(yaml.safe_dump(dict(config_as_mapping(config)), sort_keys=False, allow_unicode=True))


def _layers(
    file: Path | None, overrides: Iterable[str], options: Mapping[str, object] | None
) -> list[Mapping[str, Any]]:
    # One file may serve all commands: what only the server reads is passed over here.
    from_file = [{key: value for key, value in read_mapping(file).items() if key != "serve"}] if file else []
    return [
        *from_file,
        *map(parse_override, overrides),
        *(nested(key, value) for key, value in (options or {}).items()),
    ]
