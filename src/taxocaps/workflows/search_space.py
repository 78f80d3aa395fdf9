"""What a search tries: the ranges that options declare beside themselves, or those that a user gives."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pydantic.fields import FieldInfo

from taxocaps.config import Config, Search, SearchAmong
from taxocaps.errors import ConfigError
from taxocaps.workflows.config import RunConfig

__all__ = ["Choices", "Range", "Space", "search_space", "value_of"]

_FACTORS = 10
"""A range that a user gives is searched by factors if its ends are positive and so many times apart."""


@dataclass(frozen=True)
class Range:
    """Numbers between two ends, both of them included.

    Attributes:
        low: The least.
        high: The greatest.
        log: Whether factors count, not differences.
        whole: Whether they are whole numbers.
    """

    low: float
    high: float
    log: bool
    whole: bool

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}{', by factors' if self.log else ''}"


@dataclass(frozen=True)
class Choices:
    """Some values."""

    values: tuple[Any, ...]

    def __contains__(self, value: object) -> bool:
        return value in self.values

    def __str__(self) -> str:
        return ", ".join("null" if value is None else str(value) for value in self.values)


Space = Mapping[str, Range | Choices]
"""What is tried, by the full keys of options."""


def search_space(config: RunConfig, given: Iterable[str] = ()) -> Space:
    """What a search tries.

    Args:
        config: The options of a model.
        given: Texts such as `linear.C=0.1..10`, `bag.features=words,pairs` or, for the range that the option declares,
            `linear.C`. Only these are tried; by default all options of the model's own sections that declare a range.

    Raises:
        ConfigError: For an unknown option, or a value that is not allowed.
    """
    named = list(given)
    space = dict(_parsed(config, text) for text in named) if named else dict(_declared(config.options))
    if not space:
        raise ConfigError(f"{config.model} declares no options to search; give some, such as --space folds=3..10")
    for key, tried in space.items():
        for value in tried.values if isinstance(tried, Choices) else (tried.low, tried.high):
            config.changed({key: int(value) if isinstance(tried, Range) and tried.whole else value})
    return space


def value_of(config: RunConfig, key: str) -> Any:
    """The value of an option by its full key; None if it has none."""
    found: Any = config.as_mapping()
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _declared(config: Config, place: str = "") -> Iterable[tuple[str, Range | Choices]]:
    """The options of a configuration and its sections that declare what is tried; members keep their options."""
    for name, field in type(config).model_fields.items():
        value, key = getattr(config, name), f"{place}{name}"
        if isinstance(value, Config):
            yield from _declared(value, f"{key}.")
        elif (tried := _of_field(field)) is not None:
            yield key, tried


def _of_field(field: FieldInfo) -> Range | Choices | None:
    for found in field.metadata:
        if isinstance(found, Search):
            return Range(found.low, found.high, found.log, _is_whole(field))
        if isinstance(found, SearchAmong):
            return Choices(tuple(found))
    return None


def _is_whole(field: FieldInfo) -> bool:
    return field.annotation is int or _kinds(field.annotation) == {int}


def _kinds(annotation: Any) -> set[type]:
    """The types of numbers that an annotation allows."""
    found = {int, float} & {annotation}
    return found.union(*map(_kinds, get_args(annotation)))


def _parsed(config: RunConfig, text: str) -> tuple[str, Range | Choices]:
    key, equals, values = text.partition("=")
    key = key.strip()
    field = _field(config, key)
    if not equals:
        tried = _of_field(field) if field is not None else None
        if tried is None:
            raise ConfigError(f"--space {key}: this option declares no range; give one, such as {key}=LOW..HIGH")
        return key, tried
    if ".." not in values:
        named = (None if value.strip() == "null" else value.strip() for value in values.split(","))
        return key, Choices(tuple(value_of(config.changed({key: value}), key) for value in named))
    try:
        low, high = map(float, values.split(".."))
    except ValueError:
        low = high = math.nan
    if not low < high:
        raise ConfigError(f"--space takes KEY=LOW..HIGH or KEY=A,B,C, such as linear.C=0.1..10; got {text!r}")
    return key, Range(low, high, log=0 < low <= high / _FACTORS, whole=field is not None and _is_whole(field))


def _field(config: RunConfig, key: str) -> FieldInfo | None:
    """What is known of an option; None for keys that are no option of the model, such as `seed`.

    Raises:
        ConfigError: If there is no such key; the nearest is named.
    """
    if key in ("model", "preset") or key.partition(".")[0] == "corpus":
        raise ConfigError(f"--space {key}: only options of a model are searched")
    owner: Any = config.options
    *sections, name = key.split(".")
    for section in sections:
        owner = owner.get(section) if isinstance(owner, Mapping) else getattr(owner, section, None)
    field: FieldInfo | None = getattr(type(owner), "model_fields", {}).get(name)
    if field is None:
        config.changed({key: 0})  # says which keys there are
    return field
