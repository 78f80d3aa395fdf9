"""Convolution with dynamic max pooling and a bottleneck, for many labels: XML-CNN (Liu et al. 2017)."""

from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.nn.blocks import NgramConvolution, SequenceSizes, word_embedding

__all__ = ["XMLCNN", "XMLCNNConfig", "dynamic_max"]

_Size = Annotated[int, Between(1, 1_000_000)]


class XMLCNNConfig(Config):
    """The sizes of the network; the defaults are the published ones for small collections.

    Attributes:
        kind: The name of this network.
        widths: Words in a window, one number for each convolution.
        filters: Kernels of each convolution.
        chunks: Parts of a document that are pooled by themselves, p.
        bottleneck: Numbers in the hidden layer.
        dropout: Share of the hidden layer that is dropped in training.
    """

    section: ClassVar[str] = "network"

    kind: Literal["xml-cnn"] = "xml-cnn"
    widths: tuple[Annotated[int, Between(1, 1000)], ...] = (2, 4, 8)
    filters: _Size = 128
    chunks: Annotated[int, Between(1, 10_000)] = 8
    bottleneck: _Size = 512
    dropout: Annotated[float, Between(0, 0.95)] = 0.5

    def model_post_init(self, context: object, /) -> None:
        """Check the fields, and that there is a convolution."""
        if not self.widths:
            raise ConfigError("network.widths must name at least one convolution; got none")


class XMLCNN(nn.Module):
    """The strongest answer of each kernel in each chunk: y = W_o ReLU(W_h [P(c^1), ..., P(c^t)] + b_h) + b_o.

    c^k are the answers of kernel k to all windows, ReLU(w . x_{i:i+h-1} + b), and P(c) the maxima of p chunks of them.

    Departure: chunks part each document's own windows instead of those of all documents filled up to one length. Where
    the number of windows is no multiple of p, neighbouring chunks share a window.

    Shapes:
        words: [B, T], 0 for padding; lengths: [B]; returns logits [B, L].
    """

    def __init__(self, config: XMLCNNConfig, sizes: SequenceSizes) -> None:
        """Make the layers."""
        super().__init__()
        self.chunks = config.chunks
        self.embedding = word_embedding(sizes)
        self.convolutions = nn.ModuleList(NgramConvolution(sizes.D, config.filters, width) for width in config.widths)
        self.bottleneck = nn.Linear(len(config.widths) * config.chunks * config.filters, config.bottleneck)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.bottleneck, sizes.labels)
        self.label_parameters = ("output.weight", "output.bias")

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The logit of each label."""
        x = self.embedding(words.long())  # [B, T, D]
        pooled = []
        for convolution in self.convolutions:
            windows, mask = convolution(x, lengths)  # [B, T', F], [B, T']
            # ReLU never falls, so that it may follow the maximum, where it costs less.
            pooled.append(dynamic_max(windows, mask.sum(dim=1), self.chunks).relu().flatten(1))  # [B, p F]
        hidden = self.bottleneck(torch.cat(pooled, dim=1)).relu()  # [B, H]
        logits: Tensor = self.output(self.dropout(hidden))  # [B, L]
        return logits


def dynamic_max(x: Tensor, counts: Tensor, chunks: int) -> Tensor:
    """The greatest value of each feature in every chunk of a sequence's first places.

    Chunk k of n places are those from floor(k n / p) on and before ceil((k + 1) n / p).

    Args:
        x: The sequences.
        counts: The places of each sequence that count, n, at least 1.
        chunks: The number of chunks, p.

    Shapes:
        x: [B, T, F]; counts: [B]; returns [B, p, F].
    """
    numbers = torch.arange(chunks, device=x.device)  # [p]
    first = numbers * counts[:, None] // chunks  # [B, p]
    last = ((numbers + 1) * counts[:, None] - 1) // chunks  # [B, p]
    steps = torch.arange(int((last - first).max()) + 1, device=x.device)  # [w]
    # A chunk with fewer places repeats its last one, which changes no maximum.
    places = torch.minimum(first[..., None] + steps, last[..., None])  # [B, p, w]
    rows = places + x.shape[1] * torch.arange(len(x), device=x.device)[:, None, None]  # [B, p, w]
    chosen = x.flatten(0, 1).index_select(0, rows.flatten())  # [B p w, F]
    return chosen.view(*places.shape, -1).amax(dim=2)  # [B, p, F]
