"""The configuration of a whole run: the sections of all stages, resolved from files and `--set` overrides."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from taxocaps.corpus.fields import CorpusConfig
from taxocaps.errors import ConfigError
from taxocaps.graph.config import GraphConfig
from taxocaps.settings import Settings, as_mapping, nested, parse_override, read_mapping, resolve
from taxocaps.text.pipeline import TextConfig
from taxocaps.text.vectors import VectorsConfig
from taxocaps.text.vocabulary import VocabularyConfig

__all__ = ["EncodeConfig", "config_as_yaml", "resolve_config"]


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
    layers = [read_mapping(file)] if file else []
    try:
        resolve(EncodeConfig, *layers)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error
    named = [nested(key, value) for key, value in (options or {}).items()]
    return resolve(EncodeConfig, *layers, *map(parse_override, overrides), *named)


def config_as_yaml(config: EncodeConfig) -> str:
    """The configuration as the text of a YAML file."""
    import yaml

    return str(yaml.safe_dump(as_mapping(config), sort_keys=False, allow_unicode=True))
