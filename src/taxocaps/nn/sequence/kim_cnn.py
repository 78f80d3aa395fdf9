"""Convolution over word n-grams and the maximum over time: CNN-non-static (Kim 2014)."""

from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.nn.layers import NgramConvolution, dense_layer, distinct_ids, masked_max
from taxocaps.nn.network import DropoutRate, LayerSize, Network, Sizes, word_embedding

__all__ = ["KimCNN", "KimCNNConfig"]


class KimCNNConfig(Config):
    """Options of the convolutional network; the defaults are the published ones.

    Attributes:
        kind: The name of this network.
        widths: Words in a window, one number per convolution.
        filters: Filters of each convolution.
        dropout: Dropout rate before the last layer.
    """

    section: ClassVar[str] = "network"

    kind: Literal["kim-cnn"] = "kim-cnn"
    widths: tuple[Annotated[int, Between(1, 1000)], ...] = (3, 4, 5)
    filters: LayerSize = 100
    dropout: DropoutRate = 0.5

    def model_post_init(self, context: object, /) -> None:
        """Check that there is a convolution."""
        if not self.widths:
            raise ConfigError("network.widths must name at least one convolution; got none")


class KimCNN(Network):
    """Convolutions, max pooling over time: c_i = ReLU(w . x_{i:i+h-1} + b), z_k = max_i c_i of filter k, y = W z + b.

    Departure: instead of the published bound of 3 on the norm of a label's weights there is weight decay.

    Shapes:
        words: [B, T], 0 at padding; lengths: [B]; returns logits [B, L].
    """

    Config = KimCNNConfig
    reads = ("tokens",)
    label_parameters = ("output.weight", "output.bias")

    def __init__(self, config: KimCNNConfig, sizes: Sizes) -> None:
        """Make the layers."""
        super().__init__()
        self.embedding = word_embedding(sizes)
        self.convolutions = nn.ModuleList(NgramConvolution(sizes.D, config.filters, width) for width in config.widths)
        self.dropout = nn.Dropout(config.dropout)
        self.output = dense_layer(len(config.widths) * config.filters, sizes.labels)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The logit of each label."""
        ids, positions = distinct_ids(words.long(), self.embedding.num_embeddings)  # [U], [B, T]
        x = self.embedding(ids)  # [U, D]
        found = [convolution(x, lengths, positions) for convolution in self.convolutions]  # each [B, T', F], [B, T']
        # ReLU is monotonic: after the maximum it gives the same and costs less.
        pooled = [masked_max(windows, mask).relu() for windows, mask in found]  # each [B, F]
        logits: Tensor = self.output(self.dropout(torch.cat(pooled, dim=1)))  # [B, L]
        return logits
