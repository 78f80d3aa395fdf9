"""The configuration of a whole run: the sections of all stages, resolved from files and `--set` overrides."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxocaps.corpus.fields import CorpusConfig
from taxocaps.errors import ConfigError
from taxocaps.graph.config import GraphConfig
from taxocaps.settings import Settings, as_mapping, nested, parse_override, read_mapping, resolve
from taxocaps.text.pipeline import TextConfig
from taxocaps.text.vectors import VectorsConfig
from taxocaps.text.vocabulary import VocabularyConfig

if TYPE_CHECKING:
    from taxocaps.workflows.run_config import RunConfig

__all__ = ["TRAINING_KEYS", "EncodeConfig", "config_as_yaml", "resolve_config", "resolve_run_config"]

TRAINING_KEYS = (
    *("model", "preset", "seed", "labels"),
    *("network", "loss", "walks", "label_vectors", "training", "decision"),
)
"""The keys of a configuration that only training reads; named here so that other commands need not load torch."""


@dataclass(frozen=True)
class EncodeConfig(Settings):
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
    _check_file(EncodeConfig, file, encoding)
    return resolve(EncodeConfig, *encoding)


def resolve_run_config(
    file: Path | None = None, overrides: Iterable[str] = (), options: Mapping[str, object] | None = None
) -> "RunConfig":
    """The configuration of training: the preset, what the model decides, then as `resolve_config`."""
    from taxocaps.catalogue.presets import model_config
    from taxocaps.workflows.run_config import RUN_KEYS, RunConfig

    layers = _layers(file, overrides, options)
    _check_file(RunConfig, file, layers)
    named = resolve(RunConfig, *layers)
    sections = [{key: value for key, value in layer.items() if key not in RUN_KEYS} for layer in layers]
    return replace(named, **vars(model_config(named.model, named.preset, *sections)))


def config_as_yaml(config: Settings) -> str:
    """The configuration as the text of a YAML file."""
    import yaml

    return str(yaml.safe_dump(as_mapping(config), sort_keys=False, allow_unicode=True))


def _layers(
    file: Path | None, overrides: Iterable[str], options: Mapping[str, object] | None
) -> list[Mapping[str, Any]]:
    from_file = [read_mapping(file)] if file else []
    return [
        *from_file,
        *map(parse_override, overrides),
        *(nested(key, value) for key, value in (options or {}).items()),
    ]


def _check_file(cls: type[Settings], file: Path | None, layers: Sequence[Mapping[str, Any]]) -> None:
    """Name the file if it alone, the first of the layers, is at fault."""
    if file is not None:
        try:
            resolve(cls, layers[0])
        except ConfigError as error:
            raise ConfigError(f"{file}: {error}") from error
