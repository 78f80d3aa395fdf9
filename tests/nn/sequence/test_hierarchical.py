"""Hierarchical networks: padding, gradients, published shapes, and levels against one sentence after the other."""

import pytest
import torch
from torch.nn import functional

from taxocaps.nn.network import Sizes
from taxocaps.nn.sequence.hierarchical import HierarchicalConfig, HierarchicalNetwork

SIZES = Sizes(vocabulary=30, D=6, labels=4)
HLSTM = {"pooling": "mean", "cell": "lstm", "directions": 1}
HAN = {"pooling": "attention", "cell": "gru", "directions": 2}
KINDS = pytest.mark.parametrize(
    "axes", [HLSTM, HAN, HLSTM | {"pooling": "last"}, HLSTM | {"pooling": "max"}], ids=["HLSTM", "HAN", "last", "max"]
)
DOCUMENTS = [[3, 5, 1], [2], [], [1], [4, 1, 1, 6]]
"""The words of each sentence of each document."""


def network(**options):
    torch.manual_seed(0)
    return HierarchicalNetwork(HierarchicalConfig(**{"units": 5, "attention_size": 7, **options}), SIZES)


def documents(sentences=DOCUMENTS):
    generator = torch.Generator().manual_seed(0)
    lengths = torch.zeros(len(sentences), max(map(len, sentences)), dtype=torch.int32)
    for row, counts in enumerate(sentences):
        lengths[row, : len(counts)] = torch.tensor(counts, dtype=torch.int32)
    words = torch.randint(1, 30, (*lengths.shape, 6), generator=generator, dtype=torch.int32)
    return words * (torch.arange(6) < lengths[..., None]), lengths


@KINDS
def test_padding_changes_nothing(axes):
    model, (words, lengths) = network(**axes).eval(), documents()
    together = model(words, lengths)
    assert together.shape == (5, 4)
    assert (torch.cdist(together, together) + torch.eye(5) > 1e-4).all()  # every document scores differently
    order = torch.tensor([3, 0, 4, 2, 1])
    assert torch.allclose(model(words[order], lengths[order]), together[order], atol=1e-5)
    wider = functional.pad(words, (0, 9, 0, 2)), functional.pad(lengths, (0, 2))
    assert torch.allclose(model(*wider), together, atol=1e-5)
    for row, counts in enumerate(DOCUMENTS):
        alone = model(
            words[row : row + 1, : len(counts), : max(counts, default=0)], lengths[row : row + 1, : len(counts)]
        )
        assert torch.allclose(alone, together[row : row + 1], atol=1e-5)


@KINDS
def test_a_sentence_that_is_not_there_may_stand_anywhere(axes):
    model, (words, lengths) = network(**axes), documents([[3, 5, 1]])
    expected = model(words, lengths)
    words, lengths = functional.pad(words, (0, 0, 0, 1)), functional.pad(lengths, (0, 1))
    gaps, turned = [3, 0, 3, 1, 2], [2, 1, 0]
    assert torch.allclose(model(words[:, gaps], lengths[:, gaps]), expected, atol=1e-6)
    assert not torch.allclose(model(words[:, turned], lengths[:, turned]), expected, atol=1e-4)


@KINDS
def test_every_parameter_receives_a_gradient(axes):
    model = network(**axes)
    (model(*documents()) * torch.randn(5, 4)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.any(), name


@KINDS
def test_levels_read_one_sentence_after_the_other(axes, one_layer):
    model, (words, lengths) = network(**axes), documents()
    scores = model(words, lengths)
    for row, counts in enumerate(DOCUMENTS):
        vectors = [model.embedding(words[row, s, :count].long()) for s, count in enumerate(counts)]
        sentences = [_read(one_layer, model.sentence, sequence) for sequence in vectors]
        document = (
            _read(one_layer, model.document, torch.stack(sentences))
            if sentences
            else torch.zeros(model.document.features)
        )
        assert torch.allclose(scores[row], model.output.weight @ document + model.output.bias, atol=1e-5)


def _read(one_layer, level, sequence):
    """One vector for one sequence without padding."""
    states, last = one_layer(level.recurrence)(sequence[None])
    if level.pooling == "last":
        return last[0].flatten()
    if level.pooling != "attention":
        return states[0].mean(dim=0) if level.pooling == "mean" else states[0].amax(dim=0)
    importance = level.attention.context(torch.tanh(level.attention.project(states[0])))
    return (importance.softmax(dim=0) * states[0]).sum(dim=0)


def test_label_parameters_have_the_labels_first():
    model = network()
    parameters = dict(model.named_parameters())
    for name in model.label_parameters:
        assert parameters[name].shape[0] == SIZES.labels


def test_dropout_acts_in_training_only():
    model, batch = network(dropout=0.5), documents()
    assert not torch.equal(model.train()(*batch), model(*batch))
    assert torch.equal(model.eval()(*batch), model(*batch))


def test_shapes_of_the_publication():
    model = HierarchicalNetwork(HierarchicalConfig(), Sizes(vocabulary=10, D=200, labels=5))
    assert model.sentence.recurrence.layers[0].weight_ih_l0.shape == (3 * 50, 200)
    assert model.document.recurrence.layers[1].weight_ih_l0.shape == (3 * 50, 100)
    assert model.sentence.attention.project.weight.shape == model.document.attention.project.weight.shape == (100, 100)
    assert model.output.weight.shape == (5, 100)
