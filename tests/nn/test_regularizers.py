import pytest
import torch

from taxocaps.nn.regularizers import recursive_regularization

EDGES = torch.tensor([[0, 0, 1, 2], [1, 2, 3, 3]])


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
