"""Routing in the factored form against one that stores every prediction vector: values, gradients, chunks."""

import pytest
import torch

from taxocaps.nn.routing import _couplings, route
from taxocaps.nn.squash import squash


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


@pytest.mark.parametrize("chunk", [2, 7])
def test_couplings_sum_to_one_over_the_labels(capsules, chunk):
    u, weight = (tensor.detach() for tensor in capsules)
    V = torch.randn(3, 7, 8, dtype=torch.float64)
    coupling = torch.cat([part for _, part in _couplings(u, weight, V, chunk)], dim=-1)
    assert coupling.shape == (3, 4, 5, 7)
    assert torch.allclose(coupling.sum(dim=-1), torch.ones(3, 4, 5, dtype=torch.float64))


def test_capsules_of_zero_change_nothing(capsules):
    u, weight = (tensor.detach() for tensor in capsules)
    padded = torch.cat([u, torch.zeros(3, 4, 9, 6, dtype=torch.float64)], dim=2)
    assert torch.allclose(route(padded, weight, 3), route(u, weight, 3), atol=1e-12)


def test_documents_do_not_see_one_another(capsules):
    u, weight = (tensor.detach() for tensor in capsules)
    assert torch.allclose(route(u, weight, 3)[1:2], route(u[1:2], weight, 3), atol=1e-12)
