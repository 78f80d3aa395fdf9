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
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union

from taxocaps.errors import ConfigError

__all__ = [
    "AtLeast",
    "Between",
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
class Between:
    """Bounds of a number, both allowed; `None` leaves a side open."""

    low: float | None
    high: float | None

    def problem(self, value: float) -> str | None:
        """Say what is wrong with `value`, or None when it lies inside.

        >>> Between(1, 127).problem(0)
        'must be from 1 to 127'
        """
        if (self.low is None or value >= self.low) and (self.high is None or value <= self.high):
            return None
        if self.high is None:
            return f"must be at least {self.low}"
        if self.low is None:
            return f"must be at most {self.high}"
        return f"must be from {self.low} to {self.high}"


def AtLeast(low: float) -> Between:  # noqa: N802 - reads as a type in annotations
    """Bounds of a number with an open top."""
    return Between(low, None)


@dataclass(frozen=True)
class Settings:
    """Base of every stage's configuration; the fields of a subclass are checked against their annotations."""

    section: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Check every field; a subclass with rules across fields calls this first."""
        for name, annotation in _annotations(type(self)).items():
            value = getattr(self, name)
            problem = _problem(value, annotation)
            if problem:
                raise ConfigError(f"{self.key(name)} {problem}; got {value!r}")

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
        if isinstance(section, type) and issubclass(section, Settings):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{prefix}{key} is a section of keys; got {value!r}")
            # A section may stand in a configuration with defaults of its own.
            arguments[key] = _build(section, {**_default_section(cls, key), **value}, prefix=f"{prefix}{key}.")
        elif isinstance(value, Unparsed):
            arguments[key] = _read_value(value, section)
        else:
            arguments[key] = tuple(value) if isinstance(value, list) else value
    return cls(**arguments)


def _default_section(cls: type, key: str) -> dict[str, Any]:
    """The values by which the section `key` of `cls` differs, by default, from the section's own defaults."""
    field = next(field for field in dataclasses.fields(cls) if field.name == key)
    if field.default_factory is dataclasses.MISSING:
        return {}
    usual, default = as_mapping(_annotations(cls)[key]()), as_mapping(field.default_factory())
    return {name: value for name, value in default.items() if value != usual[name]}


def _read_value(text: str, annotation: Any) -> Any:
    """The first reading of a text that is of its option's type; the text itself, to be refused, if none is."""
    import yaml

    text = str(text)
    readings: list[Callable[[str], Any]] = [
        {"null": None, "true": True, "false": False}.__getitem__,
        int,
        float,
        lambda text: tuple(yaml.safe_load(text)) if text.startswith("[") else text,
        str,
    ]
    for read in readings:
        try:
            value = read(text)
        except (KeyError, ValueError, TypeError, RecursionError, yaml.YAMLError):
            continue
        if _problem(value, _without_bounds(annotation)) is None:
            return value
    return text


def _without_bounds(annotation: Any) -> Any:
    """The bare type of an option: a number out of its bounds is still read as a number, and refused as one."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return arguments[0]
    if origin in (Union, types.UnionType):
        return Union[tuple(map(_without_bounds, arguments))]  # noqa: UP007 - the members are known only now
    return annotation


def _unknown_key(key: str, siblings: Iterable[str], cls: type) -> str:
    nearest = difflib.get_close_matches(key, [*siblings, *_all_keys(cls)], n=1, cutoff=0.4)
    hint = f"did you mean {nearest[0]}?" if nearest else f"allowed: {', '.join(siblings)}"
    return f"unknown configuration key {key}; {hint}"


def _all_keys(cls: type, prefix: str = "") -> list[str]:
    keys = []
    for name, annotation in _annotations(cls).items():
        if isinstance(annotation, type) and issubclass(annotation, Settings):
            keys += _all_keys(annotation, f"{prefix}{name}.")
        else:
            keys.append(f"{prefix}{name}")
    return keys


def _annotations(cls: type) -> dict[str, Any]:
    hints = typing.get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _problem(value: Any, annotation: Any) -> str | None:
    """What is wrong with `value` under `annotation`, or None."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _problem(value, arguments[0]) or next(
            (problem for bound in arguments[1:] if value is not None and (problem := bound.problem(value))), None
        )
    if origin is Literal:
        return None if value in arguments else f"must be one of {', '.join(map(str, arguments))}"
    if origin in (Union, types.UnionType):
        problems = [_problem(value, choice) for choice in arguments]
        return None if None in problems else " or ".join(p for p in problems if p).replace(" or must be", " or")
    if origin is tuple:
        fits = isinstance(value, tuple) and all(_problem(item, arguments[0]) is None for item in value)
        return None if fits else f"must be a list of {_type_name(arguments[0])}"
    return None if _is_a(value, annotation) else f"must be {_type_name(annotation)}"


def _is_a(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _type_name(kind: Any) -> str:
    names = {int: "a whole number", float: "a number", str: "text", bool: "true or false", type(None): "null"}
    return names.get(kind, getattr(kind, "__name__", str(kind)))
