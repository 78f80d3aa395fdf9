import pytest

from taxocaps.estimators.config import ModelConfig
from taxocaps.scorers.linear import LinearScorer
from taxocaps.scorers.network import NetworkScorer
from taxocaps.estimators.scorers import make_scorer


@pytest.mark.parametrize(("family", "kind"), [("network", NetworkScorer), ("linear", LinearScorer)])
def test_a_new_scorer_has_what_it_was_made_with_and_is_not_fitted(toys, family, kind):
    config = ModelConfig(family=family)
    scorer = make_scorer(config, toys[1], 5)
    assert type(scorer) is kind
    assert (scorer.config, scorer.classes, scorer.seed) == (config, toys[1], 5)
    assert not hasattr(scorer, "encoder")
