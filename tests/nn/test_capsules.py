"""Label capsules in every way of sharing, against prediction vectors that are stored in full."""

import pytest
import torch

from taxocaps.nn.capsules import LabelCapsules, PrimaryCapsules
from taxocaps.nn.squash import squash

N, M, m, L, n = 4, 3, 5, 6, 7


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
