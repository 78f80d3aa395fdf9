"""Kim's CNN: padding, gradients, published shapes, and scores against a loop over windows."""

import pytest
import torch
from torch.nn import functional

from taxocaps.errors import ConfigError
from taxocaps.nn.blocks import SequenceSizes
from taxocaps.nn.sequence.kim_cnn import KimCNN, KimCNNConfig

SIZES = SequenceSizes(vocabulary=30, D=6, labels=4)
LENGTHS = [3, 7, 0, 12, 1, 2]


def network(sizes=SIZES, **options):
    torch.manual_seed(0)
    return KimCNN(KimCNNConfig(**{"filters": 5, "dropout": 0.0, **options}), sizes)


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


def test_scores_come_from_the_strongest_window_of_each_kernel():
    model, (words, lengths) = network(), documents()
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
    model = KimCNN(KimCNNConfig(), SequenceSizes(vocabulary=10, D=300, labels=6))
    assert [layer.convolution.weight.shape for layer in model.convolutions] == [
        (100, 300, width) for width in (3, 4, 5)
    ]
    assert model.output.weight.shape == (6, 300)
    assert model.dropout.p == 0.5


def test_a_network_without_convolutions_is_refused():
    with pytest.raises(ConfigError, match=r"network\.widths"):
        KimCNNConfig(widths=())
