"""Convolution with dynamic max pooling and a bottleneck, for many labels: XML-CNN (Liu et al. 2017)."""

from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.nn.contextual import context_layer
from taxocaps.nn.layers import NgramConvolution, dense_layer, distinct_ids
from taxocaps.nn.network import DropoutRate, LayerSize, Network, Sizes, word_embedding

__all__ = ["XMLCNN", "XMLCNNConfig", "dynamic_max"]


class XMLCNNConfig(Config):
    """Options of XML-CNN; the defaults are the published ones for small collections.

    Attributes:
        kind: The name of this network.
        widths: Words in a window, one number per convolution.
        filters: Filters of each convolution.
        chunks: Parts of a document that are pooled separately, p.
        bottleneck: Size of the hidden layer.
        dropout: Dropout rate of the hidden layer.
    """

    section: ClassVar[str] = "network"

    kind: Literal["xml-cnn"] = "xml-cnn"
    widths: tuple[Annotated[int, Between(1, 1000)], ...] = (2, 4, 8)
    filters: LayerSize = 128
    chunks: Annotated[int, Between(1, 10_000)] = 8
    bottleneck: LayerSize = 512
    dropout: DropoutRate = 0.5

    def model_post_init(self, context: object, /) -> None:
        """Check that there is a convolution."""
        if not self.widths:
            raise ConfigError("network.widths must name at least one convolution; got none")


class XMLCNN(Network):
    """Convolutions, dynamic max pooling and a bottleneck: y = W_o ReLU(W_h [P(c^1), ..., P(c^t)] + b_h) + b_o.

    c^k are the features of filter k at all windows, ReLU(w . x_{i:i+h-1} + b), and P(c) the maxima of p chunks of them.

    Departure: chunks divide the windows of each document, where the publication pads all documents to one length. If
    the number of windows is not a multiple of p, neighbouring chunks share a window.

    Shapes:
        words: [B, T], 0 at padding; lengths: [B]; given: see `ContextLayer`; returns logits [B, L].
    """

    Config = XMLCNNConfig
    reads = ("tokens",)
    reads_context = True
    label_parameters = ("output.weight", "output.bias")

    def __init__(self, config: XMLCNNConfig, sizes: Sizes) -> None:
        """Make the layers."""
        super().__init__()
        self.chunks = config.chunks
        self.embedding = word_embedding(sizes)
        self.context = context_layer(sizes)
        self.convolutions = nn.ModuleList(NgramConvolution(sizes.D, config.filters, width) for width in config.widths)
        features = len(config.widths) * config.chunks * config.filters
        self.bottleneck = dense_layer(features, config.bottleneck, "relu")
        self.dropout = nn.Dropout(config.dropout)
        self.output = dense_layer(config.bottleneck, sizes.labels)

    def forward(self, words: Tensor, lengths: Tensor, *given: Tensor) -> Tensor:
        """The logit of each label."""
        positions: Tensor | None = None
        if self.context is None:
            ids, positions = distinct_ids(words.long(), self.embedding.num_embeddings)  # [U], [B, T]
            x = self.embedding(ids)  # [U, D]
        else:  # a word is another one in every document
            x = self.embedding(words.long()) + self.context(*given).everywhere()  # [B, T, D]
        pooled = []
        for convolution in self.convolutions:
            windows, mask = convolution(x, lengths, positions)  # [B, T', F], [B, T']
            # ReLU is monotonic: after the maximum it gives the same and costs less.
            pooled.append(dynamic_max(windows, mask.sum(dim=1), self.chunks).relu().flatten(1))  # [B, p F]
        hidden = self.bottleneck(torch.cat(pooled, dim=1)).relu()  # [B, H]
        logits: Tensor = self.output(self.dropout(hidden))  # [B, L]
        return logits


def dynamic_max(x: Tensor, counts: Tensor, chunks: int) -> Tensor:
    """The maximum of each feature in every chunk of a sequence.

    Chunk k of n positions goes from floor(k n / p) to ceil((k + 1) n / p), exclusive.

    Args:
        x: The sequences.
        counts: The length of each sequence without padding, n, at least 1.
        chunks: The number of chunks, p.

    Shapes:
        x: [B, T, F]; counts: [B]; returns [B, p, F].
    """
    chunk = torch.arange(chunks, device=x.device)  # [p]
    first = chunk * counts[:, None] // chunks  # [B, p]
    last = ((chunk + 1) * counts[:, None] - 1) // chunks  # [B, p]
    steps = torch.arange(int((last - first).max()) + 1, device=x.device)  # [w]
    # A shorter chunk repeats its last position, which does not change the maximum.
    positions = torch.minimum(first[..., None] + steps, last[..., None])  # [B, p, w]
    rows = positions + x.shape[1] * torch.arange(len(x), device=x.device)[:, None, None]  # [B, p, w]
    chosen = x.flatten(0, 1).index_select(0, rows.flatten())  # [B p w, F]
    return chosen.view(*positions.shape, -1).amax(dim=2)  # [B, p, F]
