"""The shared layers against loops over single documents: windows, recurrence, pooling, no words; start values."""

import pytest
import torch
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from taxocaps.nn.layers import (
    AttentionPooling,
    NgramConvolution,
    Recurrence,
    convolution,
    dense_layer,
    distinct_ids,
    masked_max,
    masked_mean,
    pool_states,
    sequence_mask,
    start_recurrence,
    to_documents,
)

LENGTHS = [4, 0, 7, 1, 2]


def sequences(features=3, lengths=LENGTHS, width=7):
    x = torch.randn(len(lengths), width, features, generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor(lengths)
    return x * (torch.arange(width) < lengths[:, None])[..., None], lengths


def test_the_mask_is_true_for_the_first_positions():
    assert sequence_mask(torch.tensor([0, 2, 3]), 3).tolist() == [[False] * 3, [True, True, False], [True] * 3]


def test_rows_return_to_their_documents():
    mask = torch.tensor([[True, True, False], [True, False, False]])
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert to_documents(rows, mask).tolist() == [[[1, 2], [3, 4], [0, 0]], [[5, 6], [0, 0], [0, 0]]]
    assert to_documents(torch.zeros(0, 4, 2), torch.zeros(2, 0, dtype=torch.bool)).shape == (2, 0, 4, 2)


def test_the_maximum_ignores_padding():
    x, lengths = sequences()
    x = x - 5 * sequence_mask(lengths, 7)[..., None]  # all below 0, where padding would win
    mask = sequence_mask(lengths, 7)
    for row, length in enumerate(LENGTHS):
        expected = x[row, :length].amax(dim=0) if length else torch.zeros(3)
        assert torch.equal(masked_max(x, mask)[row], expected)


def test_the_mean_ignores_padding():
    x, lengths = sequences()
    pooled = masked_mean(x + 7, sequence_mask(lengths, 7))
    for row, length in enumerate(LENGTHS):
        expected = 7 + x[row, :length].mean(dim=0) if length else torch.zeros(3)
        assert torch.allclose(pooled[row], expected, atol=1e-5)


def test_states_are_pooled_as_asked():
    x, lengths = sequences()
    states, last = Recurrence(3, 4)(x, lengths)
    mask = sequence_mask(lengths, 7)
    assert torch.equal(pool_states(states, last, lengths, "last"), last)
    assert torch.equal(pool_states(states, last, lengths, "mean"), masked_mean(states, mask))
    assert torch.equal(pool_states(states, last, lengths, "max"), masked_max(states, mask))


def test_the_maximum_of_nothing_has_a_finite_gradient():
    x = torch.randn(2, 3, 4, requires_grad=True)
    masked_max(x, sequence_mask(torch.tensor([0, 2]), 3)).sum().backward()
    assert torch.isfinite(x.grad).all()
    assert not x.grad[0].any()
    assert x.grad[1].sum() == 4


def test_sequences_without_words():
    x, mask, lengths = torch.zeros(2, 0, 3), torch.zeros(2, 0, dtype=torch.bool), torch.zeros(2, dtype=torch.int32)
    for pooled in (masked_max(x, mask), AttentionPooling(3, 2)(x, mask)):
        assert torch.equal(pooled, torch.zeros(2, 3))
    outputs, last = Recurrence(3, 4, directions=2)(x, lengths)
    assert outputs.shape == (2, 0, 8)
    assert torch.equal(last, torch.zeros(2, 8))
    windows, real = NgramConvolution(3, 5, 4)(x, lengths)
    assert windows.shape == (2, 1, 5)
    assert real.all()
    assert Recurrence(3, 4)(x[:0], lengths[:0])[1].shape == (0, 4)


@pytest.mark.parametrize("width", [1, 2, 5, 9])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_windows_are_those_of_each_document(width, stride):
    layer = NgramConvolution(3, 5, width, stride)
    x, lengths = sequences()
    windows, mask = layer(x, lengths.to(torch.int8))
    kernel, bias = layer.convolution.weight, layer.convolution.bias
    for row, length in enumerate(LENGTHS):
        starts = [0]
        while starts[-1] + width < length:  # until every word is read
            starts.append(starts[-1] + stride)
        assert mask[row].sum() == len(starts)
        document = functional.pad(x[row, :length], (0, 0, 0, width + stride))
        for number, start in enumerate(starts):
            expected = (kernel * document[start : start + width].T).sum(dim=(1, 2)) + bias
            assert torch.allclose(windows[row, number], expected, atol=1e-5)


@pytest.mark.parametrize("width", [1, 2, 9])
@pytest.mark.parametrize("stride", [1, 2])
def test_windows_of_distinct_words_are_the_same_in_values_and_gradients(width, stride):
    torch.manual_seed(0)
    layer, lengths, table = NgramConvolution(3, 5, width, stride), torch.tensor(LENGTHS), torch.randn(6, 3)
    table[0] = 0
    words = torch.randint(1, 6, (len(LENGTHS), 7)) * sequence_mask(lengths, 7)
    ids, positions = distinct_ids(words, 6)
    found = []
    for arguments in ((words,), (ids, positions)):
        x = table.clone().requires_grad_()
        layer.zero_grad()
        windows, mask = layer(x[arguments[0]], lengths, *arguments[1:])
        (windows * mask[..., None]).square().sum().backward()
        found.append((windows, mask, x.grad[1:], *(parameter.grad.clone() for parameter in layer.parameters())))
    for plain, distinct in zip(*found, strict=True):
        assert torch.allclose(plain.float(), distinct.float(), atol=1e-4)


def test_distinct_ids_in_their_order():
    ids, index = distinct_ids(torch.tensor([[5, 0], [3, 5]]), 7)
    assert (ids.tolist(), index.tolist()) == ([0, 3, 5], [[2, 0], [1, 2]])


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize("directions", [1, 2])
def test_recurrence_reads_each_document_alone(one_layer, cell, directions):
    layer = Recurrence(3, 4, directions=directions, cell=cell)
    x, lengths = sequences()
    outputs, last = layer(x, lengths.to(torch.int32))
    assert layer.features == last.shape[1] == 4 * directions
    for row, length in enumerate(LENGTHS):
        assert not outputs[row, length:].any()
        if not length:
            assert not last[row].any()
            continue
        alone, state = one_layer(layer)(x[row : row + 1, :length])
        state = state[0] if cell == "lstm" else state
        assert torch.allclose(outputs[row, :length], alone[0], atol=1e-6)
        assert torch.allclose(last[row], state.flatten(), atol=1e-6)


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_gradients_of_a_recurrence_are_those_of_packed_sequences(one_layer, cell):
    layer = Recurrence(3, 4, directions=2, cell=cell)
    x, lengths = sequences(lengths=[2, 7, 1, 5])
    weights, found = torch.randn(len(x), x.shape[1], 8), []
    for read in (
        lambda x: layer(x, lengths)[0],
        lambda x: pad_packed_sequence(
            one_layer(layer)(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))[0],
            batch_first=True,
        )[0],
    ):
        x = x.detach().requires_grad_()
        (read(x) * weights).sum().backward()
        found.append(x.grad)
    assert torch.allclose(*found, atol=1e-6)


def test_recurrence_starts_from_given_states(one_layer):
    layer, start = Recurrence(3, 4, directions=2, cell="rnn", bias=False), torch.randn(2, 4)
    x, lengths = sequences(lengths=[2, 7])
    outputs, last = layer(x, lengths, start)
    alone, state = one_layer(layer)(x[:1, :2], start[:, None])
    assert torch.allclose(outputs[0, :2], alone[0], atol=1e-6)
    assert torch.allclose(last[0], state.flatten(), atol=1e-6)


def test_attention_is_a_softmax_over_words():
    layer = AttentionPooling(3, 6)
    x, lengths = sequences()
    pooled = layer(x, sequence_mask(lengths, 7))
    for row, length in enumerate(LENGTHS):
        importance = [
            layer.context.weight[0] @ torch.tanh(layer.project.weight @ h + layer.project.bias) for h in x[row]
        ]
        shares = [torch.exp(value) for value in importance[:length]]
        expected = sum((share / sum(shares) * h for share, h in zip(shares, x[row], strict=False)), torch.zeros(3))
        assert torch.allclose(pooled[row], expected, atol=1e-6)


@pytest.mark.parametrize(("activation", "variance"), [("relu", 2 / 300), ("other", 2 / (300 + 200))])
def test_dense_layers_start_as_what_follows_asks(activation, variance):
    layer = dense_layer(300, 200, activation)
    assert layer.weight.var().item() == pytest.approx(variance, rel=0.05)
    assert not layer.bias.any()
    assert dense_layer(3, 2, bias=False).bias is None


def test_convolutions_start_for_a_relu():
    layer = convolution(50, 200, 4)
    assert layer.weight.var().item() == pytest.approx(2 / (50 * 4), rel=0.05)
    assert not layer.bias.any()


def test_a_relu_after_a_layer_keeps_the_size_of_features():
    x = torch.randn(100, 300, generator=torch.Generator().manual_seed(0))
    for _ in range(5):
        x = dense_layer(300, 300, "relu")(x).relu()
    assert x.square().mean().item() == pytest.approx(1, rel=0.5)


@pytest.mark.parametrize(("cell", "gates"), [("lstm", 4), ("gru", 3), ("rnn", 1)])
def test_the_gates_of_a_recurrence_start_each_by_itself(cell, gates):
    for layer in Recurrence(100, 80, directions=2, cell=cell).layers:
        for gate in layer.weight_ih_l0.chunk(gates):
            assert gate.var().item() == pytest.approx(2 / (100 + 80), rel=0.1)
        for gate in layer.weight_hh_l0.chunk(gates):
            assert torch.allclose(gate @ gate.T, torch.eye(80), atol=1e-4)


@pytest.mark.parametrize("make", [torch.nn.LSTM, torch.nn.LSTMCell])
def test_forget_gates_start_open(make):
    biases = [weights for name, weights in start_recurrence(make(3, 4)).named_parameters() if "bias" in name]
    in_, forget, cell, out = sum(biases).chunk(4)
    assert forget.tolist() == [1] * 4
    assert not torch.cat([in_, cell, out]).any()


def test_other_recurrences_start_without_biases():
    assert not start_recurrence(torch.nn.GRU(3, 4)).bias_ih_l0.any()
    assert "bias_ih_l0" not in dict(start_recurrence(torch.nn.RNN(3, 4, bias=False)).named_parameters())
