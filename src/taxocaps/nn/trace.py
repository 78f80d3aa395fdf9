"""The trace of a network over words-matrices: capsules and attention for one document (paper, Figure 6)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from taxocaps.nn.capsules import LabelCapsules
from taxocaps.nn.rows import BlockAttention

__all__ = ["BlockFactors", "Trace", "trace"]


@dataclass(frozen=True)
class BlockFactors:
    """The block attention of one layer: the block of each window of each row, 0 for none, and its factor; [R, W]."""

    blocks: Tensor
    alpha: Tensor


@dataclass
class Trace:
    """What a network computed for one document, with the graph of its gradients.

    Attributes:
        scores: [L] the values of the labels.
        capsules: [1, N, M, m] the capsules that were routed to the labels; None in a network without capsules.
        attention: The block attention of each layer that has one.
    """

    scores: Tensor
    capsules: Tensor | None = None
    attention: list[BlockFactors] = field(default_factory=list)

    def row_shares(self, label: int) -> Tensor | None:
        """The contribution of each row to a label: coupling times agreement, summed over its capsules.

        For row i this is sum_k c_ikj (u_hat_ikj . v_j) after the last iteration, here divided by the sum of all
        absolute values. It is computed from a gradient: the length of v_j depends on s_j = sum_ik c_ikj u_hat_ikj only
        by the length of s_j, so its gradient in s_j points along v_j; and couplings are constants of the gradient.
        Gradient times input, summed over the capsules, is thus the sum above up to a factor that is the same for all
        rows.

        Shapes:
            returns [N], or None for a network without capsules.
        """
        if self.capsules is None:
            return None
        (gradient,) = torch.autograd.grad(self.scores[label], self.capsules, retain_graph=True)  # [1, N, M, m]
        contribution = (gradient * self.capsules.detach()).sum(dim=(0, 2, 3))  # [N]
        return contribution / contribution.abs().sum().clamp(min=1e-30)  # [N]


def trace(network: nn.Module, inputs: Sequence[Tensor]) -> Trace:
    """Run a network on one document and record its layers; no other thread may use the network meanwhile.

    Args:
        network: Any network, in evaluation mode.
        inputs: The inputs of the network, each [1, ...].
    """
    recorded = Trace(torch.empty(0))
    with _hooks(network, recorded), torch.inference_mode(False), torch.enable_grad():
        recorded.scores = network(*inputs)[0]  # [L]
    return recorded


@contextmanager
def _hooks(network: nn.Module, recorded: Trace) -> Iterator[None]:
    def record_capsules(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        recorded.capsules = inputs[0]  # [1, N, M, m]

    def record_attention(module: nn.Module, inputs: tuple[Any, ...], alpha: Tensor) -> None:
        _rank, _block_counts, blocks = inputs  # [R], [R], [R, W]
        recorded.attention.append(BlockFactors(blocks, alpha.detach()))

    handles = []
    for module in network.modules():
        if isinstance(module, LabelCapsules):
            handles.append(module.register_forward_pre_hook(record_capsules))
        elif isinstance(module, BlockAttention):
            handles.append(module.register_forward_hook(record_attention))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
