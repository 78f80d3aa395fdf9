"""What others may add is known by its attributes: no code asks for the class of a scorer, a network or an encoder."""

import ast
from pathlib import Path

import pytest

import taxocaps
from taxocaps.encoding.encoders import ENCODERS
from taxocaps.nn.networks import NETWORKS
from taxocaps.scorers.base import SCORERS

SOURCE = Path(taxocaps.__file__).parent
NAMES = {kind.__name__ for registry in (SCORERS, NETWORKS, ENCODERS) for kind in registry.values()}
NAMES |= {"Scorer", "Network", "SequenceNetwork", "Encoder", "NetworkModelConfig", "LinearModelConfig"}


def asked(tree):
    """The classes that `isinstance`, `issubclass` and `type(...) is` ask for."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
                yield node.lineno, classes
            case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=[other]):
                yield node.lineno, other


def names_in(node):
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute))
    return {part.id if isinstance(part, ast.Name) else part.attr for part in parts}


def test_the_names_are_found():
    assert {"NetworkScorer", "LinearScorer", "SGM", "WordsMatrixNetwork", "TokenEncoder"} < NAMES
    text = (
        "isinstance(a, SGM | int) or issubclass(b, (str, nn.Network)) or type(c) is LinearScorer or isinstance(d, dict)"
    )
    found = [names_in(node) & NAMES for _, node in asked(ast.parse(text))]
    assert sorted(map(sorted, found)) == [[], ["LinearScorer"], ["Network"], ["SGM"]]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_nobody_asks_for_the_class_of_what_others_may_add(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for line, node in asked(tree):
        assert not names_in(node) & NAMES, f"line {line}"
