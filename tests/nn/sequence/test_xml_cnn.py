"""XML-CNN: padding, gradients, published shapes, and dynamic pooling against torch's adaptive pooling."""

import pytest
import torch
from torch.nn import functional

from taxocaps.errors import ConfigError
from taxocaps.nn.network import Sizes
from taxocaps.nn.sequence.xml_cnn import XMLCNN, XMLCNNConfig, dynamic_max

SIZES = Sizes(vocabulary=30, D=6, labels=4)
LENGTHS = [3, 7, 0, 12, 1, 2]


def network(sizes=SIZES, **options):
    torch.manual_seed(0)
    return XMLCNN(XMLCNNConfig(**{"filters": 5, "chunks": 3, "bottleneck": 7, "dropout": 0.0, **options}), sizes)


def test_padding_changes_nothing(documents, check_padding):
    assert check_padding(network(), *documents(LENGTHS)).shape == (len(LENGTHS), 4)


def test_every_parameter_receives_a_gradient(documents, check_gradients):
    check_gradients(network(), documents(LENGTHS))


def test_dropout_acts_in_training_only(documents, check_dropout):
    check_dropout(network(dropout=0.5), documents(LENGTHS))


@pytest.mark.parametrize("chunks", [1, 2, 3, 8])
def test_pooling_is_adaptive_pooling_of_each_document(chunks):
    x, counts = torch.randn(5, 17, 4), [17, 1, 3, 8, 16]
    pooled = dynamic_max(x, torch.tensor(counts), chunks)
    assert pooled.shape == (5, chunks, 4)
    for row, count in enumerate(counts):
        expected = functional.adaptive_max_pool1d(x[row : row + 1, :count].transpose(1, 2), chunks)
        assert torch.equal(pooled[row], expected[0].T)


def test_chunks_are_the_published_ones_where_they_divide_the_windows():
    x = torch.tensor([1.0, 4.0, 3.0, 2.0, 0.0, -1.0, 9.0])[None, :, None]
    assert dynamic_max(x, torch.tensor([6]), 3).flatten().tolist() == [4.0, 3.0, 0.0]


def test_scores_come_from_chunks_through_the_bottleneck(documents):
    model, (words, lengths) = network(), documents([12])
    vectors = model.embedding(words.long()).transpose(1, 2)
    answers = [functional.conv1d(vectors, m.convolution.weight, m.convolution.bias).relu() for m in model.convolutions]
    pooled = [functional.adaptive_max_pool1d(answer, 3).transpose(1, 2).flatten(1) for answer in answers]
    hidden = functional.linear(torch.cat(pooled, dim=1), model.bottleneck.weight, model.bottleneck.bias).relu()
    expected = functional.linear(hidden, model.output.weight, model.output.bias)
    assert torch.allclose(model(words, lengths), expected, atol=1e-5)


def test_shapes_of_the_publication():
    model = XMLCNN(XMLCNNConfig(), Sizes(vocabulary=10, D=300, labels=103))
    assert [layer.convolution.weight.shape for layer in model.convolutions] == [
        (128, 300, width) for width in (2, 4, 8)
    ]
    assert model.bottleneck.weight.shape == (512, 3 * 8 * 128)
    assert model.output.weight.shape == (103, 512)


def test_a_network_without_convolutions_is_refused():
    with pytest.raises(ConfigError, match=r"network\.widths"):
        XMLCNNConfig(widths=())
