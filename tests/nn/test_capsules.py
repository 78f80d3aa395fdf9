"""Capsules: squash by hand, factored routing and every sharing against stored prediction vectors."""

import pytest
import torch

import taxocaps.nn.capsules
from taxocaps.nn.capsules import LabelCapsules, PrimaryCapsules, _couplings, capsule_lengths, route, squash

N, M, m, L, n = 4, 3, 5, 6, 7


def test_lengths_by_hand():
    # |s| = 5: 25/26; the direction stays.
    v = squash(torch.tensor([3.0, 4.0]))
    assert v.norm().item() == pytest.approx(25 / 26)
    assert (v / v.norm()).tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e-8, 1.0, 1e8])
def test_value_and_gradient_are_finite(scale):
    s = torch.full((3, 4), scale, requires_grad=True)
    squash(s).sum().backward()
    assert torch.isfinite(squash(s)).all()
    assert torch.isfinite(s.grad).all()


def test_lengths_stay_below_one_and_grow():
    lengths = squash(torch.linspace(0, 50, 100)[:, None] * torch.ones(1, 3)).norm(dim=-1)
    assert (lengths.diff() > 0).all()
    assert lengths.max() < 1


def test_the_length_of_a_capsule_of_zeros_has_a_gradient():
    v = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    found = capsule_lengths(v)
    assert found.tolist() == pytest.approx([5, 0], abs=1e-5)
    found.sum().backward()
    assert torch.isfinite(v.grad).all()


def stored(u, weight, iterations, gain=None):
    """As the papers write it: prediction vectors, logits and couplings in full; couplings are constants."""
    predictions = torch.einsum("lngm,bgrm->bgrln", weight, u)
    logits = torch.zeros(predictions.shape[:-1], dtype=u.dtype)
    for iteration in range(iterations):
        coupling = logits.softmax(dim=-1).detach()
        s = (coupling[..., None] * predictions).sum(dim=(1, 2))
        v = squash(s if gain is None else s * gain)
        if iteration < iterations - 1:
            logits = logits + (predictions * v[:, None, None]).sum(dim=-1).detach()
    return v


@pytest.fixture
def capsules():
    generator = torch.Generator().manual_seed(0)
    u = torch.randn(3, 4, 5, 6, generator=generator, dtype=torch.float64).requires_grad_()
    weight = torch.randn(7, 8, 4, 6, generator=generator, dtype=torch.float64).requires_grad_()
    return u, weight


@pytest.fixture(params=[None, 175], ids=["one block", "blocks of five and of two"])
def blocks(request, monkeypatch):
    """Blocks of routing logits are made in the same place, one after another."""
    if request.param:
        monkeypatch.setattr(taxocaps.nn.capsules, "_BLOCK_ELEMENTS", (request.param, request.param))


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("iterations", [1, 2, 3, 5])
@pytest.mark.parametrize("chunk", [None, 1, 3])
@pytest.mark.parametrize("gain", [None, 4.0])
def test_values_and_gradients_equal_the_stored_form(capsules, iterations, chunk, gain):
    factor = None if gain is None else torch.tensor(gain, dtype=torch.float64, requires_grad=True)
    found, expected = route(*capsules, iterations, factor, chunk), stored(*capsules, iterations, factor)
    assert torch.allclose(found, expected, atol=1e-12)
    inputs = [*capsules, *([] if factor is None else [factor])]
    aim = torch.randn(found.shape, dtype=torch.float64)
    for ours, theirs in zip(
        torch.autograd.grad((found * aim).sum(), inputs),
        torch.autograd.grad((expected * aim).sum(), inputs),
        strict=True,
    ):
        assert torch.allclose(ours, theirs, atol=1e-10)


def test_the_gradient_is_that_of_the_function(capsules):
    # With one iteration the couplings do not depend on the input, and the gradient can be checked by differences.
    assert torch.autograd.gradcheck(lambda u, w: route(u, w, 1), capsules)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("chunk", [2, 7])
def test_couplings_sum_to_one_over_the_labels(capsules, chunk):
    u, weight = (tensor.detach() for tensor in capsules)
    V = torch.randn(3, 7, 8, dtype=torch.float64)
    parts = [torch.cat([part.clone() for _, part in couplings]) for _, couplings in _couplings(u, weight, V, chunk)]
    coupling = torch.cat(parts, dim=-1).view(3, 4, 5, 7)
    assert torch.allclose(coupling.sum(dim=-1), torch.ones(3, 4, 5, dtype=torch.float64))


def test_capsules_of_zero_change_nothing(capsules):
    u, weight = (tensor.detach() for tensor in capsules)
    padded = torch.cat([u, torch.zeros(3, 4, 9, 6, dtype=torch.float64)], dim=2)
    assert torch.allclose(route(padded, weight, 3), route(u, weight, 3), atol=1e-12)


def test_documents_do_not_see_one_another(capsules):
    u, weight = (tensor.detach() for tensor in capsules)
    assert torch.allclose(route(u, weight, 3)[1:2], route(u[1:2], weight, 3), atol=1e-12)


def test_primary_capsules_are_squashed_and_see_their_row_only():
    torch.manual_seed(0)
    layer, x = PrimaryCapsules(width=4, features=8, channels=M, size=m), torch.randn(10, 4, 8)
    found = layer(x)
    assert found.shape == (10, M, m)
    assert (found.norm(dim=-1) < 1).all()
    assert torch.allclose(layer(x[3:4]), found[3:4], atol=1e-6)


def full_weight(layer, sharing):
    """W_ij for every capsule i = (row, channel) and label j: [N, M, L, n, m]."""
    weight = layer.weight.permute(2, 0, 1, 3)  # [G, L, n, m]
    if sharing == "none":
        return weight.reshape(N, M, L, n, m)
    return (weight if sharing == "channel" else weight.expand(M, L, n, m)).expand(N, M, L, n, m)


@pytest.mark.parametrize("sharing", ["none", "channel", "label"])
def test_every_sharing_equals_full_matrices(sharing):
    torch.manual_seed(1)
    layer, u = LabelCapsules((N, M, m), L, n, sharing=sharing), torch.randn(2, N, M, m)
    predictions = torch.einsum("rclnm,brcm->brcln", full_weight(layer, sharing), u)
    logits = torch.zeros(2, N, M, L)
    for _ in range(3):
        v = squash((logits.softmax(dim=-1)[..., None] * predictions).sum(dim=(1, 2)))
        logits = logits + (predictions * v[:, None, None]).sum(dim=-1)
    assert torch.allclose(layer(u), v, atol=1e-5)


@pytest.mark.parametrize("sharing", ["none", "channel", "label"])
@pytest.mark.parametrize("compress", [None, 2])
def test_rows_that_are_not_there_change_nothing(sharing, compress):
    torch.manual_seed(2)
    layer = LabelCapsules((N, M, m), L, n, sharing=sharing, compress=compress, gain=2.0)
    u = torch.randn(2, 2, M, m)
    padded = torch.cat([u, torch.zeros(2, 2, M, m)], dim=1)
    assert torch.allclose(layer(padded), layer(u), atol=1e-6)


def test_sizes():
    assert LabelCapsules((N, M, m), L, n).weight.numel() == L * n * M * m
    assert LabelCapsules((N, M, m), L, n, sharing="none").weight.numel() == L * n * N * M * m
    assert LabelCapsules((N, M, m), L, n, sharing="label").weight.numel() == L * n * m
    assert LabelCapsules((N, M, m), L, n, compress=9).weight.numel() == L * n * 9 * m
