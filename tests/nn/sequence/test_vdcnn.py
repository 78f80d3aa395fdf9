"""The deep character network beside one that reads documents one by one with PyTorch's own convolutions."""

import pytest
import torch
from torch.nn import functional

from taxocaps.errors import ConfigError
from taxocaps.nn.network import Sizes
from taxocaps.nn.sequence.vdcnn import VDCNN, VDCNNConfig

SIZES = Sizes(vocabulary=20, D=5, labels=3)
LENGTHS = [40, 0, 1, 2, 97, 16, 7]


def network(**options):
    """A network as it is after some training: with scales and means of its own, for which one batch is read."""
    torch.manual_seed(0)
    small = {"filters": (4, 6, 5, 7), "k": 3, "hidden": 8}
    model = VDCNN(VDCNNConfig(**{**small, **options}), SIZES)
    norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm1d)]
    for norm in norms:
        torch.nn.init.uniform_(norm.weight, 0.5, 2)
        torch.nn.init.normal_(norm.bias, std=0.3)
        norm.momentum = 0.9
    model(*documents())
    return model


def documents(lengths=LENGTHS):
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(1, 20, (len(lengths), max(lengths)), generator=generator, dtype=torch.int32)
    lengths = torch.tensor(lengths)
    return words * (torch.arange(words.shape[1]) < lengths[:, None]), lengths


def by_the_book(model, words, lengths):
    """The same network over a list of documents, each a matrix [C, n] of its own."""
    x = [model.embedding(words[b, :n].long()).T for b, n in enumerate(lengths.tolist())]
    x = convolved(x, model.first)
    for number, level in enumerate(model.levels):
        if number:
            x = [functional.max_pool1d(d, 3, 2, padding=1) if d.shape[1] else d for d in x]
        for layer in level:
            x = normalised(convolved(x, layer.convolution), layer.norm)
    return model.output(model.dense(torch.stack([k_greatest(d, model.k).T.flatten() for d in x])))


def convolved(x, linear):
    kernel = linear.weight.view(len(linear.weight), 3, -1).transpose(1, 2)
    empty = torch.zeros(len(kernel), 0)
    return [functional.conv1d(d[None], kernel, linear.bias, padding=1)[0] if d.shape[1] else empty for d in x]


def normalised(x, norm):
    flat = torch.cat(x, dim=1).T
    mean, variance = norm.running_mean, norm.running_var
    if norm.training:
        mean, variance = flat.mean(dim=0), flat.var(dim=0, unbiased=False)
    flat = (flat - mean) / (variance + norm.eps).sqrt() * norm.weight + norm.bias
    return [part.T.relu() for part in flat.split([d.shape[1] for d in x])]


def k_greatest(d, k):
    kept = torch.zeros(d.shape[0], k)
    for row, values in zip(kept, d.tolist(), strict=True):
        best = sorted(sorted(range(len(values)), key=lambda position: -values[position])[:k])
        row[: len(best)] = torch.tensor([values[position] for position in best])
    return kept


@pytest.mark.parametrize("depth", [9, 17, 29])
@pytest.mark.parametrize("training", [True, False])
def test_it_is_the_published_network_without_padding(depth, training):
    model, (words, lengths) = network(depth=depth).train(training), documents()
    expected = by_the_book(model, words, lengths)
    assert expected.std(dim=0).min() > 5e-3
    assert torch.allclose(model(words, lengths), expected, atol=1e-3)


def test_padding_changes_nothing():
    model, (words, lengths) = network().eval(), documents()
    together = model(words, lengths)
    assert together.shape == (len(LENGTHS), 3)
    order = [4, 2, 0, 6, 3, 5, 1]
    assert torch.allclose(model(words[order], lengths[order]), together[order], atol=1e-5)
    assert torch.allclose(model(functional.pad(words, (0, 30)), lengths), together, atol=1e-5)
    for document, length in enumerate(LENGTHS):
        one = slice(document, document + 1)
        assert torch.allclose(model(words[one, :length], lengths[one]), together[one], atol=1e-5)


def test_padding_changes_nothing_in_training():
    words, lengths = documents()
    first, second = network(), network()
    assert torch.allclose(first(words, lengths), second(functional.pad(words, (0, 30)), lengths), atol=1e-5)
    assert torch.allclose(first.levels[3][1].norm.running_var, second.levels[3][1].norm.running_var, atol=1e-5)


@pytest.mark.parametrize("depth", [9, 29])
def test_every_parameter_receives_a_gradient(depth):
    model, (words, lengths) = network(depth=depth), documents()
    (model(words, lengths) * torch.randn(len(LENGTHS), 3)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.any(), name


def test_batches_too_small_for_a_variance_can_be_learned_from():
    model = network()
    for lengths in ([1], [0], [0, 0]):
        words, counts = documents(lengths)
        assert torch.isfinite(model.train()(words, counts)).all()
        assert model.eval()(words, counts).shape == (len(lengths), 3)


def test_shapes_of_the_publication():
    model = VDCNN(VDCNNConfig(depth=29), Sizes(vocabulary=70, D=16, labels=103))
    shapes = [layer.convolution.weight.shape for level in model.levels for layer in level]
    assert len(shapes) == 28
    assert (shapes[0], shapes[10], shapes[-1]) == ((64, 3 * 64), (128, 3 * 64), (512, 3 * 512))
    assert model.dense[0].weight.shape == (2048, 8 * 512)


def test_four_levels_need_four_numbers_of_filters():
    with pytest.raises(ConfigError, match=r"network\.filters must name 4 levels; got 2"):
        VDCNNConfig(filters=(4, 5))
