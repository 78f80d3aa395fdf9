"""An explanation is plain values: frozen, and free of torch, so that pages can be made anywhere."""

import ast
import dataclasses
from pathlib import Path

import pytest
from taxocaps.estimators import explanations

from taxocaps.explanations.explanation import WordWeight


def test_values_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        WordWeight("cat", 0.5).weight = 1.0


def test_the_module_needs_nothing_but_dataclasses():
    tree = ast.parse(Path(explanations.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [node.module for node in imports] == ["dataclasses"]
