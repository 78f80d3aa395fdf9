"""Dynamic routing between capsules without ever storing the prediction vectors (paper, equations 6 and 7).

Capsules come in G groups of R; all capsules of a group share one weight matrix per label. The prediction of capsule r
of group g for label j is W_gj u_gr. Its weighted sum needs only the weighted sum of the capsules,

    s_j = sum_g W_gj z_gj,   z_gj = sum_r c_grj u_gr,

and its agreement with an output is linear in that output, so that the routing logits after some iterations are

    b_grj = u_gr . W_gj^T V_j,   V_j = the sum of the outputs so far.

Only V is kept. Where logits for all labels would not fit, they are recomputed for a chunk of labels at a time, in two
passes: one for the sum of exponentials over all labels, one for couplings and outputs. Couplings are constants in the
backward pass, and gradients flow through the last iteration only.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from taxocaps.nn.squash import squash

__all__ = ["route"]

_CHUNK_ELEMENTS = 32_000_000
"""Routing logits, or weights, worked on at a time: 128 MB."""


def route(u: Tensor, weight: Tensor, iterations: int, gain: Tensor | None = None, chunk: int | None = None) -> Tensor:
    """Route capsules to labels.

    Args:
        u: The capsules.
        weight: The matrices W, one per label and group.
        iterations: At least 1; with 1 all couplings are 1 / L.
        gain: A factor on s before the last squash.
        chunk: Labels worked on at a time; by default as many as fit into 128 MB.

    Returns:
        The output capsules; their lengths are the scores of the labels.

    Shapes:
        u: [B, G, R, m]; weight: [L, n, G, m]; gain: []; returns [B, L, n].
    """
    chunk = chunk or max(1, _CHUNK_ELEMENTS // max(u[..., 0].numel(), weight[0].numel(), 1))
    if iterations == 1:
        return _squashed(_even_sum(u, weight), gain)  # [B, L, n]
    with torch.no_grad():
        V = _squashed(_even_sum(u, weight), gain)  # [B, L, n]
        for _ in range(iterations - 2):
            V = V + _squashed(_routed_sum(u, weight, V, chunk), gain)  # [B, L, n]
    return _squashed(_routed_sum(u, weight, V, chunk), gain)  # [B, L, n]


def _even_sum(u: Tensor, weight: Tensor) -> Tensor:
    """s_j where every capsule is coupled to every label alike."""
    z = u.sum(dim=2) / weight.shape[0]  # [B, G, m]
    return (z.flatten(1) @ weight.flatten(2).flatten(0, 1).T).view(len(u), *weight.shape[:2])  # [B, L, n]


def _squashed(s: Tensor, gain: Tensor | None) -> Tensor:
    return squash(s if gain is None else s * gain)


def _routed_sum(u: Tensor, weight: Tensor, V: Tensor, chunk: int) -> Tensor:
    s: Tensor = _RoutedSum.apply(u, weight, V, chunk)  # type: ignore[no-untyped-call]
    return s  # [B, L, n]


class _RoutedSum(torch.autograd.Function):
    """s_j for couplings that follow from V, as a function of u and W; couplings are recomputed when they are needed."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, weight: Tensor, V: Tensor, chunk: int) -> Tensor:
        s = torch.empty_like(V)  # [B, L, n]
        for labels, coupling in _couplings(u, weight, V, chunk):  # [B, G, R, l]
            z = coupling.transpose(2, 3) @ u  # [B, G, l, m]
            s[:, labels] = _to_labels(z, weight[labels])  # [B, l, n]
        ctx.save_for_backward(u, weight, V)
        ctx.chunk = chunk
        return s

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        u, weight, V = ctx.saved_tensors
        grad_u, grad_weight = torch.zeros_like(u), torch.empty_like(weight)
        for labels, coupling in _couplings(u, weight, V, ctx.chunk):  # [B, G, R, l]
            grad_z = _to_capsules(grad[:, labels], weight[labels])  # [B, G, l, m]
            grad_u += coupling @ grad_z  # [B, G, R, m]
            z = coupling.transpose(2, 3) @ u  # [B, G, l, m]
            outer = grad[:, labels].permute(1, 2, 0) @ _by_label(z)  # [l, n, G m]
            grad_weight[labels] = outer.view_as(weight[labels])  # [l, n, G, m]
        return grad_u, grad_weight, None, None


def _couplings(u: Tensor, weight: Tensor, V: Tensor, chunk: int) -> Iterator[tuple[slice, Tensor]]:
    """The couplings of a chunk of labels after the other; over all labels they sum to 1 for every capsule."""
    chunks = [slice(start, start + chunk) for start in range(0, weight.shape[0], chunk)]
    if len(chunks) == 1:
        yield chunks[0], _logits(u, weight, V).softmax(dim=-1)  # [B, G, R, L]
        return
    totals = [_logits(u, weight[labels], V[:, labels]).logsumexp(dim=-1) for labels in chunks]  # each [B, G, R]
    log_total = torch.stack(totals, dim=-1).logsumexp(dim=-1, keepdim=True)  # [B, G, R, 1]
    for labels in chunks:
        yield labels, _logits(u, weight[labels], V[:, labels]).sub_(log_total).exp_()  # [B, G, R, l]


def _logits(u: Tensor, weight: Tensor, V: Tensor) -> Tensor:
    return u @ _to_capsules(V, weight).transpose(2, 3)  # [B, G, R, l]


# One product per label, over all groups at once: the weights, by far the largest tensor, are never copied.


def _to_capsules(v: Tensor, weight: Tensor) -> Tensor:
    """W_gj^T v_j for every group and label: [B, l, n] to [B, G, l, m]."""
    product = v.transpose(0, 1) @ weight.flatten(2)  # [l, B, G m]
    return product.view(*product.shape[:2], *weight.shape[2:]).permute(1, 2, 0, 3)  # [B, G, l, m]


def _to_labels(z: Tensor, weight: Tensor) -> Tensor:
    """sum_g W_gj z_gj for every label: [B, G, l, m] to [B, l, n]."""
    return (_by_label(z) @ weight.flatten(2).transpose(1, 2)).transpose(0, 1)  # [B, l, n]


def _by_label(z: Tensor) -> Tensor:
    return z.permute(2, 0, 1, 3).flatten(2)  # [l, B, G m]
