"""The LSTM against a loop written from the paper's equation, one number at a time."""

import math

import pytest
import torch

from taxocaps.nn.recurrence import AttentionalLSTM


def by_the_equation(lstm, x, alpha):
    """One row of plain numbers."""
    H, W, U, b = lstm.units, lstm.input.weight.tolist(), lstm.state.weight.tolist(), lstm.input.bias.tolist()
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


def test_attention_of_ones_is_no_attention():
    torch.manual_seed(1)
    lstm, x, is_real = AttentionalLSTM(3, 4), torch.randn(2, 5, 3), torch.ones(2, 5)
    assert torch.equal(lstm(x, is_real, torch.ones(2, 5)), lstm(x, is_real))


def test_padding_gives_zero_and_carries_the_state():
    torch.manual_seed(2)
    lstm, x = AttentionalLSTM(3, 4), torch.randn(1, 5, 3)
    is_real = torch.tensor([[1, 1, 0, 0, 1]])
    found = lstm(x, is_real)
    assert not found[:, 2:4].any()
    without = lstm(x[:, [0, 1, 4]], torch.ones(1, 3))
    assert torch.allclose(found[:, [0, 1, 4]], without, atol=1e-6)
