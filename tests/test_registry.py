"""Registries: loaded when asked for, open to other packages, and with messages that name what is wrong."""

import sys

import pytest

from taxocaps.corpus.readers import READERS
from taxocaps.encoding.encoders import ENCODERS
from taxocaps.errors import ConfigError, MissingExtraError, TaxoCapsError
from taxocaps.explanations.explainers import EXPLAINERS
from taxocaps.metrics.evaluation import METRICS
from taxocaps.nn.networks import NETWORKS
from taxocaps.registry import Registry
from taxocaps.scorers.base import SCORERS
from taxocaps.scorers.decision import DECISION_RULES

ALL = [NETWORKS, ENCODERS, SCORERS, DECISION_RULES, METRICS, READERS, EXPLAINERS]


@pytest.fixture
def numbers():
    return Registry("number", "example.numbers", {"pi": "math:pi", "three": "fractions:Fraction"})


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module that can be imported for one test."""
    written = []

    def write(name, source):
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        written.append(name)
        return name

    yield write
    for name in written:
        sys.modules.pop(name, None)


def one_line(caught):
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("registry", ALL, ids=lambda registry: registry.noun)
def test_everything_built_in_can_be_loaded(registry):
    assert registry.group.startswith("taxocaps.")
    for name in registry:
        assert registry[name] is registry[name] is not None
        assert not registry.is_external(name)
    assert len({registry.group for registry in ALL}) == len(ALL)


def test_a_registry_is_a_mapping(numbers):
    assert list(numbers) == ["pi", "three"]
    assert len(numbers) == 2
    assert "pi" in numbers
    assert "tau" not in numbers
    assert dict(numbers)["pi"] > 3


def test_things_are_loaded_when_they_are_first_asked_for(module):
    registry = Registry("number", "example.numbers", {"four": f"{module('lazy_numbers', 'four = 4')}:four"})
    assert "four" in registry
    assert registry.check("four") == "four"
    assert list(registry) == ["four"]
    assert "lazy_numbers" not in sys.modules
    assert registry["four"] == 4
    del sys.modules["lazy_numbers"]
    assert registry["four"] == 4
    assert "lazy_numbers" not in sys.modules  # asked for once


def test_unknown_names_give_the_nearest(numbers):
    for ask in (numbers.check, numbers.__getitem__):
        with pytest.raises(ConfigError, match=r"^no number is called 'thre'; did you mean three\?$"):
            ask("thre")
        with pytest.raises(ConfigError, match=r"^no number is called 'zzz'; there are pi, three$"):
            ask("zzz")


@pytest.mark.parametrize("library", ["torch", "pyarrow.parquet"])
def test_a_missing_extra_is_named_in_one_line(module, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    name = module("needs_extra", f"import {library}\nthing = 1\n")
    registry = Registry("number", "example.numbers", {"thing": f"{name}:thing"})
    with pytest.raises(MissingExtraError) as caught:
        registry["thing"]
    first = library.partition(".")[0]
    extra = {"torch": "networks", "pyarrow": "parquet"}[first]
    assert one_line(caught) == (
        f"the number thing needs the library '{first}', which is not installed; run: pip install 'taxocaps[{extra}]'"
    )


def test_a_mistake_of_our_own_is_no_error_of_the_user(module):
    name = module("broken_inside", "import surely_not_installed\n")
    with pytest.raises(ModuleNotFoundError, match="surely_not_installed"):
        Registry("number", "example.numbers", {"thing": f"{name}:thing"})["thing"]


def test_an_installed_package_adds_to_a_registry(numbers, install):
    install("their_numbers", "e = 2.7\npi = 3\n", numbers, e="e", pi="pi")
    message = "^the number pi of the package their_numbers is passed over: one of this name is built in$"
    with pytest.warns(UserWarning, match=message):
        assert "e" in numbers
    assert list(numbers) == ["pi", "three", "e"]
    assert len(numbers) == 3
    assert numbers.is_external("e")
    assert "their_numbers" not in sys.modules
    assert numbers["e"] == 2.7
    # What is built in cannot be replaced: a model that names it never runs code of others.
    assert not numbers.is_external("pi")
    assert numbers["pi"] > 3.14
    assert not numbers.is_external("nothing")


def test_two_packages_of_one_name(numbers, install):
    install("their_numbers", "e = 2.7\n", numbers, e="e")
    install("other_numbers", "e = 3\n", numbers, e="e")
    message = r"^the number e of the package \w+ is passed over: one of this name the package \w+ has, too$"
    with pytest.warns(UserWarning, match=message):
        assert numbers.is_external("e")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import surely_not_installed\n", "ModuleNotFoundError: No module named 'surely_not_installed'"),
        ("raise RuntimeError('two\\nlines')\n", "RuntimeError: two lines"),
        ("e = = 2\n", "SyntaxError: invalid syntax (their_numbers.py, line 1)"),
        ("", "AttributeError: module 'their_numbers' has no attribute 'e'"),
    ],
)
def test_a_package_that_fails_to_load_is_named_in_one_line(numbers, install, source, reason):
    install("their_numbers", source, numbers, e="e")
    with pytest.raises(TaxoCapsError) as caught:
        numbers["e"]
    assert one_line(caught) == (
        f"the number e of the package their_numbers (their_numbers:e) cannot be loaded: {reason}; "
        "update the package, or uninstall it"
    )
    assert numbers["pi"] > 3  # the others work


def test_a_package_that_needs_one_of_our_extras(numbers, install, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    install("their_numbers", "import torch\n", numbers, e="e")
    with pytest.raises(MissingExtraError, match=r"the number e needs the library 'torch'.*taxocaps\[networks\]"):
        numbers["e"]
