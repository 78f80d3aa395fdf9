"""Which block a convolution window belongs to."""

import torch
from torch import Tensor

__all__ = ["WINDOW", "window_blocks"]

WINDOW = 3
"""Width of all convolutions: 1 x 3 in the paper."""


def window_blocks(blocks: Tensor, stride: int) -> Tensor:
    """The block of every window: that of its centre, else of its last real place; 0 if all of it is padding.

    Args:
        blocks: For each place of a row the number of its block, from 1; 0 for padding, which stands at the end.
        stride: Step from window to window.

    Shapes:
        blocks: [R, W]; returns [R, W'] with W' = (W - 3) // stride + 1.

    >>> window_blocks(torch.tensor([[1, 1, 2, 2, 0, 0, 0]]), stride=2)
    tensor([[1, 2, 0]])
    """
    first, centre, last = blocks.unfold(1, WINDOW, stride).unbind(dim=-1)  # each [R, W']
    return torch.where(centre > 0, centre, torch.where(last > 0, last, first))  # [R, W']
