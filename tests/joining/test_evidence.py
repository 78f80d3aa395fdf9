"""Evidence about pairs, compared with loops over labels."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from taxocaps.corpus.labels import Classes
from taxocaps.joining.evidence import KINDS, EvidenceMaker
from taxocaps.joining.names import LabelNames
from taxocaps.metrics.calibration import logit
from taxocaps.taxonomy.tree import Taxonomy

TOPICS = Taxonomy.from_edges(
    [("all", "a"), ("all", "b"), ("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "a2"), ("b", "b2")]
)
CLASSES = Classes(("a", "a1", "b", "a2", "b1", "b2"), TOPICS)


@pytest.fixture(params=[6, 0], ids=["different scores", "scores of 0 and 1"])
def given(request):
    generator = np.random.default_rng(0)
    scores = [generator.random((6, 6)).round(request.param).astype(np.float32) for _ in range(2)]
    names = {name: generator.random((6, 6)).astype(np.float32) for name in LabelNames.features}
    counts = generator.integers(0, 4, (6, 6))
    return scores, names, counts, np.arange(6)


def made(given, candidates=6):
    maker = EvidenceMaker(("one", "two"), CLASSES, candidates)
    return maker, maker.pairs(*given)


def test_all_features_are_what_a_loop_finds(given):
    scores, names, counts, lengths = given
    maker, pairs = made(given)
    assert len(pairs)
    parents = {name: list(CLASSES.parents[index]) for index, name in enumerate(CLASSES.names)}
    for document, label, row in zip(pairs.documents, pairs.labels, pairs.rows, strict=True):
        found = dict(zip(maker.features, row.tolist(), strict=True))
        means = [
            np.mean([logit(one)[document, column] for one in scores]) if counts[document, column] else np.nan
            for column in range(6)
        ]
        known = [mean for mean in means if not np.isnan(mean)]
        assert found["mean"] == pytest.approx(means[label], nan_ok=True)
        better, others = (sum(test(mean, means[label]) for mean in known) for test in (np.greater, np.greater_equal))
        assert np.isnan(means[label]) or better <= round(np.expm1(found["rank"])) <= others - 1
        assert found["best"] == pytest.approx(max(known, default=np.nan), nan_ok=True)
        assert found["frequency"] == pytest.approx(np.log1p(counts[document, label]))
        assert found["length"] == pytest.approx(np.log1p(lengths[document]))
        assert found["likeness to best"] == pytest.approx(
            names["likeness"][document, label] - names["likeness"][document].max(), abs=1e-6
        )
        above = parents[CLASSES.names[label]]
        best_parent = max((means[column] for column in above if not np.isnan(means[column])), default=np.nan)
        assert found["parent"] == pytest.approx(best_parent, nan_ok=True)
        below = [column for column in range(6) if label in CLASSES.parents[column]]
        best_child = max((means[column] for column in below if not np.isnan(means[column])), default=np.nan)
        assert found["child"] == pytest.approx(best_child, nan_ok=True)
        beside = [column for column in range(6) if column != label and set(CLASSES.parents[column]) & set(above)]
        best_sibling = max((means[column] for column in beside if not np.isnan(means[column])), default=np.nan)
        assert found["sibling"] == pytest.approx(best_sibling, nan_ok=True)


def test_every_feature_belongs_to_a_kind(given):
    maker, _ = made(given)
    assert set(maker.kinds) == set(maker.features)
    assert len(maker.rising) == len(maker.features)
    assert {maker.kinds["one"], maker.kinds["coverage"]} == {"one", "name"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_evidence_can_be_left_out(kind, given):
    scores, names, counts, lengths = given
    maker = EvidenceMaker(("one", "two"), CLASSES, 6, without=(kind,))
    pairs = maker.pairs(scores, {} if kind == "name" else names, counts, lengths)
    assert kind not in maker.kinds.values()
    assert pairs.rows.shape[1] == len(maker.features)


def test_only_the_best_labels_of_each_source_are_looked_at(given):
    scores, names, _, lengths = given
    quiet = {name: np.zeros((6, 6), np.float32) for name in names}
    maker = EvidenceMaker(("one", "two"), CLASSES, 2)
    pairs = maker.pairs(scores, quiet, np.ones(6, int), lengths)
    mean = np.mean([logit(one) for one in scores], axis=0)
    for document in range(6):
        chosen = set(pairs.labels[pairs.documents == document].tolist())
        assert chosen == set(np.argsort(-mean[document])[:2].tolist())


def test_a_document_that_no_member_reads_and_no_name_fits_has_no_pairs(given):
    scores, names, counts, lengths = given
    scores = [np.where(np.arange(6)[:, None] == 3, 0, one).astype(np.float32) for one in scores]
    names = {name: np.where(np.arange(6)[:, None] == 3, 0, one).astype(np.float32) for name, one in names.items()}
    maker = EvidenceMaker(("one", "two"), CLASSES, 6)
    assert 3 not in maker.pairs(scores, names, counts, lengths).documents


def test_candidates_follow_the_labels_of_a_document():
    assert EvidenceMaker.candidates_for(csr_array(np.ones((4, 5), bool))) == 25
    assert EvidenceMaker.candidates_for(csr_array((0, 5), dtype=bool)) == 10


def test_memory_grows_with_the_number_of_labels_even_if_all_are_siblings():
    peaks = []
    for count in (1_000, 10_000):
        labels = tuple(f"l{number}" for number in range(count))
        taxonomy = Taxonomy.from_edges([("all", "top"), *(("top", label) for label in labels)])
        maker = EvidenceMaker(("one",), Classes(("top", *labels), taxonomy), count // 10, ("name",))
        scores = np.random.default_rng(0).random((4, count + 1)).astype(np.float32)
        tracemalloc.start()
        maker.pairs([scores], {}, np.ones(count + 1), np.full(4, 30))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert np.log10(peaks[1] / peaks[0]) <= 1.1
