"""Rows as the network has them, under the words they are made of."""

import numpy as np
import pytest

from taxocaps.estimators.matrix_view import MatrixView

TEXT = "The striker scored twice. A striker hopes for penalties, and the xyzzy supporters carry the striker home."


@pytest.fixture(scope="module")
def view(fitted):
    return MatrixView.of(fitted.scorer, TEXT)


def test_rows_are_those_that_the_network_reads(fitted, view):
    words, blocks, counts = fitted.scorer.encoder.read([TEXT]).arrays(np.zeros(1, np.int64))
    assert len(view.matrix) == words.shape[1]
    for row, ids, numbers, count in zip(view.matrix, words[0], blocks[0], counts[0], strict=True):
        assert len(row.blocks) == count
        known = fitted.scorer.encoder.vocabulary.ids([word for block in row.blocks for word in block])
        assert known.tolist() == ids[: len(known)].tolist()
        assert [number for number, block in enumerate(row.blocks, 1) for _ in block] == numbers[: len(known)].tolist()


def test_attention_of_both_layers(fitted, view):
    layers = fitted.scorer.objective.network.layers
    for rank, row in enumerate(view.matrix):
        assert len(row.attention) == 2
        for layer, factors in zip(layers, row.attention, strict=True):
            assert len(factors) == len(row.blocks)
            for block, factor in enumerate(factors, 1):
                if factor is not None:
                    wanted = layer.attention.alpha[rank, len(row.blocks), block].item()
                    assert factor == pytest.approx(wanted, rel=1e-5)
    assert any(factor is not None for row in view.matrix for factor in row.attention[1])


def test_graph(view):
    nodes = {node.word: node for node in view.graph.nodes}
    assert nodes["striker"].positions == (1, 4, 10)
    assert [node.row for node in view.graph.nodes[:11]] == [*range(1, 11), None][: len(view.graph.nodes)]
    assert [node.word for node in view.graph.nodes if node.row] == [row.central_word for row in view.matrix]
    assert all({edge.source, edge.target} <= set(nodes) and edge.count > 0 for edge in view.graph.edges)


def test_shares_name_every_row_once(view):
    shares = view.shares(0)
    assert sorted(one.row for one in shares) == list(range(1, len(view.matrix) + 1))
    assert all(view.matrix[one.row - 1].central_word == one.central_word for one in shares)
    assert sum(abs(one.share) for one in shares) == pytest.approx(1, abs=1e-4)
    assert [one.share for one in shares] == sorted((one.share for one in shares), reverse=True)
