"""The options of linear classifiers."""

import pytest

from taxocaps.errors import ConfigError
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.methods import METHODS


def test_a_margin_between_paths_has_no_logistic_loss():
    with pytest.raises(ConfigError, match=r"linear\.loss must be hinge if linear\.structure is structured"):
        LinearConfig(loss="logistic", structure="structured")


def test_every_structure_that_can_be_asked_for_has_a_method():
    for structure in METHODS:
        assert LinearConfig(structure=structure).structure == structure
    with pytest.raises(ConfigError) as caught:
        LinearConfig(structure="tall")
    assert str(caught.value) == f"linear.structure must be one of {', '.join(METHODS)}; got 'tall'"
