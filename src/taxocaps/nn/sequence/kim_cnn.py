"""Convolution over word n-grams and the maximum over time: CNN-non-static (Kim 2014)."""

from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.nn.blocks import NgramConvolution, SequenceSizes, masked_max, word_embedding

__all__ = ["KimCNN", "KimCNNConfig"]


class KimCNNConfig(Config):
    """The sizes of the network; the defaults are the published ones.

    Attributes:
        kind: The name of this network.
        widths: Words in a window, one number for each convolution.
        filters: Kernels of each convolution.
        dropout: Share of the features before the last layer that are dropped in training.
    """

    section: ClassVar[str] = "network"

    kind: Literal["kim-cnn"] = "kim-cnn"
    widths: tuple[Annotated[int, Between(1, 1000)], ...] = (3, 4, 5)
    filters: Annotated[int, Between(1, 1_000_000)] = 100
    dropout: Annotated[float, Between(0, 0.95)] = 0.5

    def model_post_init(self, context: object, /) -> None:
        """Check the fields, and that there is a convolution."""
        if not self.widths:
            raise ConfigError("network.widths must name at least one convolution; got none")


class KimCNN(nn.Module):
    """The strongest answer of each kernel: c_i = ReLU(w . x_{i:i+h-1} + b), z_k = max_i c_i of kernel k, y = W z + b.

    Departure: the published limit of 3 on the length of a label's weights is left to the weight decay of training.

    Shapes:
        words: [B, T], 0 for padding; lengths: [B]; returns logits [B, L].
    """

    def __init__(self, config: KimCNNConfig, sizes: SequenceSizes) -> None:
        """Make the layers."""
        super().__init__()
        self.embedding = word_embedding(sizes)
        self.convolutions = nn.ModuleList(NgramConvolution(sizes.D, config.filters, width) for width in config.widths)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(len(config.widths) * config.filters, sizes.labels)
        self.label_parameters = ("output.weight", "output.bias")

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The logit of each label."""
        x = self.embedding(words.long())  # [B, T, D]
        # ReLU never falls, so that it may follow the maximum, where it costs next to nothing.
        pooled = [masked_max(*convolution(x, lengths)).relu() for convolution in self.convolutions]  # each [B, F]
        logits: Tensor = self.output(self.dropout(torch.cat(pooled, dim=1)))  # [B, L]
        return logits
