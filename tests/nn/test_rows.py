"""The layers over rows against loops and torch's own layers: windows, convolution, block attention, LSTM."""

import copy
import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from taxocaps.nn import kernels, rows
from taxocaps.nn.rows import AttentionalLSTM, BlockAttention, RowConvolution, RowLayer, RowSelfAttention, window_blocks

RANK, COUNTS = torch.tensor([0, 1]), torch.tensor([2, 1])
BLOCKS = torch.tensor([[1, 1, 1, 2, 2, 2, 2], [1, 1, 1, 0, 0, 0, 0]])


def test_blocks_of_windows_by_hand():
    blocks = torch.tensor([[1, 1, 2, 2, 3, 0, 0], [1, 0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7]])
    # Windows of stride 2 begin at 0, 2, 4. The centre decides; else the last real word; else there is none.
    assert window_blocks(blocks, 2).tolist() == [[1, 2, 3], [1, 0, 0], [2, 4, 6]]
    assert window_blocks(blocks, 1)[1].tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("width", [3, 4, 7, 11])
def test_it_is_the_usual_convolution(stride, width):
    torch.manual_seed(0)
    layer, x = RowConvolution(5, 4, stride), torch.randn(3, width, 5)
    layer.bias.data.normal_()
    expected = functional.conv1d(x.transpose(1, 2), layer.weight, layer.bias, stride).transpose(1, 2)
    assert torch.allclose(layer(x), expected, atol=1e-5)


@pytest.mark.parametrize("kernel", [5, 7])
@pytest.mark.parametrize("stride", [1, 2])
def test_wider_windows_have_the_centres_of_those_of_three(stride, kernel):
    torch.manual_seed(0)
    layer, x = RowConvolution(5, 4, stride, kernel), torch.randn(3, 11, 5)
    expected = functional.conv1d(x.transpose(1, 2), layer.weight, None, padding=kernel // 2)  # [3, 4, 11]: at each word
    assert torch.allclose(layer(x), expected[..., 1:-1:stride].transpose(1, 2), atol=1e-5)


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("stride", [1, 2])
def test_over_distinct_words_it_is_the_same_in_values_and_gradients(stride, kernel):
    torch.manual_seed(0)
    layer, words, positions = RowConvolution(5, 4, stride, kernel), torch.randn(6, 5), torch.randint(6, (3, 9))
    found = {}
    for name in ("rows", "words"):
        x = words.clone().requires_grad_()
        layer.zero_grad()
        result = layer(x[positions]) if name == "rows" else layer(x, positions)
        result.square().sum().backward()
        found[name] = result, x.grad, layer.weight.grad.clone(), layer.bias.grad.clone()
    for plain, distinct in zip(found["rows"], found["words"], strict=True):
        assert torch.allclose(plain, distinct, atol=1e-4)


def test_a_convolution_of_no_rows():
    layer = RowConvolution(5, 4, 2)
    assert layer(torch.zeros(0, 5), torch.zeros(0, 9, dtype=torch.long)).shape == (0, 4, 4)
    assert layer(torch.zeros(0, 9, 5)).shape == (0, 4, 4)


def test_rows_of_one_kind_share_their_factors():
    attention = BlockAttention(ranks=3, max_blocks=2)
    assert (attention.alpha == 1).all()
    with torch.no_grad():
        attention.alpha[2, 2, 1] = 0.5  # the paper's alpha of block 1, in rows of rank 3 with 2 blocks
    blocks = torch.tensor([[1, 1, 2], [1, 2, 0], [1, 1, 1]])
    found = attention(torch.tensor([2, 2, 2]), torch.tensor([2, 2, 1]), blocks)
    assert found.tolist() == [[0.5, 0.5, 1], [0.5, 1, 1], [1, 1, 1]]


def test_only_touched_factors_get_a_gradient():
    attention = BlockAttention(2, 2)
    attention(torch.tensor([1]), torch.tensor([1]), torch.tensor([[1, 1]])).sum().backward()
    assert attention.alpha.grad.nonzero().tolist() == [[1, 1, 1]]


def by_the_equation(lstm, x, alpha):
    """One row of plain numbers."""
    H, W, U, b = lstm.hidden_size, lstm.input.weight.tolist(), lstm.state.weight.tolist(), lstm.input.bias.tolist()
    cell, outputs = [0.0] * H, []

    def sigma(value):
        return 1 / (1 + math.exp(-value))

    for features, factor in zip(x, alpha, strict=True):

        def seen(row, features=features, factor=factor):
            return sum(w * factor * value for w, value in zip(W[row], features, strict=True)) + b[row]

        def remembered(row, cell=tuple(cell)):
            return sum(u * value for u, value in zip(U[row], cell, strict=True))

        f, i, o = ([sigma(seen(g * H + k) + remembered(g * H + k)) for k in range(H)] for g in range(3))
        cell = [f[k] * cell[k] + i[k] * math.tanh(seen(3 * H + k)) for k in range(H)]
        outputs.append([o[k] * math.tanh(cell[k]) for k in range(H)])
    return outputs


def test_equal_to_the_equation():
    torch.manual_seed(0)
    lstm = AttentionalLSTM(3, 4).double()
    x, alpha = torch.randn(2, 5, 3, dtype=torch.float64), torch.rand(2, 5, dtype=torch.float64) + 0.5
    found = lstm(x, torch.ones(2, 5), alpha)
    for row in range(2):
        expected = by_the_equation(lstm, x[row].tolist(), alpha[row].tolist())
        assert found[row].tolist() == [pytest.approx(step, abs=1e-12) for step in expected]


def test_the_gradients_of_an_lstm_are_those_of_differences(monkeypatch):
    monkeypatch.setattr(rows, "_CHUNK_ROWS", 2)  # three rows are read in two chunks
    torch.manual_seed(0)
    lstm, mask = AttentionalLSTM(3, 4).double(), torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 0]])
    x, alpha = torch.randn(3, 4, 3, dtype=torch.float64), torch.rand(3, 4, dtype=torch.float64) + 0.5
    names, weights = zip(*lstm.named_parameters(), strict=True)

    def outputs(x, alpha, *weights):
        return torch.func.functional_call(lstm, dict(zip(names, weights, strict=True)), (x, mask, alpha))

    assert torch.autograd.gradcheck(outputs, (x.requires_grad_(), alpha.requires_grad_(), *weights))


@pytest.mark.parametrize("rows_at_once", [2, 256])
def test_the_compiled_steps_are_the_plain_ones_in_values_and_gradients(rows_at_once, monkeypatch):
    monkeypatch.setattr(rows, "_CHUNK_ROWS", rows_at_once)
    torch.manual_seed(0)
    compiled, mask, alpha = AttentionalLSTM(7, 11), torch.rand(5, 6) < 0.8, torch.rand(5, 6) + 0.5
    plain, x, wanted = copy.deepcopy(compiled).double(), torch.randn(5, 6, 7), torch.randn(5, 6, 11)
    gradients = []
    for lstm, kind in ((compiled, torch.float32), (plain, torch.float64)):
        given = [tensor.to(kind).requires_grad_() for tensor in (x, alpha)]
        outputs = lstm(given[0], mask, given[1])
        assert torch.equal(outputs.any(dim=2), mask)
        found = torch.autograd.grad((outputs * wanted).sum(), [*given, *lstm.parameters()])
        gradients.append([outputs.detach().double(), *(gradient.double() for gradient in found)])
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_an_lstm_with_attention_of_ones_is_one_without():
    torch.manual_seed(1)
    lstm, x, mask = AttentionalLSTM(3, 4), torch.randn(2, 5, 3), torch.ones(2, 5)
    assert torch.equal(lstm(x, mask, torch.ones(2, 5)), lstm(x, mask))


@pytest.mark.parametrize("rows_at_once", [2, 256])
@pytest.mark.parametrize("has_attention", [False, True])
def test_prediction_without_gradients_reads_rows_to_the_same_end(has_attention, rows_at_once, monkeypatch):
    monkeypatch.setattr(rows, "_CHUNK_ROWS", rows_at_once)
    torch.manual_seed(0)
    lstm, mask = AttentionalLSTM(7, 11), torch.rand(5, 6) < 0.8
    distinct, index = torch.randn(9, 7), torch.randint(9, (5, 6))
    alpha = torch.rand(5, 6) + 0.5 if has_attention else None
    expected = lstm(distinct[index], mask.float(), alpha)
    assert expected.requires_grad
    with torch.inference_mode():
        assert torch.allclose(lstm(distinct[index], mask.float(), alpha), expected, atol=1e-6)
        assert torch.allclose(lstm(distinct, mask.float(), alpha, index), expected, atol=1e-6)


def test_the_compiled_functions_are_tanh_and_sigmoid():
    x = np.linspace(-20, 20, 100_001, dtype=np.float32)
    tanh, sigmoid = (np.array([function(one) for one in x]) for function in (kernels._tanh, kernels._sigmoid))
    assert abs(tanh - np.tanh(x.astype(np.float64))).max() < 5e-7
    assert abs(sigmoid - 1 / (1 + np.exp(-x.astype(np.float64)))).max() < 5e-7
    assert np.isnan(kernels._tanh(np.float32("nan")))


def test_windows_that_repeat_are_computed_once():
    torch.manual_seed(0)
    positions = torch.tensor([[0, 1, 2, 3, 4], [2, 3, 4, 0, 1], [0, 1, 2, 0, 1]])
    words, index = rows._distinct_windows(positions, 5, 2)
    assert words.tolist() == [[0, 1, 2], [2, 0, 1], [2, 3, 4], [4, 0, 1]]
    assert index.tolist() == [[0, 2], [2, 3], [0, 1]]


def test_padding_gives_zero_and_carries_the_state():
    torch.manual_seed(2)
    lstm, x = AttentionalLSTM(3, 4), torch.randn(1, 5, 3)
    mask = torch.tensor([[1, 1, 0, 0, 1]])
    found = lstm(x, mask)
    assert not found[:, 2:4].any()
    without = lstm(x[:, [0, 1, 4]], torch.ones(1, 3))
    assert torch.allclose(found[:, [0, 1, 4]], without, atol=1e-6)


def features():
    torch.manual_seed(0)
    return torch.randn(2, 7, 5) * (BLOCKS > 0)[..., None]


def test_the_convolution_is_that_of_a_loop():
    layer, x = RowLayer([RowConvolution(5, 4, 2)]), features()
    found, windows = layer(x, BLOCKS, RANK, COUNTS)
    kernel, bias = layer.convolutions[0].weight, layer.convolutions[0].bias
    for row in range(2):
        for window in range(3):
            part = x[row, 2 * window : 2 * window + 3]
            expected = torch.stack([(kernel[k].T * part).sum() + bias[k] for k in range(4)]).relu()
            if windows[row, window] == 0:
                expected = torch.zeros(4)
            assert torch.allclose(found[row, window], expected, atol=1e-5)
    assert windows.tolist() == [[1, 2, 2], [1, 1, 0]]


def test_recurrence_and_attention_take_part():
    recurrence, attention = AttentionalLSTM(4, 6), BlockAttention(2, 7)
    convolution = RowConvolution(5, 4, 2)
    layer, plain = RowLayer([convolution], recurrence, attention), RowLayer([convolution], recurrence)
    x = features()
    assert layer.features == 6
    assert torch.equal(layer(x, BLOCKS, RANK, COUNTS)[0], plain(x, BLOCKS, RANK, COUNTS)[0])
    with torch.no_grad():
        attention.alpha[0, 2, 2] = 3.0
    with_attention, without = layer(x, BLOCKS, RANK, COUNTS)[0], plain(x, BLOCKS, RANK, COUNTS)[0]
    assert not torch.allclose(with_attention[0], without[0])
    assert torch.equal(with_attention[1], without[1])


def test_widths_share_the_filters_and_windows_may_be_kept():
    convolutions = [RowConvolution(5, 3, 2), RowConvolution(5, 2, 2, 5)]
    layer = RowLayer(convolutions, AttentionalLSTM(5, 6), keeps_windows=True)
    found, windows = layer(features(), BLOCKS, RANK, COUNTS)
    assert layer.features == found.shape[2] == 11
    plain, _ = RowLayer(convolutions)(features(), BLOCKS, RANK, COUNTS)
    assert torch.equal(found[..., :5], plain)
    assert not found[windows == 0].any()


def test_self_attention_reads_the_other_windows_of_its_row_only():
    torch.manual_seed(0)
    layer, x, mask = RowSelfAttention(5, 4), torch.randn(2, 6, 5), torch.tensor([[1.0] * 6, [1.0] * 4 + [0.0] * 2])
    found = layer(x, mask)
    assert not found[1, 4:].any()
    other = x.clone()
    other[1, 4:] = 9.0  # padding
    other[0, 0] += 1.0
    changed = (layer(other, mask) - found).abs().amax(dim=2) > 1e-6
    assert changed.tolist() == [[True] * 6, [False] * 6]


def test_self_attention_by_a_loop():
    torch.manual_seed(0)
    layer, x, alpha = RowSelfAttention(3, 2), torch.randn(1, 4, 3), torch.rand(1, 4)
    h = functional.elu(layer.input(x[0] * alpha[0, :, None]))
    found = layer(x, torch.ones(1, 4), alpha)[0]
    for j in range(4):
        context = torch.zeros(2)
        for attention, others in ((layer.before, range(j)), (layer.behind, range(j + 1, 4))):
            logits = [5 * torch.tanh((attention.key(h[i]) + attention.query(h[j])) / 5) for i in others]
            if logits:
                weights = torch.stack(logits).softmax(dim=0)
                context = context + (weights * h[list(others)]).sum(dim=0)
        gate = layer.gate(torch.cat([h[j], context])).sigmoid()
        assert torch.allclose(found[j], gate * h[j] + (1 - gate) * context, atol=1e-5)
