import torch

from taxocaps.nn.attention import BlockAttention
from taxocaps.nn.recurrence import AttentionalLSTM
from taxocaps.nn.row_layer import RowLayer

RANK, COUNTS = torch.tensor([0, 1]), torch.tensor([2, 1])
BLOCKS = torch.tensor([[1, 1, 1, 2, 2, 2, 2], [1, 1, 1, 0, 0, 0, 0]])


def features():
    torch.manual_seed(0)
    return torch.randn(2, 7, 5) * (BLOCKS > 0)[..., None]


def test_the_convolution_is_that_of_a_loop():
    layer, x = RowLayer(5, 4, stride=2), features()
    found, windows = layer(x, BLOCKS, RANK, COUNTS)
    kernel, bias = layer.convolution.weight, layer.convolution.bias
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
    layer, plain = RowLayer(5, 4, 2, recurrence, attention), RowLayer(5, 4, 2, recurrence)
    plain.convolution = layer.convolution
    x = features()
    assert layer.features == 6
    assert torch.equal(layer(x, BLOCKS, RANK, COUNTS)[0], plain(x, BLOCKS, RANK, COUNTS)[0])
    with torch.no_grad():
        attention.alpha[0, 2, 2] = 3.0
    with_attention, without = layer(x, BLOCKS, RANK, COUNTS)[0], plain(x, BLOCKS, RANK, COUNTS)[0]
    assert not torch.allclose(with_attention[0], without[0])
    assert torch.equal(with_attention[1], without[1])
