"""The GRU by hand against torch's own, in values and gradients."""

import pytest
import torch
from torch import nn

from taxocaps.nn.gru import read_sequences


@pytest.mark.parametrize(("B", "T"), [(1, 1), (5, 7), (3, 40)])
def test_values_and_gradients_are_those_of_torch(B, T):
    torch.manual_seed(0)
    layer, x, wanted = nn.GRU(6, 9, batch_first=True), torch.randn(B, T, 6), torch.randn(B, T, 9)
    found = []
    for read in (lambda x: layer(x)[0], lambda x: read_sequences(layer, x)):
        given = x.clone().requires_grad_()
        layer.zero_grad()
        states = read(given)
        ((states - wanted).square()).sum().backward()
        found.append((states, given.grad, *(parameter.grad.clone() for parameter in layer.parameters())))
    for torchs, ours in zip(*found, strict=True):
        assert torch.allclose(ours, torchs, rtol=1e-4, atol=1e-5)


def test_without_gradients_it_is_the_same():
    torch.manual_seed(0)
    layer, x = nn.GRU(6, 9, batch_first=True), torch.randn(4, 8, 6)
    with torch.inference_mode():
        assert torch.allclose(read_sequences(layer, x), layer(x)[0], atol=1e-6)
