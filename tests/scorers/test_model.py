"""From scores to labels: every way to choose, and what fitting decides."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from taxocaps.corpus.document import Document
from taxocaps.corpus.labels import Classes, label_matrix
from taxocaps.errors import CorpusError
from taxocaps.metrics.calibration import calibration_error
from taxocaps.metrics.classification import flat_metrics
from taxocaps.results import ScoredLabel
from taxocaps.scorers import fitting
from taxocaps.scorers import model as module
from taxocaps.scorers.base import SCORERS, Examples, FitContext
from taxocaps.scorers.decision import (
    DECISION_RULES,
    Calibration,
    DecisionConfig,
    DecisionOptions,
    HeldOut,
    fit_calibration,
)
from taxocaps.scorers.fitting import fit_model, hold_out
from taxocaps.scorers.model import FittedModel, ModelName
from taxocaps.taxonomy.terms import Term
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.text.pipeline import TextConfig

TOPICS = Classes(
    ("trade", "oil", "grain", "art"),
    Taxonomy.from_edges([("all", "trade"), ("trade", "oil"), ("trade", "grain"), ("all", "art")]),
)
NAME = ModelName("a model", "default", 0)
SCORES = np.array([[0.2, 0.9, 0.4, 0.1], [0.3, 0.2, 0.1, 0.25], [0, 0, 0, 0]], np.float32)
"""The last document has no words."""


@pytest.fixture(scope="module")
def model(keywords):
    """A model whose thresholds are 0.5, 0.5, 0.5 and 0.2."""

    def make(hierarchy="as-is", calibration=None, counts=(9, 9, 9, 9), **decision):
        config = keywords.Config(decision=DecisionConfig(**decision))
        thresholds = np.array([0.5, 0.5, 0.5, 0.2], np.float32)
        curves = calibration or Calibration()
        scorer, rule = keywords(config, TOPICS), decision.get("rule", "global")
        return FittedModel(NAME, config, scorer, curves, thresholds, hierarchy, rule, np.array(counts, np.int64))

    return make


def chosen(model, **options):
    found = model.choose(SCORES, DecisionOptions(**options))
    assert isinstance(found, csr_array)
    assert (found.dtype, found.shape) == (bool, (3, 4))
    return model.classes.label_lists(found)


def test_a_label_is_given_where_its_score_reaches_its_threshold(model):
    assert chosen(model()) == [("oil",), ("art",), ()]


def test_one_threshold_for_all_labels_instead(model):
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


def test_a_text_without_words_has_no_scores_and_no_labels(model, encode):
    # logit(1e-6) less 13.8 is far below, but plus 20 far above one half.
    sure = model(calibration=Calibration(1.0, 20.0))
    scores = sure.scores(encode(sure.scorer, ["oil art", "", "  "]))
    assert scores[0].min() > 0.9
    assert not scores[1:].any()
    chosen = sure.choose(scores, DecisionOptions(top_k=3, at_least=2))
    assert sure.classes.label_lists(chosen)[1:] == [(), ()]


def test_raw_and_calibrated_scores(model, encode):
    curve = Calibration(2.0, -1.0)
    documents = encode(model().scorer, ["oil oil art trade", "grain", "nothing of it"])
    raw = model(calibration=curve).raw_scores(documents)
    assert raw[0].tolist() == [0.25, 0.5, 0, 0.25]
    scores = model(calibration=curve).scores(documents)
    assert scores[:2] == pytest.approx(curve.apply(raw)[:2])
    assert (model().scores(documents) == raw).all()
    curves = Calibration(np.array([1, 2, 1, 1], np.float32), np.array([0, -1, 0, 1], np.float32))
    each = model(calibration=curves).scores(documents)[0]
    assert each[:3] == pytest.approx([0.25, scores[0, 1], 0], abs=1e-5)
    assert each[3] == pytest.approx(np.e / (np.e + 3))  # one third of the odds, times e


@pytest.mark.parametrize("hierarchy", ["as-is", "add-ancestors"])
def test_no_texts(model, encode, hierarchy):
    made = model(hierarchy)
    none = encode(made.scorer, [])
    assert made.scores(none).shape == (0, 4)
    assert made.choose(made.own_scores(none)).shape == (0, 4)
    assert list(made.predictions([], made.own_scores(none))) == []


def test_where_ancestors_are_added_none_is_less_probable_than_what_is_below_it(model, encode):
    made = model("add-ancestors")
    documents = encode(made.scorer, ["oil oil grain trade", "trade art", ""])
    own = made.own_scores(documents)
    assert own.tolist() == [[0.25, 0.5, 0.25, 0], [0.5, 0, 0, 0.5], [0, 0, 0, 0]]
    assert made.scores(documents).tolist() == [[0.5, 0.5, 0.25, 0], [0.5, 0, 0, 0.5], [0, 0, 0, 0]]
    for hierarchy in ("as-is", "drop-orphans"):
        assert np.array_equal(model(hierarchy).scores(documents), own)


@given(st.lists(st.lists(st.integers(0, 4).map(lambda number: number / 4), min_size=4, max_size=4), min_size=1))
def test_the_score_of_a_label_is_the_same_wherever_it_is_shown(model, rows):
    made, own = model("add-ancestors"), np.array(rows, np.float32)
    documents, shown, as_they_are = [Document("x")] * len(own), made.consistent(own), {"hierarchy": "as-is"}
    for wanted, options in ((shown, {}), (shown, {"threshold": 0.0}), (shown, {"top_k": 2}), (own, as_they_are)):
        found = made.predictions(documents, own, DecisionOptions(**options))
        for row, prediction in zip(wanted, found, strict=True):
            assert all(one.score == row[TOPICS.names.index(one.label)] for one in prediction.labels)


def test_predictions_have_names_in_the_language_of_the_model_and_all_paths(keywords):
    taxonomy = Taxonomy.from_edges(
        [("all", "trade"), ("all", "energy"), ("trade", "oil"), ("energy", "oil")],
        terms={"oil": [Term("Erdöl", language="de"), Term("petroleum", language="en"), Term("crude", "alternative")]},
    )
    config = keywords.Config(text=TextConfig(language="de"))
    classes = Classes(("trade", "energy", "oil"), taxonomy)
    thresholds, counts = np.full(3, 0.5, np.float32), np.ones(3, np.int64)
    scorer, curves = keywords(config, classes), Calibration(2.0)
    fitted = FittedModel(NAME, config, scorer, curves, thresholds, "as-is", "global", counts)
    scores = np.array([[0.1, 0.2, 0.9]], np.float32)
    (found,) = fitted.predictions([Document("oil", id="7")], scores)
    assert found.as_dict() == {
        "id": "7",
        "labels": [{"label": "oil", "name": "Erdöl", "score": 0.9, "paths": [["trade", "oil"], ["energy", "oil"]]}],
    }
    assert [one.name for one in fitted.taxonomy_view().labels] == ["all", "trade", "energy", "Erdöl"]


def test_predictions_have_scores_and_paths_the_most_probable_first(model):
    documents = [Document("oil", id="news-7"), Document("x"), Document("")]
    first, second, third = model("add-ancestors").predictions(documents, SCORES, DecisionOptions(top_k=2))
    assert first.id == "news-7"
    assert first.labels == (
        ScoredLabel("trade", "trade", pytest.approx(0.9), (("trade",),)),
        ScoredLabel("oil", "oil", pytest.approx(0.9), (("trade", "oil"),)),
        ScoredLabel("grain", "grain", pytest.approx(0.4), (("trade", "grain"),)),
    )
    assert [one.label for one in second.labels] == ["trade", "art"]
    assert (second.id, third.id) == ("2", "3")
    assert first.warning is None
    assert third.labels == ()
    assert third.warning == "the text has no words that the model reads"
    assert next(model().predictions(documents[1:], SCORES[1:], first=41)).id == "41"


def test_labels_that_no_training_document_carries_are_told(model):
    options = DecisionOptions(top_k=4)
    for counts, wanted in (((9, 0, 9, 0), {"oil", "art"}), ((9, 9, 9, 9), set())):
        fitted = model("add-ancestors", counts=counts)
        (found,) = fitted.predictions([Document("oil")], SCORES[:1], options)
        assert {one.label for one in found.labels if one.unseen} == wanted
        assert {one["label"] for one in found.as_dict()["labels"] if "unseen" in one} == wanted
    (found,) = model("add-ancestors", counts=(0, 9, 9, 9)).predictions([Document("oil")], SCORES[:1], options)
    assert not any(one.unseen for one in found.labels)  # documents carry what is below trade


def test_scores_that_are_no_probabilities_say_so(model):
    few, curved = model(), model(calibration=Calibration(2.0, 0.5))
    assert (few.is_calibrated, few.card().is_calibrated) == (False, False)
    assert (curved.is_calibrated, curved.card().is_calibrated) == (True, True)
    for fitted in (few, curved):
        for found in fitted.predictions([Document("oil"), Document("x")], SCORES[:2]):
            assert found.as_dict().get("is_calibrated", True) is found.is_calibrated is fitted.is_calibrated


def test_macro_averages_are_over_labels_with_training_documents(model):
    truth = label_matrix([["oil"], ["art"], []], TOPICS.names)
    found, all_labels = (model(counts=counts).evaluate(truth, SCORES) for counts in ((0, 1, 0, 2), (1, 1, 1, 1)))
    assert found.flat.macro.f1 == 1
    assert all_labels.flat.macro.f1 == 0.5  # two of four labels are carried and given
    assert found.flat.micro == all_labels.flat.micro


@pytest.fixture
def learn(keywords, encode, tmp_path):
    """Fit calibration and thresholds to documents whose words are names of labels."""

    def learn_it(texts, lists, *, training=None, **decision):
        scorer = keywords(keywords.Config(decision=DecisionConfig(**decision)), TOPICS)
        documents = Examples(encode(scorer, texts), label_matrix(lists, TOPICS.names))
        learned = documents
        if training is not None:
            learned = Examples(documents.documents, label_matrix(training, TOPICS.names))
        return fit_model(NAME, scorer, learned, documents, FitContext(tmp_path)), documents

    return learn_it


def held_out_of(examples, scores, training=None):
    """Documents scored by one model, which learned from the same or from others."""
    counts = (training or examples).labels.toarray().sum(axis=0)
    return HeldOut(examples.labels, scores, counts[None], np.zeros(len(examples), np.int64))


def thresholds_of(rule, examples, scores, **options):
    return DECISION_RULES[rule].fit(held_out_of(examples, scores), DecisionConfig(rule=rule, **options))


def is_same(one, other):
    return np.array_equal(one.slopes, other.slopes) and np.array_equal(one.intercepts, other.intercepts)


TEXTS = ["oil oil noise", "grain noise noise", "art", "oil art noise", "art noise noise noise oil"] * 15
LISTS = [["oil"], [], ["art"], ["oil", "art"], ["art"]] * 15


def test_fitting_decides_calibration_and_thresholds_on_validation_documents(learn):
    model, examples = learn(TEXTS, LISTS)
    raw = model.raw_scores(examples.documents)
    assert is_same(model.calibration, fit_calibration(held_out_of(examples, raw), model.counts))
    assert not model.calibration.is_identity
    calibrated = model.calibration.apply(raw)
    assert (model.thresholds == thresholds_of("global", examples, calibrated)).all()
    assert model.metrics["raw_calibration_error"] == pytest.approx(calibration_error(examples.labels, raw))
    assert model.validation.calibration_error < model.metrics["raw_calibration_error"]
    assert model.counts.dtype == np.int64
    assert model.counts.tolist() == [0, 30, 0, 45]
    scores = model.own_scores(examples.documents)
    chosen, own = (model.choose(scores, DecisionOptions(hierarchy=one)).toarray() for one in (None, "as-is"))
    counted = np.where(model.counts > 0, chosen, own)  # added ancestors that no document carries do not count
    found = flat_metrics(examples.labels, csr_array(counted))
    assert model.validation.flat.micro.f1 == pytest.approx(found.micro.f1)


def test_curves_follow_the_training_documents_not_those_that_are_held_out(learn):
    rare = [["oil"], ["grain", "trade"], ["art"], *[[]] * (len(TEXTS) - 3)]
    model, examples = learn(TEXTS, LISTS, training=rare)
    assert model.counts.tolist() == [1, 1, 1, 1]
    assert len(set(model.calibration.slopes.tolist())) == 1
    uneven, _ = learn(TEXTS, LISTS, training=[["oil", "art"], ["art"], *[["art"]] * 20, *[[]] * (len(TEXTS) - 22)])
    assert uneven.calibration.slopes[1] != uneven.calibration.slopes[3]
    training = Examples(examples.documents, label_matrix(rare, TOPICS.names))
    found = held_out_of(examples, model.raw_scores(examples.documents), training)
    assert is_same(model.calibration, fit_calibration(found, model.counts))


@pytest.mark.parametrize("rule", ["by-frequency", "macro", "precision", "count", "per-label", "fixed"])
def test_other_rules_and_no_calibration(learn, rule):
    options = {"threshold": 0.3, "k": 1, "precision": 0.8}
    model, examples = learn(TEXTS, LISTS, rule=rule, calibration="none", **options)
    assert model.calibration.is_identity
    wanted = thresholds_of(rule, examples, model.raw_scores(examples.documents), **options)
    assert (model.thresholds == wanted).all()


def test_the_hierarchy_follows_the_training_documents(learn):
    closed = [["trade", "oil"], [], ["art"], ["trade", "oil", "art"], ["art"]] * 15
    mixed = [["oil"], ["trade"], ["art"], ["oil", "art"], ["art"]] * 15
    assert learn(TEXTS, mixed)[0].hierarchy == "as-is"
    assert learn(TEXTS, closed)[0].hierarchy == "add-ancestors"
    assert learn(TEXTS, LISTS)[0].hierarchy == "add-ancestors"  # no document carries trade: they have the lowest labels
    assert learn(TEXTS, closed, training=mixed)[0].hierarchy == "as-is"
    assert learn(TEXTS, mixed, training=closed)[0].hierarchy == "add-ancestors"
    assert learn(TEXTS, closed, hierarchy="drop-orphans")[0].hierarchy == "drop-orphans"


def test_measured_on_its_validation_documents_a_model_is_as_good_as_it_says(learn):
    # Some texts have no words at all; most labels are true, so that calibration lifts a score of 0 above 0.
    texts = [*TEXTS, *[""] * 30]
    model, examples = learn(texts, [*[TOPICS.names] * len(TEXTS), *[()] * 30])
    again = model.evaluate(examples.labels, model.own_scores(examples.documents))
    assert again.as_dict() == model.validation.as_dict()


ONE_EACH = [["oil"], ["grain"], ["art"], ["oil"], ["art"]] * 15


def test_documents_with_one_label_each_get_their_best_one(learn):
    model, examples = learn(TEXTS, ONE_EACH, hierarchy="as-is")
    assert (model.rule, model.card().takes_best) == ("one", True)
    own = model.own_scores(examples.documents)
    chosen = model.choose(own).toarray()
    assert (chosen.sum(axis=1) == 1).all()
    assert (chosen.argmax(axis=1) == own.argmax(axis=1)).all()
    assert model.choose(own, DecisionOptions(threshold=0.0)).nnz == chosen.size


def test_their_ancestors_come_with_the_best_of_the_lowest_labels(learn):
    lists = [[*labels, *(["trade"] if labels[0] != "art" else [])] for labels in ONE_EACH]
    model, _ = learn(TEXTS, lists)
    assert (model.hierarchy, model.rule) == ("add-ancestors", "one")
    own = np.array([[0.9, 0.2, 0.3, 0.4], [0.9, 0.5, 0.3, 0.4]], np.float32)  # trade, oil, grain, art
    assert model.classes.label_lists(model.choose(own)) == [("art",), ("trade", "oil")]


@pytest.mark.parametrize(
    "lists",
    [
        [["oil", "art"], *ONE_EACH[1:]],
        [[], *ONE_EACH[1:]],
        [["oil", "trade"], ["grain", "trade"], ["trade"], ["art"], ["art"]] * 15,
        [["oil"]] * len(TEXTS),
    ],
    ids=["two labels", "no label", "a label that others go below", "the same label everywhere"],
)
def test_other_documents_get_what_reaches_its_threshold(learn, lists):
    assert learn(TEXTS, lists)[0].rule == "global"


def test_a_rule_that_was_asked_for_is_kept_though_documents_have_one_label_each(learn):
    assert learn(TEXTS, ONE_EACH, rule="per-label")[0].rule == "per-label"


def test_unseen_labels_count_in_an_evaluation(learn):
    model, examples = learn(TEXTS, LISTS)
    scores = model.own_scores(examples.documents)
    seen, unseen = (model.evaluate(examples.labels, scores, labels=one) for one in (None, [["music"]] * len(TEXTS)))
    assert unseen.flat.micro.recall < seen.flat.micro.recall
    assert (seen.flat.subset_accuracy, unseen.flat.subset_accuracy) == (0.8, 0)
    assert unseen.unseen == {"music": len(TEXTS)}


DEEP = Classes(
    ("crude", "art"), Taxonomy.from_edges([("all", "trade"), ("trade", "oil"), ("oil", "crude"), ("all", "art")])
)


@pytest.fixture
def leaves(keywords):
    """A model that learned from documents with the lowest labels only."""

    def make(hierarchy="add-ancestors"):
        config = keywords.Config()
        thresholds = np.full(2, 0.5, np.float32)
        counts = np.ones(2, np.int64)
        scorer = keywords(config, DEEP)
        return FittedModel(NAME, config, scorer, Calibration(), thresholds, hierarchy, "global", counts)

    return make


def test_ancestors_are_given_without_a_column(leaves):
    scores = np.array([[0.9, 0.6], [0.1, 0.7]], np.float32)
    documents = [Document("x"), Document("y")]

    def given(model, **options):
        predictions = model.predictions(documents, scores, DecisionOptions(**options))
        return [[(one.label, round(one.score, 3)) for one in prediction.labels] for prediction in predictions]

    with_ancestors = [[("trade", 0.9), ("oil", 0.9), ("crude", 0.9), ("art", 0.6)], [("art", 0.7)]]
    assert given(leaves()) == with_ancestors
    assert given(leaves("as-is"), hierarchy="add-ancestors") == with_ancestors
    assert given(leaves(), hierarchy="as-is") == [[("crude", 0.9), ("art", 0.6)], [("art", 0.7)]]
    assert leaves().choose(scores).shape == (2, 2)


def test_true_ancestors_without_a_column_count_as_predicted_where_they_are_added(leaves):
    scores = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]], np.float32)
    lists = [("trade", "crude"), ("crude",), ("trade", "art", "music")]
    truth = label_matrix(lists, DEEP.names)
    found = leaves().evaluate(truth, scores, labels=lists)
    assert found.unseen == {"music": 1, "trade": 1}
    assert (found.added.right, found.added.wrong) == (1, 1)  # oil is carried by no document, and does not count
    # crude, crude, art and one of two trades are right, one trade is wrong; a trade and the music are missed.
    assert (found.flat.micro.precision, found.flat.micro.recall) == (4 / 5, 4 / 6)
    assert found.flat.macro == leaves().evaluate(truth, scores).flat.macro
    without = leaves("as-is").evaluate(truth, scores, labels=lists)
    assert without.unseen == {"music": 1, "trade": 2}
    assert (without.flat.micro.precision, without.flat.micro.recall) == (1, 3 / 6)


def test_a_card_says_what_a_model_is_and_how_good_it_is(learn):
    model, _ = learn(TEXTS, LISTS, at_least=1)
    card = model.card("news")
    assert (card.name, card.model, card.preset, card.seed) == ("news", "a model", "default", 0)
    assert (card.labels, card.language, card.hierarchy) == (4, "en", "add-ancestors")
    assert (card.rule, card.at_least, card.parameters, card.epochs) == ("global", 1, 0, 0)
    assert not card.takes_best
    assert learn(TEXTS, LISTS, rule="top-k")[0].card().takes_best
    assert card.validation["flat"]["micro"]["f1"] == model.validation.flat.micro.f1
    assert model.card().name == "a model"
    strange = dataclasses.replace(model, metrics={"validation": {"calibration_error": float("nan")}})
    assert strange.card().validation == {"calibration_error": None}  # JSON has no such number


def test_the_taxonomy_with_the_thresholds_of_labels_that_can_be_given(model):
    view = model().taxonomy_view("news")
    assert (view.model, view.roots) == ("news", ("all",))
    found = {one.label: (one.level, one.parents, one.threshold) for one in view.labels}
    assert found["all"] == (0, (), None)
    assert found["oil"] == (2, ("trade",), 0.5)
    assert found["art"] == (1, ("all",), pytest.approx(0.2))


def test_a_real_model_end_to_end(fitted, toys, encode):
    documents, classes = encode(fitted.scorer, toys.texts), toys.classes
    scores = fitted.own_scores(documents)
    assert scores.shape == (12, len(classes))
    assert fitted.hierarchy == "add-ancestors"
    assert fitted.classes is classes
    assert classes.has_all_ancestors(fitted.choose(scores))
    assert (fitted.report.epochs, len(fitted.report.history)) == (2, 2)
    assert fitted.evaluate(toys.labels, scores).as_dict() == fitted.validation.as_dict()


def test_models_are_values(fitted):
    with pytest.raises(dataclasses.FrozenInstanceError):
        fitted.hierarchy = "as-is"


@pytest.fixture(scope="module")
def examples(keywords, encode):
    def make(count):
        scorer = keywords(keywords.Config(), TOPICS)
        return Examples(encode(scorer, list(map(str, range(count)))), label_matrix([[]] * count, TOPICS.names))

    return make


def words(examples):
    return [int(word) for tokens in examples.documents.token_chunks() for (word,) in tokens.documents()]


@pytest.mark.parametrize(("count", "share", "held"), [(40, 0.25, 10), (10, 0.001, 1), (10, 0.9, 9)])
def test_documents_are_held_out_at_random(examples, count, share, held):
    training, validation = hold_out(examples(count), share, 0)
    assert len(validation) == held
    assert sorted(words(training) + words(validation)) == list(range(count))
    assert words(training) == sorted(words(training))
    assert words(hold_out(examples(count), share, 0)[1]) == words(validation)
    if held == 10:
        assert words(hold_out(examples(count), share, 1)[1]) != words(validation)


def test_few_documents_validate_themselves(examples):
    few = examples(9)
    assert hold_out(few, 0.1, 0) == (few, few)


@given(st.lists(st.sets(st.sampled_from(TOPICS.names)), min_size=10, max_size=30), st.floats(0.05, 0.9))
def test_the_last_document_of_a_label_is_never_held_out(examples, lists, share):
    some = dataclasses.replace(examples(len(lists)), labels=label_matrix([*map(sorted, lists)], TOPICS.names))
    training, validation = hold_out(some, share, 0)
    counts = some.labels.toarray().sum(axis=0)
    assert ((training.labels.toarray().sum(axis=0) > 0) == (counts > 0)).all()
    if validation is not some:
        assert sorted(words(training) + words(validation)) == list(range(len(lists)))
        assert 1 <= len(validation) <= max(1, round(share * len(lists)))
        for part in (training, validation):
            assert (part.labels.toarray() == some.labels.toarray()[words(part)]).all()


def test_documents_that_all_carry_a_last_label_validate_themselves(examples):
    names = tuple(map(str, range(10)))
    alone = dataclasses.replace(examples(10), labels=label_matrix([[name] for name in names], names))
    assert hold_out(alone, 0.5, 0) == (alone, alone)
    one_label = dataclasses.replace(examples(10), labels=label_matrix([["0"]] * 10, names))
    assert len(hold_out(one_label, 0.9, 0)[1]) == 9


@pytest.fixture
def record(keywords, encode, tmp_path, monkeypatch):
    """Fit a model to documents without validation documents, and record what each scorer learned from and scored."""

    class Recording(keywords):
        def fit(self, training, validation, context):
            self.seen = numbers(training.documents)
            fits.append((self.seen, None if validation is None else numbers(validation.documents), self))
            return super().fit(training, validation, context)

        def scores(self, documents):
            scored.append((self.seen, numbers(documents)))
            return super().scores(documents)

    fits, scored, told = [], [], []
    monkeypatch.setitem(SCORERS._loaded, "keywords", Recording)

    def record_it(texts, lists, more=None, **options):
        fits.clear(), scored.clear(), told.clear()
        scorer = Recording(keywords.Config(**options), TOPICS)

        def examples_of(texts, lists):
            return Examples(encode(scorer, texts), label_matrix(lists, TOPICS.names))

        validation = more and examples_of(*more)
        context = FitContext(tmp_path, tell=told.append)
        model = fit_model(NAME, scorer, examples_of(texts, lists), validation, context)
        return SimpleNamespace(model=model, fits=list(fits), scored=list(scored), told=list(told))

    return record_it


def numbers(documents):
    """The numbers of documents, their first words."""
    return [int(found[0]) for tokens in documents.token_chunks() for found in tokens.documents()]


def numbered(texts, first=0):
    """Documents with a number each and words of their own, so that none is a near copy of another."""
    own = (" ".join(f"{number}-{word}" for word in range(30)) for number in range(first, first + len(texts)))
    return [f"{first + index} {mine} {text}" for index, (mine, text) in enumerate(zip(own, texts, strict=True))]


LENGTH = len(TEXTS)


def test_out_of_fold_no_document_is_scored_by_a_scorer_that_has_seen_it(record):
    found = record(numbered(TEXTS), LISTS, folds=5)
    assert len(found.scored) == 5
    for seen, scored in found.scored:
        assert sorted(seen + scored) == list(range(LENGTH))
    assert sorted(number for _, scored in found.scored for number in scored) == list(range(LENGTH))
    assert {validation for _, validation, _ in found.fits} == {None}


def test_in_the_end_all_documents_are_learned_from(record):
    for options in ({"folds": 5}, {"folds": 0}):
        found = record(numbered(TEXTS), LISTS, **options)
        seen, validation, scorer = found.fits[-1]
        assert (seen, validation) == (list(range(LENGTH)), None)
        assert found.model.scorer is scorer
        assert found.model.counts.tolist() == [0, 30, 0, 45]


def test_out_of_fold_scores_of_all_documents_decide_calibration_and_thresholds(record, encode):
    found = record(numbered(TEXTS), LISTS, folds=3, decision=DecisionConfig(rule="by-frequency"))
    model, labels = found.model, label_matrix(LISTS, TOPICS.names)
    models = np.empty(LENGTH, np.int64)
    for number, (_, scored) in enumerate(found.scored):
        models[scored] = number
    counts = np.stack([labels.toarray()[seen].sum(axis=0) for seen, _ in found.scored])
    raw = model.raw_scores(encode(model.scorer, numbered(TEXTS)))  # of this scorer the same, whatever it has seen
    calibration = fit_calibration(HeldOut(labels, raw, counts, models), model.counts)
    assert is_same(model.calibration, calibration)
    held_out = HeldOut(labels, calibration.apply(raw), counts, models)
    assert (model.thresholds == DECISION_RULES["by-frequency"].fit(held_out, model.config.decision)).all()
    assert model.validation.documents == LENGTH
    assert model.metrics["raw_calibration_error"] == pytest.approx(calibration_error(labels, raw))


def test_near_copies_are_never_scored_by_a_scorer_that_has_seen_one(record):
    texts = numbered(TEXTS)
    copies = [text.replace(text.split()[0], str(LENGTH + index), 1) for index, text in enumerate(texts[:20])]
    for seen, scored in record([*texts, *copies], [*LISTS, *LISTS[:20]], folds=4).scored:
        assert {number % LENGTH for number in seen}.isdisjoint(number % LENGTH for number in scored)


def test_a_label_with_one_document_can_be_given_in_the_end(record):
    lists = [["grain"], *LISTS[1:]]
    for options in ({"folds": 5}, {"folds": 0, "validation": 0.9}):
        found = record(numbered(TEXTS), lists, **options)
        assert found.model.counts[TOPICS.names.index("grain")] == 1
    part, held_out, _ = found.fits[0]
    assert 0 in part
    assert 0 not in held_out


def test_without_folds_some_documents_are_held_out(record):
    found = record(numbered(TEXTS), LISTS, folds=0, validation=0.2)
    (part, held_out, first), (_, _, last) = found.fits
    assert len(held_out) == 15
    assert sorted(part + held_out) == list(range(LENGTH))
    assert found.scored == [(part, held_out)]
    assert first is last is found.model.scorer
    assert found.model.validation.documents == 15


@pytest.mark.parametrize("texts", [["0 oil art noise noise"] * 20, numbered(["oil"] * 20)])
def test_one_fold_is_none(record, texts):
    folds = 5 if len(set(texts)) == 1 else 1  # near copies of one document are all in one fold
    found = record(texts, [["oil"]] * 20, folds=folds, validation=0.25)
    assert [len(seen) for seen, _, _ in found.fits] == [15, 20]


def test_there_are_no_more_folds_than_documents(record):
    found = record(numbered(["oil", "art", "grain"] * 4), [["oil"], ["art"], []] * 4, folds=20)
    assert sorted(scored for _, scored in found.scored) == [[index] for index in range(12)]


def test_copies_of_a_few_documents_are_not_split_by_folds(record):
    found = record(["0 oil oil", "1 art art", "2 grain noise"] * 5, [["oil"], ["art"], []] * 5, folds=3, validation=0.2)
    assert [len(seen) for seen, _, _ in found.fits] == [12, 15]


def test_very_few_documents_are_learned_from_once(record):
    found = record(numbered(["oil", "art"]), [["oil"], ["art"]], folds=0)
    assert [(seen, validation) for seen, validation, _ in found.fits] == [([0, 1], [0, 1])]


def test_without_folds_validation_documents_are_not_learned_from(record):
    more = numbered(["oil", "art"] * 10, first=100), [["oil"], ["art"]] * 10
    found = record(numbered(TEXTS), LISTS, more, folds=0)
    ((seen, validation, _),) = found.fits
    assert (seen, validation) == (list(range(LENGTH)), list(range(100, 120)))
    assert found.model.validation.documents == 20
    assert found.model.counts.tolist() == [0, 30, 0, 45]


def test_with_folds_validation_documents_are_further_training_documents(record):
    more = numbered(["oil", "art"] * 10, first=100), [["oil"], ["art"]] * 10
    found = record(numbered(TEXTS), LISTS, more, folds=5)
    assert found.fits[-1][:2] == ([*range(LENGTH), *range(100, 120)], None)
    assert found.model.validation.documents == LENGTH + 20
    assert found.model.counts.tolist() == [0, 40, 0, 55]
    assert any("validation documents are learned from" in message for message in found.told)


def test_too_few_documents_for_probabilities_are_told(record):
    found = record(numbered(["oil", "art"] * 4), [["oil"], ["art"]] * 4)
    assert found.model.calibration.is_identity
    assert any("too few documents for probabilities" in message for message in found.told)
    asked = record(numbered(["oil", "art"] * 4), [["oil"], ["art"]] * 4, decision=DecisionConfig(calibration="none"))
    assert not any("probabilities:" in message for message in asked.told)


def test_a_small_corpus_and_rare_labels_are_told(record):
    lists = [["oil"], ["oil", "grain"], ["trade"], ["grain"], *[["oil"]] * 45]
    found = record(numbered(["oil"] * 49), lists)
    guesses = "with 49 documents, probabilities and thresholds are guesses: label more documents"
    assert found.told[:2] == [guesses, "2 labels have only one or two documents: trade, grain"]
    assert found.model.card().rare_labels == found.model.metrics["rare_labels"] == {"trade": 1, "grain": 2}
    enough = record(numbered(["oil"] * 50), [["oil", "trade"]] * 49 + [["art", "oil"]])
    assert enough.told == ["1 label has only one or two documents: art"]
    none = record(numbered(["oil", "art"] * 100), [["oil", "art"], ["art"]] * 100)
    assert (none.told, none.model.card().rare_labels) == ([], {})


def test_of_many_rare_labels_the_first_are_named(keywords, encode, tmp_path):
    names, told = tuple(f"l{number}" for number in range(9)), []
    scorer = keywords(keywords.Config(), Classes(names, Taxonomy.from_edges((), labels=names)))
    examples = Examples(
        encode(scorer, numbered(["x"] * 90)), label_matrix([[name] for name in names] * 2 + [[]] * 72, names)
    )
    fit_model(NAME, scorer, examples, None, FitContext(tmp_path, tell=told.append))
    assert told[0] == "9 labels have only one or two documents: l0, l1, l2, l3, l4 and 4 more, listed in the report"


def test_there_must_be_documents(record):
    with pytest.raises(CorpusError, match="no documents to learn from"):
        record([], [])


def test_the_name_of_a_model_for_the_command_line():
    assert ModelName("SVM", "default", 0).flags == "--model SVM"
    assert ModelName("TGCNN(No-R)", "fast", 0).flags == "--model 'TGCNN(No-R)' --preset fast"


def test_memory_is_bounded_however_many_labels_there_are(fitted, toys, monkeypatch):
    encoded = fitted.scorer.encoder.encode([Document(text) for text in toys.texts])
    wanted = list(fitted.label(encoded, first=3))
    assert [one.id for one in wanted] == [str(number) for number in range(3, 3 + len(toys.texts))]
    sizes = []
    scores = type(fitted.scorer).scores

    def counted(scorer, documents):
        sizes.append(len(documents) * len(scorer.classes))
        return scores(scorer, documents)

    monkeypatch.setattr(type(fitted.scorer), "scores", counted)
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 2 * len(fitted.classes))
    found = list(fitted.label(encoded, first=3))
    for one, other in zip(found, wanted, strict=True):
        scores_of = [{label.label: label.score for label in prediction.labels} for prediction in (one, other)]
        assert one.id == other.id
        assert scores_of[0] == pytest.approx(scores_of[1], abs=1e-5)
    assert len(sizes) > 1
    assert max(sizes) <= 2 * len(fitted.classes)


def test_where_scores_would_fill_the_memory_documents_are_held_out(toys, small_config, encode, tmp_path, monkeypatch):
    config = small_config({"scorer": "linear", "bag": {"min_documents": 1}, "folds": 3})

    def fit(folder):
        scorer = SCORERS["linear"](config, toys.classes, 0)
        return fit_model(
            NAME, scorer, Examples(encode(scorer, toys.texts), toys.labels), None, FitContext(tmp_path / folder)
        )

    assert fit("folds").metrics["validation_kind"] == "out-of-fold"
    monkeypatch.setattr(fitting, "_MOST_CELLS", 3 * len(toys.classes))
    held_out = fit("held-out")
    assert held_out.metrics["validation_kind"] == "held-out"
    assert held_out.validation.documents <= 3


def test_it_is_said_that_so_few_documents_were_learned_from(toys, small_config, encode, tmp_path):
    scorer = SCORERS["linear"](small_config({"scorer": "linear", "bag": {"min_documents": 1}}), toys.classes, 0)
    few = Examples(encode(scorer, toys.texts[:5]), toys.labels[:5])
    fitted = fit_model(NAME, scorer, few, None, FitContext(tmp_path))
    assert fitted.metrics["validation_kind"] == fitted.card().validation_kind == "learned"
