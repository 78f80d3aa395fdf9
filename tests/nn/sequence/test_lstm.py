"""LSTM and bidirectional LSTM: padding, gradients, and the last state against a cell run by hand."""

import pytest
import torch

from taxocaps.nn.network import Sizes
from taxocaps.nn.sequence.lstm import LSTMConfig, LSTMNetwork

SIZES = Sizes(vocabulary=30, D=6, labels=4)
LENGTHS = [3, 7, 0, 12, 1, 2]


def network(sizes=SIZES, **options):
    torch.manual_seed(0)
    return LSTMNetwork(LSTMConfig(**{"units": 5, "dropout": 0.0, **options}), sizes)


@pytest.mark.parametrize("directions", [1, 2])
def test_padding_changes_nothing(documents, check_padding, directions):
    assert check_padding(network(directions=directions), *documents(LENGTHS)).shape == (len(LENGTHS), 4)


@pytest.mark.parametrize("directions", [1, 2])
def test_every_parameter_receives_a_gradient(documents, check_gradients, directions):
    check_gradients(network(directions=directions), documents(LENGTHS))


def test_dropout_acts_in_training_only(documents, check_dropout):
    check_dropout(network(dropout=0.5), documents(LENGTHS))


@pytest.mark.parametrize("directions", [1, 2])
def test_scores_come_from_the_last_state_of_each_direction(documents, directions):
    model, (words, lengths) = network(directions=directions), documents(LENGTHS)
    scores = model(words, lengths)
    for row, length in enumerate(LENGTHS):
        vectors = model.embedding.weight[words[row, :length].long()]
        ends = [
            _last_state(layer, read)
            for layer, read in zip(model.recurrence.layers, (vectors, vectors.flip(0)), strict=False)
        ]
        assert len(ends) == directions
        expected = model.output.weight @ torch.cat(ends) + model.output.bias
        assert torch.allclose(scores[row], expected, atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_all_states_may_be_pooled(documents, check_padding, check_gradients, pooling):
    model, (words, lengths) = network(pooling=pooling), documents(LENGTHS)
    states, _ = model.recurrence(model.embedding(words.long()), lengths)
    found = check_padding(model, words, lengths)
    for row, length in enumerate(LENGTHS):
        own = states[row, : max(length, 1)]
        pooled = own.mean(dim=0) if pooling == "mean" else own.amax(dim=0)
        assert torch.allclose(found[row], model.output(pooled), atol=1e-5)
    check_gradients(network(pooling=pooling), (words, lengths))


def _last_state(layer, vectors):
    """The equations of an LSTM, one word after the other."""
    w, u, b, d = layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0
    hidden = cell = torch.zeros(u.shape[1])
    for vector in vectors:
        let_in, forget, candidate, let_out = (w @ vector + b + u @ hidden + d).chunk(4)
        cell = forget.sigmoid() * cell + let_in.sigmoid() * candidate.tanh()
        hidden = let_out.sigmoid() * cell.tanh()
    return hidden
