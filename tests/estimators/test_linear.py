"""Linear models as scorers: from texts to scores, and through a folder."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from taxocaps.config import resolve

from taxocaps.errors import CorpusError, ModelError
from taxocaps.scorers.base import Labelled, Work
from taxocaps.estimators.config import ModelConfig
from taxocaps.scorers.linear import LinearScorer
from taxocaps.text.pipeline import TextPipeline

LINEAR = {"family": "linear", "bag": {"min_documents": 1}, "linear": {"drop_below": 0.0}}


@pytest.fixture
def fit(toys, tmp_path):
    def fit_it(*layers, documents=toys[0], start=None):
        scorer = LinearScorer(resolve(ModelConfig, LINEAR, *layers), toys[1], 0)
        scorer.start = start
        scorer.fit(documents, documents, Work(tmp_path))
        return scorer

    return fit_it


def test_a_flat_svm_is_that_of_scikit_learn(fit, toys):
    documents, _ = toys
    words = TextPipeline()
    features = TfidfVectorizer(analyzer=lambda text: words(text).words, sublinear_tf=True)
    peer = OneVsRestClassifier(LinearSVC(tol=1e-6, max_iter=100_000))
    peer.fit(features.fit_transform(documents.texts), documents.labels.toarray().astype(int))
    wanted = expit(peer.decision_function(features.transform(documents.texts)))
    found = fit({"linear": {"tolerance": 1e-6, "iterations": 100_000}}).predict_scores(documents.texts)
    assert np.allclose(found, wanted, atol=1e-3)


def test_texts_without_known_words_have_no_score(fit):
    assert not fit().predict_scores(["", "zzz qqq"]).any()


def test_weights_survive_a_folder(fit, toys, tmp_path):
    scorer = fit()
    folder = tmp_path / "model"
    folder.mkdir()
    scorer.save(folder)
    assert {path.name for path in folder.iterdir()} == {"vocabulary.tsv", "weights.safetensors"}
    loaded = LinearScorer(scorer.config, scorer.classes).load(folder)
    assert np.array_equal(loaded.predict_scores(toys[0].texts), scorer.predict_scores(toys[0].texts))
    assert loaded.parameters == scorer.parameters > 10
    (folder / "weights.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="damaged, or not the weights of this model"):
        LinearScorer(scorer.config, scorer.classes).load(folder)


def test_small_weights_can_be_dropped(fit):
    assert fit({"linear": {"drop_below": 0.1}}).parameters < fit().parameters


def test_without_a_word_to_count(fit, toys):
    empty = Labelled([""] * 12, toys[0].labels)
    with pytest.raises(CorpusError, match=r"no word occurs in 1 training documents; .* smaller bag\.min_documents"):
        fit(documents=empty)


def test_does_not_go_on_from_another_model(fit):
    with pytest.raises(ModelError, match="train on all documents together"):
        fit(start=fit())
