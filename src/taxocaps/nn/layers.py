"""Layers and functions that networks share; padding never changes what comes out for a document."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["AttentionPooling", "NgramConvolution", "Recurrence", "masked_max", "sequence_mask", "to_documents"]


def sequence_mask(lengths: Tensor, width: int) -> Tensor:
    """The mask of padded sequences: True for the first `lengths` positions, False for padding.

    Shapes:
        lengths: [B]; returns [B, width] of bool.
    """
    return torch.arange(width, device=lengths.device) < lengths[:, None]  # [B, width]


def masked_max(x: Tensor, mask: Tensor) -> Tensor:
    """The maximum of each feature over the positions of the mask; 0 if there are none.

    Shapes:
        x: [B, T, F]; mask: [B, T]; returns [B, F].
    """
    if not x.shape[1]:
        return x.sum(dim=1)  # [B, F], 0: the maximum of nothing is not defined
    maximum = x.masked_fill(~mask[..., None], -torch.inf).amax(dim=1)  # [B, F]
    return maximum.masked_fill(~mask.any(dim=1, keepdim=True), 0)  # [B, F]


def to_documents(rows: Tensor, mask: Tensor) -> Tensor:
    """Put the features of rows (or sentences, or blocks) back into their documents; rows of padding become 0.

    Shapes:
        rows: [R, ...]; mask: [B, N] of bool with R true entries; returns [B, N, ...].
    """
    documents = rows.new_zeros(*mask.shape, *rows.shape[1:])  # [B, N, ...]
    return documents.masked_scatter(mask.view(*mask.shape, *[1] * (rows.dim() - 1)), rows)  # [B, N, ...]


class NgramConvolution(nn.Module):
    """A convolution over windows of `width` words, one every `stride` words.

    A document that is shorter than a window is padded with zeros to one window, and so is the last window of any
    document.

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
        padding = max(0, self.width - x.shape[1]) + self.stride - 1
        x = functional.pad(x, (0, 0, 0, padding))  # [B, max(T, width) + stride - 1, C]
        windows = self.convolution(x.transpose(1, 2)).transpose(1, 2)  # [B, T', F]
        steps = (lengths.long() - self.width + self.stride - 1).clamp(min=0) // self.stride  # [B]
        return windows, sequence_mask(steps + 1, windows.shape[1])  # [B, T', F], [B, T']


class Recurrence(nn.Module):
    """An LSTM, GRU or plain RNN over padded documents, in one or both directions.

    The backward direction reads the words of a document in reverse order, with the padding still last, where it changes
    nothing. Packed sequences would skip the padding, but without a GPU the time of their gradients grows with the
    square of the length.

    Shapes:
        x: [B, T, C]; lengths: [B]; start: [directions, hidden_size]; returns [B, T, H], 0 at padding, and the last
        state [B, H], 0 for a document without words; H = directions * hidden_size.
    """

    def __init__(
        self,
        inputs: int,
        hidden_size: int,
        *,
        directions: int = 1,
        cell: Literal["lstm", "gru", "rnn"] = "lstm",
        bias: bool = True,
    ) -> None:
        """Make a layer for each direction."""
        super().__init__()
        layer = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[cell]
        self.layers = nn.ModuleList(layer(inputs, hidden_size, bias=bias, batch_first=True) for _ in range(directions))
        self.features = directions * hidden_size

    def forward(self, x: Tensor, lengths: Tensor, start: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The outputs at every word, and the last states.

        Args:
            x: The features of the words.
            lengths: The number of words of each document.
            start: The initial states, for GRU and plain RNN; None for 0.
        """
        B, T, _ = x.shape
        if not B or not T:
            return x.new_zeros(B, T, self.features), x.new_zeros(B, self.features)
        mask = sequence_mask(lengths, T)  # [B, T]
        positions = torch.arange(T, device=x.device)  # [T]
        last = (lengths.long() - 1).clamp(min=0)  # [B]
        orders = (None, torch.where(mask, last[:, None] - positions, positions))  # [B, T], its own inverse
        ends = (last, torch.zeros_like(last))  # [B]: the position of the last word that each direction reads
        outputs, states = [], []
        for direction, (layer, order, end) in enumerate(zip(self.layers, orders, ends, strict=False)):
            initial = None if start is None else start[direction].expand(1, B, -1).contiguous()  # [1, B, hidden_size]
            output, _ = layer(_reordered(x, order), initial)
            outputs.append(_reordered(output, order) * mask[..., None])  # [B, T, hidden_size]
            states.append(outputs[-1][torch.arange(B, device=x.device), end])  # [B, hidden_size]
        return torch.cat(outputs, dim=-1), torch.cat(states, dim=-1)  # [B, T, H], [B, H]


def _reordered(x: Tensor, order: Tensor | None) -> Tensor:
    """The positions of each document in another order, [B, T, C]."""
    if order is None:
        return x
    B, T, _ = x.shape
    rows = torch.arange(0, B * T, T, device=x.device)[:, None] + order  # [B, T]
    return x.flatten(0, 1).index_select(0, rows.flatten()).view_as(x)  # [B, T, C]


class AttentionPooling(nn.Module):
    """One vector for a sequence: the mean of its positions, weighted by attention (Yang et al. 2016, equations 5 to 7).

    u_t = tanh(W h_t + b), a_t = softmax_t(u_t . c), and the result is sum_t a_t h_t.

    Shapes:
        x: [B, T, H]; mask: [B, T]; returns [B, H], 0 for a sequence of padding only.
    """

    def __init__(self, features: int, size: int) -> None:
        """Make the projection to `size` features and the context vector c."""
        super().__init__()
        self.project = nn.Linear(features, size)
        self.context = nn.Linear(size, 1, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """The weighted mean."""
        logits = self.context(self.project(x).tanh()).squeeze(-1)  # [B, T]
        # A finite minimum: the softmax of a sequence of padding only would not be defined otherwise.
        weights = logits.masked_fill(~mask, torch.finfo(x.dtype).min).softmax(dim=1) * mask  # [B, T]
        return torch.einsum("bt,bth->bh", weights, x)  # [B, H]
