"""What the annotation of an option allows: types, bounds and choices, checked and read from text."""

import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union

__all__ = ["AtLeast", "Between", "problem", "read_value"]


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


def problem(value: Any, annotation: Any) -> str | None:
    """What is wrong with `value` under `annotation`, or None.

    >>> problem("x", int | None)
    'must be a whole number or null'
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return problem(value, arguments[0]) or next(
            (found for bound in arguments[1:] if value is not None and (found := bound.problem(value))), None
        )
    if origin is Literal:
        return None if value in arguments else f"must be one of {', '.join(map(str, arguments))}"
    if origin in (Union, types.UnionType):
        problems = [problem(value, choice) for choice in arguments]
        return None if None in problems else " or ".join(p for p in problems if p).replace(" or must be", " or")
    if origin is tuple:
        fits = isinstance(value, tuple) and all(problem(item, arguments[0]) is None for item in value)
        return None if fits else f"must be a list of {_type_name(_without_bounds(arguments[0]))}"
    return None if annotation is Any or _is_a(value, annotation) else f"must be {_type_name(annotation)}"


def _is_a(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _type_name(kind: Any) -> str:
    names = {int: "a whole number", float: "a number", str: "text", bool: "true or false", type(None): "null"}
    return names.get(kind, getattr(kind, "__name__", str(kind)))


def read_value(text: str, annotation: Any) -> Any:
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
        if problem(value, _without_bounds(annotation)) is None:
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
