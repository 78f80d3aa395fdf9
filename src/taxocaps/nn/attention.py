"""Block attention: one free factor for each kind of block (paper section 3.1, Figure 3)."""

import torch
from torch import Tensor, nn

__all__ = ["BlockAttention"]


class BlockAttention(nn.Module):
    """The factors alpha_{B_{rank, q, b}}: one per rank of a row, number q of its blocks, and place b of a block.

    All words of a block share its factor, and rows of the same rank with the same number of blocks share theirs, over
    all documents. Factors begin at 1, where attention changes nothing.

    Shapes:
        rank: [R]; counts: [R]; blocks: [R, W]; returns [R, W].
    """

    def __init__(self, ranks: int, most_blocks: int) -> None:
        """Make the factors.

        Args:
            ranks: Rows of a words-matrix, N.
            most_blocks: Blocks that a row can have, at most its number of words T.
        """
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(ranks, most_blocks + 1, most_blocks + 1))

    def forward(self, rank: Tensor, counts: Tensor, blocks: Tensor) -> Tensor:
        """The factor of every place of every row."""
        alpha: Tensor = self.alpha[rank[:, None], counts[:, None], blocks]  # [R, W]
        return alpha
