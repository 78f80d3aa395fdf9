"""From scores to labels: every way to choose, and what fitting decides."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.corpus.labels import label_matrix
from taxocaps.scorers.base import Labelled, Work
from taxocaps.estimators.config import ModelConfig
from taxocaps.scorers.decision import Calibration, DecisionConfig, fit_calibration, fit_cuts
from taxocaps.scorers.model import FittedModel, ModelName, fit_model
from taxocaps.metrics.calibration import calibration_error
from taxocaps.metrics.classification import flat_metrics
from taxocaps.taxonomy.tree import Taxonomy

TOPICS = Classes(
    ("trade", "oil", "grain", "art"),
    Taxonomy.from_edges([("all", "trade"), ("trade", "oil"), ("trade", "grain"), ("all", "art")]),
)
NAME = ModelName("a model", "default", 0)
SCORES = np.array([[0.2, 0.9, 0.4, 0.1], [0.3, 0.2, 0.1, 0.25], [0, 0, 0, 0]], np.float32)
"""The last document has no words."""


@pytest.fixture
def model(keywords):
    """A model whose cuts are 0.5, 0.5, 0.5 and 0.2."""

    def make(hierarchy="as-is", calibration=None, **decision):
        config = ModelConfig(decision=DecisionConfig(**decision))
        cuts = np.array([0.5, 0.5, 0.5, 0.2], np.float32)
        return FittedModel(NAME, config, keywords(config, TOPICS), calibration or Calibration(), cuts, hierarchy)

    return make


def chosen(model, **options):
    found = model.choose(SCORES, **options)
    assert isinstance(found, csr_array)
    assert (found.dtype, found.shape) == (bool, (3, 4))
    return model.classes.lists(found)


def test_a_label_is_given_where_its_score_reaches_its_cut(model):
    assert chosen(model()) == [("oil",), ("art",), ()]


def test_one_threshold_instead_of_the_cuts(model):
    assert chosen(model(), threshold=0.25) == [("oil", "grain"), ("trade", "art"), ()]
    assert chosen(model(), threshold=0.0) == [TOPICS.names, TOPICS.names, ()]
    assert chosen(model(), threshold=1.0) == [(), (), ()]


def test_the_best_few(model):
    assert chosen(model(), top_k=2) == [("oil", "grain"), ("trade", "art"), ()]
    assert chosen(model(), top_k=9) == [TOPICS.names, TOPICS.names, ()]
    assert chosen(model(rule="top-k", k=1)) == [("oil",), ("trade",), ()]
    assert chosen(model(rule="top-k", k=1), top_k=2) == [("oil", "grain"), ("trade", "art"), ()]
    assert chosen(model(rule="top-k", k=1), threshold=0.25) == [("oil", "grain"), ("trade", "art"), ()]


def test_no_empty_answers_on_request(model):
    assert chosen(model(), threshold=0.5, at_least=1) == [("oil",), ("trade",), ()]
    assert chosen(model(at_least=1), threshold=0.5) == [("oil",), ("trade",), ()]
    assert chosen(model(at_least=1), threshold=0.5, at_least=0) == [("oil",), (), ()]


def test_what_is_done_about_ancestors(model):
    assert chosen(model("add-ancestors")) == [("trade", "oil"), ("art",), ()]
    assert chosen(model("drop-orphans")) == [(), ("art",), ()]
    assert chosen(model("add-ancestors"), hierarchy="as-is") == [("oil",), ("art",), ()]
    assert chosen(model(), hierarchy="drop-orphans") == [(), ("art",), ()]


def test_a_text_without_words_has_no_scores_and_no_labels(model):
    # logit(1e-6) less 13.8 is far below, but plus 20 far above one half.
    sure = model(calibration=Calibration(1.0, 20.0))
    scores = sure.scores(["oil art", "", "  "])
    assert scores[0].min() > 0.9
    assert not scores[1:].any()
    assert sure.classes.lists(sure.choose(scores, top_k=3, at_least=2))[1:] == [(), ()]


def test_raw_and_calibrated_scores(model):
    curve = Calibration(2.0, -1.0)
    texts = ["oil oil art trade", "grain", "nothing of it"]
    raw = model(calibration=curve).raw_scores(texts)
    assert raw[0].tolist() == [0.25, 0.5, 0, 0.25]
    scores = model(calibration=curve).scores(texts)
    assert scores[:2] == pytest.approx(curve.apply(raw)[:2])
    assert (model().scores(texts) == raw).all()


def test_no_texts(model):
    assert model().scores([]).shape == (0, 4)
    assert model().choose(model().scores([])).shape == (0, 4)


@pytest.fixture
def learn(keywords, tmp_path):
    """Fit calibration and cuts to documents whose words are names of labels."""

    def learn_it(texts, lists, *, training=None, **decision):
        scorer = keywords(ModelConfig(decision=DecisionConfig(**decision)), TOPICS)
        documents = Labelled(texts, label_matrix(lists, TOPICS.names))
        learned = Labelled(texts, label_matrix(training, TOPICS.names)) if training is not None else documents
        return fit_model(NAME, scorer, learned, documents, Work(tmp_path)), documents

    return learn_it


TEXTS = ["oil oil noise", "grain noise noise", "art", "oil art noise", "art noise noise noise oil"] * 15
LISTS = [["oil"], [], ["art"], ["oil", "art"], ["art"]] * 15


def test_fitting_decides_calibration_and_cuts_on_validation_documents(learn):
    model, documents = learn(TEXTS, LISTS)
    raw = model.raw_scores(TEXTS)
    assert model.calibration == fit_calibration(documents.labels, raw) != Calibration()
    calibrated = model.calibration.apply(raw)
    assert (model.cuts == fit_cuts(documents.labels, calibrated, DecisionConfig())).all()
    assert model.figures["raw_calibration_error"] == pytest.approx(calibration_error(documents.labels, raw))
    assert model.validation.calibration_error < model.figures["raw_calibration_error"]
    found = flat_metrics(documents.labels, model.choose(model.scores(TEXTS)))
    assert model.validation.flat.micro.f1 == pytest.approx(found.micro.f1)


@pytest.mark.parametrize("rule", ["per-label", "fixed"])
def test_other_rules_and_no_calibration(learn, rule):
    model, documents = learn(TEXTS, LISTS, rule=rule, threshold=0.3, calibration="none")
    assert model.calibration == Calibration()
    wanted = fit_cuts(documents.labels, model.raw_scores(TEXTS), DecisionConfig(rule=rule, threshold=0.3))
    assert (model.cuts == wanted).all()


def test_the_hierarchy_follows_the_training_documents(learn):
    closed = [["trade", "oil"], [], ["art"], ["trade", "oil", "art"], ["art"]] * 15
    assert learn(TEXTS, LISTS)[0].hierarchy == "as-is"
    assert learn(TEXTS, closed)[0].hierarchy == "add-ancestors"
    assert learn(TEXTS, closed, training=LISTS)[0].hierarchy == "as-is"
    assert learn(TEXTS, LISTS, training=closed)[0].hierarchy == "add-ancestors"
    assert learn(TEXTS, closed, hierarchy="drop-orphans")[0].hierarchy == "drop-orphans"


def test_measured_on_its_validation_documents_a_model_is_as_good_as_it_says(learn):
    # Some texts have no words at all; most labels are true, so that calibration lifts a score of 0 above 0.
    texts = [*TEXTS, *[""] * 30]
    model, documents = learn(texts, [*[TOPICS.names] * len(TEXTS), *[()] * 30])
    again = model.evaluate(documents)
    assert again.as_dict() == model.validation.as_dict()


def test_unseen_labels_count_in_an_evaluation(learn):
    model, documents = learn(TEXTS, LISTS)
    seen, unseen = model.evaluate(documents), model.evaluate(documents, unseen={"music": 10})
    assert unseen.flat.micro.recall < seen.flat.micro.recall


def test_a_real_model_end_to_end(fitted, toys):
    documents, classes = toys
    scores = fitted.scores(documents.texts)
    assert scores.shape == (12, len(classes))
    assert fitted.hierarchy == "add-ancestors"
    assert fitted.classes is classes
    assert classes.is_closed(fitted.choose(scores))
    assert (fitted.report.epochs, len(fitted.report.history)) == (2, 2)
    assert fitted.evaluate(documents).as_dict() == fitted.validation.as_dict()


def test_models_are_values(fitted):
    with pytest.raises(dataclasses.FrozenInstanceError):
        fitted.hierarchy = "as-is"
