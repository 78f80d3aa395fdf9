"""Log-odds of a linear model and of a network add up: by hand, and as capsules."""

import math

import pytest
import torch

from taxocaps.nn.capsules import capsule_lengths, squash
from taxocaps.nn.prior import Prior, log_odds


def prior(counts=(1, 10, 100)):
    made = Prior(len(counts))
    made.set_labels(torch.tensor(counts), 199, torch.tensor([2.0, 1.0, 0.5]), torch.tensor([-1.0, 0.0, 1.0]))
    return made


def test_it_starts_as_the_calibrated_linear_model():
    linear = torch.tensor([[1.0, -2.0, 4.0]])
    assert prior()(torch.full((1, 3), 9.0), linear).tolist() == [[1.0, -2.0, 3.0]]


def test_weights_follow_the_frequency_of_labels():
    made, own = prior(), torch.tensor([[0.3, -0.7, 2.0]])
    with torch.no_grad():
        made.own.copy_(torch.tensor([0.5, 0.25]))
        made.offset.copy_(torch.tensor([0.1, -0.2]))
    logs = [math.log1p(count) for count in (1, 10, 100)]
    mean = sum(logs) / 3
    deviation = math.sqrt(sum((value - mean) ** 2 for value in logs) / 3)
    found = made(own, torch.zeros(1, 3))[0].tolist()
    for label, value in enumerate(logs):
        f = (value - mean) / deviation
        wanted = (-1.0, 0.0, 1.0)[label] + (0.5 + 0.25 * f) * own[0, label].item() + 0.1 - 0.2 * f
        assert found[label] == pytest.approx(wanted, abs=1e-4)


def test_labels_of_one_frequency_have_one_weight():
    made = prior((7, 7, 7))
    assert torch.isfinite(made.frequency).all()
    assert made.frequency.abs().max() < 1e-3


def test_adding_log_odds_scales_the_sum_of_a_capsule():
    """A capsule's length is squash of |s|: with s scaled by exp(p / 2), the log-odds of its length grow by p."""
    s, p = torch.randn(4, 5, generator=torch.Generator().manual_seed(0)), 1.7
    lengths = capsule_lengths(squash(s))
    scaled = capsule_lengths(squash(s * math.exp(p / 2)))
    assert torch.allclose(log_odds(lengths) + p, log_odds(scaled), atol=1e-4)


def test_certain_scores_have_finite_log_odds():
    assert torch.isfinite(log_odds(torch.tensor([0.0, 1.0]))).all()


def test_every_weight_gets_a_gradient():
    made = prior()
    made(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[1.0, 0.0, -1.0]])).sum().backward()
    assert all(weight.grad is not None for weight in made.parameters())
    assert made.own.grad.tolist() == pytest.approx([6.0, float((made.frequency * torch.tensor([1.0, 2.0, 3.0])).sum())])


def test_where_the_linear_model_says_nothing_labels_have_their_frequencies():
    silent = torch.full((1, 3), torch.nan)
    found = prior()(torch.zeros(1, 3), silent)[0].sigmoid().tolist()
    assert found == pytest.approx([1.5 / 200, 10.5 / 200, 100.5 / 200], rel=1e-4)


def test_another_prior_is_continued_label_by_label():
    trained, made = prior(), Prior(4)
    with torch.no_grad():
        trained.own.copy_(torch.tensor([0.5, 0.25]))
    made.set_labels(torch.tensor([3, 3, 3, 3]), 9, torch.ones(4), torch.zeros(4))
    made.continue_from(trained, [2, 0, 3], [0, 1, 2])
    own, linear = torch.tensor([[0.3, -0.7, 2.0]]), torch.tensor([[1.0, -2.0, 4.0]])
    wider = made(own[:, [1, 0, 0, 2]], linear[:, [1, 0, 0, 2]])[0]
    assert wider[[2, 0, 3]].tolist() == pytest.approx(trained(own, linear)[0].tolist())
