"""What networks over sequences of words are built from; padding never changes what a document is."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = [
    "PADDING",
    "AttentionPooling",
    "NgramConvolution",
    "Recurrence",
    "SequenceSizes",
    "is_real",
    "masked_max",
    "word_embedding",
]

PADDING = 0
"""The word id that stands where a document has ended."""


@dataclass(frozen=True)
class SequenceSizes:
    """What the data decide: the vocabulary, the size D of a word vector, and the labels L."""

    vocabulary: int
    D: int
    labels: int


def word_embedding(sizes: SequenceSizes) -> nn.Embedding:
    """The table of word vectors; that of padding is 0 and stays 0."""
    return nn.Embedding(sizes.vocabulary, sizes.D, padding_idx=PADDING)


def is_real(lengths: Tensor, width: int) -> Tensor:
    """Which places of padded documents have a word.

    Shapes:
        lengths: [B]; returns [B, width] of bool.
    """
    return torch.arange(width, device=lengths.device) < lengths[:, None]  # [B, width]


def masked_max(x: Tensor, mask: Tensor) -> Tensor:
    """The greatest value of each feature over real places; 0 where there is none.

    Shapes:
        x: [B, T, F]; mask: [B, T]; returns [B, F].
    """
    if not x.shape[1]:
        return x.sum(dim=1)  # [B, F], 0: nothing has no greatest value
    greatest = x.masked_fill(~mask[..., None], -torch.inf).amax(dim=1)  # [B, F]
    return greatest.masked_fill(~mask.any(dim=1, keepdim=True), 0)  # [B, F]


class NgramConvolution(nn.Module):
    """A convolution over windows of `width` words, one every `stride` words.

    A document shorter than a window is read as one window, filled up with zeros, and so is what the last step leaves.

    Shapes:
        x: [B, T, C], 0 at padding; lengths: [B]; returns [B, T', F] and the mask [B, T'],
        T' = ceil(max(0, T - width) / stride) + 1.
    """

    def __init__(self, inputs: int, filters: int, width: int, stride: int = 1) -> None:
        """Make `filters` kernels over `width` words of `inputs` features."""
        super().__init__()
        self.width, self.stride = width, stride
        self.convolution = nn.Conv1d(inputs, filters, width, stride)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The features of every window."""
        beyond = max(0, self.width - x.shape[1]) + self.stride - 1
        x = functional.pad(x, (0, 0, 0, beyond))  # [B, max(T, width) + stride - 1, C]
        windows = self.convolution(x.transpose(1, 2)).transpose(1, 2)  # [B, T', F]
        steps = (lengths.long() - self.width + self.stride - 1).clamp(min=0) // self.stride  # [B]
        return windows, is_real(steps + 1, windows.shape[1])  # [B, T', F], [B, T']


class Recurrence(nn.Module):
    """An LSTM, GRU or plain recurrence over the real places of padded documents.

    Each direction is a layer that reads a document from its first word in that direction on, and the padding after all
    else, where it changes nothing. Packed sequences would spare the padding, but the time of their gradients grows with
    the square of the length where there is no graphics processor.

    Shapes:
        x: [B, T, C]; lengths: [B]; start: [directions, units]; returns [B, T, H], 0 at padding, and the last state
        [B, H], 0 for a document without words; H = directions * units.
    """

    def __init__(
        self,
        inputs: int,
        units: int,
        *,
        directions: int = 1,
        cell: Literal["lstm", "gru", "rnn"] = "lstm",
        bias: bool = True,
    ) -> None:
        """Make a layer of `units` cells for each direction."""
        super().__init__()
        layer = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[cell]
        self.layers = nn.ModuleList(layer(inputs, units, bias=bias, batch_first=True) for _ in range(directions))
        self.features = directions * units

    def forward(self, x: Tensor, lengths: Tensor, start: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Read documents from the first word to the last, and perhaps back.

        `start` are the states to start from, for cells without memory; None for 0.
        """
        B, T, _ = x.shape
        if not B or not T:
            return x.new_zeros(B, T, self.features), x.new_zeros(B, self.features)
        is_there = is_real(lengths, T)  # [B, T]
        places = torch.arange(T, device=x.device)  # [T]
        last = (lengths.long() - 1).clamp(min=0)  # [B]
        orders = (None, torch.where(is_there, last[:, None] - places, places))  # [B, T], its own inverse
        ends = (last, torch.zeros_like(last))  # [B]: where each direction comes to its last word
        outputs, states = [], []
        for number, (layer, order, end) in enumerate(zip(self.layers, orders, ends, strict=False)):
            begin = None if start is None else start[number].expand(1, B, -1).contiguous()  # [1, B, units]
            read, _ = layer(_reordered(x, order), begin)
            outputs.append(_reordered(read, order) * is_there[..., None])  # [B, T, units]
            states.append(outputs[-1][torch.arange(B, device=x.device), end])  # [B, units]
        return torch.cat(outputs, dim=-1), torch.cat(states, dim=-1)  # [B, T, H], [B, H]


def _reordered(x: Tensor, order: Tensor | None) -> Tensor:
    """The places of each document in another order, [B, T, C]."""
    if order is None:
        return x
    B, T, _ = x.shape
    rows = torch.arange(0, B * T, T, device=x.device)[:, None] + order  # [B, T]
    return x.flatten(0, 1).index_select(0, rows.flatten()).view_as(x)  # [B, T, C]


class AttentionPooling(nn.Module):
    """One vector for a sequence, a mean weighted by how much each place matters (Yang et al. 2016, equations 5 to 7).

    u_t = tanh(W h_t + b), a_t = softmax_t(u_t . c), and the result is sum_t a_t h_t.

    Shapes:
        x: [B, T, H]; mask: [B, T]; returns [B, H], 0 where nothing is real.
    """

    def __init__(self, features: int, size: int) -> None:
        """Make the projection to `size` numbers and the context vector c."""
        super().__init__()
        self.project = nn.Linear(features, size)
        self.context = nn.Linear(size, 1, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """The weighted mean."""
        logits = self.context(self.project(x).tanh()).squeeze(-1)  # [B, T]
        # A finite floor: a sequence without real places would have no softmax otherwise.
        weights = logits.masked_fill(~mask, torch.finfo(x.dtype).min).softmax(dim=1) * mask  # [B, T]
        return torch.einsum("bt,bth->bh", weights, x)  # [B, H]
