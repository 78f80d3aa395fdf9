"""Calibration against known curves; thresholds, choices and hierarchy against brute force."""

import dataclasses

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.sparse import csr_array, vstack
from scipy.special import expit

from taxocaps.corpus.labels import Classes
from taxocaps.errors import ConfigError
from taxocaps.metrics.calibration import calibration_error
from taxocaps.metrics.thresholds import best_threshold, label_thresholds
from taxocaps.scorers.decision import (
    DECISION_RULES,
    Calibration,
    DecisionConfig,
    DecisionOptions,
    HeldOut,
    apply_hierarchy,
    choose_labels,
    fit_calibration,
    raise_ancestors,
)
from taxocaps.taxonomy.tree import Taxonomy


def held_out(truth, scores, counts=50, models=None):
    """Documents with their scores, by default all by one model that had 50 documents of each label."""
    counts = np.broadcast_to(np.atleast_2d(counts), (len(np.atleast_2d(counts)), scores.shape[1])).astype(np.int64)
    models = np.zeros(len(scores), np.int64) if models is None else models
    return HeldOut(csr_array(truth), scores, counts, models)


def drawn(slope, intercept, documents=4_000, labels=5, seed=0, **more):
    """Scores whose labels are true with a probability that a logistic curve over their logit gives."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, 1.5, (documents, labels))
    truth = generator.random(logits.shape) < expit(slope * logits + intercept)
    return held_out(truth, expit(logits).astype(np.float32), **more)


def calibrate(found, counts=None):
    return fit_calibration(found, found.counts[0] if counts is None else np.array(counts))


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (2.0, -1.0), (0.5, 1.5), (3.0, 2.0)])
def test_calibration_finds_a_known_curve(slope, intercept):
    found = calibrate(drawn(slope, intercept))
    assert found.slopes == pytest.approx(np.full(5, slope), rel=0.06)
    assert found.intercepts == pytest.approx(np.full(5, intercept), abs=0.1)


COUNTS = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000])


def curve_by_frequency(counts):
    """Slopes and intercepts that depend on the training documents of a label."""
    return 0.5 + 0.3 * np.log1p(counts), 1 - 0.5 * np.log1p(counts)


def test_calibration_finds_a_curve_that_depends_on_how_frequent_labels_are():
    found = drawn(*curve_by_frequency(COUNTS), labels=10, counts=COUNTS)
    curve = calibrate(found)
    slopes, intercepts = curve_by_frequency(COUNTS)
    assert curve.slopes.dtype == curve.intercepts.dtype == np.float32
    assert curve.slopes == pytest.approx(slopes, abs=0.1)
    assert curve.intercepts == pytest.approx(intercepts, abs=0.1)


def test_curves_are_those_of_the_labels_of_the_model_that_is_kept():
    # Each of two models had its share of the documents; the model that is kept has all of them.
    models = np.arange(8_000) % 2
    parts = np.stack([COUNTS, COUNTS[::-1]])
    slopes, intercepts = curve_by_frequency(parts)
    found = drawn(slopes[models], intercepts[models], documents=8_000, labels=10, counts=parts, models=models)
    kept = np.array([3, 3, 30, 30, 300, 300, 700, 700, 7, 70])
    curve, wanted = calibrate(found, kept), curve_by_frequency(kept)
    assert curve.slopes == pytest.approx(wanted[0], abs=0.1)
    assert curve.intercepts == pytest.approx(wanted[1], abs=0.1)


def test_curves_do_not_reach_beyond_the_frequencies_they_were_fitted_to():
    # All labels have as many documents, of which some are held out; and some labels have no documents at all.
    even = calibrate(drawn(2.0, -1.0, counts=40), [50, 50, 50, 50, 0])
    assert even.slopes == pytest.approx(np.full(5, 2), rel=0.06)
    assert even.intercepts == pytest.approx(np.full(5, -1), abs=0.1)
    nearly = calibrate(drawn(2.0, -1.0, counts=[39, 40, 40, 40, 41]), [50, 50, 5, 1, 0])
    assert nearly.slopes == pytest.approx(np.full(5, 2), rel=0.15)
    assert nearly.intercepts == pytest.approx(np.full(5, -1), abs=0.15)


def changed(found, where):
    """The same with other scores and labels in some places."""
    generator = np.random.default_rng(9)
    scores = np.where(where, generator.random(where.shape, np.float32), found.scores)
    truth = np.where(where, generator.random(where.shape) < 0.9, found.labels.toarray())
    return dataclasses.replace(found, labels=csr_array(truth), scores=scores)


def is_same(one, other):
    return np.array_equal(one.slopes, other.slopes) and np.array_equal(one.intercepts, other.intercepts)


def test_labels_that_a_model_had_no_documents_of_take_no_part():
    models = np.arange(400) % 2
    counts = np.array([[0, 5, 50, 500], [1, 5, 50, 0]])
    found = drawn(2.0, -1.0, documents=400, labels=4, counts=counts, models=models)
    curve, where = calibrate(found, [1, 10, 100, 500]), counts[models] == 0
    assert where.any()
    assert is_same(calibrate(changed(found, where), [1, 10, 100, 500]), curve)
    assert not is_same(calibrate(changed(found, ~where), [1, 10, 100, 500]), curve)


def test_of_each_document_the_fifty_best_labels_take_part():
    found = drawn(2.0, -1.0, documents=200, labels=60)
    ranks = np.argsort(np.argsort(-found.scores, axis=1), axis=1)
    low = dataclasses.replace(found, labels=csr_array(found.labels.toarray() | (ranks >= 50)))
    assert is_same(calibrate(low), calibrate(found))
    one_more = dataclasses.replace(found, labels=csr_array(found.labels.toarray() | (ranks >= 49)))
    assert not is_same(calibrate(one_more), calibrate(found))


def test_documents_without_words_take_no_part():
    found = drawn(2.0, -1.0, documents=200)
    empty = csr_array((100, 5), dtype=bool)
    more = held_out(vstack([found.labels, empty]), np.concatenate([found.scores, np.zeros((100, 5), np.float32)]))
    assert is_same(calibrate(more), calibrate(found))


def test_labels_without_any_score_are_clearly_wrong_ones():
    # A label is true of every document whose score is not 0: so 0 must stay a sign of its being wrong.
    truth = np.arange(400).reshape(100, 4) % 3 == 0
    scores = np.where(truth, 0.3, 0).astype(np.float32)
    calibrated = calibrate(held_out(truth, scores)).apply(scores)
    assert calibrated[truth].min() > 0.9
    assert calibrated[~truth].max() < 0.1


@pytest.mark.parametrize("counts", [50, 0])
def test_nothing_to_go_by_leaves_scores_as_they_are(counts):
    scores = np.full((20, 3), 0.5 if counts == 0 else 0, np.float32)
    assert calibrate(held_out(np.ones((20, 3), bool), scores, counts)).is_identity
    none = held_out(np.zeros((0, 3), bool), np.zeros((0, 3), np.float32), counts)
    assert calibrate(none).is_identity


def test_calibrated_scores_are_shares_of_true_labels():
    found = drawn(2.0, -1.0)
    scores, dense = found.scores, found.labels.toarray()
    calibrated = calibrate(found).apply(scores)
    assert calibrated.dtype == np.float32
    for low in np.arange(0, 1, 0.2):
        inside = (calibrated >= low) & (calibrated < low + 0.2)
        assert dense[inside].mean() == pytest.approx(calibrated[inside].mean(), abs=0.03)
    assert abs(dense.mean() - scores.mean()) > 0.1 > 10 * abs(dense.mean() - calibrated.mean())


@pytest.mark.parametrize("labels", [10, 200])
def test_calibration_lowers_the_calibration_error_on_other_documents(labels):
    counts = np.resize(COUNTS, labels)
    curve = curve_by_frequency(counts)
    tuned, other = (drawn(*curve, documents=1_000, labels=labels, counts=counts, seed=seed) for seed in (0, 1))
    before = calibration_error(other.labels, other.scores, above=0.05)
    after = calibration_error(other.labels, calibrate(tuned).apply(other.scores), above=0.05)
    assert after < before / 2


def test_calibration_by_hand():
    # logit(0.75) = log 3; twice that is log 9, less log 9 leaves 0: one half.
    curve = Calibration(2.0, -float(np.log(9)))
    assert curve.apply(np.array([[0.75]], np.float32)).item() == pytest.approx(0.5)
    curves = Calibration(np.array([2, 1], np.float32), np.array([-np.log(9), 0], np.float32))
    assert curves.apply(np.array([[0.75, 0.75]], np.float32)).tolist() == [pytest.approx([0.5, 0.75])]


def test_curves_that_leave_scores_as_they_are():
    assert Calibration().is_identity
    assert Calibration(np.ones(3, np.float32), np.zeros(3, np.float32)).is_identity
    assert not Calibration(np.ones(3, np.float32), np.array([0, 0, 0.1], np.float32)).is_identity
    assert not Calibration(2.0).is_identity
    scores = np.array([[0, 1e-9, 1]], np.float32)
    assert np.array_equal(Calibration().apply(scores), scores)  # not even cut near 0 and 1


def test_few_positives_leave_scores_as_they_are():
    scores = np.random.default_rng(0).random((100, 3), np.float32)
    truth = np.zeros((100, 3), bool)
    truth.ravel()[np.argsort(-scores.ravel())[:9]] = True
    assert calibrate(held_out(truth, scores)).is_identity
    truth.ravel()[np.argsort(-scores.ravel())[12]] = True
    assert not calibrate(held_out(truth, scores)).is_identity
    assert calibrate(held_out(truth, scores, [50, 50, 0])).is_identity  # some of the ten do not count
    assert calibrate(held_out(np.ones((100, 3), bool), scores)).is_identity


def ranks_are_kept(curve, scores):
    calibrated = curve.apply(scores)
    order = np.argsort(scores, axis=0, kind="stable")
    return bool((np.diff(np.take_along_axis(calibrated, order, axis=0), axis=0) > -2e-7).all())  # but for rounding


def test_a_falling_curve_does_not_turn_the_order_of_documents_round():
    falling = drawn(-1.0, 0.0)
    assert ranks_are_kept(calibrate(falling), falling.scores)
    some = drawn(np.array([-1.0, 1, 2, 2, 2]), 0.0, counts=[1, 10, 100, 1_000, 10_000])
    curve = calibrate(some, [0, 10, 100, 1_000, 1_000_000])
    assert (curve.slopes > 0).all()
    assert ranks_are_kept(curve, some.scores)


@given(st.integers(0, 10**6))
def test_the_order_of_the_documents_of_a_label_is_kept(seed):
    generator = np.random.default_rng(seed)
    scores = generator.random((40, 6), np.float32)
    counts = generator.integers(0, 300, 6)
    found = held_out(generator.random((40, 6)) < generator.random(), scores, counts)
    assert ranks_are_kept(calibrate(found, generator.integers(0, 300, 6)), scores)


def test_perfectly_parted_scores_can_be_calibrated():
    truth = np.arange(200).reshape(100, 2) >= 100
    scores = np.where(truth, 0.501, 0.499).astype(np.float32)
    curve = calibrate(held_out(truth, scores))
    calibrated = curve.apply(np.array([[0, 1e-6, 0.3, 0.5, 0.7, 1]] * 2, np.float32).T)
    assert np.isfinite(calibrated).all()
    assert (np.diff(calibrated, axis=0) >= 0).all()


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


def thresholds_for(found, rule, **options):
    return DECISION_RULES[rule].fit(found, DecisionConfig(rule=rule, **options))


def fit_thresholds(rule, **options):
    return thresholds_for(held_out(*validation_scores()), rule, **options)


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


@st.composite
def scored(draw):
    """Some documents, whose scores are often equal, and the models of two folds."""
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    documents, labels = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    truth = generator.random((documents, labels)) < 0.4
    scores = np.clip(0.3 * truth + 0.7 * generator.random(truth.shape), 0, 1)
    if draw(st.booleans()):
        scores = np.round(scores * 10) / 10
    has_words = generator.random((documents, 1)) < 0.9
    truth, scores = truth & has_words, scores * has_words
    counts = generator.integers(0, 30, (2, labels))
    return held_out(truth, scores.astype(np.float32), counts, generator.integers(0, 2, documents))


def micro_f1(truth, chosen):
    both = truth.sum() + chosen.sum()
    return 2 * (truth & chosen).sum() / both if both else 0.0


@given(scored())
def test_no_other_threshold_lowered_by_frequency_is_better(found):
    thresholds, truth = thresholds_for(found, "by-frequency"), found.labels.toarray()
    assert thresholds.dtype == np.float32
    lift = 1 / np.sqrt(1 + found.counts.max(axis=0))
    scores = np.clip(found.scores.astype(np.float64), 1e-6, 1 - 1e-6)
    lifted = np.where(found.scores > 0, np.log(scores / (1 - scores)) + lift, -np.inf)
    tried = [micro_f1(truth, lifted >= one - 1e-9) for one in lifted[np.isfinite(lifted)]]
    assert micro_f1(truth, found.scores >= thresholds) == pytest.approx(max(tried, default=0))


def test_rarer_labels_have_lower_thresholds_by_frequency():
    truth, scores = validation_scores()
    thresholds = thresholds_for(held_out(truth, scores, [1_000, 100, 10, 0]), "by-frequency")
    assert (np.diff(thresholds) < 0).all()
    logits = np.log(thresholds / (1 - thresholds))
    # A label without training documents is 1 lower than one with very many, whose threshold is that of all labels.
    assert logits - logits[0] == pytest.approx(1 / np.sqrt(1_001) - 1 / np.sqrt([1_001, 101, 11, 1]), abs=1e-5)
    same = thresholds_for(held_out(truth, scores, 10**12), "by-frequency")
    accepted = scores >= best_threshold(truth, scores).threshold
    assert np.array_equal(scores >= same, accepted)


@given(scored())
def test_no_other_threshold_is_better_for_macro_f1(found):
    thresholds, truth = thresholds_for(found, "macro"), found.labels.toarray()
    assert len(set(thresholds.tolist())) == 1

    def macro(threshold):
        both = [(truth[:, one], found.scores[:, one] >= threshold) for one in range(truth.shape[1])]
        return np.mean([micro_f1(*pair) for pair in both])

    tried = [macro(np.float32(hundredths / 100)) for hundredths in range(2, 100, 2)]
    assert macro(thresholds[0]) == pytest.approx(max(tried))


def test_macro_f1_may_want_another_threshold_than_micro_f1():
    # A rare label has the score 0.3 in 10 documents that carry it, and in 30 that do not: F1 0.4 for it is better than
    # none, but 30 wrong labels are worse than 10 missed ones.
    truth = np.array([[True, False]] * 90 + [[False, True]] * 10)
    scores = np.where(truth, [0.9, 0.3], 0.01).astype(np.float32)
    scores[:30, 1] = 0.3
    found = held_out(truth, scores)
    assert thresholds_for(found, "macro")[0] < 0.3 < thresholds_for(found, "global")[0]


def precision_at(found, threshold):
    chosen = found.scores >= threshold
    return found.labels.toarray()[chosen].mean() if chosen.any() else None


@given(scored(), st.sampled_from([0.3, 0.5, 0.75, 0.9, 1.0]))
def test_the_lowest_threshold_with_a_wanted_precision(found, wanted):
    (threshold,) = set(thresholds_for(found, "precision", precision=wanted).tolist())
    enough = [one for one in np.unique(found.scores[found.scores > 0]) if precision_at(found, one) >= wanted]
    assert threshold == (min(enough) if enough else 1)


def test_a_wanted_precision_is_kept_on_the_documents_it_was_tuned_on():
    truth, scores = validation_scores()
    found = held_out(truth, scores)
    given_labels = []
    for wanted in (0.5, 0.7, 0.9, 1.0):
        thresholds = thresholds_for(found, "precision", precision=wanted)
        assert precision_at(found, thresholds) >= wanted
        given_labels.append((scores >= thresholds).sum())
    assert given_labels == sorted(given_labels, reverse=True)
    assert len(set(given_labels)) == 4


def test_equal_scores_are_taken_together_for_a_wanted_precision():
    scores = np.array([[0.9, 0.5, 0.5, 0.5]], np.float32)
    found = held_out([[True, True, False, False]], scores)
    assert thresholds_for(found, "precision", precision=0.9).tolist() == [np.float32(0.9)] * 4
    assert thresholds_for(found, "precision", precision=0.5).tolist() == [0.5] * 4


def test_a_precision_that_cannot_be_had_gives_next_to_no_labels():
    truth, scores = validation_scores()
    assert thresholds_for(held_out(csr_array(truth.shape, dtype=bool), scores), "precision").tolist() == [1] * 4


@pytest.mark.parametrize("k", [1, 2, 3])
def test_documents_have_so_many_labels_on_average(k):
    _, scores = validation_scores()
    (threshold,) = set(fit_thresholds("count", k=k).tolist())
    assert threshold == sorted(scores.ravel().tolist(), reverse=True)[60 * k - 1]
    assert (scores >= np.float32(threshold)).sum(axis=1).mean() == k
    assert len(set((scores >= np.float32(threshold)).sum(axis=1))) > 1  # each has its own number


def test_documents_cannot_have_more_labels_than_there_are():
    _, scores = validation_scores()
    assert (scores >= fit_thresholds("count", k=9)).all()


def test_labels_without_any_score_are_not_counted():
    scores = np.zeros((10, 100), np.float32)
    scores[:, :3] = 0.5
    thresholds = thresholds_for(held_out(csr_array(scores.shape, dtype=bool), scores), "count", k=5)
    assert (scores >= thresholds).sum(axis=1).tolist() == [3] * 10


def test_which_rules_look_at_validation_documents_and_which_take_the_best_labels():
    untuned = {name for name, rule in DECISION_RULES.items() if not rule.is_tuned}
    assert untuned == {"fixed", "top-k", "one"}
    assert {name for name, rule in DECISION_RULES.items() if rule.takes_best} == {"top-k", "one"}


def test_the_training_documents_of_a_label_are_the_most_that_a_model_had():
    found = held_out(*validation_scores(), [[1, 2, 0, 4], [3, 1, 0, 4]])
    assert found.total_counts.tolist() == [3, 2, 0, 4]


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


@st.composite
def scored_classes(draw):
    """Classes of a tree or a graph, some labels left out, and scores of some documents, often equal."""
    classes, _ = draw(decisions())
    generator, documents = np.random.default_rng(draw(st.integers(0, 10**6))), draw(st.integers(0, 5))
    scores = generator.random((documents, len(classes)))
    return classes, np.round(scores, draw(st.sampled_from([1, 7]))).astype(np.float32)


@given(scored_classes())
def test_raised_scores_are_the_largest_of_a_label_and_all_below_it(case):
    classes, scores = case
    graph = networkx.DiGraph(classes.taxonomy.edges)
    graph.add_nodes_from(classes.taxonomy.names)
    before = scores.copy()
    raised = raise_ancestors(scores, classes)
    assert (raised.dtype, raised.shape) == (np.float32, scores.shape)
    for column, name in enumerate(classes.names):
        is_added = name != classes.taxonomy.root  # the root is no ancestor that would be added
        names = {name, *(networkx.descendants(graph, name) if is_added else ())}
        below = [classes.names.index(one) for one in names if one in classes.names]
        assert np.array_equal(raised[:, column], before[:, below].max(axis=1))
    assert np.array_equal(scores, before)
    assert np.array_equal(raise_ancestors(raised, classes), raised)


@given(scored_classes(), st.floats(0, 1, width=32))
def test_with_one_threshold_raised_scores_choose_what_adding_ancestors_gives(case, threshold):
    classes, scores = case
    added = apply_hierarchy(scores >= threshold, "add-ancestors", classes)
    assert np.array_equal(raise_ancestors(scores, classes) >= threshold, added)


def test_scores_of_labels_without_a_hierarchy_stay_as_they_are():
    scores = np.array([[0.25, 0.75]], np.float32)
    assert raise_ancestors(scores, Classes(("a", "b"), Taxonomy.from_edges((), labels=["a", "b"]))) is scores
    assert raise_ancestors(scores[:, :0], Classes((), Taxonomy.from_edges((), labels=["a"]))).shape == (1, 0)


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
        ({"rule": "best"}, "decision.rule must be one of " + ", ".join(DECISION_RULES) + "; got 'best'"),
        ({"precision": 0}, "decision.precision must be from 0.01 to 1; got 0"),
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
