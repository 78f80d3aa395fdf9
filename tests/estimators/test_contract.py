"""What every variant must do, checked over the table of variants: a new row is tested without a new line."""

import numpy as np
import pytest
from sklearn.base import clone

from taxocaps.catalogue.classifier import TaxoCapsClassifier
from taxocaps.catalogue.variants import VARIANTS
from taxocaps.datasets import toy

DATA = toy.load()
TEXTS = [document.text for _, document in DATA.documents()]
LABELS = [document.labels for _, document in DATA.documents()]
UNIT = ("TGCNN(No-R)", "HE-TAGRCNN", "HE-AGCRCNN")
"""Between them these have every value of every axis; the others are slow only because they are many."""
NAMES = [
    pytest.param(variant.name, marks=() if variant.name in UNIT else pytest.mark.slow, id=variant.name)
    for variant in VARIANTS
]
every_variant = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="session")
def options(small):
    """The options of a tiny model by their full names."""
    return {f"{section}.{key}": value for section, keys in small.items() for key, value in keys.items()}


@pytest.fixture(scope="session")
def fitted_variant(options):
    """A variant fitted to the toy documents, once for all tests."""
    known = {}

    def fit(name):
        if name not in known:
            known[name] = TaxoCapsClassifier(name, DATA.taxonomy, settings=options).fit(TEXTS, LABELS)
        return known[name]

    return fit


def test_the_unit_suite_meets_every_value_of_every_axis():
    axes = ("row_order", "recurrent", "attention", "head", "label_weights")
    some = [variant for variant in VARIANTS if variant.name in UNIT]
    for axis in axes:
        assert {getattr(row, axis) for row in some} == {getattr(row, axis) for row in VARIANTS}


@every_variant
def test_can_be_cloned(fitted_variant, name):
    copy = clone(fitted_variant(name))
    assert copy.get_params() == fitted_variant(name).get_params()
    assert not hasattr(copy, "model_")


@every_variant
def test_scores_each_label_of_each_text(fitted_variant, name):
    classifier = fitted_variant(name)
    scores = classifier.predict_proba(TEXTS)
    assert scores.shape == (12, 10) == (12, len(classifier.classes_))
    assert ((scores >= 0) & (scores <= 1)).all()
    assert len(np.unique(scores, axis=0)) == 12


@every_variant
def test_predicts_labels_of_the_taxonomy_with_their_ancestors(fitted_variant, name):
    for labels in fitted_variant(name).predict(TEXTS):
        assert labels == DATA.taxonomy.close(labels)


@every_variant
def test_is_what_its_row_says(fitted_variant, name):
    variant = next(row for row in VARIANTS if row.name == name)
    config = fitted_variant(name).model_.config
    found = (config.graph.row_order, config.network.recurrent, config.network.attention, config.network.head)
    assert found == (variant.row_order, variant.recurrent, variant.attention, variant.head)
    assert config.loss.label_weights == variant.label_weights


@every_variant
def test_the_seed_decides(fitted_variant, options, name):
    first = fitted_variant(name)
    again = clone(first).fit(TEXTS, LABELS)
    assert np.array_equal(again.predict_proba(TEXTS), first.predict_proba(TEXTS))
    other = clone(first).set_params(random_state=1).fit(TEXTS, LABELS)
    assert not np.array_equal(other.predict_proba(TEXTS), first.predict_proba(TEXTS))


@every_variant
def test_saved_and_loaded_it_scores_the_same(fitted_variant, name, tmp_path):
    classifier = fitted_variant(name)
    classifier.save(tmp_path / "model")
    loaded = TaxoCapsClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
    assert loaded.predict(TEXTS) == classifier.predict(TEXTS)
    assert loaded.model == name
