"""What went on inside a network over words-matrices while it read one document (paper, Figure 6)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from taxocaps.nn.attention import BlockAttention
from taxocaps.nn.capsules import LabelCapsules

__all__ = ["BlockFactors", "Trace", "trace"]


@dataclass(frozen=True)
class BlockFactors:
    """The block attention of one layer: the block of each window of each row, 0 for none, and its factor; [R, W]."""

    blocks: Tensor
    alpha: Tensor


@dataclass
class Trace:
    """One document's way through a network, kept with its gradients.

    Attributes:
        scores: [L] what the network gave.
        capsules: [1, N, M, m] what was routed to the labels; None in a network without capsules.
        attention: The block attention of each layer that has one.
    """

    scores: Tensor
    capsules: Tensor | None = None
    attention: list[BlockFactors] = field(default_factory=list)

    def row_shares(self, label: int) -> Tensor | None:
        """How much each row gave to a label: coupling times agreement, summed over its capsules; None without capsules.

        Of row i that is sum_k c_ikj (u_hat_ikj . v_j) after the last iteration, here over the sum of all absolute
        values. It is read off a gradient: the length of v_j depends on s_j = sum_ik c_ikj u_hat_ikj by the length of
        s_j alone, so its gradient in s_j points along v_j; and couplings are constants of the gradient. Gradient times
        input over the capsules is thus the sum above, but for a factor that is the same for all rows.

        Shapes:
            returns [N].
        """
        if self.capsules is None:
            return None
        (slope,) = torch.autograd.grad(self.scores[label], self.capsules, retain_graph=True)  # [1, N, M, m]
        given = (slope * self.capsules.detach()).sum(dim=(0, 2, 3))  # [N]
        return given / given.abs().sum().clamp(min=1e-30)  # [N]


def trace(network: nn.Module, inputs: Sequence[Tensor]) -> Trace:
    """Let a network read one document and listen to its layers; no other thread may use it meanwhile.

    Args:
        network: Any network, its dropout switched off.
        inputs: As the network takes them, each [1, ...].
    """
    found = Trace(torch.empty(0))
    with _listening(network, found), torch.inference_mode(False), torch.enable_grad():
        found.scores = network(*inputs)[0]  # [L]
    return found


@contextmanager
def _listening(network: nn.Module, found: Trace) -> Iterator[None]:
    def routed(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        found.capsules = inputs[0]  # [1, N, M, m]

    def attended(module: nn.Module, inputs: tuple[Any, ...], alpha: Tensor) -> None:
        _rank, _counts, blocks = inputs  # [R], [R], [R, W]
        found.attention.append(BlockFactors(blocks, alpha.detach()))

    handles = []
    for module in network.modules():
        if isinstance(module, LabelCapsules):
            handles.append(module.register_forward_pre_hook(routed))
        elif isinstance(module, BlockAttention):
            handles.append(module.register_forward_hook(attended))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
