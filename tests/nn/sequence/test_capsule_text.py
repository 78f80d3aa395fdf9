"""Capsules over n-grams: padding, gradients, shapes, and amended routing against the algorithm in loops."""

import pytest
import torch

from taxocaps.errors import ConfigError
from taxocaps.nn.layers import distinct_ids
from taxocaps.nn.network import Sizes
from taxocaps.nn.sequence.capsule_text import CapsuleText, CapsuleTextConfig, leaky_route

SIZES = Sizes(vocabulary=30, D=6, labels=4)
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


@pytest.mark.parametrize("branches", [(3,), (3, 4, 5)])
def test_padding_changes_nothing(documents, check_padding, branches):
    assert check_padding(network(branches=branches), *documents(LENGTHS)).shape == (len(LENGTHS), 4)


@pytest.mark.parametrize("routing", ["leaky", "plain"])
@pytest.mark.parametrize("sharing", ["channel", "all"])
def test_padding_changes_nothing_in_any_routing(documents, check_padding, routing, sharing):
    check_padding(network(routing=routing, sharing=sharing), *documents(LENGTHS))


@pytest.mark.parametrize("branches", [(3,), (3, 4, 5)])
def test_every_parameter_receives_a_gradient(documents, check_gradients, branches):
    check_gradients(network(branches=branches), documents(LENGTHS))


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


def test_scores_are_capsule_lengths(documents):
    scores = network(branches=(3, 4))(*documents(LENGTHS))
    assert ((scores >= 0) & (scores < 1)).all()


def test_branches_are_averaged(documents):
    both = network(branches=(3, 4))
    words, lengths = documents(LENGTHS)
    ids, positions = distinct_ids(words.long(), both.embedding.num_embeddings)
    first, second = (branch(both.embedding(ids), lengths, positions) for branch in both.branches)
    assert torch.allclose(both(*documents(LENGTHS)), ((first + second) / 2).norm(dim=-1), atol=1e-5)


def test_the_orphan_draws_off_what_labels_would_get(documents):
    model, batch = network(), documents(LENGTHS)
    before = model(*batch)
    with torch.no_grad():
        model.branches[0].orphan.mul_(20)
    assert (model(*batch) - before).abs().max() > 1e-4


def test_shapes_of_the_publication():
    model = CapsuleText(CapsuleTextConfig(branches=(3, 4, 5)), Sizes(vocabulary=10, D=300, labels=9))
    assert [branch.ngrams.convolution.weight.shape for branch in model.branches] == [(32, 300, w) for w in (3, 4, 5)]
    branch = model.branches[0]
    assert branch.ngrams.convolution.stride == (2,)
    assert branch.primary.weight.shape == (16 * 16, 32)
    assert branch.convolutional.shape == (16, 16, 1, 16)
    assert branch.labels.shape == (9, 16, 16, 16)


def test_one_matrix_of_a_label_for_all_channels(documents):
    """Equal matrices in all channels are the same as one for all of them, whatever the routing."""
    for routing in ("leaky", "plain"):
        one, each = network(routing=routing, sharing="all"), network(routing=routing)
        assert one.branches[0].labels.shape == (4, 4, 1, 4)
        weights = one.state_dict()
        for name in ("branches.0.labels", "branches.0.orphan"):
            weights[name] = weights[name].expand(-1, -1, 3, -1)
        each.load_state_dict(weights)
        assert torch.allclose(one(*documents(LENGTHS)), each(*documents(LENGTHS)), atol=1e-6)


def test_plain_routing_has_no_leak_and_no_lengths(documents):
    batch, scores = documents(LENGTHS), {}
    for routing in ("leaky", "plain"):
        scores[routing] = network(routing=routing)(*batch)
    assert (scores["plain"] - scores["leaky"]).abs().max() > 1e-4


def test_a_network_without_branches_is_refused():
    with pytest.raises(ConfigError, match=r"network\.branches"):
        CapsuleTextConfig(branches=())
