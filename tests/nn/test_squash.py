import pytest
import torch

from taxocaps.nn.squash import squash


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
