"""What an annotation allows, and how a text is read by it."""

from typing import Annotated, Any, Literal

import pytest

from taxocaps.annotations import AtLeast, Between, problem, read_value


@pytest.mark.parametrize(
    ("value", "annotation", "wrong"),
    [
        (3, int, None),
        (True, int, "must be a whole number"),
        (3, float, None),
        ("x", Any, None),
        ("c", Literal["a", "b"], "must be one of a, b"),
        (None, int | None, None),
        (0, Annotated[int, AtLeast(1)] | None, "must be at least 1 or null"),
        (2.0, Annotated[float, Between(0, 1)], "must be from 0 to 1"),
        (-1, Annotated[int, Between(None, -2)], "must be at most -2"),
        ((1, 2), tuple[int, ...], None),
        ([1, 2], tuple[int, ...], "must be a list of a whole number"),
        ((0, 1), tuple[Annotated[int, AtLeast(1)], ...], "must be a list of a whole number"),
    ],
)
def test_what_is_wrong_with_a_value(value, annotation, wrong):
    assert problem(value, annotation) == wrong


@pytest.mark.parametrize(
    ("text", "annotation", "value"),
    [
        ("4", int, 4),
        ("4", str, "4"),
        ("4", float, 4),
        ("null", int | None, None),
        ("true", bool, True),
        ("[1, 2]", tuple[int, ...], (1, 2)),
        ("0", Annotated[int, AtLeast(1)], 0),
        ("x", int, "x"),
    ],
)
def test_a_text_is_read_as_its_option_asks(text, annotation, value):
    found = read_value(text, annotation)
    assert found == value
    assert type(found) is type(value)
