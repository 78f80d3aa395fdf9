"""Configuration: frozen pydantic models that report a bad value in one line, resolved from files and `key=value` pairs.

Each stage declares its options beside its own code::

    class GraphConfig(Config):
        section: ClassVar[str] = "graph"

        window: Annotated[int, AtLeast(2)] = 3
        distance: Literal["hops", "count"] = "hops"

What `taxocaps tune` tries of an option by itself stands in its annotation, too (`Search`, `SearchAmong`). The same
validation serves the command line, Python and HTTP.
"""

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo

from taxocaps.errors import ConfigError, FileError, nearest
from taxocaps.untrusted import check_depth, load_yaml, read_bounded

__all__ = [
    "AtLeast",
    "Between",
    "Config",
    "Duration",
    "Search",
    "SearchAmong",
    "fingerprint",
    "json_schema",
    "merge",
    "nested",
    "parse_override",
    "read_mapping",
    "resolve",
    "seconds",
]

C = TypeVar("C", bound="Config")


def Between(low: float, high: float) -> Any:  # noqa: N802 - reads as a type in annotations
    """Bounds of a number, both inclusive."""
    return Field(ge=low, le=high)


def AtLeast(low: float) -> Any:  # noqa: N802 - reads as a type in annotations
    """A lower bound of a number, inclusive."""
    return Field(ge=low)


@dataclasses.dataclass(frozen=True)
class Search:
    """The range of numbers that `taxocaps tune` tries for an option, declared in its annotation.

    Attributes:
        low: The least number.
        high: The greatest.
        log: Whether factors count, not differences: from 1 to 10 is as far as from 10 to 100.
    """

    low: float
    high: float
    log: bool = False


class SearchAmong(tuple[Any, ...]):
    """The values that `taxocaps tune` tries for an option, declared in its annotation."""

    __slots__ = ()

    def __new__(cls, *values: Any) -> Self:
        """Collect the values."""
        return super().__new__(cls, values)


def seconds(given: Any) -> Any:
    """The seconds of a text such as `90s`, `10m` or `2h`; anything else stays as it is.

    >>> seconds("10m"), seconds("1.5h"), seconds(90)
    (600, 5400, 90)
    """
    if not isinstance(given, str):
        return given
    number, unit = (given[:-1], given[-1:]) if given[-1:] in _UNITS else (given, "s")
    try:
        return round(float(number) * _UNITS[unit])
    except (ValueError, OverflowError):
        raise ConfigError(f"{given!r} is no time; write it as 90s, 10m or 2h") from None


_UNITS = {"s": 1, "m": 60, "h": 3600}

Duration = Annotated[int, BeforeValidator(seconds), AtLeast(1)]
"""A time in seconds, or a text such as `90s`, `10m` or `2h`."""


class Config(BaseModel):
    """Base of every stage's configuration: frozen, without extra keys, with errors that name the full key."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True, protected_namespaces=()
    )

    section: ClassVar[str] = ""

    @model_validator(mode="wrap")
    @classmethod
    def _report_in_one_line(cls, given: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if isinstance(given, cls):
            return given
        place = given.place if isinstance(given, _Section) else cls.section
        if not isinstance(given, Mapping):
            raise ConfigError(f"{place or 'the configuration'} is a section of keys; got {given!r}")
        for name in given:
            if name not in cls.model_fields:
                raise ConfigError(_unknown_key(cls, place, str(name), (info.context or {}).get("beside", ())))
        _refuse_booleans(cls, place, given)
        try:
            return handler({name: _prepared(cls, place, name, value) for name, value in given.items()})
        except ValidationError as error:
            raise ConfigError(_message(cls, place, error, given)) from None

    @classmethod
    def key(cls, name: str) -> str:
        """The full name of a field as users write it, such as `graph.window`."""
        return _key(cls.section, name)

    def replace(self, **changes: Any) -> Self:
        """A validated copy with some fields changed."""
        return type(self).model_validate({**{name: getattr(self, name) for name in type(self).model_fields}, **changes})

    def as_mapping(self) -> dict[str, Any]:
        """The configuration as nested plain values, ready for YAML or JSON."""
        return self.model_dump(mode="json")


def resolve(cls: type[C], *layers: Mapping[str, Any]) -> C:
    """Make a configuration from its defaults and `layers` of nested mappings, the later winning.

    Args:
        cls: The configuration; fields that are `Config` themselves are sections.
        layers: Nested mappings, such as the content of a YAML file and parsed `--set` overrides.

    Raises:
        ConfigError: For an unknown key (the nearest one is named) or a value that is not allowed.
    """
    return cls.model_validate(merge(*layers))


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
            merged[key] = merge(cast("Mapping[str, Any]", old), value) if both else value
    return merged


def parse_override(text: str) -> dict[str, Any]:
    """Read one `--set` argument; values stay text, which validation converts as the option asks.

    >>> parse_override("graph.window=4")
    {'graph': {'window': '4'}}
    """
    key, equals, value = text.partition("=")
    if not equals or not all(key.strip().split(".")):
        raise ConfigError(f"--set takes key=value, such as graph.window=4; got {text!r}")
    return nested(key.strip(), _parsed(value))


def nested(key: str, value: Any) -> dict[str, Any]:
    """A value under its full key, as nested mappings.

    >>> nested("graph.window", 4)
    {'graph': {'window': 4}}
    """
    for part in reversed(key.split(".")):
        value = {part: value}
    return cast("dict[str, Any]", value)


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a YAML or TOML configuration file (`.yaml`, `.yml`, `.toml`)."""
    try:
        text = read_bounded(path, _MOST_BYTES).decode("utf-8")
        content = tomllib.loads(text) if path.suffix.lower() == ".toml" else load_yaml(text)
        check_depth(content)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: the configuration file cannot be read: it is not UTF-8") from error
    except FileError as error:
        raise ConfigError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not a valid configuration file: {' '.join(str(error).split())}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: a configuration file holds keys and values; got {type(content).__name__}")
    return content


_MOST_BYTES = 2**18
"""Bytes of a configuration file; those of the largest models have a few thousand."""


def fingerprint(value: Any) -> str:
    """A hash of a JSON-able value or a configuration, the same on every machine.

    >>> fingerprint({"b": 1, "a": 2}) == fingerprint({"a": 2, "b": 1})
    True
    """
    if isinstance(value, Config):
        value = value.as_mapping()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def json_schema(cls: type[Config]) -> dict[str, Any]:
    """The JSON schema of a configuration; descriptions come from the docstrings of the classes."""
    schema = cls.model_json_schema()
    for part, owner in _parts(cls, schema):
        for name, text in {**_sections(owner), **_documented(owner)}.items():
            if name in part.get("properties", {}):
                part["properties"][name]["description"] = text
        part["description"] = _summary(owner)
        part["title"] = owner.section or "options"
    return schema


def _parts(cls: type[Config], schema: dict[str, Any]) -> Iterable[tuple[dict[str, Any], type[Config]]]:
    yield schema, cls
    definitions = schema.get("$defs", {})
    for field in cls.model_fields.values():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Config) and kind.__name__ in definitions:
            yield definitions[kind.__name__], kind


def _sections(cls: type[Config]) -> dict[str, str]:
    """The summaries of the sections of a configuration, by name."""
    kinds = {name: field.annotation for name, field in cls.model_fields.items()}
    return {name: _summary(kind) for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Config)}


def _summary(cls: type) -> str:
    return (cls.__doc__ or "").strip().split("\n")[0]


def _documented(cls: type) -> dict[str, str]:
    """The sections `Attributes:` of the Google docstrings of a class and of those it inherits from, by name."""
    return {name: text for one in reversed(cls.__mro__) for name, text in _attributes(one.__doc__ or "").items()}


def _attributes(docstring: str) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    name = ""
    _, _, text = docstring.partition("Attributes:\n")
    for line in text.split("\n"):
        if line.startswith(" " * 8) and not line.startswith(" " * 9) and ":" in line:
            name, _, rest = line.strip().partition(": ")
            found[name] = [rest]
        elif line.strip() and name:
            found[name].append(line.strip())
    return {name: " ".join(lines) for name, lines in found.items()}


def _parsed(text: str) -> Any:
    """Null, and lists in YAML's short form; all else is text."""
    if text == "null":
        return None
    if not text.startswith("["):
        return text
    try:
        return load_yaml(text)
    except ValueError:
        return text


class _Section(dict[str, Any]):
    """The keys of a section, and the full name of its place, which differs from its usual one in nested sections."""

    def __init__(self, content: Mapping[str, Any], place: str) -> None:
        super().__init__(content)
        self.place = place


def _key(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _keys(cls: type[Config], place: str) -> Iterable[str]:
    """The full names of all fields, those of sections included."""
    for name, field in cls.model_fields.items():
        kind, key = field.annotation, _key(place, name)
        if isinstance(kind, type) and issubclass(kind, Config):
            yield from _keys(kind, key)
        else:
            yield key


def _unknown_key(cls: type[Config], place: str, name: str, beside: Iterable[str]) -> str:
    key = _key(place, name)
    siblings = [_key(place, field) for field in cls.model_fields]
    known = {one.lower(): one for one in (*_keys(cls, place), *siblings, *(() if place else beside))}
    close = nearest(key.lower(), known, likeness=0.4)
    hint = f"did you mean {known[close]}?" if close else f"allowed: {', '.join(siblings)}"
    return f"unknown configuration key {key}; {hint}"


def _prepared(cls: type[Config], place: str, name: str, value: Any) -> Any:
    """A value as pydantic takes it: a section with its place, a choice among numbers as one of them."""
    if isinstance(value, Mapping):
        return _Section(value, _key(place, name))
    return _number(cls, name, value)


def _number(cls: type[Config], name: str, value: Any) -> Any:
    """A choice among whole numbers, given as text on the command line; pydantic converts all but these."""
    is_choice = get_origin(cls.model_fields[name].annotation) is Literal
    choices = get_args(cls.model_fields[name].annotation) if is_choice else ()
    return next((choice for choice in choices if isinstance(choice, int) and str(choice) == value), value)


def _refuse_booleans(cls: type[Config], place: str, given: Mapping[str, Any]) -> None:
    """True would pass for the number 1."""
    for name in [name for name, value in given.items() if isinstance(value, bool)]:
        annotation = str(cls.model_fields[name].annotation)
        if "bool" not in annotation and "Any" not in annotation:
            raise ConfigError(f"{_key(place, name)} must be a number or text; got {given[name]!r}")


_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a number",
    "bool": "true or false",
    "string": "text",
    "tuple": "a list",
    "list": "a list",
    "dict": "a section of keys",
}


def _message(cls: type[Config], place: str, error: ValidationError, given: Mapping[str, Any]) -> str:
    """The first bad field in one line; alternatives of a union are joined by "or"."""
    problems = error.errors(include_url=False)
    first = problems[0]
    if not first["loc"]:  # a rule across fields
        return str(first.get("ctx", {}).get("error", first["msg"]))
    name = str(first["loc"][0])
    alternatives = [_problem(cls, name, one) for one in problems if one["loc"][:1] == first["loc"][:1]]
    text = " or ".join(dict.fromkeys(alternatives)).replace(" or must be", " or")
    return f"{_key(place, name)} {text}; got {given.get(name)!r}"


def _problem(cls: type[Config], name: str, problem: Any) -> str:
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "literal_error":
        return f"must be one of {str(context['expected']).replace(chr(39), '').replace(' or ', ', ')}"
    if kind in ("greater_than_equal", "less_than_equal"):
        bounds = {key: value for part in _metadata(cls.model_fields[name]) for key, value in _bounds(part)}
        if len(bounds) == 2:
            return f"must be from {bounds['ge']} to {bounds['le']}"
        return f"must be at {'least' if 'ge' in context else 'most'} {context.get('ge', context.get('le'))}"
    if kind == "missing":
        return "is missing"
    if kind in ("value_error", "assertion_error"):
        return str(context.get("error", problem["msg"]))
    word = _KINDS.get(kind.partition("_")[0])
    of = f" of {_KINDS['string']}" if word == "a list" and len(problem["loc"]) == 1 and _is_of_text(cls, name) else ""
    return f"must be {word}{of}" if word else str(problem["msg"])


def _metadata(field: FieldInfo) -> list[Any]:
    """What annotations say about a field, or about the alternatives of a union, such as `Between(0, 1)` or None."""
    alternatives = [choice for choice in get_args(field.annotation) if get_origin(choice) is Annotated]
    annotated = [info for choice in alternatives for info in choice.__metadata__]
    return [*field.metadata, *(part for info in annotated for part in getattr(info, "metadata", ()))]


def _bounds(part: Any) -> Sequence[tuple[str, float]]:
    return [(key, getattr(part, key)) for key in ("ge", "le") if getattr(part, key, None) is not None]


def _is_of_text(cls: type[Config], name: str) -> bool:
    return cls.model_fields[name].annotation == tuple[str, ...]
