"""Linear models as scorers: from texts to scores, and through a folder."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from taxocaps.corpus.labels import Classes
from taxocaps.errors import CorpusError, ModelError
from taxocaps.explanations.explainers import EXPLAINERS
from taxocaps.scorers.base import Examples, FitContext
from taxocaps.scorers.linear import LinearScorer
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.text.pipeline import TextPipeline

LINEAR = {"scorer": "linear", "bag": {"min_documents": 1}, "linear": {"drop_below": 0.0}}


@pytest.fixture
def fit(toys, small_config, encode, tmp_path):
    def fit_it(*layers, texts=toys.texts, start=None):
        scorer = LinearScorer(small_config(LINEAR, *layers), toys.classes, 0)
        scorer.start = start
        documents = Examples(encode(scorer, texts), toys.labels)
        scorer.fit(documents, documents, FitContext(tmp_path))
        return scorer

    return fit_it


def test_a_flat_svm_is_that_of_scikit_learn(fit, toys, encode):
    pipeline = TextPipeline()
    features = TfidfVectorizer(analyzer=lambda text: pipeline.tokenize([text]).document(0), sublinear_tf=True)
    peer = OneVsRestClassifier(LinearSVC(tol=1e-6, max_iter=100_000))
    peer.fit(features.fit_transform(toys.texts), toys.labels.toarray().astype(int))
    wanted = expit(peer.decision_function(features.transform(toys.texts)))
    scorer = fit({"linear": {"tolerance": 1e-6, "iterations": 100_000}})
    assert np.allclose(scorer.scores(encode(scorer, toys.texts)), wanted, atol=1e-3)


def test_texts_without_known_words_have_no_score(fit, encode):
    scorer = fit()
    assert not scorer.scores(encode(scorer, ["", "zzz qqq"])).any()
    assert scorer.scores(encode(scorer, [])).shape == (0, 10)


def test_weights_of_words_add_up_to_the_margin(fit, toys, encode):
    scorer = fit()
    document = encode(scorer, toys.texts[:1])
    columns = (0, 3, 9)
    for column, found in zip(columns, scorer.word_weights(document, columns), strict=True):
        assert set(found) <= set(document.tokens.document(0))
        margin = scorer.weights.margins(scorer.bag.transform(document))[0, column]
        assert sum(found.values()) + scorer.weights.intercept[column] == pytest.approx(margin, abs=1e-4)


def test_weights_survive_a_folder(fit, toys, encode, tmp_path):
    scorer = fit()
    folder = tmp_path / "model"
    folder.mkdir()
    scorer.save(folder)
    assert {path.name for path in folder.iterdir()} == {"vocabulary.tsv", "weights.safetensors"}
    loaded = LinearScorer(scorer.config, scorer.classes).load(folder)
    documents = encode(scorer, toys.texts)
    assert np.array_equal(loaded.scores(documents), scorer.scores(documents))
    assert loaded.parameters == scorer.parameters > 10
    (folder / "weights.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="damaged, or not the weights of this model"):
        LinearScorer(scorer.config, scorer.classes).load(folder)


def test_small_weights_can_be_dropped(fit):
    assert fit({"linear": {"drop_below": 0.1}}).parameters < fit().parameters


def test_without_a_word_to_count(fit):
    with pytest.raises(CorpusError, match=r"no word occurs in 1 training documents; .* smaller bag\.min_documents"):
        fit(texts=[""] * 12)


def test_starting_from_another_model_ends_where_a_new_one_does(fit, toys, encode):
    exact = {"linear": {"tolerance": 1e-7, "iterations": 100_000}}
    anew = fit(exact)
    again = fit(exact, start=fit(exact, texts=[*toys.texts[6:], *toys.texts[:6]]))
    documents = encode(anew, toys.texts)
    assert np.allclose(again.scores(documents), anew.scores(documents), atol=1e-3)


def test_features_of_the_model_to_start_from_stay(fit, toys, encode):
    older = fit()
    newer = fit(texts=["other words here"] * len(toys.texts), start=older)
    assert set(newer.vocabulary.words) > set(older.vocabulary.words)
    assert {"other", "word"} & set(newer.vocabulary.words)


def test_labels_keep_their_weights_if_no_document_carries_them_and_may_have_other_names(
    toys, small_config, encode, tmp_path
):
    older = LinearScorer(small_config(LINEAR), toys.classes, 0)
    everything = Examples(encode(older, toys.texts), toys.labels)
    older.fit(everything, None, FitContext(tmp_path))
    column = int(np.flatnonzero(np.asarray(toys.labels.sum(axis=0)).ravel())[0])
    old = toys.classes.names[column]
    names = tuple("renamed" if name == old else name for name in toys.classes.names)
    edges = [("renamed" if p == old else p, "renamed" if c == old else c) for p, c in toys.classes.taxonomy.edges]
    newer = LinearScorer(small_config(LINEAR), Classes(names, Taxonomy.from_edges(edges)), 0)
    newer.start, newer.origins = older, {"renamed": old}
    without = toys.labels.toarray()
    without[:, column] = False
    newer.fit(Examples(encode(newer, toys.texts), csr_array(without)), None, FitContext(tmp_path))
    documents = encode(newer, toys.texts)
    assert np.allclose(newer.scores(documents)[:, column], older.scores(documents)[:, column], atol=1e-5)


@pytest.mark.parametrize("features", ["pairs", "characters"])
def test_pairs_and_characters_are_learned_saved_and_explained_by_words(fit, toys, encode, tmp_path, features):
    scorer = fit({"bag": {"features": features}})
    folder = tmp_path / "model"
    folder.mkdir()
    scorer.save(folder)
    documents = encode(scorer, toys.texts)
    loaded = LinearScorer(scorer.config, scorer.classes).load(folder)
    assert np.array_equal(loaded.scores(documents), scorer.scores(documents))
    assert scorer.explainer == "occlusion"
    document = encode(scorer, toys.texts[:1])
    (found,) = EXPLAINERS["occlusion"](scorer, document, [0]).reasons
    assert found.words
    assert {one.word for one in found.words} <= set(document.tokens.document(0))
