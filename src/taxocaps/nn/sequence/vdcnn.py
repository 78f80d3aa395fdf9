"""Very deep convolutional network over characters (Conneau et al., EACL 2017; arXiv 1606.01781 of 2016)."""

import itertools
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.nn.blocks import SequenceSizes, is_real, word_embedding

__all__ = ["VDCNN", "VDCNNConfig"]

_Size = Annotated[int, Between(1, 1_000_000)]

_BLOCKS = {9: (1, 1, 1, 1), 17: (2, 2, 2, 2), 29: (5, 5, 2, 2)}
"""Convolutional blocks of each of the four levels, by depth."""


class VDCNNConfig(Config):
    """The depth and sizes of the network, as published.

    Attributes:
        kind: The name of this network.
        depth: Convolutions in all: the first, and two in each block.
        filters: Filters of each of the four levels.
        k: Greatest values of each feature that are kept.
        hidden: Size of both hidden dense layers.
    """

    section: ClassVar[str] = "network"

    kind: Literal["vdcnn"] = "vdcnn"
    depth: Literal[9, 17, 29] = 9
    filters: tuple[_Size, ...] = (64, 128, 256, 512)
    k: _Size = 8
    hidden: _Size = 2048

    def model_post_init(self, context: object, /) -> None:
        """Check the fields, and that every level has its filters."""
        if len(self.filters) != 4:
            raise ConfigError(f"network.filters must name 4 levels; got {len(self.filters)}")


class VDCNN(nn.Module):
    """Convolutions of width 3 with batch normalisation and ReLU; the length is halved between four levels.

    Of every feature the k greatest values stay, in the order of the text; two dense layers follow. The convolutions
    have no shortcuts, which the publication finds to help deeper networks only.

    The places of all documents are one matrix [P, C]: padding costs nothing, and batch normalisation sees no padding.

    Departure: documents have their own lengths, where the publication pads and cuts all to 1,014 characters. A document
    with fewer than k places after the last level is filled up with zeros.

    Shapes:
        words: [B, T] ids of characters; lengths: [B]; returns [B, L].
    """

    def __init__(self, config: VDCNNConfig, sizes: SequenceSizes) -> None:
        """Make the layers."""
        super().__init__()
        self.k = config.k
        self.embedding = word_embedding(sizes)
        self.first = nn.Linear(3 * sizes.D, config.filters[0])
        nn.init.kaiming_normal_(self.first.weight, nonlinearity="linear")
        self.levels = nn.ModuleList()
        inputs = config.filters[0]
        for filters, blocks in zip(config.filters, _BLOCKS[config.depth], strict=True):
            widths = [inputs] + [filters] * (2 * blocks)
            self.levels.append(nn.ModuleList(_Layer(*pair) for pair in itertools.pairwise(widths)))
            inputs = filters
        dense = [nn.Linear(config.k * inputs, config.hidden), nn.ReLU(), nn.Linear(config.hidden, config.hidden)]
        self.dense = nn.Sequential(*dense, nn.ReLU())
        self.output = nn.Linear(config.hidden, sizes.labels)
        self.label_parameters = ("output.weight", "output.bias")
        """The names of the weights whose first axis is the labels."""

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Read a batch of documents."""
        lengths = lengths.long()  # [B]
        x = self.embedding(words[is_real(lengths, words.shape[1])].long())  # [P, D]
        x = _convolved(x, _rows(lengths), self.first)  # [P, C]
        for number, level in enumerate(self.levels):
            if number:
                x, lengths = _halved(x, lengths)  # [P', C], [B]
            rows = _rows(lengths)  # [P]
            for layer in level:  # type: ignore[attr-defined]  # a ModuleList is not known to iterate over itself
                x = layer(x, rows)  # [P, C]
        kept = _k_greatest(x, lengths, self.k)  # [B, k, C]
        logits: Tensor = self.output(self.dense(kept.flatten(1)))  # [B, L]
        return logits


class _Layer(nn.Module):
    """A convolution of width 3 over the places of each document, batch normalisation, ReLU.

    Shapes:
        x: [P, C]; rows: [P]; returns [P, F].
    """

    def __init__(self, inputs: int, filters: int) -> None:
        super().__init__()
        # A constant would be taken out again by the normalisation.
        self.convolution = nn.Linear(3 * inputs, filters, bias=False)
        self.norm = nn.BatchNorm1d(filters)
        nn.init.kaiming_normal_(self.convolution.weight, nonlinearity="relu")

    def forward(self, x: Tensor, rows: Tensor) -> Tensor:
        x = _convolved(x, rows, self.convolution)  # [P, F]
        if len(x) > 1:
            return self.norm(x).relu()  # type: ignore[no-any-return]  # [P, F]
        # One place has no variance: what is known from other batches stands in.
        norm = self.norm
        mean, variance = norm.running_mean, norm.running_var  # [F], [F]
        return functional.batch_norm(x, mean, variance, norm.weight, norm.bias, eps=norm.eps).relu()  # [P, F]


def _rows(lengths: Tensor) -> Tensor:
    """Where the places of documents go in a matrix that has a row of zeros before, between and after documents.

    Shapes:
        lengths: [B]; returns [P].
    """
    document = torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)  # [P]
    return torch.arange(len(document), device=lengths.device) + document + 1  # [P]


def _spread(x: Tensor, rows: Tensor) -> Tensor:
    """The places with rows of zeros between documents, [S, C]."""
    size = int(rows[-1]) + 2 if len(rows) else 2
    return x.new_zeros(size, x.shape[1]).index_copy(0, rows, x)  # [S, C]


def _convolved(x: Tensor, rows: Tensor, kernels: nn.Linear) -> Tensor:
    """What the kernels make of each place and its neighbours in the document, [P, F]."""
    spread = _spread(x, rows)  # [S, C]
    windows = torch.cat([spread[:-2], spread[1:-1], spread[2:]], dim=1)  # [S - 2, 3 C]
    # Those few windows that lie between documents cost less than to leave them out of the wide matrix.
    return kernels(windows).index_select(0, rows - 1)  # type: ignore[no-any-return]  # [P, F]


def _halved(x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The maximum of three places at every second place; x is at least 0, so that zeros beside a document lose.

    Shapes:
        x: [P, C]; lengths: [B]; returns [P', C] and [B], where a document of n places keeps (n + 1) // 2.
    """
    half = (lengths + 1) // 2  # [B]
    spread = _spread(x, _rows(lengths))  # [S, C]
    # Place i of a document reads places 2 i - 1 to 2 i + 1.
    first = lengths.cumsum(0) - lengths + torch.arange(1, len(lengths) + 1, device=x.device)  # [B]
    before = half.cumsum(0) - half  # [B]
    number = torch.arange(int(half.sum()), device=x.device) - before.repeat_interleave(half)  # [P']
    middle = first.repeat_interleave(half) + 2 * number  # [P']
    windows = torch.stack([spread.index_select(0, middle + shift) for shift in (-1, 0, 1)])  # [3, P', C]
    return windows.max(dim=0).values, half  # [P', C], [B]


def _k_greatest(x: Tensor, lengths: Tensor, k: int) -> Tensor:
    """The k greatest values of each feature in the order of the text; zeros follow if there are fewer.

    Shapes:
        x: [P, C], at least 0; lengths: [B]; returns [B, k, C].
    """
    width = max(k, int(lengths.max()) if len(lengths) else 0)
    mask = is_real(lengths, width)  # [B, T]
    padded = x.new_full((*mask.shape, x.shape[1]), -1).masked_scatter(mask[..., None], x)  # [B, T, C]
    # Many features are exactly 0: only a stable order takes the same ones however much padding there is.
    places = padded.transpose(1, 2).argsort(dim=2, descending=True, stable=True)[..., :k]  # [B, C, k]
    places = places.sort(dim=2).values.transpose(1, 2)  # [B, k, C]
    return padded.gather(1, places).clamp(min=0)  # [B, k, C]
