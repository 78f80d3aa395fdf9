"""LSTM and bidirectional LSTM: padding, gradients, and the last state against a cell run by hand."""

import pytest
import torch
from torch.nn import functional

from taxocaps.nn.blocks import SequenceSizes
from taxocaps.nn.sequence.lstm import LSTMConfig, LSTMNetwork

SIZES = SequenceSizes(vocabulary=30, D=6, labels=4)
LENGTHS = [3, 7, 0, 12, 1, 2]


def network(sizes=SIZES, **options):
    torch.manual_seed(0)
    return LSTMNetwork(LSTMConfig(**{"units": 5, "dropout": 0.0, **options}), sizes)


def documents(lengths=LENGTHS):
    """Documents with so many words, filled up with 0."""
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(1, 30, (len(lengths), max(lengths)), generator=generator, dtype=torch.int32)
    lengths = torch.tensor(lengths, dtype=torch.int32)
    return words * (torch.arange(words.shape[1]) < lengths[:, None]), lengths


@pytest.mark.parametrize("directions", [1, 2])
def test_padding_changes_nothing(directions):
    model, (words, lengths) = network(directions=directions).eval(), documents()
    together = model(words, lengths)
    assert together.shape == (len(LENGTHS), 4)
    assert (torch.cdist(together, together) + torch.eye(len(LENGTHS)) > 1e-4).all()  # every document scores differently
    order = torch.randperm(len(LENGTHS), generator=torch.Generator().manual_seed(1))
    assert torch.allclose(model(words[order], lengths[order]), together[order], atol=1e-5)
    assert torch.allclose(model(functional.pad(words, (0, 9)), lengths), together, atol=1e-5)
    for row, length in enumerate(LENGTHS):
        alone = model(words[row : row + 1, :length], lengths[row : row + 1])
        assert torch.allclose(alone, together[row : row + 1], atol=1e-5)


@pytest.mark.parametrize("directions", [1, 2])
def test_every_parameter_receives_a_gradient(directions):
    model = network(directions=directions)
    (model(*documents()) * torch.randn(6, 4)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.any(), name


def test_label_parameters_have_the_labels_first():
    model = network()
    parameters = dict(model.named_parameters())
    for name in model.label_parameters:
        assert parameters[name].shape[0] == SIZES.labels


def test_dropout_acts_in_training_only():
    model, batch = network(dropout=0.5), documents()
    assert not torch.equal(model.train()(*batch), model(*batch))
    assert torch.equal(model.eval()(*batch), model(*batch))


@pytest.mark.parametrize("directions", [1, 2])
def test_scores_come_from_the_last_state_of_each_direction(directions):
    model, (words, lengths) = network(directions=directions), documents()
    scores = model(words, lengths)
    for row, length in enumerate(LENGTHS):
        vectors = model.embedding.weight[words[row, :length].long()]
        ends = [_last_state(model.recurrence.layer, vectors, "")]
        if directions == 2:
            ends.append(_last_state(model.recurrence.layer, vectors.flip(0), "_reverse"))
        expected = model.output.weight @ torch.cat(ends) + model.output.bias
        assert torch.allclose(scores[row], expected, atol=1e-5)


def _last_state(layer, vectors, suffix):
    """The equations of an LSTM, one word after the other."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    w, u, b, d = (getattr(layer, name + suffix) for name in names)
    hidden = cell = torch.zeros(u.shape[1])
    for vector in vectors:
        let_in, forget, candidate, let_out = (w @ vector + b + u @ hidden + d).chunk(4)
        cell = forget.sigmoid() * cell + let_in.sigmoid() * candidate.tanh()
        hidden = let_out.sigmoid() * cell.tanh()
    return hidden
