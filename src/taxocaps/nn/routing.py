"""Dynamic routing between capsules without ever storing the prediction vectors (paper, equations 6 and 7).

Capsules come in G groups of R; all capsules of a group share one weight matrix per label. The prediction of capsule r
of group g for label j is W_gj u_gr. Its weighted sum needs only the weighted sum of the capsules,

    s_j = sum_g W_gj z_gj,   z_gj = sum_r c_grj u_gr,

and its agreement with an output is linear in that output, so that the routing logits after some iterations are

    b_grj = u_gr . W_gj^T V_j,   V_j = the sum of the outputs so far.

Only V is kept. Logits and couplings are recomputed for a chunk of labels at a time, in two passes: one for the sum of
exponentials over all labels, one for couplings and outputs. Couplings are constants in the backward pass, and gradients
flow through the last iteration only.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from taxocaps.nn.squash import squash

__all__ = ["route"]

_CHUNK_ELEMENTS = 16_000_000
"""Routing logits held at a time: 64 MB."""


def route(u: Tensor, weight: Tensor, iterations: int, gain: Tensor | None = None, chunk: int | None = None) -> Tensor:
    """Route capsules to labels.

    Args:
        u: The capsules.
        weight: The matrices W, one per label and group.
        iterations: At least 1; with 1 all couplings are 1 / L.
        gain: A factor on s before the last squash.
        chunk: Labels worked on at a time; by default as many as fit into 64 MB of logits.

    Returns:
        The output capsules; their lengths are the scores of the labels.

    Shapes:
        u: [B, G, R, m]; weight: [L, n, G, m]; gain: []; returns [B, L, n].
    """
    batch, groups, rows, _ = u.shape
    labels = weight.shape[0]
    chunk = chunk or max(1, _CHUNK_ELEMENTS // max(batch * groups * rows, 1))
    outputs = torch.zeros(batch, labels, weight.shape[1], dtype=u.dtype, device=u.device)  # [B, L, n]
    with torch.no_grad():
        for _ in range(iterations - 1):
            outputs = outputs + _squashed(_routed_sum(u, weight, outputs, chunk), gain)  # [B, L, n]
    return _squashed(_routed_sum(u, weight, outputs, chunk), gain)  # [B, L, n]


def _squashed(s: Tensor, gain: Tensor | None) -> Tensor:
    return squash(s if gain is None else s * gain)


def _routed_sum(u: Tensor, weight: Tensor, V: Tensor, chunk: int) -> Tensor:
    s: Tensor = _RoutedSum.apply(u, weight, V, chunk)  # type: ignore[no-untyped-call]
    return s  # [B, L, n]


class _RoutedSum(torch.autograd.Function):
    """s_j for couplings that follow from V, as a function of u and W; couplings are recomputed when they are needed."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, weight: Tensor, V: Tensor, chunk: int) -> Tensor:
        log_total = _log_total(u, weight, V, chunk)  # [B, G, R, 1]
        s = torch.empty_like(V)  # [B, L, n]
        for labels in _chunks(weight, chunk):
            coupling = _coupling(u, weight[labels], V[:, labels], log_total)  # [B, G, R, l]
            z = coupling.transpose(2, 3) @ u  # [B, G, l, m]
            s[:, labels] = torch.einsum("bglm,lngm->bln", z, weight[labels])  # [B, l, n]
        ctx.save_for_backward(u, weight, V, log_total)
        ctx.chunk = chunk
        return s

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        u, weight, V, log_total = ctx.saved_tensors
        grad_u, grad_weight = torch.zeros_like(u), torch.empty_like(weight)
        for labels in _chunks(weight, ctx.chunk):
            coupling = _coupling(u, weight[labels], V[:, labels], log_total)  # [B, G, R, l]
            grad_z = torch.einsum("bln,lngm->bglm", grad[:, labels], weight[labels])  # [B, G, l, m]
            grad_u += coupling @ grad_z  # [B, G, R, m]
            z = coupling.transpose(2, 3) @ u  # [B, G, l, m]
            grad_weight[labels] = torch.einsum("bln,bglm->lngm", grad[:, labels], z)  # [l, n, G, m]
        return grad_u, grad_weight, None, None


def _chunks(weight: Tensor, chunk: int) -> Iterator[slice]:
    return (slice(start, start + chunk) for start in range(0, weight.shape[0], chunk))


def _log_total(u: Tensor, weight: Tensor, V: Tensor, chunk: int) -> Tensor:
    """The logarithm of the sum over all labels of exp(b), for every capsule: [B, G, R, 1]."""
    totals = [
        _logits(u, weight[labels], V[:, labels]).logsumexp(dim=-1, keepdim=True)  # [B, G, R, 1]
        for labels in _chunks(weight, chunk)
    ]
    return torch.cat(totals, dim=-1).logsumexp(dim=-1, keepdim=True)  # [B, G, R, 1]


def _coupling(u: Tensor, weight: Tensor, V: Tensor, log_total: Tensor) -> Tensor:
    return (_logits(u, weight, V) - log_total).exp_()  # [B, G, R, l]


def _logits(u: Tensor, weight: Tensor, V: Tensor) -> Tensor:
    expected = torch.einsum("bln,lngm->bgml", V, weight)  # [B, G, m, l]
    return u @ expected  # [B, G, R, l]
