"""Kim's CNN: padding, gradients, published shapes, and scores against a loop over windows."""

import pytest
import torch
from torch.nn import functional

from taxocaps.errors import ConfigError
from taxocaps.nn.network import Sizes
from taxocaps.nn.sequence.kim_cnn import KimCNN, KimCNNConfig

SIZES = Sizes(vocabulary=30, D=6, labels=4)
LENGTHS = [3, 7, 0, 12, 1, 2]


def network(sizes=SIZES, **options):
    torch.manual_seed(0)
    return KimCNN(KimCNNConfig(**{"filters": 5, "dropout": 0.0, **options}), sizes)


def test_padding_changes_nothing(documents, check_padding):
    assert check_padding(network(), *documents(LENGTHS)).shape == (len(LENGTHS), 4)


def test_every_parameter_receives_a_gradient(documents, check_gradients):
    check_gradients(network(), documents(LENGTHS))


def test_dropout_acts_in_training_only(documents, check_dropout):
    check_dropout(network(dropout=0.5), documents(LENGTHS))


def test_scores_come_from_the_strongest_window_of_each_kernel(documents):
    model, (words, lengths) = network(), documents(LENGTHS)
    scores = model(words, lengths)
    for row, length in enumerate(LENGTHS):
        features = []
        for width, layer in zip((3, 4, 5), model.convolutions, strict=True):
            vectors = functional.pad(model.embedding(words[row, :length].long()), (0, 0, 0, max(0, width - length)))
            for kernel, bias in zip(layer.convolution.weight, layer.convolution.bias, strict=True):
                answers = [(kernel.T * vectors[i : i + width]).sum() + bias for i in range(len(vectors) - width + 1)]
                features.append(max(0.0, *(answer.item() for answer in answers)))
        expected = model.output.weight @ torch.tensor(features) + model.output.bias
        assert torch.allclose(scores[row], expected, atol=1e-5)


def test_shapes_of_the_publication():
    model = KimCNN(KimCNNConfig(), Sizes(vocabulary=10, D=300, labels=6))
    assert [layer.convolution.weight.shape for layer in model.convolutions] == [
        (100, 300, width) for width in (3, 4, 5)
    ]
    assert model.output.weight.shape == (6, 300)
    assert model.dropout.p == 0.5


def test_a_network_without_convolutions_is_refused():
    with pytest.raises(ConfigError, match=r"network\.widths"):
        KimCNNConfig(widths=())
