"""Penalties on weights that use the taxonomy (Gopal and Yang, KDD 2013; Peng et al., WWW 2018, section 4.3)."""

from torch import Tensor

__all__ = ["recursive_regularization"]


def recursive_regularization(weight: Tensor, edges: Tensor) -> Tensor:
    """How far the weights of labels lie from those of their parents.

    1/2 sum over edges (parent, child) of ||w_child - w_parent||^2

    Args:
        weight: One row of weights per label.
        edges: The parents in the first row, their children in the second.

    Shapes:
        weight: [L, H]; edges: [2, E]; returns [].
    """
    parent, child = edges.long()  # [E], [E]
    difference = weight.index_select(0, child) - weight.index_select(0, parent)  # [E, H]
    return difference.square().sum() / 2  # []
