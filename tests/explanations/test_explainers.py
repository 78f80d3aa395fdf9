"""What speaks for a label: falls of scores against documents that really have an unknown word there, and rows."""

import numpy as np
import pytest

from taxocaps.explanations import explainers
from taxocaps.explanations.explainers import EXPLAINERS, explain_linear, explain_occlusion, explain_words_matrix

TEXT = "The striker scored. A striker hopes for penalties, and the xyzzy supporters carry the goalkeeper home."
WORDS = {"striker", "score", "hope", "penalty", "xyzzy", "supporter", "carry", "goalkeeper", "home"}
LINEAR = {"scorer": "linear"}
KINDS = ["linear", "words-matrix", "dgcnn", "kim-cnn", "hierarchical"]


@pytest.fixture(scope="module")
def model_of(fit, fit_network):
    """A tiny model of a kind, fitted once."""
    known = {}

    def make(kind):
        if kind not in known:
            known[kind] = fit(LINEAR) if kind == "linear" else fit_network(kind)
        return known[kind]

    return make


def words_of(evidence):
    return [one.words for one in evidence.reasons]


def weights(evidence):
    """The weights of words for each label that was asked about."""
    return [{one.word: one.weight for one in words} for words in words_of(evidence)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_fall_is_the_score_less_that_of_a_document_with_an_unknown_word(model_of, encode, kind):
    model = model_of(kind)
    found = explain_occlusion(model.scorer, encode(model.scorer, [TEXT]), range(10))
    assert found.method == "occlusion"
    whole = model.raw_scores(encode(model.scorer, [TEXT]))[0]
    for written in ("striker", "home"):
        without = model.raw_scores(encode(model.scorer, [TEXT.replace(written, "plugh")]))[0]
        falls = [words.get(written, 0.0) for words in weights(found)]
        assert falls == pytest.approx((whole - without).tolist(), abs=1e-5)
    assert any(abs(weight) > 1e-6 for words in weights(found) for weight in words.values())
    assert set().union(*weights(found)) <= WORDS - {"xyzzy"}
    for words in words_of(found):
        assert [one.weight for one in words] == sorted((one.weight for one in words), reverse=True)


@pytest.mark.parametrize("kind", KINDS)
def test_long_documents_are_occluded_in_bounded_pieces(model_of, encode, monkeypatch, kind):
    scorer = model_of(kind).scorer
    document = encode(scorer, [TEXT])
    at_once = explain_occlusion(scorer, document, [1, 2])
    length, pieces, score = len(document.tokens.ids), [], scorer.scores

    def noted(documents):
        pieces.append(len(documents.tokens.ids))
        return score(documents)

    monkeypatch.setattr(scorer, "scores", noted)
    monkeypatch.setattr(explainers, "_TOKENS_AT_ONCE", 3 * length)
    in_pieces = explain_occlusion(scorer, document, [1, 2])
    assert len(pieces) > 2
    assert max(pieces) == 3 * length
    monkeypatch.setattr(explainers, "_TOKENS_AT_ONCE", 1)  # less than one copy
    one_by_one = explain_occlusion(scorer, document, [1, 2])
    for other in (in_pieces, one_by_one):
        for found, wanted in zip(weights(other), weights(at_once), strict=True):
            assert {**dict.fromkeys(wanted, 0.0), **found} == pytest.approx(wanted, abs=1e-5)


def test_words_that_are_not_read_have_no_weight(fit_network, encode):
    model = fit_network("kim-cnn", tokens={"length": 3})
    (found,) = weights(explain_occlusion(model.scorer, encode(model.scorer, [TEXT]), [0]))
    assert set(found) <= {"striker", "score"}


def test_a_document_is_left_as_it_was(model_of, encode):
    for kind in KINDS:
        model = model_of(kind)
        document = encode(model.scorer, [TEXT])
        before = document.tokens.ids.copy(), model.raw_scores(document)
        EXPLAINERS[model.scorer.explainer](model.scorer, document, [0])
        assert np.array_equal(document.tokens.ids, before[0])
        assert np.array_equal(model.raw_scores(document), before[1])


def test_linear_words_are_sorted_by_weight_and_add_up_to_the_margin(model_of, encode):
    scorer = model_of("linear").scorer
    document = encode(scorer, [TEXT])
    column = scorer.classes.names.index("Football")
    found = explain_linear(scorer, document, [column])
    assert found.method == "linear"
    assert [one.weight for one in words_of(found)[0]] == sorted(
        (one.weight for one in words_of(found)[0]), reverse=True
    )
    assert {one.word for one in words_of(found)[0][:2]} <= {"striker", "penalty", "goalkeeper", "supporter", "score"}
    margin = scorer.weights.margins(scorer.bag.transform(document))[0, column]
    assert sum(weights(found)[0].values()) + scorer.weights.intercept[column] == pytest.approx(margin, abs=1e-4)
    assert (found.reasons[0].rows, found.matrix, found.graph) == (None, None, None)


def test_the_words_of_a_network_over_characters_stand_between_spaces(keywords, toys, encode):
    scorer = keywords(keywords.Config(text={"tokenizer": "characters"}), toys.classes)
    column = scorer.classes.names.index("Tennis")
    (found,) = weights(explain_occlusion(scorer, encode(scorer, ["Tennis and  tennis again"]), [column]))
    assert set(found) == {"tennis", "and", "again"}
    assert found["tennis"] == 0.5


@pytest.mark.parametrize(("kind", "sections"), [("vdcnn", {"tokens": {"length": 61}}), ("words-matrix", {})])
def test_characters_against_texts_with_unknown_ones(fit_network, encode, kind, sections):
    model = fit_network(kind, text={"tokenizer": "characters"}, vectors={"source": "none"}, **sections)
    found = weights(explain_occlusion(model.scorer, encode(model.scorer, [TEXT]), range(10)))
    read = " ".join(TEXT.lower().split()[:11]) if kind == "vdcnn" else TEXT.lower()  # the last of these in part
    assert set().union(*found) == set(read.split())
    whole = model.raw_scores(encode(model.scorer, [TEXT]))[0]
    assert "€" not in model.scorer.vocabulary
    without = model.raw_scores(encode(model.scorer, [TEXT.replace("striker", "€€€€€€€")]))[0]
    assert [one.get("striker", 0.0) for one in found] == pytest.approx((whole - without).tolist(), abs=1e-5)


@pytest.fixture(scope="module")
def seen(fitted, encode):
    """What the network over words-matrices saw of a text."""
    return explain_words_matrix(fitted.scorer, encode(fitted.scorer, [TEXT]), [0, 5])


def test_rows_are_those_that_the_network_reads(fitted, seen, encode):
    words, blocks, counts = fitted.scorer.inputs(encode(fitted.scorer, [TEXT])).arrays(np.zeros(1, np.int64))
    assert len(seen.matrix) == words.shape[1]
    for row, ids, numbers, count in zip(seen.matrix, words[0], blocks[0], counts[0], strict=True):
        assert len(row.blocks) == count
        known = fitted.scorer.vocabulary.ids([word for block in row.blocks for word in block])
        assert known.tolist() == ids[: len(known)].tolist()
        assert [number for number, block in enumerate(row.blocks, 1) for _ in block] == numbers[: len(known)].tolist()


def test_attention_of_both_layers(fitted, seen):
    for index, row in enumerate(seen.matrix):
        assert len(row.attention) == 2
        for layer, factors in zip(fitted.scorer.network.layers, row.attention, strict=True):
            assert len(factors) == len(row.blocks)
            for block, factor in enumerate(factors, 1):
                if factor is not None:
                    wanted = layer.attention.alpha[index, len(row.blocks), block].item()
                    assert factor == pytest.approx(wanted, rel=1e-5)
    assert any(factor is not None for row in seen.matrix for factor in row.attention[1])


def test_the_graph(seen):
    nodes = {node.word: node for node in seen.graph.nodes}
    assert set(nodes) == WORDS
    assert nodes["striker"].positions == (1, 3)
    assert [node.row for node in seen.graph.nodes[:11]] == [*range(1, 11), None][: len(seen.graph.nodes)]
    assert [node.word for node in seen.graph.nodes if node.row] == [row.central_word for row in seen.matrix]
    assert all({edge.source, edge.target} <= set(nodes) and edge.count > 0 for edge in seen.graph.edges)


def test_shares_name_every_row_once(seen):
    assert len(seen.reasons) == 2
    for shares in (one.rows for one in seen.reasons):
        assert sorted(one.row for one in shares) == list(range(1, len(seen.matrix) + 1))
        assert all(seen.matrix[one.row - 1].central_word == one.central_word for one in shares)
        assert sum(abs(one.share) for one in shares) == pytest.approx(1, abs=1e-4)
        assert [one.share for one in shares] == sorted((one.share for one in shares), reverse=True)


def test_words_are_those_of_occlusion(fitted, seen, encode):
    assert seen.method == "occlusion"
    assert words_of(seen) == words_of(explain_occlusion(fitted.scorer, encode(fitted.scorer, [TEXT]), [0, 5]))


def test_a_network_without_capsules_has_rows_but_no_shares(model_of, encode):
    scorer = model_of("dgcnn").scorer
    found = explain_words_matrix(scorer, encode(scorer, [TEXT]), [0])
    assert found.matrix
    assert found.graph
    assert all(one.rows is None for one in found.reasons)


@pytest.mark.parametrize(
    ("kind", "explainer"), [("linear", "linear"), ("words-matrix", "words-matrix"), ("kim-cnn", "occlusion")]
)
def test_a_scorer_names_its_explainer(model_of, kind, explainer):
    assert model_of(kind).scorer.explainer == explainer
    assert explainer in EXPLAINERS


def test_occlusion_needs_nothing_but_scores_and_a_vocabulary(encode, keywords, toys):
    scorer = keywords(keywords.Config(), toys.classes)
    column = scorer.classes.names.index("Sport")
    found = explain_occlusion(scorer, encode(scorer, ["sport or tennis"]), [column])
    assert weights(found) == [{"sport": pytest.approx(1 / 3)}]
