"""Capsules over n-grams: padding, gradients, shapes, and amended routing against the algorithm in loops."""

import pytest
import torch
from torch.nn import functional

from taxocaps.errors import ConfigError
from taxocaps.nn.blocks import SequenceSizes
from taxocaps.nn.sequence.capsule_text import CapsuleText, CapsuleTextConfig, leaky_route

SIZES = SequenceSizes(vocabulary=30, D=6, labels=4)
LENGTHS = [3, 7, 0, 25, 1, 4]


def network(sizes=SIZES, **options):
    torch.manual_seed(0)
    model = CapsuleText(CapsuleTextConfig(**{"filters": 5, "channels": 3, "capsule_size": 4, **options}), sizes)
    with torch.no_grad():
        for branch in model.branches:  # as after training: so few capsules begin with lengths near 0
            branch.convolutional.mul_(5)
            branch.labels.mul_(50)
            branch.orphan.mul_(50)
    return model


def documents(lengths=LENGTHS):
    """Documents with so many words, filled up with 0."""
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(1, 30, (len(lengths), max(lengths)), generator=generator, dtype=torch.int32)
    lengths = torch.tensor(lengths, dtype=torch.int32)
    return words * (torch.arange(words.shape[1]) < lengths[:, None]), lengths


@pytest.mark.parametrize("branches", [(3,), (3, 4, 5)])
def test_padding_changes_nothing(branches):
    model, (words, lengths) = network(branches=branches).eval(), documents()
    together = model(words, lengths)
    assert together.shape == (len(LENGTHS), 4)
    assert (torch.cdist(together, together) + torch.eye(len(LENGTHS)) > 1e-4).all()  # every document scores differently
    order = torch.randperm(len(LENGTHS), generator=torch.Generator().manual_seed(1))
    assert torch.allclose(model(words[order], lengths[order]), together[order], atol=1e-5)
    assert torch.allclose(model(functional.pad(words, (0, 9)), lengths), together, atol=1e-5)
    for row, length in enumerate(LENGTHS):
        alone = model(words[row : row + 1, :length], lengths[row : row + 1])
        assert torch.allclose(alone, together[row : row + 1], atol=1e-5)


@pytest.mark.parametrize("branches", [(3,), (3, 4, 5)])
def test_every_parameter_receives_a_gradient(branches):
    model = network(branches=branches)
    (model(*documents()) * torch.randn(6, 4)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.any(), name


def test_label_parameters_have_the_labels_first():
    model = network(branches=(3, 4))
    parameters = dict(model.named_parameters())
    for name in model.label_parameters:
        assert parameters[name].shape[0] == SIZES.labels


def looped(u, weight, iterations):
    """Algorithm 1 of the publication for one document, child by child, with every prediction stored."""
    groups, children, _ = u.shape
    pairs = [(g, r) for g in range(groups) for r in range(children)]
    predictions = {(g, r): torch.stack([matrices[:, g] @ u[g, r] for matrices in weight]) for g, r in pairs}
    logits = {pair: torch.zeros(len(weight), dtype=u.dtype) for pair in pairs}
    for _ in range(iterations):
        s = torch.zeros(weight.shape[:2], dtype=u.dtype)
        for pair in pairs:
            shares = logits[pair].exp() / (1 + logits[pair].exp().sum())  # leaky: one more logit of 0
            s = s + (u[pair].norm() * shares)[:, None] * predictions[pair]
        v = torch.stack([row * row.norm() / (1 + row.norm() ** 2) for row in s])
        logits = {pair: logits[pair] + (predictions[pair] * v).sum(dim=1) for pair in pairs}
    return v


def capsules():
    generator = torch.Generator().manual_seed(0)
    u = torch.randn(5, 2, 4, 3, generator=generator, dtype=torch.float64).requires_grad_()
    return u, torch.randn(6, 7, 2, 3, generator=generator, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("iterations", [1, 2, 3])
@pytest.mark.parametrize("chunk", [None, 2])
def test_routing_is_that_of_the_publication(iterations, chunk):
    u, weight = capsules()
    found = leaky_route(u, weight, iterations, chunk)
    expected = torch.stack([looped(document, weight, iterations) for document in u])
    assert torch.allclose(found, expected, atol=1e-10)
    aim = torch.randn(found.shape, dtype=torch.float64)
    for ours, theirs in zip(
        torch.autograd.grad((found * aim).sum(), (u, weight)),
        torch.autograd.grad((expected * aim).sum(), (u, weight)),
        strict=True,
    ):
        assert torch.allclose(ours, theirs, atol=1e-8)


def test_capsules_that_are_not_there_change_nothing():
    u, weight = (tensor.detach() for tensor in capsules())
    padded = torch.cat([u, torch.zeros(5, 2, 9, 3, dtype=torch.float64)], dim=2)
    assert torch.allclose(leaky_route(padded, weight, 3), leaky_route(u, weight, 3), atol=1e-12)


def test_scores_are_capsule_lengths():
    scores = network(branches=(3, 4))(*documents())
    assert ((scores >= 0) & (scores < 1)).all()


def test_branches_are_averaged():
    both = network(branches=(3, 4))
    x, lengths = both.embedding(documents()[0].long()), documents()[1]
    first, second = (branch(x, lengths) for branch in both.branches)
    assert torch.allclose(both(*documents()), ((first + second) / 2).norm(dim=-1), atol=1e-5)


def test_the_orphan_draws_off_what_labels_would_get():
    model, batch = network(), documents()
    before = model(*batch)
    with torch.no_grad():
        model.branches[0].orphan.mul_(20)
    assert (model(*batch) - before).abs().max() > 1e-4


def test_shapes_of_the_publication():
    model = CapsuleText(CapsuleTextConfig(branches=(3, 4, 5)), SequenceSizes(vocabulary=10, D=300, labels=9))
    assert [branch.ngrams.convolution.weight.shape for branch in model.branches] == [(32, 300, w) for w in (3, 4, 5)]
    branch = model.branches[0]
    assert branch.ngrams.convolution.stride == (2,)
    assert branch.primary.weight.shape == (16 * 16, 32)
    assert branch.convolutional.shape == (16, 16, 1, 16)
    assert branch.labels.shape == (9, 16, 16, 16)


def test_a_network_without_branches_is_refused():
    with pytest.raises(ConfigError, match=r"network\.branches"):
        CapsuleTextConfig(branches=())
