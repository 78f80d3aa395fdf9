"""The convolution equals torch's own, and its form over distinct words equals both."""

import pytest
import torch
from torch.nn import functional

from taxocaps.nn.convolution import RowConvolution


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("width", [3, 4, 7, 11])
def test_it_is_the_usual_convolution(stride, width):
    torch.manual_seed(0)
    layer, x = RowConvolution(5, 4, stride), torch.randn(3, width, 5)
    layer.bias.data.normal_()
    expected = functional.conv1d(x.transpose(1, 2), layer.weight, layer.bias, stride).transpose(1, 2)
    assert torch.allclose(layer(x), expected, atol=1e-5)


@pytest.mark.parametrize("stride", [1, 2])
def test_over_distinct_words_it_is_the_same_in_values_and_gradients(stride):
    torch.manual_seed(0)
    layer, words, place = RowConvolution(5, 4, stride), torch.randn(6, 5), torch.randint(6, (3, 9))
    found = {}
    for name in ("rows", "words"):
        x = words.clone().requires_grad_()
        layer.zero_grad()
        result = layer(x[place]) if name == "rows" else layer.of_words(x, place)
        result.square().sum().backward()
        found[name] = result, x.grad, layer.weight.grad.clone(), layer.bias.grad.clone()
    for plain, distinct in zip(found["rows"], found["words"], strict=True):
        assert torch.allclose(plain, distinct, atol=1e-4)


def test_no_rows():
    layer = RowConvolution(5, 4, 2)
    assert layer.of_words(torch.zeros(0, 5), torch.zeros(0, 9, dtype=torch.long)).shape == (0, 4, 4)
    assert layer(torch.zeros(0, 9, 5)).shape == (0, 4, 4)
