"""The margin loss (paper, equations 10 to 12), cross entropy and recursive regularization."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["Adjustment", "adjustment_factor", "cross_entropy", "margin_loss", "recursive_regularization"]

Adjustment = float | Literal["sum-to-one", "approximate"]


def margin_loss(
    scores: Tensor,
    targets: Tensor,
    weights: Tensor | None = None,
    positives: Tensor | float = 1.0,
    *,
    p: Adjustment = 1.0,
    margins: tuple[float, float] = (0.9, 0.1),
    down: float = 0.5,
) -> Tensor:
    """The (weighted) margin loss: summed over labels, averaged over documents.

    L = sum_k w_k T_k max(0, m+ - v_k)^2 + lambda p alpha_k (1 - T_k) max(0, v_k - m-)^2

    Args:
        scores: v, capsule lengths or probabilities, from 0 to 1.
        targets: T, 1 for the labels of the document, 0 for others.
        weights: alpha, the weights of labels as negatives; None for 1.
        positives: w, the weights of labels as positives.
        p: The adjustment factor: a number, or how to compute it; see `adjustment_factor`.
        margins: m+, the score above which a positive has no loss, and m-, that below which a negative has none.
        down: lambda, the weight of negatives relative to positives.

    Shapes:
        scores, targets, weights: [B, L]; positives: [L] or a number; returns [].
    """
    upper, lower = margins
    alpha = torch.ones_like(scores) if weights is None else weights  # [B, L]
    factor = adjustment_factor(p, alpha, targets)  # [] or [B, 1]
    positive = positives * targets * (upper - scores).clamp(min=0).square()  # [B, L]
    negative = down * factor * alpha * (1 - targets) * (scores - lower).clamp(min=0).square()  # [B, L]
    return (positive + negative).sum(dim=1).mean()  # []


def adjustment_factor(p: Adjustment, alpha: Tensor, targets: Tensor) -> Tensor:
    """The factor p of the negatives.

    A number is used as it is. "sum-to-one" makes the weights of a document's negatives sum to 1 (or is 0 if they sum to
    0). "approximate" is the paper's 1 / sum_{x=1..L} (1 - e^-x), about 1 / (L - 0.58).

    Shapes:
        alpha, targets: [B, L]; returns [] or [B, 1].
    """
    if p == "sum-to-one":
        total = (alpha * (1 - targets)).sum(dim=1, keepdim=True)  # [B, 1]
        return torch.where(total > 0, 1 / total.clamp(min=torch.finfo(total.dtype).tiny), 0.0)  # [B, 1]
    if p == "approximate":
        ranks = torch.arange(1, alpha.shape[1] + 1, dtype=alpha.dtype, device=alpha.device)  # [L]
        return 1 / (1 - (-ranks).exp()).sum()  # []
    return torch.as_tensor(p, dtype=alpha.dtype, device=alpha.device)  # []


def cross_entropy(logits: Tensor, targets: Tensor, positives: Tensor | None = None) -> Tensor:
    """The binary cross entropy of each label: summed over labels, averaged over documents.

    Shapes:
        logits, targets: [B, L]; positives, the weights of labels as positives: [L]; returns [].
    """
    each = functional.binary_cross_entropy_with_logits(
        logits, targets, reduction="none", pos_weight=positives
    )  # [B, L]
    return each.sum(dim=1).mean()  # []


def recursive_regularization(weight: Tensor, edges: Tensor) -> Tensor:
    """The distance of the weights of labels from those of their parents (Gopal and Yang, KDD 2013).

    1/2 sum over edges (parent, child) of ||w_child - w_parent||^2; in networks as Peng et al., WWW 2018, section 4.3.

    Args:
        weight: One row of weights per label.
        edges: The parents in the first row, their children in the second.

    Shapes:
        weight: [L, H]; edges: [2, E]; returns [].
    """
    parent, child = edges.long()  # [E], [E]
    difference = weight.index_select(0, child) - weight.index_select(0, parent)  # [E, H]
    return difference.square().sum() / 2  # []
