from taxocaps.estimators.config import ModelConfig
from taxocaps.estimators.neural import WordsMatrixScorer
from taxocaps.estimators.scorers import make_scorer


def test_a_new_scorer_has_what_it_was_made_with_and_is_not_fitted(toys):
    config = ModelConfig()
    scorer = make_scorer(config, toys[1], 5)
    assert type(scorer) is WordsMatrixScorer
    assert (scorer.config, scorer.classes, scorer.seed) == (config, toys[1], 5)
    assert not hasattr(scorer, "objective")
