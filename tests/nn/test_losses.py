"""The margin loss worked by hand, and recursive regularization against a loop."""

import math

import pytest
import torch

from taxocaps.nn.losses import adjustment_factor, cross_entropy, margin_loss, recursive_regularization

SCORES = torch.tensor([[0.6, 0.95, 0.5, 0.05]])
TARGETS = torch.tensor([[1.0, 1.0, 0.0, 0.0]])
EDGES = torch.tensor([[0, 0, 1, 2], [1, 2, 3, 3]])


def test_margin_loss_by_hand():
    # Positives: (0.9 - 0.6)^2 = 0.09 and 0. Negatives: 0.5 * (0.5 - 0.1)^2 = 0.08 and 0.
    assert margin_loss(SCORES, TARGETS).item() == pytest.approx(0.17)


def test_weighted_margin_loss_by_hand():
    weights = torch.tensor([[0.0, 0.0, 0.4, 0.8]])
    # 0.09 + 0.5 * 0.01 * 0.4 * 0.16
    assert margin_loss(SCORES, TARGETS, weights, p=0.01).item() == pytest.approx(0.09 + 0.00032)
    # The negatives' weights sum to 1.2: p = 1 / 1.2.
    assert margin_loss(SCORES, TARGETS, weights, p="sum-to-one").item() == pytest.approx(0.09 + 0.5 / 1.2 * 0.4 * 0.16)


def test_uniform_weights_are_the_plain_loss():
    assert margin_loss(SCORES, TARGETS, torch.ones(1, 4), p=1.0) == margin_loss(SCORES, TARGETS)


def test_weights_of_positives_by_hand():
    weights = torch.tensor([2.0, 3.0, 5.0, 7.0])
    # 2 * 0.09 + 3 * 0 + 0.08: those of labels that the document does not have count for nothing.
    assert margin_loss(SCORES, TARGETS, None, weights).item() == pytest.approx(0.26)
    entropy = -2 * math.log(0.6) - 3 * math.log(0.95) - math.log(0.5) - math.log(0.95)
    assert cross_entropy(SCORES.logit(), TARGETS, weights).item() == pytest.approx(entropy, rel=1e-5)


def test_the_loss_is_a_mean_over_documents():
    twice = margin_loss(SCORES.repeat(2, 1), TARGETS.repeat(2, 1))
    assert twice.item() == pytest.approx(margin_loss(SCORES, TARGETS).item())


@pytest.mark.parametrize(("labels", "expected"), [(103, 0.0098), (10, 0.106)])
def test_the_papers_approximation(labels, expected):
    found = adjustment_factor("approximate", torch.ones(1, labels), torch.zeros(1, labels)).item()
    assert found == pytest.approx(1 / sum(1 - math.exp(-x) for x in range(1, labels + 1)), rel=1e-5)
    assert found == pytest.approx(expected, rel=0.01)


def test_weights_that_sum_to_nothing_cost_nothing():
    loss = margin_loss(SCORES, TARGETS, torch.zeros(1, 4), p="sum-to-one")
    assert loss.item() == pytest.approx(0.09)
    everything = torch.ones(1, 4)
    assert torch.isfinite(margin_loss(SCORES, everything, 1 - everything, p="sum-to-one"))


def test_gradients_push_positives_up_and_negatives_down():
    scores = SCORES.clone().requires_grad_()
    margin_loss(scores, TARGETS).backward()
    assert (scores.grad.sign() == torch.tensor([[-1.0, 0.0, 1.0, 0.0]])).all()


def test_half_the_squared_distances_of_children_from_parents():
    weight = torch.randn(5, 6, generator=torch.Generator().manual_seed(0))
    expected = 0.0
    for parent, child in EDGES.T.tolist():
        for h in range(6):
            expected += 0.5 * (float(weight[child, h]) - float(weight[parent, h])) ** 2
    assert float(recursive_regularization(weight, EDGES)) == pytest.approx(expected, rel=1e-5)
    assert torch.equal(recursive_regularization(weight, EDGES.int()), recursive_regularization(weight, EDGES))


def test_labels_that_equal_their_parents_cost_nothing():
    weight = torch.tensor([[1.0, 2.0]]).expand(5, 2)
    assert recursive_regularization(weight, EDGES) == 0
    assert recursive_regularization(torch.randn(5, 2), EDGES[:, :0]) == 0


def test_the_gradient_pulls_parent_and_child_together():
    weight = torch.tensor([[1.0, 0.0], [3.0, 4.0], [9.0, 9.0]], requires_grad=True)
    recursive_regularization(weight, torch.tensor([[0], [1]])).backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[-2.0, -4.0], [2.0, 4.0], [0.0, 0.0]]
