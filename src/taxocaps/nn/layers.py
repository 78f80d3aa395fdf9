"""Layers and functions that networks share; padding never changes what comes out for a document."""

import math
from typing import Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.nn.gru import read_sequences

__all__ = [
    "AttentionPooling",
    "Direction",
    "MaskedSelfAttention",
    "NgramConvolution",
    "Recurrence",
    "convolution",
    "convolve_words",
    "dense_layer",
    "distinct_ids",
    "masked_max",
    "masked_mean",
    "normal_weights",
    "pool_states",
    "sequence_mask",
    "start_recurrence",
    "to_documents",
]

Direction = Literal["forward", "backward"]

_SCALE = 5.0
"""The bound of the attention logits between two positions, c."""

_Recurrent = TypeVar("_Recurrent", nn.RNNBase, nn.RNNCellBase)


def dense_layer(
    inputs: int, outputs: int, activation: Literal["relu", "other"] = "other", *, bias: bool = True
) -> nn.Linear:
    """A dense layer whose outputs begin as large as its inputs; biases begin at 0.

    Args:
        inputs: Features read.
        outputs: Features returned.
        activation: What follows: with ReLU, and functions like it, weights begin as in He et al. 2015, else as in
            Glorot and Bengio 2010 ("Xavier").
        bias: Whether there are biases.
    """
    layer = nn.Linear(inputs, outputs, bias=bias)
    if activation == "relu":
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    else:
        nn.init.xavier_normal_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def normal_weights(*shape: int, scale: float = 1.0) -> nn.Parameter:
    """Weights that begin normally distributed, with a standard deviation of `scale`."""
    return nn.Parameter(nn.init.normal_(torch.empty(shape), std=scale))


def convolution(inputs: int, filters: int, width: int, stride: int = 1) -> nn.Conv1d:
    """A convolution before a ReLU: weights begin as in He et al. 2015, biases at 0."""
    layer = nn.Conv1d(inputs, filters, width, stride)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


def start_recurrence(layer: _Recurrent) -> _Recurrent:
    """The recurrent layer with its start values.

    Every gate by itself: Xavier for what reads the inputs, orthogonal matrices for what reads the state. Biases begin
    at 0, those of the forget gates of an LSTM at 1, so that the state is kept (Jozefowicz et al. 2015).
    """
    hidden_size = layer.hidden_size
    for name, weights in layer.named_parameters():
        if name.startswith("bias"):
            nn.init.zeros_(weights)
            continue
        for gate in weights.chunk(len(weights) // hidden_size):
            (nn.init.xavier_normal_ if name.startswith("weight_ih") else nn.init.orthogonal_)(gate)
    if isinstance(layer, nn.LSTM | nn.LSTMCell):
        biases = (weights for name, weights in layer.named_parameters() if name.startswith("bias_ih"))
        for bias in biases:
            nn.init.ones_(bias[hidden_size : 2 * hidden_size])  # torch's order: input, forget, cell, output
    return layer


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


def masked_mean(x: Tensor, mask: Tensor) -> Tensor:
    """The mean of each feature over the positions of the mask; 0 if there are none.

    Shapes:
        x: [B, T, F]; mask: [B, T]; returns [B, F].
    """
    total = torch.einsum("bt,btf->bf", mask.to(x.dtype), x)  # [B, F]
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1)  # [B, F]


def to_documents(rows: Tensor, mask: Tensor) -> Tensor:
    """Put the features of rows (or sentences, or blocks) back into their documents; rows of padding become 0.

    Shapes:
        rows: [R, ...]; mask: [B, N] of bool with R true entries; returns [B, N, ...].
    """
    documents = rows.new_zeros(mask.numel(), *rows.shape[1:])  # [B N, ...]
    # Not masked_scatter: its gradient reads every number by itself.
    return documents.index_copy(0, mask.flatten().nonzero().squeeze(1), rows).view(
        *mask.shape, *rows.shape[1:]
    )  # [B, N, ...]


def distinct_ids(ids: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The distinct numbers among `ids`, which are below `size`, and the index of each; faster than `torch.unique`.

    Shapes:
        ids: [...]; returns [U] and [...].
    """
    is_there = torch.zeros(size, dtype=torch.bool, device=ids.device)  # [size]
    is_there[ids.flatten()] = True
    distinct = is_there.nonzero().squeeze(1)  # [U]
    index = torch.empty(size, dtype=torch.long, device=ids.device)  # [size]
    index[distinct] = torch.arange(len(distinct), device=ids.device)
    return distinct, index[ids]  # [U], [...]


def convolve_words(x: Tensor, positions: Tensor, weight: Tensor, stride: int) -> Tensor:
    """A convolution over windows of words that occur many times, in rows or documents.

    Each distinct word is multiplied with the kernels once, and the products of each window are added up, which is
    several times as fast as a convolution over all words.

    Args:
        x: The features of distinct words.
        positions: The index in `x` of every word of every row.
        weight: The kernels.
        stride: The step from window to window.

    Shapes:
        x: [U, C]; positions: [R, W]; weight: [F, C, w]; returns [R, W', F] with W' = (W - w) // stride + 1.
    """
    filters, _, width = weight.shape
    indices = positions.unfold(1, width, stride) * width  # [R, W', w]
    indices = indices + torch.arange(width, device=x.device)  # [R, W', w]
    if not len(positions):  # embedding_bag needs at least one window
        return x.new_zeros(*indices.shape[:2], filters)  # [0, W', F]
    products = (x @ weight.permute(1, 2, 0).flatten(1)).view(-1, filters)  # [U w, F]
    sums = functional.embedding_bag(indices.flatten(0, 1), products, mode="sum")  # [R W', F]
    return sums.view(*indices.shape[:2], filters)  # [R, W', F]


class NgramConvolution(nn.Module):
    """A convolution over windows of `width` words, one every `stride` words; a ReLU should follow.

    A document that is shorter than a window is padded with zeros to one window, and so is the last window of any
    document.

    Shapes:
        x: [B, T, C], 0 at padding, or [U, C] with positions: [B, T]; lengths: [B]; returns [B, T', F] and the mask
        [B, T'], T' = ceil(max(0, T - width) / stride) + 1.
    """

    def __init__(self, inputs: int, filters: int, width: int, stride: int = 1) -> None:
        """Make `filters` kernels over `width` words of `inputs` features."""
        super().__init__()
        self.width, self.stride = width, stride
        self.convolution = convolution(inputs, filters, width, stride)

    def forward(self, x: Tensor, lengths: Tensor, positions: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The features of every window.

        Args:
            x: The features of every word of every document, or of distinct words if `positions` is given.
            lengths: The number of words of each document.
            positions: The index in `x` of every word, and of padding, whose features are 0.
        """
        length = x.shape[1] if positions is None else positions.shape[1]
        padding = max(0, self.width - length) + self.stride - 1
        if positions is None:
            x = functional.pad(x, (0, 0, 0, padding))  # [B, max(T, width) + stride - 1, C]
            windows = self.convolution(x.transpose(1, 2)).transpose(1, 2)  # [B, T', F]
        else:
            positions = functional.pad(positions, (0, padding), value=len(x))  # [B, max(T, width) + stride - 1]
            x = functional.pad(x, (0, 0, 0, 1))  # [U + 1, C]: one more word, whose features are 0
            assert self.convolution.bias is not None
            products = convolve_words(x, positions, self.convolution.weight, self.stride)  # [B, T', F]
            windows = products + self.convolution.bias  # [B, T', F]
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
        self.layers = nn.ModuleList(
            start_recurrence(layer(inputs, hidden_size, bias=bias, batch_first=True)) for _ in range(directions)
        )
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
            output = _states(layer, _reordered(x, order), initial)  # [B, T, hidden_size]
            outputs.append(_reordered(output, order) * mask[..., None])  # [B, T, hidden_size]
            states.append(outputs[-1][torch.arange(B, device=x.device), end])  # [B, hidden_size]
        return torch.cat(outputs, dim=-1), torch.cat(states, dim=-1)  # [B, T, H], [B, H]


def _states(layer: nn.Module, x: Tensor, initial: Tensor | None) -> Tensor:
    """The outputs of a recurrent layer, [B, T, hidden_size]."""
    is_usual = initial is None and x.is_cpu and x.dtype == torch.float32
    if is_usual and isinstance(layer, nn.GRU) and layer.bias:
        return read_sequences(layer, x)  # [B, T, hidden_size]
    output: Tensor = layer(x, initial)[0]  # [B, T, hidden_size]
    return output


def pool_states(states: Tensor, last: Tensor, lengths: Tensor, pooling: Literal["last", "mean", "max"]) -> Tensor:
    """One vector for a sequence out of what a recurrence returns: the last state, or the mean or maximum of all.

    Shapes:
        states: [B, T, H]; last: [B, H]; lengths: [B]; returns [B, H], 0 for a sequence of padding only.
    """
    if pooling == "last":
        return last
    pool = {"mean": masked_mean, "max": masked_max}[pooling]
    return pool(states, sequence_mask(lengths, states.shape[1]))  # [B, H]


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
        self.project = dense_layer(features, size)
        self.context = dense_layer(size, 1, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """The weighted mean."""
        logits = self.context(self.project(x).tanh()).squeeze(-1)  # [B, T]
        # A finite minimum: the softmax of a sequence of padding only would not be defined otherwise.
        weights = logits.masked_fill(~mask, torch.finfo(x.dtype).min).softmax(dim=1) * mask  # [B, T]
        return torch.einsum("bt,bth->bh", weights, x)  # [B, H]


class MaskedSelfAttention(nn.Module):
    """Attention of each position j to the positions i before it (or after it), feature by feature.

    The multi-dimensional attention of Shen et al. (2018), section 2.3.

    f_ij = c tanh((W_1 x_i + W_2 x_j + b) / c), P_ij = softmax_i(f_ij) over i < j (or i > j), s_j = sum_i P_ij x_i.

    Shapes:
        x: [R, T, d]; mask: [R, T]; returns [R, T, d], 0 where there is nothing to attend to.
    """

    def __init__(self, size: int, direction: Direction) -> None:
        """Make W_1, W_2 and b."""
        super().__init__()
        self.direction = direction
        self.key = dense_layer(size, size)
        self.query = dense_layer(size, size, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """The context of each position."""
        j, i = torch.tril_indices(x.shape[1], x.shape[1], -1, device=x.device)  # [P], [P]: all pairs i < j
        if self.direction == "backward":
            i, j = j, i
        is_pair = (mask[:, i] & mask[:, j])[..., None]  # [R, P, 1]
        f = (self.key(x) / _SCALE).index_select(1, i) + (self.query(x) / _SCALE).index_select(1, j)  # [R, P, d]
        # Logits are at most c: the softmax is stable without subtracting the maximum.
        weights = (_SCALE * f.tanh()).exp() * is_pair  # [R, P, d]
        zero = torch.zeros_like(x)  # [R, T, d]
        total = zero.index_add(1, j, weights * x.index_select(1, i))  # [R, T, d]
        # With nothing to attend to, the sum of weights and the total are 0; every weight is above e^-c.
        return total / zero.index_add(1, j, weights).clamp(min=math.exp(-_SCALE) / 2)  # [R, T, d]
