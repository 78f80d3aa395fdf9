"""The classifier behaves like those of scikit-learn, with labels in every form."""

import pickle
import re

import networkx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MultiLabelBinarizer
from sklearn.utils import estimator_checks

import taxocaps
from taxocaps.classifier import TaxoCapsClassifier
from taxocaps.datasets import toy
from taxocaps.errors import ConfigError, CorpusError, FileError, TaxoCapsError
from taxocaps.scorers.base import FitContext
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.taxonomy.writers import write_taxonomy

SMALL = {
    "vocabulary__min_count": 1,
    "graph__window": 3,
    "graph__N": 10,
    "graph__T": 11,
    "vectors__dimension": 8,
    "vectors__epochs": 1,
    "network__filters": [8, 8],
    "network__units": 8,
    "network__channels": 4,
    "network__capsule_size": 4,
    "network__label_capsule_size": 4,
    "network__hidden": [8],
    "network__head_filters": 8,
    "network__gain": 5.0,
    "network__dropout": 0.1,
    "network__word_dropout": 0.1,
    "walks__length": 20,
    "label_vectors__dimension": 8,
    "training__epochs": 1,
    "training__min_steps": 0,
    "training__batch_size": 4,
    "training__device": "cpu",
}
DATA = toy.load()
TEXTS = [document.text for _, document in DATA.documents()]
LISTS = [document.labels for _, document in DATA.documents()]
NAMES = [labels[-1] for labels in LISTS]
MATRIX = np.array([[name in labels for name in DATA.taxonomy.names] for labels in LISTS]).astype(int)


FRAME = pd.DataFrame(MATRIX[:, 1:], columns=DATA.taxonomy.names[1:])


def make(model="GCCNN", taxonomy=DATA.taxonomy, **options):
    return TaxoCapsClassifier(model, taxonomy, **{**SMALL, **options})


def make_linear(taxonomy=DATA.taxonomy, **options):
    return TaxoCapsClassifier("SVM", taxonomy, **{"bag__min_documents": 1, **options})


@pytest.fixture(scope="module")
def fitted():
    return make().fit(TEXTS, LISTS)


@pytest.fixture(scope="module")
def fitted_linear():
    return make_linear().fit(TEXTS, LISTS)


def upper(texts):
    return [text.upper() for text in texts]


def test_labels_of_validation_documents_that_are_learned_from_have_columns():
    classifier = TaxoCapsClassifier("SVM", bag__min_documents=1)
    classifier.fit(["red apples", "green pears"] * 3, ["a", "p"] * 3, validation=(["blue plums"] * 3, ["b"] * 3))
    assert classifier.classes_.tolist() == ["a", "b", "p"]
    assert classifier.predict_proba(["blue plums"]).argmax() == 1


def test_lists_of_names(fitted):
    assert fitted.classes_.tolist() == [name for name in DATA.taxonomy.names if name != "Topics"]
    predicted = fitted.predict(TEXTS)
    assert len(predicted) == 12
    for labels, row in zip(predicted, fitted.predict_proba(TEXTS), strict=True):
        assert isinstance(labels, tuple)
        reached = [
            name
            for name, score, threshold in zip(fitted.classes_, row, fitted.model_.thresholds, strict=True)
            if score >= threshold
        ]
        assert labels == DATA.taxonomy.with_ancestors(reached)


def test_one_name_each():
    classifier = make_linear(taxonomy=None).fit(TEXTS, NAMES)
    assert classifier.classes_.tolist() == sorted(set(NAMES))
    predicted = classifier.predict(TEXTS)
    assert predicted.shape == (12,)
    assert (predicted == classifier.classes_[classifier.predict_proba(TEXTS).argmax(axis=1)]).all()
    assert classifier.score(TEXTS, NAMES) == np.mean(predicted == np.array(NAMES))


@pytest.mark.parametrize("kind", [np.array, csr_array, csr_matrix])
def test_an_indicator_matrix(kind):
    classifier = make_linear().fit(TEXTS, kind(MATRIX))
    assert classifier.classes_.tolist() == list(DATA.taxonomy.names)
    predicted = classifier.predict(TEXTS)
    assert issparse(predicted)
    assert (predicted.shape, predicted.dtype) == (MATRIX.shape, bool)
    wanted = f1_score(MATRIX, predicted, average="micro")
    assert classifier.score(TEXTS, MATRIX) == pytest.approx(wanted)
    assert classifier.score(TEXTS, csr_array(MATRIX)) == pytest.approx(wanted)


@pytest.mark.parametrize("kind", [tuple, np.array, lambda texts: np.array(texts, dtype=object)])
def test_texts_in_any_sequence(fitted_linear, kind):
    assert np.array_equal(fitted_linear.predict_proba(kind(TEXTS)), fitted_linear.predict_proba(TEXTS))
    assert make_linear().fit(kind(TEXTS), LISTS).predict(TEXTS) == fitted_linear.predict(TEXTS)


def test_scores_before_and_after_calibration(fitted):
    raw, shown = fitted.decision_function(TEXTS), fitted.predict_proba(TEXTS)
    assert raw.shape == shown.shape == (12, 10)
    assert np.array_equal(fitted.model_.consistent(fitted.model_.calibration.apply(raw)), shown)


def test_ancestors_are_as_probable_as_what_is_below_them_and_predicted_with_it(fitted):
    assert fitted.model_.hierarchy == "add-ancestors"
    shown, names = fitted.predict_proba(TEXTS), fitted.classes_.tolist()
    for parent, child in DATA.taxonomy.edges:
        if parent in names:
            assert (shown[:, names.index(parent)] >= shown[:, names.index(child)]).all()
    for row, labels in zip(shown >= fitted.model_.thresholds, fitted.predict(TEXTS), strict=True):
        assert labels == tuple(fitted.classes_[row])  # with one threshold for all labels
    (best,) = fitted.predict(TEXTS[:1], top_k=1)
    assert set(best) == set(DATA.taxonomy.with_ancestors(best))


def test_one_label_each_is_the_best_by_itself_whatever_is_above_it():
    names = [labels[number % len(labels)] for number, labels in enumerate(LISTS)]  # those above others, too
    classifier = make_linear(decision__hierarchy="add-ancestors").fit(TEXTS, names)
    assert classifier.predict(TEXTS).tolist() == names


def test_the_score_is_micro_f1(fitted):
    truth = MATRIX[:, 1:]
    predicted = np.array([[name in labels for name in fitted.classes_] for labels in fitted.predict(TEXTS)])
    assert fitted.score(TEXTS, LISTS) == pytest.approx(f1_score(truth, predicted, average="micro"))


def test_a_taxonomy_from_a_file(tmp_path, fitted_linear):
    write_taxonomy(DATA.taxonomy, tmp_path / "topics.tsv")
    for path in (tmp_path / "topics.tsv", str(tmp_path / "topics.tsv")):
        classifier = make_linear(taxonomy=path).fit(TEXTS, LISTS)
        assert np.array_equal(classifier.predict_proba(TEXTS), fitted_linear.predict_proba(TEXTS))
        assert classifier.taxonomy is path


def test_in_a_pipeline(fitted_linear):
    pipeline = make_pipeline(FunctionTransformer(upper), make_linear()).fit(TEXTS, LISTS)
    assert pipeline.predict(TEXTS) == fitted_linear.predict(TEXTS)  # words are put into lower case anyway
    assert 0 <= pipeline.score(TEXTS, LISTS) <= 1


@pytest.mark.slow
def test_cross_validation_of_an_indicator_matrix():
    parts = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(make(), TEXTS, MATRIX, cv=parts, scoring="f1_micro", error_score="raise")
    wanted = []
    for kept, held_out in parts.split(TEXTS):
        classifier = make().fit([TEXTS[number] for number in kept], MATRIX[kept])
        predicted = classifier.predict([TEXTS[number] for number in held_out])
        wanted.append(f1_score(MATRIX[held_out], predicted, average="micro"))
    assert scores.tolist() == pytest.approx(wanted)


@pytest.mark.slow
def test_cross_validated_probabilities_and_single_names():
    found = cross_val_predict(make(), TEXTS, MATRIX, cv=2, method="predict_proba")
    assert found.shape == MATRIX.shape
    scores = cross_val_score(make(taxonomy=None), TEXTS, [labels[0] for labels in LISTS], cv=2, error_score="raise")
    assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.slow
def test_grid_search_over_model_and_options():
    grid = {"model": ["GCCNN", "TGCNN"], "graph__N": [10, 4]}
    search = GridSearchCV(make(), grid, cv=2, scoring="f1_micro", error_score="raise").fit(TEXTS, MATRIX)
    assert len(search.cv_results_["params"]) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_.model_
    assert best.name.model == search.best_params_["model"]
    assert search.best_params_["graph__N"] == best.config.graph.N


@pytest.mark.parametrize("y", [MATRIX, csr_array(MATRIX), FRAME], ids=["matrix", "sparse", "frame"])
@pytest.mark.parametrize("scoring", ["f1_micro", None])
def test_grid_search_over_an_option_with_labels_in_every_form(y, scoring):
    search = GridSearchCV(make_linear(), {"linear__C": [0.01, 10.0]}, cv=3, scoring=scoring, error_score="raise")
    search.fit(TEXTS, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["linear__C"] == search.best_estimator_.model_.config.linear.C
    assert search.best_estimator_.get_params()["linear__C"] == search.best_params_["linear__C"]


def test_a_grid_search_finds_what_is_better():
    search = GridSearchCV(make_linear(decision__rule="fixed"), {"linear__C": [1e-4, 10.0]}, cv=2, error_score="raise")
    assert search.fit(TEXTS, MATRIX).best_params_ == {"linear__C": 10.0}


def test_options_in_a_pipeline():
    pipeline = make_pipeline(FunctionTransformer(upper), make_linear())
    pipeline.set_params(taxocapsclassifier__linear__C=0.25).fit(TEXTS, LISTS)
    assert pipeline[-1].model_.config.linear.C == 0.25


def test_cross_validation_of_a_frame():
    parts = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(make_linear(), TEXTS, FRAME, cv=parts, scoring="f1_micro", error_score="raise")
    wanted = []
    for kept, held_out in parts.split(TEXTS):
        classifier = make_linear().fit([TEXTS[index] for index in kept], FRAME.iloc[kept])
        predicted = classifier.predict([TEXTS[index] for index in held_out])
        wanted.append(f1_score(FRAME.iloc[held_out], predicted, average="micro"))
    assert scores.tolist() == pytest.approx(wanted)


def test_a_frame_comes_back_as_a_frame_with_the_same_columns():
    shuffled = FRAME[[*sorted(FRAME.columns, reverse=True)]].astype(bool)
    classifier = make_linear().fit(TEXTS, shuffled)
    assert classifier.classes_.tolist() == list(FRAME.columns)  # in taxonomy order
    predicted = classifier.predict(TEXTS)
    assert isinstance(predicted, pd.DataFrame)
    assert predicted.columns.tolist() == shuffled.columns.tolist()
    assert set(predicted.to_numpy().ravel()) == {0, 1}
    names = make_linear().fit(TEXTS, LISTS).predict(TEXTS)
    assert [set(predicted.columns[row.astype(bool)]) for row in predicted.to_numpy()] == list(map(set, names))
    assert classifier.score(TEXTS, shuffled) == pytest.approx(f1_score(shuffled, predicted, average="micro"))
    assert classifier.predict([]).shape == (0, 10)


def test_every_column_of_a_frame_is_a_label_even_if_no_text_carries_it():
    classifier = make_linear(taxonomy=None).fit(TEXTS, FRAME.assign(Chess=0))
    assert set(classifier.classes_) == {*FRAME.columns, "Chess"}
    assert classifier.predict(TEXTS).columns.tolist() == [*FRAME.columns, "Chess"]
    assert not classifier.predict(TEXTS)["Chess"].any()


def test_a_frame_with_columns_that_are_no_labels():
    unknown = FRAME.assign(Chess=0)
    for frame in (unknown, unknown.replace({"Chess": {0: 1}})):
        with pytest.raises(CorpusError, match="'Chess'"):
            make_linear().fit(TEXTS, frame)
        dropped = make_linear(labels__unknown="drop").fit(TEXTS, frame)
        assert dropped.classes_.tolist() == list(FRAME.columns)
        predicted = dropped.predict(TEXTS)
        assert predicted.columns.tolist() == [*FRAME.columns, "Chess"]
        assert predicted.dtypes.unique().tolist() == [np.dtype(int)]
        added = make_linear(labels__unknown="add").fit(TEXTS, frame)
        assert "Chess" in added.classes_


def test_clones_and_parameters(fitted):
    parameters = fitted.get_params()
    assert set(parameters) == {"model", "taxonomy", "preset", "random_state", "verbose", *SMALL}
    copy = clone(fitted)
    assert copy.get_params() == parameters
    with pytest.raises(NotFittedError):
        copy.predict(TEXTS)
    again = clone(fitted).set_params(random_state=3, graph__N=4)
    assert (again.random_state, fitted.random_state) == (3, 0)
    assert (again.get_params()["graph__N"], fitted.get_params()["graph__N"]) == (4, 10)
    assert clone(again).get_params()["graph__N"] == 4
    assert is_classifier(fitted)
    assert "graph__N=4" in repr(again)


def test_options_without_a_section_are_parameters_too():
    search = GridSearchCV(make_linear(), {"validation": [0.2, 0.5]}, cv=2, error_score="raise").fit(TEXTS, MATRIX)
    assert search.best_estimator_.model_.config.validation == search.best_params_["validation"]


def test_what_is_no_parameter():
    with pytest.raises(ConfigError, match="unknown configuration key epochs"):
        make().set_params(epochs=3).fit(TEXTS, LISTS)
    with pytest.raises(TypeError):
        TaxoCapsClassifier("SVM", None, "fast", 3)  # the rest goes by name


def test_fitting_changes_no_parameter():
    classifier = make("gccnn", random_state=None)
    before = classifier.get_params()
    classifier.fit(TEXTS, LISTS)
    assert classifier.get_params() == before
    assert classifier.model_.name.model == "GCCNN"


CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


@pytest.mark.parametrize("check", CHECKS)
def test_the_checks_of_scikit_learn_that_need_no_numbers_for_texts(check):
    getattr(estimator_checks, check)("TaxoCapsClassifier", TaxoCapsClassifier())


def test_what_it_tells_scikit_learn_about_itself():
    tags = TaxoCapsClassifier().__sklearn_tags__()
    assert tags.estimator_type == "classifier"
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert tags.classifier_tags.multi_label
    assert tags.target_tags.required


def test_a_fitted_classifier_can_be_sent_to_another_process(fitted):
    received = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(received.predict_proba(TEXTS), fitted.predict_proba(TEXTS))


def test_the_seed_decides(fitted):
    assert np.array_equal(make().fit(TEXTS, LISTS).predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    seeds = {make_linear(random_state=None).fit(TEXTS, LISTS).model_.name.seed for _ in range(2)}
    assert len(seeds) == 2


def test_some_documents_are_held_out():
    classifier = make(validation=0.25).fit(TEXTS, LISTS)
    assert classifier.model_.validation.documents == 3
    # Fewer than ten validate themselves.
    assert make().fit(TEXTS[:9], LISTS[:9]).model_.validation.documents == 9


def test_validation_documents_can_be_given():
    classifier = make().fit(TEXTS[:8], LISTS[:8], validation=(TEXTS[8:], LISTS[8:]))
    assert classifier.model_.validation.documents == 4
    vocabulary = classifier.model_.scorer.vocabulary
    assert "gene" in vocabulary
    assert "wrist" not in vocabulary  # stands in a validation document only


def test_files_go_where_the_context_says(tmp_path):
    told = []
    context = FitContext(tmp_path / "fit", progress=lambda stage, *_: told.append(stage))
    make().fit(TEXTS, LISTS, context=context, validation=(TEXTS[:2], LISTS[:2]))
    assert {path.name for path in context.folder.iterdir()} >= {"stores", "tokens", "checkpoints"}
    assert {path.name for path in (context.folder / "stores").iterdir()} == {"documents", "validation"}
    assert told[0] == "reading documents"
    assert told[-1] == "training"


@pytest.mark.parametrize("made", [make, make_linear], ids=["network", "linear"])
def test_progress_is_printed_to_standard_error_on_request(made, capsys):
    made().fit(TEXTS, LISTS)
    assert capsys.readouterr() == ("", "")
    for _ in range(2):
        made(verbose=1).fit(TEXTS, LISTS)
        shown = capsys.readouterr()
        assert shown.out == ""
        lines = shown.err.splitlines()
        assert lines[0] == "reading documents: 12"
        assert any(line.startswith("encoding documents: 12 of 12") for line in lines)
        if made is make:
            assert lines[-1].startswith("all documents: training: ")
        assert len(lines) < 30


def test_saved_and_loaded(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = TaxoCapsClassifier.load(str(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert loaded.predict(TEXTS) == fitted.predict(TEXTS)
    assert loaded.classes_.tolist() == fitted.classes_.tolist()
    assert (loaded.model, loaded.preset, loaded.random_state) == ("GCCNN", "default", 0)
    assert loaded.taxonomy == DATA.taxonomy
    assert loaded.get_params()["graph__N"] == 10
    again = taxocaps.load(tmp_path / "model")
    assert isinstance(again, TaxoCapsClassifier)
    assert np.array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert np.array_equal(clone(loaded).fit(TEXTS, LISTS).predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    with pytest.raises(FileError, match="is already there"):
        fitted.save(tmp_path / "model")


def test_one_document():
    classifier = make("HE-AGCRCNN").fit(TEXTS[:1], LISTS[:1])
    assert classifier.classes_.tolist() == list(LISTS[0])
    assert classifier.predict_proba(TEXTS[:1]).shape == (1, 3)


def test_no_documents(fitted):
    for y in ([], np.zeros((0, 11))):
        with pytest.raises(CorpusError):
            make().fit([], y)
    assert fitted.predict([]) == []
    assert fitted.predict_proba([]).shape == (0, 10)
    assert make_linear().fit(TEXTS, MATRIX).predict([]).shape == (0, 11)


@pytest.mark.parametrize("model", ["GCCNN", "HE-TGCNN"])
def test_a_single_label(model):
    classifier = make(model, taxonomy=None).fit(TEXTS, [["spam"], []] * 6)
    assert classifier.predict_proba(TEXTS).shape == (12, 1)
    assert set(classifier.predict(TEXTS)) <= {("spam",), ()}
    assert make(model, taxonomy=None).fit(TEXTS, ["spam"] * 12).predict(TEXTS).tolist() == ["spam"] * 12


def test_texts_and_labels_in_any_script(tmp_path):
    texts = [
        "日本語 の テキスト",
        "טקסט בעברית",
        "Ελληνικά κείμενα",
        "emoji 😀 👩‍👩‍👧",
        "a\0b\u2028c \ud800 x",
        "É é e\u0301",
    ] * 2
    labels = [["日本"], ["עברית"], ['Ελλάδα: "α"'], ["😀"], ["- null"], ["no", "日本"]] * 2
    classifier = make("HE-GCCNN", taxonomy=None).fit(texts, labels)
    assert set(classifier.classes_) == {name for names in labels for name in names}
    classifier.save(tmp_path / "модель")
    loaded = TaxoCapsClassifier.load(tmp_path / "модель")
    assert loaded.classes_.tolist() == classifier.classes_.tolist()
    assert np.array_equal(loaded.predict_proba(texts), classifier.predict_proba(texts))


def test_one_huge_text(fitted):
    numbers = np.random.default_rng(0).integers(0, 3_000, 200_000)
    huge = " ".join(f"word{number}" for number in numbers)
    scores = fitted.predict_proba([TEXTS[0], huge])
    assert scores[0] == pytest.approx(fitted.predict_proba(TEXTS[:1])[0], abs=1e-6)
    assert np.isfinite(scores).all()
    assert scores[1].any()


def test_a_huge_text_among_those_to_learn_from():
    numbers = np.random.default_rng(0).integers(0, 2_000, 200_000)
    classifier = make(vectors__source="none")
    classifier.fit([*TEXTS, " ".join(f"word{number}" for number in numbers)], [*LISTS, ["Sport"]])
    assert classifier.predict_proba(TEXTS).shape == (12, 10)


def test_texts_without_words_get_no_labels(fitted):
    assert fitted.predict(["", " \n", "the of and"]) == [(), (), ()]
    assert not fitted.predict_proba([""]).any()
    assert make_linear(decision__at_least=1).fit(TEXTS, LISTS).predict([""]) == [()]
    with pytest.raises(CorpusError, match="no word of the training documents occurs"):
        make().fit([""] * 12, LISTS)


def test_ready_words(fitted):
    words = [["goalkeeper", "save", "penalty"], ("gene",), []]
    assert fitted.predict_proba(words)[0] == pytest.approx(fitted.predict_proba(["goalkeeper save penalty"])[0])
    assert not fitted.predict_proba(words)[2].any()


STILL = {"training__learning_rate": 1e-9}
"""With such a rate no weight moves by more than a billionth."""


@pytest.mark.parametrize("model", ["HE-AGCRCNN", "TGCNN"])
def test_continuing_from_another_classifier(model):
    sport = [[name for name in labels if DATA.taxonomy.path(name)[0] == "Sport"] for labels in LISTS]
    older = make(model).fit(TEXTS, sport)
    assert older.classes_.tolist() == ["Sport", "Ball games", "Football", "Tennis", "Cycling"]
    science = [[name for name in labels if name in ("Science", "Genetics")] for labels in LISTS]
    newer = make(model, random_state=5, **STILL).fit(TEXTS, science, start=older)
    # Old labels keep their columns though no document carries them now; new ones join in taxonomy order.
    assert newer.classes_.tolist() == [*older.classes_, "Science", "Genetics"]
    before = older.model_.scorer.network
    after = newer.model_.scorer.network
    assert after.label_parameters
    for name, weights in after.state_dict().items():
        kept = weights[:5] if name in after.label_parameters else weights
        assert torch.allclose(kept, before.state_dict()[name], atol=1e-6), name
    if model == "TGCNN":  # labels of a dense head do not meet
        assert newer.decision_function(TEXTS)[:, :5] == pytest.approx(older.decision_function(TEXTS), abs=1e-5)


@pytest.mark.parametrize("option", ["network.units", "graph.window", "graph.N"])
def test_continuing_with_other_options_is_refused(fitted, option):
    with pytest.raises(ConfigError, match=re.escape(f"the model to start from has {option}=")):
        make(**{option.replace(".", "__"): 4}).fit(TEXTS, LISTS, start=fitted)


def test_continuing_without_a_taxonomy_and_with_a_loaded_classifier(tmp_path):
    make(taxonomy=None).fit(TEXTS, [["b"], ["d"]] * 6).save(tmp_path / "model")
    older = TaxoCapsClassifier.load(tmp_path / "model")
    newer = make(taxonomy=None, labels__unknown="add", **STILL).fit(TEXTS, [["a"], ["c"]] * 6, start=older)
    assert set(newer.classes_) == {"a", "b", "c", "d"}
    columns = [newer.classes_.tolist().index(name) for name in ("b", "d")]
    weights = newer.model_.scorer.network.head.labels.weight
    assert torch.allclose(weights[columns], older.model_.scorer.network.head.labels.weight, atol=1e-6)


REFUSED = {
    "one text": lambda: make().fit(TEXTS[0], LISTS),
    "too few labels": lambda: make().fit(TEXTS, LISTS[:5]),
    "numbers for texts": lambda: make().fit(list(range(12)), LISTS),
    "no y": lambda: make().fit(TEXTS, None),
    "unknown label": lambda: make().fit(TEXTS, ["Spört"] * 12),
    "narrow matrix": lambda: make().fit(TEXTS, MATRIX[:, 1:]),
    "no validation documents": lambda: make().fit(TEXTS, LISTS, validation=([], [])),
    "too few validation labels": lambda: make().fit(TEXTS, LISTS, validation=(TEXTS[:4], LISTS[:2])),
    "no taxonomy file": lambda: make(taxonomy="nowhere.tsv").fit(TEXTS, LISTS),
    "negative seed": lambda: make(random_state=-1).fit(TEXTS, LISTS),
    "start that is not fitted": lambda: make().fit(TEXTS, LISTS, start=make()),
}


@pytest.mark.parametrize("attempt", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_fitted_is_refused_in_one_line(attempt):
    with pytest.raises((TaxoCapsError, NotFittedError)) as caught:
        attempt()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "GCNN"}, "no model is called 'GCNN'; did you mean"),
        ({"preset": "fst"}, "no preset is called 'fst'; did you mean fast?"),
        ({"graph__windw": 4}, "unknown configuration key graph.windw; did you mean graph.window?"),
        ({"graph__window": 1}, "graph.window must be from 2 to"),
        ({"grap__window": 4}, "unknown configuration key grap; did you mean graph?"),
        ({"linear__C": 4}, "GCCNN has no option linear.C; its options are those of decision, encoder, folds, graph"),
        ({"epochs": 4}, "unknown configuration key epochs; did you mean"),
        ({"decision__threshold": 7}, "decision.threshold must be from 0 to 1; got 7"),
        ({"network__head": "dense"}, "network.head=dense contradicts the model GCCNN"),
    ],
)
def test_bad_options_are_told_when_fitting(options, message):
    classifier = make(**options)  # as scikit-learn wants it, nothing is checked before
    with pytest.raises(ConfigError, match=re.escape(message)):
        classifier.fit(TEXTS, LISTS)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_texts_are_checked(fitted, method):
    with pytest.raises(CorpusError, match="texts are given as a list; got one text"):
        getattr(fitted, method)("one text")
    with pytest.raises(CorpusError, match=re.escape("texts[1] must be text or a list of words; got int")):
        getattr(fitted, method)(["one", 2])


def test_labels_of_a_graph_with_several_roots():
    taxonomy = Taxonomy.from_edges([("a", "x"), ("b", "x"), ("b", "y")])
    classifier = make("HE-GCCNN", taxonomy=taxonomy).fit(TEXTS, [["a", "b", "x"], ["b", "y"]] * 6)
    assert classifier.model_.hierarchy == "add-ancestors"
    for labels in classifier.predict(TEXTS):
        assert labels == taxonomy.with_ancestors(labels)


def test_the_best_labels_and_other_choices():
    classifier = make_linear().fit(TEXTS, LISTS)
    own = classifier.model_.calibration.apply(classifier.decision_function(TEXTS))
    for labels, row in zip(classifier.predict(TEXTS, top_k=2, hierarchy="as-is"), own, strict=True):
        assert set(labels) == set(classifier.classes_[np.argsort(-row, kind="stable")[:2]])
    assert all(len(labels) >= 2 for labels in classifier.predict(TEXTS, top_k=2))
    assert set(classifier.predict(TEXTS, threshold=1.0)) == {()}
    assert all(labels for labels in classifier.predict(TEXTS, threshold=1.0, at_least=1))
    matrix = make_linear().fit(TEXTS, MATRIX).predict(TEXTS, top_k=2, hierarchy="as-is")
    assert matrix.sum(axis=1).tolist() == [2] * 12
    frame = make_linear().fit(TEXTS, FRAME).predict(TEXTS, top_k=2, hierarchy="as-is")
    assert frame.sum(axis=1).tolist() == [2] * 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 7}, "threshold must be from 0 to 1; got 7"),
        ({"at_least": -3}, "at_least must be from 0 to 1000000; got -3"),
        ({"top_k": 2, "threshold": 0.5}, "leave out threshold"),
    ],
)
def test_choices_that_make_no_sense(fitted, options, message):
    with pytest.raises(ConfigError, match=message):
        fitted.predict(TEXTS, **options)


def test_labels_that_the_model_does_not_know_are_missed():
    """As `taxocaps.evaluate` and scikit-learn count them."""
    classifier = make_linear(taxonomy=None).fit(TEXTS, LISTS)
    truth = [(*labels, "new") for labels in LISTS]
    binarizer = MultiLabelBinarizer().fit(truth)
    wanted = f1_score(*(binarizer.transform(lists) for lists in (truth, classifier.predict(TEXTS))), average="micro")
    assert classifier.score(TEXTS, truth) == pytest.approx(wanted)
    found = classifier.evaluate(TEXTS, truth)
    assert found.flat.micro.f1 == pytest.approx(wanted)
    assert found.unseen == {"new": len(TEXTS)}


def test_where_every_text_has_one_label_there_is_no_other_choice():
    classifier = make_linear(taxonomy=None).fit(TEXTS, NAMES)
    with pytest.raises(ConfigError, match="one label"):
        classifier.predict(TEXTS, top_k=2)
    with pytest.raises(ConfigError, match="threshold must be from 0 to 1; got 7"):
        classifier.predict(TEXTS, threshold=7)


def test_all_metrics():
    classifier = make_linear().fit(TEXTS, LISTS)
    found = classifier.evaluate(TEXTS, LISTS)
    assert found.documents == 12
    assert found.flat.micro.f1 == pytest.approx(classifier.score(TEXTS, LISTS))
    assert make_linear().fit(TEXTS, FRAME).evaluate(TEXTS, FRAME).as_dict() == found.as_dict()
    for method in ("evaluate", "score"):
        with pytest.raises(NotFittedError):
            getattr(make_linear(), method)(TEXTS, LISTS)
    with pytest.raises(CorpusError, match="every text needs its labels"):
        classifier.evaluate(TEXTS, LISTS[:3])
    with pytest.raises(CorpusError, match="every text needs its labels"):
        classifier.score(TEXTS, LISTS[:3])


def test_explanations(fitted, tmp_path):
    found = fitted.explain(TEXTS[0], labels=["Football"], out=tmp_path / "page.html")
    assert [one.label for one in found.reasons] == ["Football"]
    assert found.matrix
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")
    linear = make_linear().fit(TEXTS, LISTS)
    assert linear.explain(TEXTS[0]).method == "linear"
    assert linear.explain(TEXTS[0], method="occlusion").method == "occlusion"
    with pytest.raises(NotFittedError):
        make().explain(TEXTS[0])


def test_a_taxonomy_as_a_dict_or_a_graph():
    wanted = make_linear().fit(TEXTS, LISTS)
    edges = list(DATA.taxonomy.edges)
    children = {parent: [child for other, child in edges if other == parent] for parent, _ in edges}
    for taxonomy in (children, networkx.DiGraph(edges)):
        classifier = make_linear(taxonomy=taxonomy).fit(TEXTS, LISTS)
        assert set(classifier.classes_) == set(wanted.classes_)
        assert set(classifier.model_.classes.taxonomy.edges) == set(edges)
        assert [set(labels) for labels in classifier.predict(TEXTS)] == [
            set(labels) for labels in wanted.predict(TEXTS)
        ]
        assert clone(classifier).fit(TEXTS, LISTS).predict(TEXTS) == classifier.predict(TEXTS)


def test_a_classifier_of_characters_can_be_fitted_again_after_loading(small_options, tmp_path):
    classifier = TaxoCapsClassifier("DCNN", DATA.taxonomy, **small_options("DCNN")).fit(TEXTS, LISTS)
    classifier.save(tmp_path / "model")
    again = clone(taxocaps.load(tmp_path / "model")).fit(TEXTS, LISTS)
    assert np.array_equal(again.predict_proba(TEXTS), classifier.predict_proba(TEXTS))


def test_what_decides_a_run_of_the_command_line_is_no_option():
    with pytest.raises(ConfigError, match=r"^the classifier has no option seed; give the seed as random_state$"):
        TaxoCapsClassifier("SVM", seed=5).fit(["a b"], [["x"]])
    with pytest.raises(ConfigError, match=r"^the classifier has no option corpus__text_field: it is given texts"):
        TaxoCapsClassifier("SVM", corpus__text_field="body").fit(["a b"], [["x"]])
    with pytest.raises(ConfigError, match=r"key randomstate; did you mean random_state\?$"):
        TaxoCapsClassifier("SVM", randomstate=3).fit(["a b"], [["x"]])


def test_each_fit_tells_its_progress_from_the_start(capsys):
    classifier = TaxoCapsClassifier("SVM", verbose=1, bag__min_documents=1)
    told = []
    for _ in range(2):
        classifier.fit(["one word"] * 3, [["x"]] * 3)
        told.append(capsys.readouterr().err)
    assert told[0]
    assert told[0] == told[1]
