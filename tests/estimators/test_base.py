"""What every scorer is and has."""

from pathlib import Path

import numpy as np
import pytest

from taxocaps.scorers.base import FitReport, Labelled, TextScorer, Work
from taxocaps.estimators.config import ModelConfig
from taxocaps.progress import silent


def test_a_scorer_must_say_how_it_learns_scores_and_is_kept(toys):
    with pytest.raises(TypeError, match="abstract") as caught:
        TextScorer(ModelConfig(), toys[1])
    for name in ("fit", "predict_scores", "save", "load", "parameters"):
        assert name in str(caught.value)


def test_a_scorer_knows_its_options_labels_and_seed(keywords, toys):
    config = ModelConfig()
    scorer = keywords(config, toys[1], 7)
    assert (scorer.config, scorer.classes, scorer.seed) == (config, toys[1], 7)
    assert scorer.start is None
    assert keywords(config, toys[1]).seed == 0
    assert scorer.predict_scores(["sport", ""]).sum(axis=1).tolist() == [1, 0]


def test_labelled_documents_are_as_many_as_texts():
    assert len(Labelled(["a", "b"], np.zeros((2, 1)))) == 2


def test_work_is_silent_on_one_thread_by_default():
    work = Work(Path("somewhere"))
    assert (work.resume, work.threads, work.progress) == (False, 1, silent)


def test_a_report_of_a_model_without_epochs():
    assert FitReport() == FitReport(0, 0, ())
