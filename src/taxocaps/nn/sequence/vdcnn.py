"""Very deep convolutional network over characters (Conneau et al., EACL 2017; arXiv 1606.01781 of 2016)."""

import itertools
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.config import Config
from taxocaps.errors import ConfigError
from taxocaps.nn.layers import dense_layer, sequence_mask
from taxocaps.nn.network import LayerSize, Network, Sizes, word_embedding

__all__ = ["VDCNN", "VDCNNConfig"]

_BLOCKS = {9: (1, 1, 1, 1), 17: (2, 2, 2, 2), 29: (5, 5, 2, 2)}
"""Convolutional blocks of each of the four levels, by depth."""


class VDCNNConfig(Config):
    """Options of the very deep network; the defaults are the published ones.

    Attributes:
        kind: The name of this network.
        depth: Number of convolutions: the first, and two in each block.
        filters: Filters of each of the four levels.
        k: Values of each feature that k-max pooling keeps.
        hidden: Size of both hidden layers.
    """

    section: ClassVar[str] = "network"

    kind: Literal["vdcnn"] = "vdcnn"
    depth: Literal[9, 17, 29] = 9
    filters: tuple[LayerSize, ...] = (64, 128, 256, 512)
    k: LayerSize = 8
    hidden: LayerSize = 2048

    def model_post_init(self, context: object, /) -> None:
        """Check that there are filters for every level."""
        if len(self.filters) != 4:
            raise ConfigError(f"network.filters must name 4 levels; got {len(self.filters)}")


class VDCNN(Network):
    """Convolutions of width 3 with batch normalization and ReLU; the length is halved between four levels.

    k-max pooling keeps the k greatest values of every feature in the order of the text; two dense layers follow. The
    convolutions have no shortcuts, which help only deeper networks according to the publication.

    The positions of all documents form one matrix [P, C]: padding is not computed, nor seen by batch normalization.

    Departure: documents have their own lengths; the publication pads and truncates all to 1,014 characters. A document
    with fewer than k positions after the last level is padded with zeros.

    Shapes:
        words: [B, T] ids of characters; lengths: [B]; returns [B, L].
    """

    Config = VDCNNConfig
    reads = ("tokens",)
    label_parameters = ("output.weight", "output.bias")

    def __init__(self, config: VDCNNConfig, sizes: Sizes) -> None:
        """Make the layers."""
        super().__init__()
        self.k = config.k
        self.embedding = word_embedding(sizes)
        self.first = dense_layer(3 * sizes.D, config.filters[0])
        self.levels = nn.ModuleList()
        inputs = config.filters[0]
        for filters, blocks in zip(config.filters, _BLOCKS[config.depth], strict=True):
            widths = [inputs] + [filters] * (2 * blocks)
            self.levels.append(nn.ModuleList(_Layer(*pair) for pair in itertools.pairwise(widths)))
            inputs = filters
        first = dense_layer(config.k * inputs, config.hidden, "relu")
        second = dense_layer(config.hidden, config.hidden, "relu")
        self.dense = nn.Sequential(first, nn.ReLU(), second, nn.ReLU())
        self.output = dense_layer(config.hidden, sizes.labels)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The logit of each label."""
        lengths = lengths.long()  # [B]
        x = self.embedding(words[sequence_mask(lengths, words.shape[1])].long())  # [P, D]
        x = _convolved(x, _rows(lengths), self.first)  # [P, C]
        for depth, level in enumerate(self.levels):
            if depth:
                x, lengths = _halved(x, lengths)  # [P', C], [B]
            rows = _rows(lengths)  # [P]
            for layer in level:  # type: ignore[attr-defined]  # a ModuleList is not known to iterate over itself
                x = layer(x, rows)  # [P, C]
        kept = _k_max(x, lengths, self.k)  # [B, k, C]
        logits: Tensor = self.output(self.dense(kept.flatten(1)))  # [B, L]
        return logits


class _Layer(nn.Module):
    """A convolution of width 3 over the positions of each document, batch normalization, ReLU.

    Shapes:
        x: [P, C]; rows: [P]; returns [P, F].
    """

    def __init__(self, inputs: int, filters: int) -> None:
        super().__init__()
        # A bias would cancel in the normalization.
        self.convolution = dense_layer(3 * inputs, filters, "relu", bias=False)
        self.norm = nn.BatchNorm1d(filters)

    def forward(self, x: Tensor, rows: Tensor) -> Tensor:
        x = _convolved(x, rows, self.convolution)  # [P, F]
        if len(x) > 1:
            return self.norm(x).relu()  # type: ignore[no-any-return]  # [P, F]
        # One position has no variance: use the running statistics.
        norm = self.norm
        mean, variance = norm.running_mean, norm.running_var  # [F], [F]
        return functional.batch_norm(x, mean, variance, norm.weight, norm.bias, eps=norm.eps).relu()  # [P, F]


def _rows(lengths: Tensor) -> Tensor:
    """The rows of the positions in a matrix that has a row of zeros before, between and after documents.

    Shapes:
        lengths: [B]; returns [P].
    """
    document = torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)  # [P]
    return torch.arange(len(document), device=lengths.device) + document + 1  # [P]


def _spread(x: Tensor, rows: Tensor) -> Tensor:
    """The positions with rows of zeros between documents, [S, C]."""
    size = int(rows[-1]) + 2 if len(rows) else 2
    return x.new_zeros(size, x.shape[1]).index_copy(0, rows, x)  # [S, C]


def _convolved(x: Tensor, rows: Tensor, kernels: nn.Linear) -> Tensor:
    """The convolution over each position and its neighbours in the document, [P, F]."""
    spread = _spread(x, rows)  # [S, C]
    windows = torch.cat([spread[:-2], spread[1:-1], spread[2:]], dim=1)  # [S - 2, 3 C]
    # Computing the few windows between documents costs less than leaving them out.
    return kernels(windows).index_select(0, rows - 1)  # type: ignore[no-any-return]  # [P, F]


def _halved(x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Max pooling of width 3 and stride 2; x is at least 0, so that zeros beside a document change nothing.

    Shapes:
        x: [P, C]; lengths: [B]; returns [P', C] and [B], where a document of n positions keeps (n + 1) // 2.
    """
    half = (lengths + 1) // 2  # [B]
    spread = _spread(x, _rows(lengths))  # [S, C]
    # Position i of a document reads positions 2 i - 1 to 2 i + 1.
    first = lengths.cumsum(0) - lengths + torch.arange(1, len(lengths) + 1, device=x.device)  # [B]
    before = half.cumsum(0) - half  # [B]
    position = torch.arange(int(half.sum()), device=x.device) - before.repeat_interleave(half)  # [P']
    middle = first.repeat_interleave(half) + 2 * position  # [P']
    windows = torch.stack([spread.index_select(0, middle + shift) for shift in (-1, 0, 1)])  # [3, P', C]
    return windows.max(dim=0).values, half  # [P', C], [B]


def _k_max(x: Tensor, lengths: Tensor, k: int) -> Tensor:
    """k-max pooling: the k greatest values of each feature in the order of the text, padded with zeros.

    Shapes:
        x: [P, C], at least 0; lengths: [B]; returns [B, k, C].
    """
    width = max(k, int(lengths.max()) if len(lengths) else 0)
    mask = sequence_mask(lengths, width)  # [B, T]
    padded = x.new_full((*mask.shape, x.shape[1]), -1).masked_scatter(mask[..., None], x)  # [B, T, C]
    # Many features are exactly 0: only a stable order does not depend on the amount of padding.
    positions = padded.transpose(1, 2).argsort(dim=2, descending=True, stable=True)[..., :k]  # [B, C, k]
    positions = positions.sort(dim=2).values.transpose(1, 2)  # [B, k, C]
    return padded.gather(1, positions).clamp(min=0)  # [B, k, C]
