"""Configuration is checked when made, and every message names the key as users write it."""

from typing import Annotated, ClassVar, Literal

import pytest

from taxocaps.config import (
    AtLeast,
    Between,
    Config,
    fingerprint,
    json_schema,
    parse_override,
    read_mapping,
    resolve,
)
from taxocaps.errors import ConfigError


class Stage(Config):
    section: ClassVar[str] = "stage"

    window: Annotated[int, AtLeast(2)] = 3
    rate: Annotated[float, Between(0, 1)] = 0.5
    mode: Literal["a", "b"] = "a"
    limit: Annotated[int, AtLeast(1)] | None = None
    names: tuple[str, ...] = ()
    bound: bool = False
    language: str = "en"
    split: str | None = None
    share: Annotated[float, Between(0, 1)] | Literal["all"] = "all"


class Whole(Config):
    stage: Stage = Stage()
    title: str = ""


class Pair(Config):
    one: Whole = Whole()
    two: Whole = Whole()


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"one": {"stage": {"windw": 4}}}, "unknown configuration key one.stage.windw; did you mean one.stage.window?"),
        ({"two": {"titel": "t"}}, "unknown configuration key two.titel; did you mean two.title?"),
        ({"one": {"stage": {"window": 1}}}, "one.stage.window must be at least 2; got 1"),
        ({"two": {"stage": {"rate": True}}}, "two.stage.rate must be a number or text; got True"),
    ],
)
def test_a_key_of_a_section_in_a_section_has_its_full_name(layer, message):
    with pytest.raises(ConfigError) as caught:
        resolve(Pair, layer)
    assert str(caught.value) == message


def test_the_nearest_key_may_differ_in_its_case():
    with pytest.raises(ConfigError, match=r"key stage\.BOUND; did you mean stage\.bound\?$"):
        resolve(Whole, {"stage": {"BOUND": True}})


def test_layers_win_in_order():
    made = resolve(Whole, {"stage": {"window": 4, "names": ["x"]}, "title": "t"}, {"stage": {"window": 5}})
    assert made == Whole(stage=Stage(window=5, names=("x",)), title="t")
    assert resolve(Whole) == Whole()


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"stage": {"windw": 4}}, "unknown configuration key stage.windw; did you mean stage.window?"),
        ({"window": 4}, "unknown configuration key window; did you mean stage.window?"),
        ({"zzz": 4}, "unknown configuration key zzz; allowed: stage, title"),
        ({"stage": 4}, "stage is a section of keys; got 4"),
        ({"stage": {"window": 1}}, "stage.window must be at least 2; got 1"),
        ({"stage": {"window": True}}, "stage.window must be a number or text; got True"),
        ({"stage": {"rate": 1.5}}, "stage.rate must be from 0 to 1; got 1.5"),
        ({"stage": {"mode": "c"}}, "stage.mode must be one of a, b; got 'c'"),
        ({"stage": {"limit": 0}}, "stage.limit must be at least 1; got 0"),
        ({"stage": {"share": 7}}, "stage.share must be from 0 to 1 or one of all; got 7"),
        ({"stage": {"names": "x"}}, "stage.names must be a list of text; got 'x'"),
        ({"title": None}, "title must be text; got None"),
    ],
)
def test_bad_keys_and_values(layer, message):
    with pytest.raises(ConfigError) as caught:
        resolve(Whole, layer)
    assert str(caught.value) == message


def test_optional_values():
    assert Stage(limit=None).limit is None
    assert Stage(limit=7).limit == 7
    assert Stage(rate=1).rate == 1


@pytest.mark.parametrize(
    ("override", "name", "value"),
    [
        ("stage.window=4", "window", 4),
        ("stage.rate=1e-4", "rate", 0.0001),
        ("stage.rate=1", "rate", 1.0),
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
        ("stage.window=1", "stage.window must be at least 2; got '1'"),
        ("stage.window=1.5", "stage.window must be a whole number; got '1.5'"),
        ("stage.window=", "stage.window must be a whole number; got ''"),
        ("stage.names=[a", "stage.names must be a list of text; got '[a'"),
        ("stage.bound=perhaps", "stage.bound must be true or false; got 'perhaps'"),
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
    made = Whole(stage=Stage(names=("x", "y")))
    assert resolve(Whole, made.as_mapping()) == made
    assert fingerprint(made) == fingerprint(resolve(Whole, made.as_mapping()))
    assert fingerprint(made) != fingerprint(Whole())


def test_frozen_and_replaced_with_validation():
    stage = Stage(window=4)
    with pytest.raises(Exception, match="frozen"):
        stage.window = 5
    assert stage.replace(rate=0.1) == Stage(window=4, rate=0.1)
    with pytest.raises(ConfigError, match=r"stage\.window must be at least 2"):
        stage.replace(window=0)


@pytest.mark.parametrize("value", ["1", 1])
def test_a_choice_among_numbers_may_be_given_as_text(value):
    assert Choice(directions=value).directions == 1
    with pytest.raises(ConfigError, match=r"choice\.directions must be one of 1, 2; got"):
        Choice(directions="3")


def test_alternatives_of_a_value_are_joined():
    with pytest.raises(ConfigError) as caught:
        Choice(p="much")
    assert str(caught.value) == "choice.p must be a number or one of all, none; got 'much'"
    assert Choice(p="0.5").p == 0.5
    assert Choice(p="all").p == "all"


class Choice(Config):
    """What is chosen.

    Attributes:
        directions: One way, or both
            ways.
        p: How much.
    """

    section: ClassVar[str] = "choice"

    directions: Literal[1, 2] = 1
    p: float | Literal["all", "none"] = 1.0


class Documented(Config):
    """A whole."""

    choice: Choice = Choice()


def test_the_schema_has_descriptions_and_bounds():
    schema = json_schema(Documented)
    part = schema["$defs"]["Choice"]
    assert part["properties"]["directions"]["description"] == "One way, or both ways."
    assert part["properties"]["directions"]["enum"] == [1, 2]
    assert part["additionalProperties"] is False
    assert json_schema(Stage)["properties"]["window"]["minimum"] == 2
