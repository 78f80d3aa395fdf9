"""What every model must do, checked over all of them: a new row of a table is tested without a new line."""

import numpy as np
import pytest
from sklearn.base import clone

from taxocaps.catalogue.models import MODELS, VARIANTS
from taxocaps.classifier import TaxoCapsClassifier
from taxocaps.datasets import toy
from taxocaps.training.batches import loader

DATA = toy.load()
TEXTS = [document.text for _, document in DATA.documents()]
LABELS = [document.labels for _, document in DATA.documents()]
UNIT_VARIANTS = ("TGCNN(No-R)", "HE-TAGRCNN", "HE-AGCRCNN")
"""Between them these have every value of every axis; the others are slow only because they are many."""
UNIT = (*UNIT_VARIANTS, "auto", "SVM", "HR-LR", "CNN-non-static", "HAN", "SGM+GE", "DCNN", "Capsule-A", "HR-DGCNN-3")


def each_of(models, unit):
    """A test for every model, those not in `unit` marked as slow."""
    rows = [pytest.param(model.name, marks=() if model.name in unit else pytest.mark.slow) for model in models]
    return pytest.mark.parametrize("name", rows)


every_model = each_of(MODELS, UNIT)
every_network = each_of([model for model in MODELS if model.family not in ("joined", "linear")], UNIT)
every_baseline = each_of(
    [model for model in MODELS if not model.is_variant and model.family != "joined"], ("SVM", "HR-LR")
)


@pytest.fixture(scope="session")
def fitted_model(small_options):
    """A model fitted to the toy documents, once for all tests."""
    known = {}

    def fit(name):
        if name not in known:
            known[name] = TaxoCapsClassifier(name, DATA.taxonomy, **small_options(name)).fit(TEXTS, LABELS)
        return known[name]

    return fit


def test_the_unit_suite_meets_every_value_of_every_axis():
    axes = ("row_order", "recurrent", "attention", "head", "label_weights")
    some = [variant for variant in VARIANTS if variant.name in UNIT_VARIANTS]
    for axis in axes:
        assert {getattr(row, axis) for row in some} == {getattr(row, axis) for row in VARIANTS}


@every_model
def test_can_be_cloned(fitted_model, name):
    copy = clone(fitted_model(name))
    assert copy.get_params() == fitted_model(name).get_params()
    assert not hasattr(copy, "model_")


@every_model
def test_scores_each_label_of_each_text(fitted_model, name):
    classifier = fitted_model(name)
    scores = classifier.predict_proba(TEXTS)
    seen = int((classifier.model_.counts > 0).sum())
    assert (scores.shape, seen) == ((12, len(classifier.classes_)), 10)
    assert scores.dtype == np.float32
    assert ((scores >= 0) & (scores <= 1)).all()
    assert len(np.unique(scores, axis=0)) > 1


@every_model
def test_a_text_has_the_same_scores_alone_and_among_others(fitted_model, name):
    classifier = fitted_model(name)
    together = classifier.decision_function(["", *TEXTS, "wheat"])
    assert not together[0].any()
    for index in (1, 7, 13):
        alone = classifier.decision_function([["", *TEXTS, "wheat"][index]])
        assert np.allclose(alone[0], together[index], atol=1e-5)


@every_model
def test_predicts_labels_of_the_taxonomy_with_their_ancestors(fitted_model, name):
    for labels in fitted_model(name).predict(TEXTS):
        assert labels == DATA.taxonomy.with_ancestors(labels)


@every_model
def test_is_what_its_row_says(fitted_model, name):
    axes = next(model.axes for model in MODELS if model.name == name)
    config = fitted_model(name).model_.config
    for section, values in axes.items():
        if section == "scorer":
            assert config.scorer == values
        else:
            assert {key: getattr(getattr(config, section), key) for key in values} == values


@every_model
def test_the_seed_decides(fitted_model, name):
    first = fitted_model(name)
    again = clone(first).fit(TEXTS, LABELS)
    assert np.array_equal(again.predict_proba(TEXTS), first.predict_proba(TEXTS))
    if first.model_.config.scorer == "network":
        other = clone(first).set_params(random_state=1).fit(TEXTS, LABELS)
        assert not np.array_equal(other.predict_proba(TEXTS), first.predict_proba(TEXTS))


@every_model
def test_saved_and_loaded_it_scores_the_same(fitted_model, name, tmp_path):
    classifier = fitted_model(name)
    classifier.save(tmp_path / "model")
    loaded = TaxoCapsClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
    assert loaded.predict(TEXTS) == classifier.predict(TEXTS)
    assert loaded.model == name


@every_baseline
def test_learns_twelve_documents_by_heart(small_options, name):
    """For the variants, test_variants.py has this."""
    patient = {"epochs": 60, "patience": 30, "learning_rate": 0.01, "schedule": "constant"}
    classifier = TaxoCapsClassifier(name, DATA.taxonomy, **small_options(name))
    if classifier.get_params().get("training__epochs"):
        classifier.set_params(**{f"training__{key}": value for key, value in patient.items()})
    assert classifier.fit(TEXTS, LABELS, validation=(TEXTS, LABELS)).score(TEXTS, LABELS) > 0.9


@every_network
def test_every_trainable_parameter_receives_a_gradient(small_options, encode, toys, name):
    still = {"training__learning_rate": 1e-9, "training__epochs": 1}
    classifier = TaxoCapsClassifier(name, DATA.taxonomy, **{**small_options(name), **still}).fit(TEXTS, LABELS)
    scorer = classifier.model_.scorer
    (batch,) = loader(scorer.inputs(encode(scorer, TEXTS)), toys.labels, 12)
    scorer.objective.train()
    scorer.objective.zero_grad()
    scorer.objective.loss(batch).backward()
    for parameter, weights in scorer.objective.named_parameters():
        assert weights.grad is not None, parameter
        assert weights.grad.isfinite().all(), parameter
        assert weights.grad.any(), parameter
