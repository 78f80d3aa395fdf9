"""Structured configuration: frozen dataclasses that check themselves, made from files and `key=value` overrides.

Each stage declares its options beside its own code::

    @dataclass(frozen=True)
    class GraphConfig(Settings):
        window: Annotated[int, AtLeast(2)] = 3
        distance: Literal["hops", "count"] = "hops"

and a value that does not fit its annotation is refused, with the key's full name, when the object is made.
"""

import dataclasses
import difflib
import hashlib
import json
import tomllib
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from taxocaps.annotations import AtLeast, Between, problem, read_value
from taxocaps.errors import ConfigError

__all__ = [
    "AtLeast",
    "Between",
    "Kinds",
    "Settings",
    "Unparsed",
    "as_mapping",
    "fingerprint",
    "merge",
    "nested",
    "parse_override",
    "read_mapping",
    "resolve",
]

S = TypeVar("S")


@dataclass(frozen=True)
class Kinds:
    """The configurations that one section may hold; the section's key `kind` says which.

    Written as `network: Annotated[Settings, Kinds({"lstm": LSTMConfig, ...})]`.
    """

    table: Mapping[str, type["Settings"]]

    def problem(self, value: Any) -> str | None:
        """Say what is wrong with `value`, or None when it is one of these configurations."""
        return None if type(value) in self.table.values() else f"must be of a kind: {', '.join(self.table)}"

    def find(self, key: str, kind: Any) -> type["Settings"]:
        """The configuration of a kind."""
        if kind not in self.table:
            raise ConfigError(f"{key}.kind must be one of {', '.join(self.table)}; got {str(kind)!r}")
        return self.table[kind]


@dataclass(frozen=True)
class Settings:
    """Base of every stage's configuration; the fields of a subclass are checked against their annotations."""

    section: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Check every field; a subclass with rules across fields calls this first."""
        for name, annotation in _annotations(type(self)).items():
            value = getattr(self, name)
            wrong = problem(value, annotation)
            if wrong:
                raise ConfigError(f"{self.key(name)} {wrong}; got {value!r}")

    @classmethod
    def key(cls, name: str) -> str:
        """The full name of a field as users write it, such as `graph.window`."""
        return f"{cls.section}.{name}" if cls.section else name


def resolve(cls: type[S], *layers: Mapping[str, Any]) -> S:
    """Make a configuration from its defaults and `layers` of nested mappings, the later winning.

    Args:
        cls: A `Settings` dataclass; fields that are `Settings` themselves are sections.
        layers: Nested mappings, such as the content of a YAML file and parsed `--set` overrides.

    Raises:
        ConfigError: For an unknown key (the nearest one is named) or a value that is not allowed.
    """
    return _build(cls, merge(*layers), prefix="")


def merge(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge nested mappings; the later wins, section by section.

    >>> merge({"graph": {"window": 3, "N": 9}}, {"graph": {"window": 4}})
    {'graph': {'window': 4, 'N': 9}}
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            old = merged.get(key)
            both = isinstance(old, Mapping) and isinstance(value, Mapping)
            merged[key] = merge(old, value) if both else value  # type: ignore[arg-type]
    return merged


class Unparsed(str):
    """The text of a value, as written on the command line; it is read as the option's annotation asks."""

    __slots__ = ()


def parse_override(text: str) -> dict[str, Any]:
    """Read one `--set` argument.

    >>> parse_override("graph.window=4")
    {'graph': {'window': '4'}}
    """
    key, equals, value = text.partition("=")
    if not equals or not all(key.strip().split(".")):
        raise ConfigError(f"--set takes key=value, such as graph.window=4; got {text!r}")
    return nested(key.strip(), Unparsed(value))


def nested(key: str, value: Any) -> dict[str, Any]:
    """A value under its full key, as nested mappings.

    >>> nested("graph.window", 4)
    {'graph': {'window': 4}}
    """
    for part in reversed(key.split(".")):
        value = {part: value}
    return typing.cast("dict[str, Any]", value)


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a YAML or TOML configuration file (`.yaml`, `.yml`, `.toml`)."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text) if path.suffix.lower() == ".toml" else yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{path}: the configuration file cannot be read: {reason}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not a valid configuration file: {' '.join(str(error).split())}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: a configuration file holds keys and values; got {type(content).__name__}")
    return content


def as_mapping(settings: Any) -> dict[str, Any]:
    """The configuration as nested plain values, ready for YAML or JSON."""
    return typing.cast("dict[str, Any]", json.loads(json.dumps(dataclasses.asdict(settings))))


def fingerprint(value: Any) -> str:
    """A hash of a JSON-able value or a configuration, the same on every machine.

    >>> fingerprint({"b": 1, "a": 2}) == fingerprint({"a": 2, "b": 1})
    True
    """
    if dataclasses.is_dataclass(value):
        value = as_mapping(value)
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _build(cls: type[S], values: Mapping[str, Any], prefix: str) -> S:
    annotations = _annotations(cls)
    arguments: dict[str, Any] = {}
    for key, value in values.items():
        if key not in annotations:
            raise ConfigError(_unknown_key(f"{prefix}{key}", [f"{prefix}{name}" for name in annotations], cls))
        section = annotations[key]
        if _is_section(section):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{prefix}{key} is a section of keys; got {value!r}")
            made = _section_type(cls, key, value.get("kind"))
            # A section may stand in a configuration with defaults of its own.
            arguments[key] = _build(made, {**_default_section(cls, key, made), **value}, prefix=f"{prefix}{key}.")
        elif isinstance(value, Unparsed):
            arguments[key] = read_value(value, section)
        else:
            arguments[key] = tuple(value) if isinstance(value, list) else value
    return cls(**arguments)


def _is_section(annotation: Any) -> bool:
    if _kinds(annotation):
        return True
    return isinstance(annotation, type) and issubclass(annotation, Settings)


def _kinds(annotation: Any) -> Kinds | None:
    """The kinds of a section that has several."""
    found = typing.get_args(annotation)[1:] if typing.get_origin(annotation) is Annotated else ()
    return next((kinds for kinds in found if isinstance(kinds, Kinds)), None)


def _section_type(cls: type, key: str, kind: Any) -> type[Settings]:
    """The configuration of the section `key`: the one of a kind, if there are several and one is named."""
    annotation = _annotations(cls)[key]
    kinds = _kinds(annotation)
    if kinds is None:
        return typing.cast("type[Settings]", annotation)
    return type(_default(cls, key)) if kind is None else kinds.find(key, kind)


def _default_section(cls: type, key: str, made: type[Settings]) -> dict[str, Any]:
    """The values by which the section `key` of `cls` differs, by default, from the section's own defaults."""
    default = _default(cls, key)
    if type(default) is not made:
        return {}
    usual, default = as_mapping(made()), as_mapping(default)
    return {name: value for name, value in default.items() if value != usual[name]}


def _default(cls: type, key: str) -> Any:
    field = next(field for field in dataclasses.fields(cls) if field.name == key)
    return None if field.default_factory is dataclasses.MISSING else field.default_factory()


def _unknown_key(key: str, siblings: Iterable[str], cls: type) -> str:
    nearest = difflib.get_close_matches(key, [*siblings, *_all_keys(cls)], n=1, cutoff=0.4)
    hint = f"did you mean {nearest[0]}?" if nearest else f"allowed: {', '.join(siblings)}"
    return f"unknown configuration key {key}; {hint}"


def _all_keys(cls: type, prefix: str = "") -> list[str]:
    keys = []
    for name, annotation in _annotations(cls).items():
        if _is_section(annotation):
            keys += _all_keys(_section_type(cls, name, None), f"{prefix}{name}.")
        else:
            keys.append(f"{prefix}{name}")
    return keys


def _annotations(cls: type) -> dict[str, Any]:
    hints = typing.get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}
