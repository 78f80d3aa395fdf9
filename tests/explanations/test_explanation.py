"""An explanation is plain values: frozen, and free of torch, so that pages can be made anywhere."""

import ast
import dataclasses
from pathlib import Path

import pytest

from taxocaps.explanations import explanation
from taxocaps.explanations.explanation import WordWeight, rounded


def test_values_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        WordWeight("cat", 0.5).weight = 1.0


def test_the_module_needs_no_library():
    tree = ast.parse(Path(explanation.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    used = {node.module for node in imports}
    assert used == {"collections.abc", "dataclasses", "itertools", "taxocaps.notebook"}


def test_numbers_have_as_many_digits_as_mean_anything():
    assert [rounded(number) for number in (1 / 3, 123456.789, -2e-12 / 3)] == [0.333333, 123457.0, -6.66667e-13]
