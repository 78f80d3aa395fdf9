"""Scores of a document do not depend on the company it is scored in."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taxocaps.encoding.words_matrix import MatrixDocuments
from taxocaps.estimators.objectives import LossConfig, PointwiseObjective
from taxocaps.graph.words_matrix import WordsMatrices
from taxocaps.nn.words_matrix import NetworkConfig, Sizes, WordsMatrixNetwork
from taxocaps.training.scoring import score_documents

SIZES = Sizes(vocabulary=30, D=8, N=6, T=11, labels=4)
SMALL = {"filters": (8, 8), "units": 8, "channels": 4, "capsule_size": 4, "label_capsule_size": 4, "hidden": (8,)}
ROWS = [3, 6, 0, 1, 5, 2, 6, 4, 0, 1, 3]
ALL = range(len(ROWS))


def documents(order=ALL):
    """Words-matrices with so many rows, in some order."""
    made = []
    for number in order:
        generator = np.random.default_rng(number)
        rows = ROWS[number]
        blocks = np.sort(generator.integers(1, 3, (rows, SIZES.T), dtype=np.int8), axis=1)
        made.append((generator.integers(1, 30, (rows, SIZES.T), dtype=np.int32), blocks, blocks.max(axis=1, initial=1)))
    offsets = np.cumsum([0, *(len(words) for words, _, _ in made)])
    return MatrixDocuments(WordsMatrices(*(np.concatenate(parts) for parts in zip(*made, strict=True)), offsets))


def make_objective(head):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = WordsMatrixNetwork(NetworkConfig(head=head, head_filters=8, dropout=0.5, gain=5.0, **SMALL), SIZES)
    return PointwiseObjective(network, LossConfig(label_weights="uniform"), gives_logits=head == "dense")


OBJECTIVES = {head: make_objective(head) for head in ("dense", "capsule")}
TOGETHER = {head: score_documents(objective, documents(), 4) for head, objective in OBJECTIVES.items()}
heads = pytest.mark.parametrize("head", ["dense", "capsule"])


@heads
@settings(max_examples=20)
@given(order=st.permutations(range(len(ROWS))), count=st.integers(1, len(ROWS)), size=st.integers(1, 12))
def test_any_batch_size_order_and_company(head, order, count, size):
    chosen = order[:count]
    scores = score_documents(OBJECTIVES[head], documents(chosen), 4, batch_size=size)
    assert scores == pytest.approx(TOGETHER[head][chosen], abs=1e-6)


@heads
def test_scores_are_probabilities_that_differ_by_document(head):
    scores = TOGETHER[head]
    assert scores.dtype == np.float32
    assert scores.shape == (len(ROWS), 4)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert len({tuple(row) for row in scores.tolist()}) >= len(ROWS) - 1  # the two empty ones are equal


@heads
def test_dropout_rests_while_scoring_and_nothing_is_learned(head):
    objective = make_objective(head).train()
    before = {name: weights.clone() for name, weights in objective.state_dict().items()}
    assert score_documents(objective, documents(), 4) == pytest.approx(TOGETHER[head], abs=1e-6)
    assert not objective.training
    assert all(torch.equal(weights, before[name]) for name, weights in objective.state_dict().items())
    assert all(weights.grad is None for weights in objective.parameters())


@heads
def test_no_documents(head):
    full = documents().matrices
    empty = WordsMatrices(full.words[:0], full.blocks[:0], full.block_counts[:0], full.offsets[:1])
    assert score_documents(OBJECTIVES[head], MatrixDocuments(empty), 4).shape == (0, 4)


def test_scoring_does_without_lightning():
    code = "import sys, taxocaps.training.scoring; sys.exit('lightning' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
