"""The scores of a document do not depend on the batch it is in."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from taxocaps.nn.network import Sizes
from taxocaps.nn.words_matrix import WordsMatrixConfig, WordsMatrixNetwork
from taxocaps.training.batches import score_documents

SIZES = Sizes(vocabulary=30, D=8, N=6, T=11, labels=4)
SMALL = {"filters": (8, 8), "units": 8, "channels": 4, "capsule_size": 4, "label_capsule_size": 4, "hidden": (8,)}
ROWS = [3, 6, 0, 1, 5, 2, 6, 4, 0, 1, 3]
ALL = range(len(ROWS))


class Matrices:
    """Words-matrices with so many rows, in some order."""

    def __init__(self, order=ALL):
        self.order = list(order)
        self.lengths = np.array([ROWS[document] for document in self.order], np.int64)

    def arrays(self, documents):
        rows = int(self.lengths[documents].max(initial=0))
        words = np.zeros((len(documents), rows, SIZES.T), np.int32)
        blocks, counts = np.zeros(words.shape, np.int8), np.zeros(words.shape[:2], np.int8)
        for row, document in enumerate(documents):
            count, generator = self.lengths[document], np.random.default_rng(self.order[document])
            blocks[row, :count] = np.sort(generator.integers(1, 3, (count, SIZES.T), dtype=np.int8), axis=1)
            words[row, :count] = generator.integers(1, 30, (count, SIZES.T), dtype=np.int32)
            counts[row, :count] = blocks[row, :count].max(axis=1, initial=1)
        return words, blocks, counts


class Scorer(nn.Module):
    """A network that scores."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def scores(self, batch):
        values = self.network(*batch.inputs)
        return values.sigmoid() if self.network.output_type == "logits" else values


def make_objective(head):
    config = WordsMatrixConfig(head=head, head_filters=8, dropout=0.5, gain=5.0, **SMALL)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Scorer(WordsMatrixNetwork(config, SIZES))


OBJECTIVES = {head: make_objective(head) for head in ("dense", "capsule")}
TOGETHER = {head: score_documents(objective, Matrices(), 4) for head, objective in OBJECTIVES.items()}
heads = pytest.mark.parametrize("head", ["dense", "capsule"])


@heads
@settings(max_examples=20)
@given(order=st.permutations(range(len(ROWS))), count=st.integers(1, len(ROWS)), size=st.integers(1, 12))
def test_any_batch_size_and_order(head, order, count, size):
    chosen = order[:count]
    scores = score_documents(OBJECTIVES[head], Matrices(chosen), 4, batch_size=size)
    assert scores == pytest.approx(TOGETHER[head][chosen], abs=1e-6)


@heads
def test_scores_are_probabilities_that_differ_by_document(head):
    scores = TOGETHER[head]
    assert scores.dtype == np.float32
    assert scores.shape == (len(ROWS), 4)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert len({tuple(row) for row in scores.tolist()}) >= len(ROWS) - 1  # the two empty ones are equal


@heads
def test_scoring_has_no_dropout_and_changes_no_weights(head):
    objective = make_objective(head).train()
    before = {name: weights.clone() for name, weights in objective.state_dict().items()}
    assert score_documents(objective, Matrices(), 4) == pytest.approx(TOGETHER[head], abs=1e-6)
    assert not objective.training
    assert all(torch.equal(weights, before[name]) for name, weights in objective.state_dict().items())
    assert all(weights.grad is None for weights in objective.parameters())


@heads
def test_no_documents(head):
    assert score_documents(OBJECTIVES[head], Matrices([]), 4).shape == (0, 4)


@pytest.mark.slow
def test_scoring_does_not_import_lightning():
    code = "import sys, taxocaps.training.batches; sys.exit('lightning' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_options_do_not_import_torch():
    code = "import sys, taxocaps.training.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
