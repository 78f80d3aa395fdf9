"""Configuration is checked when made, and every message names the key as users write it."""

import re
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import pytest

from taxocaps.errors import ConfigError
from taxocaps.settings import (
    AtLeast,
    Between,
    Kinds,
    Settings,
    as_mapping,
    fingerprint,
    parse_override,
    read_mapping,
    resolve,
)


@dataclass(frozen=True)
class Stage(Settings):
    section: ClassVar[str] = "stage"

    window: Annotated[int, AtLeast(2)] = 3
    rate: Annotated[float, Between(0, 1)] = 0.5
    mode: Literal["a", "b"] = "a"
    limit: Annotated[int, AtLeast(1)] | None = None
    names: tuple[str, ...] = ()
    bound: bool = False
    language: str = "en"
    split: str | None = None


@dataclass(frozen=True)
class Whole(Settings):
    stage: Stage = field(default_factory=Stage)
    title: str = ""


def test_layers_win_in_order():
    made = resolve(Whole, {"stage": {"window": 4, "names": ["x"]}, "title": "t"}, {"stage": {"window": 5}})
    assert made == Whole(Stage(window=5, names=("x",)), "t")
    assert resolve(Whole) == Whole()


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"stage": {"windw": 4}}, "unknown configuration key stage.windw; did you mean stage.window?"),
        ({"window": 4}, "unknown configuration key window; did you mean stage.window?"),
        ({"zzz": 4}, "unknown configuration key zzz; allowed: stage, title"),
        ({"stage": 4}, "stage is a section of keys; got 4"),
        ({"stage": {"window": 1}}, "stage.window must be at least 2; got 1"),
        ({"stage": {"window": True}}, "stage.window must be a whole number; got True"),
        ({"stage": {"rate": 1.5}}, "stage.rate must be from 0 to 1; got 1.5"),
        ({"stage": {"mode": "c"}}, "stage.mode must be one of a, b; got 'c'"),
        ({"stage": {"limit": 0}}, "stage.limit must be at least 1 or null; got 0"),
        ({"stage": {"names": "x"}}, "stage.names must be a list of text; got 'x'"),
        ({"title": None}, "title must be text; got None"),
    ],
)
def test_bad_keys_and_values(layer, message):
    with pytest.raises(ConfigError) as caught:
        resolve(Whole, layer)
    assert str(caught.value) == message


@dataclass(frozen=True)
class Other(Settings):
    stage: Stage = field(default_factory=lambda: Stage(mode="b", names=("x",), limit=5))


def test_a_section_may_have_defaults_of_its_own():
    assert resolve(Other) == Other()
    # Setting one key leaves the others what they are in this configuration, not in the section itself.
    assert resolve(Other, {"stage": {"window": 4}}).stage == Stage(window=4, mode="b", names=("x",), limit=5)
    assert resolve(Other, {"stage": {"mode": "a", "limit": None}}).stage == Stage(mode="a", names=("x",), limit=None)
    assert resolve(Other, parse_override("stage.rate=1")).stage == Stage(rate=1, mode="b", names=("x",), limit=5)
    assert resolve(Other, as_mapping(Other(Stage()))) == Other(Stage())


def test_optional_values():
    assert Stage(limit=None).limit is None
    assert Stage(limit=7).limit == 7
    assert Stage(rate=1).rate == 1


@pytest.mark.parametrize(
    ("override", "name", "value"),
    [
        ("stage.window=4", "window", 4),
        ("stage.rate=1e-4", "rate", 0.0001),
        ("stage.rate=1", "rate", 1),
        ("stage.mode=b", "mode", "b"),
        ("stage.limit=null", "limit", None),
        ("stage.limit=7", "limit", 7),
        ("stage.names=[a, 'no']", "names", ("a", "no")),
        ("stage.bound=true", "bound", True),
        # Text stays what it is, whatever YAML would make of it.
        ("stage.language=no", "language", "no"),
        ("stage.language=2020", "language", "2020"),
        ("stage.language=|", "language", "|"),
        ("stage.language=,", "language", ","),
        ("stage.language=a=b", "language", "a=b"),
        ("stage.split=1", "split", "1"),
        ("stage.split=null", "split", None),
    ],
)
def test_overrides_are_read_as_their_options_ask(override, name, value):
    found = getattr(resolve(Whole, parse_override(override)).stage, name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("stage.window=1", "stage.window must be at least 2; got 1"),
        ("stage.window=1.5", "stage.window must be a whole number; got '1.5'"),
        ("stage.window=", "stage.window must be a whole number; got ''"),
        ("stage.names=[a", "stage.names must be a list of text; got '[a'"),
        ("stage.bound=yes", "stage.bound must be true or false; got 'yes'"),
        ("stage=3", "stage is a section of keys; got '3'"),
    ],
)
def test_overrides_that_do_not_fit(override, message):
    with pytest.raises(ConfigError) as caught:
        resolve(Whole, parse_override(override))
    assert str(caught.value) == message


@pytest.mark.parametrize("broken", ["stage.window", "=3", "stage..window=3", ".window=3"])
def test_overrides_need_a_key_and_a_value(broken):
    with pytest.raises(ConfigError, match="--set takes key=value"):
        parse_override(broken)


def test_files(tmp_path):
    yaml, toml = tmp_path / "c.yaml", tmp_path / "c.toml"
    yaml.write_text("stage:\n  window: 4\n")
    toml.write_text("[stage]\nwindow = 4\n")
    assert read_mapping(yaml) == read_mapping(toml) == {"stage": {"window": 4}}
    yaml.write_text("")
    assert read_mapping(yaml) == {}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.yaml", b"a: [", "not a valid configuration file"),
        ("c.toml", b"a = ", "not a valid configuration file"),
        ("c.yaml", b"- a", "holds keys and values; got list"),
        ("c.yaml", b"\xff", "it is not UTF-8"),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        read_mapping(tmp_path / name)
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match="No such file"):
        read_mapping(tmp_path / "missing.yaml")


def test_round_trip_and_fingerprint():
    made = Whole(Stage(names=("x", "y")))
    assert resolve(Whole, as_mapping(made)) == made
    assert fingerprint(made) == fingerprint(resolve(Whole, as_mapping(made)))
    assert fingerprint(made) != fingerprint(Whole())


@dataclass(frozen=True)
class Lamp(Settings):
    section: ClassVar[str] = "light"
    kind: Literal["lamp"] = "lamp"
    watts: int = 40


@dataclass(frozen=True)
class Fire(Settings):
    section: ClassVar[str] = "light"
    kind: Literal["fire"] = "fire"
    logs: Annotated[int, AtLeast(1)] = 3


@dataclass(frozen=True)
class Room(Settings):
    light: Annotated[Settings, Kinds({"lamp": Lamp, "fire": Fire})] = field(default_factory=lambda: Lamp(watts=60))


def test_a_section_of_several_kinds_is_of_the_kind_it_names():
    assert resolve(Room) == Room(Lamp(watts=60))
    assert resolve(Room, {"light": {"watts": 20}}).light == Lamp(watts=20)
    assert resolve(Room, {"light": {"kind": "lamp"}}).light == Lamp(watts=60)
    assert resolve(Room, {"light": {"kind": "fire"}}, parse_override("light.logs=5")).light == Fire(logs=5)
    assert resolve(Room, as_mapping(Room(Fire(logs=9)))) == Room(Fire(logs=9))


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"light": {"kind": "moon"}}, "light.kind must be one of lamp, fire; got 'moon'"),
        ({"light": {"logs": 2}}, "unknown configuration key light.logs; did you mean"),
        ({"light": {"kind": "fire", "watts": 2}}, "unknown configuration key light.watts; did you mean"),
        ({"light": {"kind": "fire", "logs": 0}}, "light.logs must be at least 1; got 0"),
        ({"light": 3}, "light is a section of keys; got 3"),
    ],
)
def test_sections_of_several_kinds_are_checked_like_others(layer, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        resolve(Room, layer)
    with pytest.raises(ConfigError, match="light must be of a kind: lamp, fire"):
        Room(Stage())
