"""Calibration against a known curve; thresholds, choices and hierarchy against brute force."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.sparse import csr_array
from scipy.special import expit

from taxocaps.corpus.labels import Classes
from taxocaps.errors import ConfigError
from taxocaps.metrics.thresholds import best_threshold, label_thresholds
from taxocaps.scorers.decision import (
    DECISION_RULES,
    Calibration,
    DecisionConfig,
    DecisionOptions,
    apply_hierarchy,
    choose_labels,
    fit_calibration,
)
from taxocaps.taxonomy.tree import Taxonomy


def drawn(slope, intercept, documents=4_000, labels=5, seed=0):
    """Scores whose labels are true with a probability that a logistic curve over their logit gives."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, 1.5, (documents, labels))
    truth = generator.random(logits.shape) < expit(slope * logits + intercept)
    return csr_array(truth), expit(logits).astype(np.float32)


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (2.0, -1.0), (0.5, 1.5), (3.0, 2.0)])
def test_calibration_finds_a_known_curve(slope, intercept):
    found = fit_calibration(*drawn(slope, intercept))
    assert found.slope == pytest.approx(slope, rel=0.06)
    assert found.intercept == pytest.approx(intercept, abs=0.1)


def test_calibrated_scores_are_shares_of_true_labels():
    truth, scores = drawn(2.0, -1.0)
    calibrated = fit_calibration(truth, scores).apply(scores)
    assert calibrated.dtype == np.float32
    dense = truth.toarray()
    for low in np.arange(0, 1, 0.2):
        inside = (calibrated >= low) & (calibrated < low + 0.2)
        assert dense[inside].mean() == pytest.approx(calibrated[inside].mean(), abs=0.03)
    assert abs(dense.mean() - scores.mean()) > 0.1 > 10 * abs(dense.mean() - calibrated.mean())


def test_calibration_by_hand():
    # logit(0.75) = log 3; twice that is log 9, less log 9 leaves 0: one half.
    curve = Calibration(2.0, -float(np.log(9)))
    assert curve.apply(np.array([[0.75]], np.float32)).item() == pytest.approx(0.5)


def test_few_positives_leave_scores_as_they_are():
    scores = np.random.default_rng(0).random((100, 3), np.float32)
    truth = np.zeros((100, 3), bool)
    truth.ravel()[np.argsort(-scores.ravel())[:49]] = True
    assert fit_calibration(csr_array(truth), scores) == Calibration()
    truth.ravel()[np.argsort(-scores.ravel())[60]] = True
    assert fit_calibration(csr_array(truth), scores) != Calibration()
    assert fit_calibration(csr_array(np.ones((100, 3), bool)), scores) == Calibration()


def test_a_falling_curve_is_refused():
    truth, scores = drawn(-1.0, 0.0)
    assert fit_calibration(truth, scores) == Calibration()


def test_perfectly_parted_scores_can_be_calibrated():
    truth = np.arange(200).reshape(100, 2) >= 100
    scores = np.where(truth, 0.501, 0.499).astype(np.float32)
    curve = fit_calibration(csr_array(truth), scores)
    calibrated = curve.apply(np.array([[0, 1e-6, 0.3, 0.5, 0.7, 1]], np.float32))
    assert np.isfinite(calibrated).all()
    assert (np.diff(calibrated) >= 0).all()


@given(
    arrays.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=st.floats(0, 1, width=32)),
    st.floats(0.1, 50),
    st.floats(-50, 50),
)
def test_calibration_keeps_the_order(scores, slope, intercept):
    calibrated = Calibration(slope, intercept).apply(scores)
    assert calibrated.shape == scores.shape
    assert ((calibrated >= 0) & (calibrated <= 1)).all()
    order = np.argsort(scores, axis=None, kind="stable")
    assert (np.diff(calibrated.ravel()[order]) >= 0).all()


def validation_scores():
    generator = np.random.default_rng(3)
    truth = generator.random((60, 4)) < [0.5, 0.3, 0.1, 0.0]
    return csr_array(truth), np.clip(0.3 * truth + 0.7 * generator.random((60, 4)), 0, 1).astype(np.float32)


def fit_thresholds(rule, **options):
    truth, scores = validation_scores()
    return DECISION_RULES[rule].fit(truth, scores, DecisionConfig(rule=rule, **options))


@pytest.mark.parametrize("rule", ["global", "top-k"])
def test_one_threshold_is_the_best_for_micro_f1(rule):
    thresholds = fit_thresholds(rule)
    assert thresholds.dtype == np.float32
    assert thresholds.tolist() == [best_threshold(*validation_scores()).threshold] * 4


def test_a_threshold_for_each_label():
    truth, scores = validation_scores()
    thresholds = fit_thresholds("per-label")
    one = best_threshold(truth, scores).threshold
    assert thresholds.tolist() == label_thresholds(truth, scores, one).tolist()
    assert thresholds[3] == np.float32(one)  # no document carries the last label
    assert len(set(thresholds.tolist())) == 4


def test_a_fixed_threshold():
    assert fit_thresholds("fixed", threshold=0.25).tolist() == [0.25] * 4


def test_which_rules_look_at_validation_documents_and_which_take_the_best_labels():
    assert {name for name, rule in DECISION_RULES.items() if rule.is_tuned} == {"global", "per-label"}
    assert {name for name, rule in DECISION_RULES.items() if rule.takes_best} == {"top-k"}


def choose_by_trying(scores, thresholds, top_k, at_least):
    """The labels of one document, one decision after the other."""
    ranked = sorted(range(len(scores)), key=lambda label: (-scores[label], label))
    if top_k is not None:
        return set(ranked[: max(top_k, at_least)])
    chosen = {label for label in ranked if scores[label] >= thresholds[label]}
    for label in ranked:
        if len(chosen) < at_least:
            chosen.add(label)
    return chosen


# Few different numbers, so that scores are often equal to one another and to thresholds.
tenths = st.integers(0, 10).map(lambda tenth: np.float32(tenth / 10))


@given(st.data(), st.integers(0, 3), st.integers(1, 5), st.none() | st.integers(0, 6), st.integers(0, 6))
def test_choosing_equals_brute_force(data, documents, labels, top_k, at_least):
    scores = data.draw(arrays.arrays(np.float32, (documents, labels), elements=tenths))
    thresholds = data.draw(arrays.arrays(np.float32, labels, elements=tenths))
    chosen = choose_labels(scores, thresholds, top_k=top_k, at_least=at_least)
    assert (chosen.dtype, chosen.shape) == (bool, scores.shape)
    for row, found in zip(scores, chosen, strict=True):
        assert set(np.flatnonzero(found)) == choose_by_trying(row, thresholds, top_k, at_least)


@given(st.data(), st.integers(0, 6))
def test_one_threshold_for_all_labels(data, at_least):
    scores = data.draw(arrays.arrays(np.float32, (3, 5), elements=tenths))
    for row, found in zip(scores, choose_labels(scores, 0.5, at_least=at_least), strict=True):
        assert set(np.flatnonzero(found)) == choose_by_trying(row, [0.5] * 5, None, at_least)


@st.composite
def decisions(draw):
    """Classes of a tree or a graph, some labels left out, and the chosen labels of some documents."""
    size, most = draw(st.integers(2, 9)), draw(st.sampled_from([1, 3]))
    edges = []
    for child in range(1, size):
        parents = draw(st.sets(st.integers(0, child - 1), min_size=min(most - 1, child), max_size=most))
        edges += [(f"n{parent}", f"n{child}") for parent in sorted(parents)]
    taxonomy = Taxonomy.from_edges(edges, labels=[f"n{number}" for number in range(size)])
    left_out = draw(st.sets(st.sampled_from(taxonomy.names), max_size=size - 1))
    classes = Classes(tuple(name for name in taxonomy.names if name not in left_out), taxonomy)
    seed = draw(st.integers(0, 10**6))
    return classes, np.random.default_rng(seed).random((8, len(classes))) < 0.6


def names_of(classes, row):
    return {name for name, is_chosen in zip(classes.names, row, strict=True) if is_chosen}


@given(decisions())
def test_added_ancestors_are_those_of_the_taxonomy(decision):
    classes, chosen = decision
    closed = apply_hierarchy(chosen, "add-ancestors", classes)
    assert closed.dtype == bool
    for before, after in zip(chosen, closed, strict=True):
        wanted = set(classes.taxonomy.with_ancestors(names_of(classes, before))) & set(classes.names)
        assert names_of(classes, after) == wanted


def parents_with_columns(classes):
    """For each label the columns that can be reached upwards over labels without a column."""
    graph = networkx.DiGraph((child, parent) for parent, child in classes.taxonomy.edges)
    graph.add_nodes_from(classes.taxonomy.names)
    for name in set(classes.taxonomy.names) - set(classes.names):
        graph.add_edges_from([(child, parent) for child in graph.predecessors(name) for parent in graph[name]])
        graph.remove_node(name)
    return {name: set(graph[name]) for name in classes.names}


@given(decisions())
def test_orphans_are_dropped_from_the_top_down(decision):
    classes, chosen = decision
    parents = parents_with_columns(classes)

    def stays(name, given_names):
        above = parents[name]
        return name in given_names and (not above or any(stays(parent, given_names) for parent in above))

    kept = apply_hierarchy(chosen, "drop-orphans", classes)
    for before, after in zip(chosen, kept, strict=True):
        given_names = names_of(classes, before)
        assert names_of(classes, after) == {name for name in classes.names if stays(name, given_names)}


def test_a_chain_with_a_missing_link_by_hand():
    # "oil" has no column: what stands above "crude" is then "trade".
    taxonomy = Taxonomy.from_edges([("all", "trade"), ("trade", "oil"), ("oil", "crude"), ("all", "art")])
    classes = Classes(("trade", "crude", "art"), taxonomy)
    chosen = np.array([[0, 1, 1], [1, 1, 0]], bool)
    assert apply_hierarchy(chosen, "add-ancestors", classes).tolist() == [[True, True, True], [True, True, False]]
    assert apply_hierarchy(chosen, "drop-orphans", classes).tolist() == [[False, False, True], [True, True, False]]


def test_one_of_several_parents_is_enough():
    diamond = Taxonomy.from_edges([("all", "trade"), ("all", "energy"), ("trade", "oil"), ("energy", "oil")])
    classes = Classes(("trade", "energy", "oil"), diamond)
    chosen = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 1]], bool)
    assert apply_hierarchy(chosen, "drop-orphans", classes).tolist() == [
        [True, False, True],
        [False, True, True],
        [False, False, False],
    ]


@given(decisions())
def test_labels_as_they_are_and_no_change_in_place(decision):
    classes, chosen = decision
    before = chosen.copy()
    assert (apply_hierarchy(chosen, "as-is", classes) == before).all()
    for hierarchy in ("add-ancestors", "drop-orphans"):
        once = apply_hierarchy(chosen, hierarchy, classes)
        assert (chosen == before).all()
        assert (apply_hierarchy(once, hierarchy, classes) == once).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "best"}, "decision.rule must be one of global, per-label, fixed, top-k; got 'best'"),
        ({"threshold": 7}, "decision.threshold must be from 0 to 1; got 7"),
        ({"threshold": float("nan")}, "decision.threshold must be a number; got nan"),
        ({"k": 0}, "decision.k must be from 1 to 1000000; got 0"),
        ({"k": True}, "decision.k must be a number or text; got True"),
        ({"at_least": -3}, "decision.at_least must be from 0 to 1000000; got -3"),
        ({"at_least": 1.5}, "decision.at_least must be a whole number; got 1.5"),
        ({"at_last": 1}, "unknown configuration key decision.at_last; did you mean decision.at_least?"),
    ],
)
def test_options_of_training_are_checked(options, message):
    with pytest.raises(ConfigError) as caught:
        DecisionConfig(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 7}, "threshold must be from 0 to 1; got 7"),
        ({"threshold": "high"}, "threshold must be a number; got 'high'"),
        ({"at_least": -3}, "at_least must be from 0 to 1000000; got -3"),
        ({"top_k": 0}, "top_k must be from 1 to 1000000; got 0"),
        ({"top_k": 2_000_000}, "top_k must be from 1 to 1000000; got 2000000"),
        ({"hierarchy": "auto"}, "hierarchy must be one of as-is, add-ancestors, drop-orphans; got 'auto'"),
        ({"top_k": 3, "threshold": 0.5}, "top_k takes labels whatever their scores; leave out threshold"),
        ({"topk": 3}, "unknown configuration key topk; did you mean top_k?"),
    ],
)
def test_options_of_prediction_are_checked(options, message):
    with pytest.raises(ConfigError) as caught:
        DecisionOptions(**options)
    assert str(caught.value) == message


def test_nothing_is_changed_unless_it_is_asked_for():
    assert set(DecisionOptions().as_mapping().values()) == {None}
