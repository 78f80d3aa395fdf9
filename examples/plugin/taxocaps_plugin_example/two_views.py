"""A network that reads a document twice: as a words-matrix and as a sequence of words."""

from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn

from taxocaps.config import Between, Config
from taxocaps.nn.layers import masked_max, sequence_mask
from taxocaps.nn.network import Network, Sizes, word_embedding

__all__ = ["TwoViews", "TwoViewsConfig"]


class TwoViewsConfig(Config):
    """The options of the network.

    Attributes:
        kind: The name of this network.
        filters: Features of each view.
        dropout: Dropout rate of the features.
    """

    section: ClassVar[str] = "network"

    kind: Literal["two-views"] = "two-views"
    filters: Annotated[int, Between(1, 10_000)] = 128
    dropout: Annotated[float, Between(0, 0.95)] = 0.3


class TwoViews(Network):
    """The strongest features of rows and of words side by side.

    Shapes:
        words, blocks: [B, N, T]; block_counts: [B, N]; ids: [B, W]; lengths: [B]; returns logits [B, L].
    """

    Config = TwoViewsConfig
    reads = ("words-matrix", "tokens")
    label_parameters = ("output.weight", "output.bias")

    def __init__(self, config: TwoViewsConfig, sizes: Sizes) -> None:
        """Make the layers."""
        super().__init__()
        self.embedding = word_embedding(sizes)
        self.rows = nn.Linear(sizes.D, config.filters)
        self.words = nn.Linear(sizes.D, config.filters)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(2 * config.filters, sizes.labels)

    def forward(self, words: Tensor, blocks: Tensor, block_counts: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
        """The logit of each label."""
        sizes = (words > 0).sum(dim=2, keepdim=True).clamp(min=1)  # [B, N, 1]
        means = self.embedding(words.long()).sum(dim=2) / sizes  # [B, N, D]
        rows = masked_max(self.rows(means).relu(), block_counts > 0)  # [B, F]
        each = self.words(self.embedding(ids.long())).relu()  # [B, W, F]
        tokens = masked_max(each, sequence_mask(lengths, ids.shape[1]))  # [B, F]
        logits: Tensor = self.output(self.dropout(torch.cat([rows, tokens], dim=1)))  # [B, L]
        return logits
