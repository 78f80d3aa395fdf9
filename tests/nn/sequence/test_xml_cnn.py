"""XML-CNN: padding, gradients, published shapes, and dynamic pooling against torch's adaptive pooling."""

import pytest
import torch
from torch.nn import functional

from taxocaps.errors import ConfigError
from taxocaps.nn.blocks import SequenceSizes
from taxocaps.nn.sequence.xml_cnn import XMLCNN, XMLCNNConfig, dynamic_max

SIZES = SequenceSizes(vocabulary=30, D=6, labels=4)
LENGTHS = [3, 7, 0, 12, 1, 2]


def network(sizes=SIZES, **options):
    torch.manual_seed(0)
    return XMLCNN(XMLCNNConfig(**{"filters": 5, "chunks": 3, "bottleneck": 7, "dropout": 0.0, **options}), sizes)


def documents(lengths=LENGTHS):
    """Documents with so many words, filled up with 0."""
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(1, 30, (len(lengths), max(lengths)), generator=generator, dtype=torch.int32)
    lengths = torch.tensor(lengths, dtype=torch.int32)
    return words * (torch.arange(words.shape[1]) < lengths[:, None]), lengths


def test_padding_changes_nothing():
    model, (words, lengths) = network().eval(), documents()
    together = model(words, lengths)
    assert together.shape == (len(LENGTHS), 4)
    assert (torch.cdist(together, together) + torch.eye(len(LENGTHS)) > 1e-4).all()  # every document scores differently
    order = torch.randperm(len(LENGTHS), generator=torch.Generator().manual_seed(1))
    assert torch.allclose(model(words[order], lengths[order]), together[order], atol=1e-5)
    assert torch.allclose(model(functional.pad(words, (0, 9)), lengths), together, atol=1e-5)
    for row, length in enumerate(LENGTHS):
        alone = model(words[row : row + 1, :length], lengths[row : row + 1])
        assert torch.allclose(alone, together[row : row + 1], atol=1e-5)


def test_every_parameter_receives_a_gradient():
    model = network()
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


def test_scores_come_from_chunks_through_the_bottleneck():
    model, (words, lengths) = network(), documents([12])
    vectors = model.embedding(words.long()).transpose(1, 2)
    answers = [functional.conv1d(vectors, m.convolution.weight, m.convolution.bias).relu() for m in model.convolutions]
    pooled = [functional.adaptive_max_pool1d(answer, 3).transpose(1, 2).flatten(1) for answer in answers]
    hidden = functional.linear(torch.cat(pooled, dim=1), model.bottleneck.weight, model.bottleneck.bias).relu()
    expected = functional.linear(hidden, model.output.weight, model.output.bias)
    assert torch.allclose(model(words, lengths), expected, atol=1e-5)


def test_shapes_of_the_publication():
    model = XMLCNN(XMLCNNConfig(), SequenceSizes(vocabulary=10, D=300, labels=103))
    assert [layer.convolution.weight.shape for layer in model.convolutions] == [
        (128, 300, width) for width in (2, 4, 8)
    ]
    assert model.bottleneck.weight.shape == (512, 3 * 8 * 128)
    assert model.output.weight.shape == (103, 512)


def test_a_network_without_convolutions_is_refused():
    with pytest.raises(ConfigError, match=r"network\.widths"):
        XMLCNNConfig(widths=())
