"""The layers over the rows of words-matrices: convolution, block attention, attentional LSTM (paper section 3.1)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from taxocaps.nn.layers import MaskedSelfAttention, convolve_words, dense_layer

__all__ = [
    "WINDOW",
    "AttentionalLSTM",
    "BlockAttention",
    "RowConvolution",
    "RowLayer",
    "RowSelfAttention",
    "window_blocks",
]

WINDOW = 3
"""The least width of a convolution: 1 x 3 in the paper."""


class RowLayer(nn.Module):
    """Convolutions with ReLU, followed by an attentional LSTM or by self-attention if there is one; rows do not mix.

    Departure: the paper has one convolution, 1 x 3. Wider ones, which look at the same places, and the features of the
    convolution beside those of the LSTM are options.

    Shapes:
        x: [R, W, C], or [U, C] with positions: [R, W]; blocks: [R, W] block numbers from 1, 0 at padding; rank,
        block_counts: [R]; returns features [R, W', F] and blocks [R, W'].
    """

    def __init__(
        self,
        convolutions: "Sequence[RowConvolution]",
        context: "AttentionalLSTM | RowSelfAttention | None" = None,
        attention: "BlockAttention | None" = None,
        *,
        keeps_windows: bool = False,
    ) -> None:
        """Make a layer.

        Args:
            convolutions: One for each width, of the same stride.
            context: What reads the windows of a row one after another.
            attention: The factors of blocks, for `context`.
            keeps_windows: Give the features of the convolutions beside those of `context`.
        """
        super().__init__()
        self.stride = convolutions[0].stride
        self.convolutions = nn.ModuleList(convolutions)
        self.context, self.attention = context, attention
        self.keeps_windows = keeps_windows or context is None
        windows = sum(len(convolution.bias) for convolution in convolutions) if self.keeps_windows else 0
        self.features = windows + (0 if context is None else context.hidden_size)

    def forward(
        self, x: Tensor, blocks: Tensor, rank: Tensor, block_counts: Tensor, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The features of all windows; 0 at padding.

        Args:
            x: The features of every word of every row, or of distinct words if `positions` is given.
            blocks: The block of every word.
            rank: The position of each row in its document.
            block_counts: The number of blocks of each row.
            positions: The index in `x` of every word of every row.
        """
        windows = window_blocks(blocks, self.stride)  # [R, W']
        mask = (windows > 0).to(x.dtype)  # [R, W']
        features, index = self._features(x, positions)  # [R, W', filters] and None, or [V, filters] and [R, W']
        kept = [_everywhere(features, index) * mask[..., None]] if self.keeps_windows else []  # [R, W', filters]
        if self.context is not None:
            alpha = None if self.attention is None else self.attention(rank, block_counts, windows)  # [R, W']
            kept.append(self.context(features, mask, alpha, index))  # [R, W', H]
        return _side_by_side(kept), windows  # [R, W', F], [R, W']

    def _features(self, x: Tensor, positions: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The features of all windows; or, where it saves time, those of distinct windows and the index of each window.

        Half of the windows of a document stand in other rows of it, too. That helps prediction only: what it saves in
        training goes into adding up the gradients of each window.
        """
        index = None
        if positions is not None and self.context is not None and self._is_narrow and not torch.is_grad_enabled():
            positions, index = _distinct_windows(positions, len(x), self.stride)  # [V, 3], [R, W']
        found = [convolution(x, positions) for convolution in self.convolutions]  # each [R, W', filters] or [V, 1, ...]
        features = _side_by_side(found).relu()  # [R, W', filters] or [V, 1, filters]
        return (features, None) if index is None else (features.squeeze(1), index)

    @property
    def _is_narrow(self) -> bool:
        return all(convolution.width == WINDOW for convolution in self.convolutions)


def _distinct_windows(positions: Tensor, words: int, stride: int) -> tuple[Tensor, Tensor]:
    """The words of distinct windows, and the index among them of every window of every row.

    Shapes:
        positions: [R, W], below `words`; returns [V, 3] and [R, W'].
    """
    first, centre, last = positions.unfold(1, WINDOW, stride).unbind(dim=-1)  # each [R, W']
    keys, index = torch.unique((first * words + centre) * words + last, return_inverse=True)  # [V], [R, W']
    pairs = keys // words  # [V]
    return torch.stack([pairs // words, pairs % words, keys % words], dim=1), index  # [V, 3], [R, W']


def _everywhere(features: Tensor, index: Tensor | None) -> Tensor:
    """The features of all windows, [R, W', F], of those of distinct ones if there is an index."""
    return features if index is None else features[index]


def _side_by_side(features: list[Tensor]) -> Tensor:
    return torch.cat(features, dim=2) if len(features) > 1 else features[0]  # a single one is not copied


class RowConvolution(nn.Module):
    """A convolution over windows of words of a row, in two equivalent forms.

    The words of a document occur in many of its rows, and are multiplied with the kernels only once. Windows wider than
    three words have the centres of those of three, and read zeros beyond the ends of a row.

    Shapes:
        x: [R, W, C], or [U, C] with positions: [R, W]; returns [R, W', F] with W' = (W - 3) // stride + 1.
    """

    def __init__(self, inputs: int, filters: int, stride: int, width: int = WINDOW) -> None:
        """Make `filters` kernels over `width` words, an odd number of at least 3, of `inputs` features."""
        super().__init__()
        self.stride, self.width = stride, width
        self.weight = nn.Parameter(torch.empty(filters, inputs, width))
        self.bias = nn.Parameter(torch.zeros(filters))
        # Scaled for the ReLU that follows: with smaller features the capsules would be close to 0.
        nn.init.kaiming_normal_(self.weight, nonlinearity="relu")

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """The features of every window.

        Args:
            x: The features of every word of every row, or of distinct words if `positions` is given.
            positions: The index in `x` of every word of every row.
        """
        return self._of_rows(x) if positions is None else self._of_words(x, positions)

    def _of_rows(self, x: Tensor) -> Tensor:
        beyond = (self.width - WINDOW) // 2
        x = functional.pad(x, (0, 0, beyond, beyond))  # [R, W + 2 beyond, C]
        end = x.shape[1] - self.width + 1
        windows = torch.cat([x[:, k : end + k : self.stride] for k in range(self.width)], dim=2)  # [R, W', w C]
        return functional.linear(windows, self.weight.transpose(1, 2).flatten(1), self.bias)  # [R, W', F]

    def _of_words(self, x: Tensor, positions: Tensor) -> Tensor:
        beyond = (self.width - WINDOW) // 2
        if beyond:  # one more word, whose features are 0
            positions = functional.pad(positions, (beyond, beyond), value=len(x))  # [R, W + 2 beyond]
            x = functional.pad(x, (0, 0, 0, 1))  # [U + 1, C]
        return convolve_words(x, positions, self.weight, self.stride) + self.bias  # [R, W', F]


class BlockAttention(nn.Module):
    """The factors alpha_{B_{rank, q, b}} of block b in a row with q blocks at position `rank` (paper, Figure 3).

    All words of a block share a factor, and so do the rows of all documents at the same position with the same number
    of blocks. Factors start at 1, where attention has no effect.

    Shapes:
        rank: [R]; block_counts: [R]; blocks: [R, W]; returns [R, W].
    """

    def __init__(self, ranks: int, max_blocks: int) -> None:
        """Make the factors.

        Args:
            ranks: Rows of a words-matrix, N.
            max_blocks: The most blocks that a row can have, its number of words T.
        """
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(ranks, max_blocks + 1, max_blocks + 1))

    def forward(self, rank: Tensor, block_counts: Tensor, blocks: Tensor) -> Tensor:
        """The factor of every word of every row."""
        alpha: Tensor = self.alpha[rank[:, None], block_counts[:, None], blocks]  # [R, W]
        return alpha


class AttentionalLSTM(nn.Module):
    r"""An LSTM whose inputs are scaled by attention, whose gates read the cell state (paper, equation 4).

    .. math::
        f_t = \sigma(W_f \alpha x_t + U_f c_{t-1} + b_f), \quad
        i_t = \sigma(W_i \alpha x_t + U_i c_{t-1} + b_i), \quad
        o_t = \sigma(W_o \alpha x_t + U_o c_{t-1} + b_o)

        c_t = f_t c_{t-1} + i_t \tanh(W_c \alpha x_t + b_c), \quad
        h_t = o_t \tanh(c_t)

    Padding keeps the state and has an output of 0.

    Shapes:
        x: [R, W, C], or [V, C] with index: [R, W]; mask: [R, W] of 0 and 1; alpha: [R, W] or None; returns [R, W, H].
    """

    def __init__(self, inputs: int, hidden_size: int) -> None:
        """Make the weights for `inputs` features and a hidden size of H."""
        super().__init__()
        self.hidden_size = hidden_size
        self.input = nn.Linear(inputs, 4 * hidden_size)
        self.state = nn.Linear(hidden_size, 3 * hidden_size, bias=False)
        # Each gate by itself: the default ranges are for all four together, and too small.
        for gate in self.input.weight.chunk(4):
            nn.init.xavier_normal_(gate)
        for gate in self.state.weight.chunk(3):
            nn.init.orthogonal_(gate)
        with torch.no_grad():
            self.input.bias.zero_()
            self.input.bias[:hidden_size] = 1.0  # forget gates start open, as usual for LSTMs

    def forward(self, x: Tensor, mask: Tensor, alpha: Tensor | None = None, index: Tensor | None = None) -> Tensor:
        """Read every row from left to right.

        Args:
            x: The features of every window of every row, or of distinct windows if `index` is given.
            mask: 0 at padding.
            alpha: The factor of every window.
            index: The index in `x` of every window of every row.
        """
        if x.is_cpu and x.dtype == torch.float32 and not torch.is_grad_enabled():
            return self._read(x, mask, alpha, index)  # [R, W, H]
        x = _everywhere(x, index)  # [R, W, C]
        x = x if alpha is None else x * alpha[..., None]  # [R, W, C]
        weights = self.input.weight, self.input.bias, self.state.weight
        outputs: Tensor = _Recurrence.apply(x, mask > 0, *weights)  # type: ignore[no-untyped-call]
        return outputs  # [R, W, H]

    def _read(self, x: Tensor, mask: Tensor, alpha: Tensor | None, index: Tensor | None) -> Tensor:
        """The same for prediction: nothing is kept for gradients, and all but products of matrices is one kernel."""
        from taxocaps.nn.kernels import read_windows  # numba takes a moment to load

        R, W, H = *mask.shape, self.hidden_size
        products = x.flatten(0, -2) @ self.input.weight.T  # [V, 4H]; a factor of a window is one of its products, too
        index = torch.arange(R * W).view(R, W) if index is None else index  # [R, W]
        alpha = torch.ones_like(mask) if alpha is None else alpha  # [R, W]
        given = [tensor.detach().contiguous().numpy() for tensor in (products, index, mask > 0, alpha, self.input.bias)]
        outputs = x.new_empty(R, W, H)  # [R, W, H]
        for rows in _row_chunks(R):
            cells = x.new_zeros(len(mask[rows]), H)  # [r, H]
            of_cells = x.new_zeros(len(cells), 3 * H)  # [r, 3H]
            for t in range(W):
                if t:
                    torch.mm(cells, self.state.weight.T, out=of_cells)
                read_windows(*given, of_cells.numpy(), rows.start, t, cells.numpy(), outputs.numpy())
        return outputs


class _Recurrence(torch.autograd.Function):
    """The steps of the LSTM, with gradients by hand.

    A step is a dozen operations on small matrices, and autograd would keep, and read again, the result of each. Here
    some rows go through all steps while they are in the cache, and only gates, candidates, cells and their tanh are
    kept. Padding has gates that keep the state, 1, 0 and 0: their slopes are 0, so that the gradients need no mask.

    Shapes:
        x: [R, W, C]; is_real: [R, W] of bool; weight: [4H, C]; bias: [4H]; state_weight: [3H, H]; returns [R, W, H].
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, is_real: Tensor, weight: Tensor, bias: Tensor, state_weight: Tensor) -> Tensor:
        R, W, H = *is_real.shape, state_weight.shape[1]
        gates = (x.flatten(0, 1) @ weight.T).view(R, W, 4 * H)  # [R, W, 4H]: one product for all steps
        cells, outputs = gates.new_empty(R, W + 1, H), gates.new_empty(R, W, H)
        cells[:, 0] = 0
        squeezed = torch.empty_like(outputs)  # [R, W, H]: tanh of the cells
        step = _compiled_step if _is_compiled(x) else _step
        for rows in _row_chunks(R):
            for t in range(W):
                gates[rows, t, : 3 * H].addmm_(cells[rows, t], state_weight.T)  # [r, 3H]
                step(rows, t, is_real, bias, (gates, cells, squeezed, outputs))
        ctx.save_for_backward(x, gates, cells, squeezed, weight, state_weight)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, gates, cells, squeezed, weight, state_weight = ctx.saved_tensors
        R, W, H = squeezed.shape
        grad = grad.contiguous()  # [R, W, H]
        grad_gates = torch.empty_like(gates)  # [R, W, 4H], before sigmoid and tanh
        step_backward = _compiled_step_backward if _is_compiled(x) else _step_backward
        for rows in _row_chunks(R):
            grad_cell = torch.zeros_like(cells[rows, 0])  # [r, H]
            for t in reversed(range(W)):
                step_backward(rows, t, grad, (gates, cells, squeezed), grad_gates, grad_cell)
                grad_cell.addmm_(grad_gates[rows, t, : 3 * H], state_weight)  # [r, H]
        grad_gates = grad_gates.flatten(0, 1)  # [R W, 4H]
        return (
            (grad_gates @ weight).view_as(x),
            None,
            grad_gates.T @ x.flatten(0, 1),  # [4H, C]
            grad_gates.sum(dim=0),  # [4H]
            grad_gates[:, : 3 * H].T @ cells[:, :-1].flatten(0, 1),  # [3H, H]
        )


def _is_compiled(x: Tensor) -> bool:
    return x.is_cpu and x.dtype == torch.float32


def _step(rows: slice, t: int, is_real: Tensor, bias: Tensor, kept: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
    """What follows the product of matrices in step t of some rows; `kernels.lstm_step` says what each tensor is."""
    gates, cells, squeezed, outputs = kept
    H = cells.shape[2]
    step, before, cell = gates[rows, t], cells[rows, t], cells[rows, t + 1]  # [r, 4H], [r, H], [r, H]
    step.add_(bias)
    step[:, : 3 * H].sigmoid_()
    step[:, 3 * H :].tanh_()
    step.mul_(is_real[rows, t, None])
    step[:, :H].add_(~is_real[rows, t, None])
    forget_gate, input_gate, output_gate, candidate = step.chunk(4, dim=1)  # each [r, H]
    torch.mul(input_gate, candidate, out=cell).addcmul_(forget_gate, before)  # [r, H]
    torch.mul(output_gate, torch.tanh(cell, out=squeezed[rows, t]), out=outputs[rows, t])  # [r, H]


def _step_backward(
    rows: slice, t: int, grad: Tensor, kept: tuple[Tensor, Tensor, Tensor], grad_gates: Tensor, grad_cell: Tensor
) -> None:
    """The gradients of `_step`; `kernels.lstm_step_backward` says what each tensor is."""
    gates, cells, squeezed = kept
    forget_gate, input_gate, output_gate, candidate = gates[rows, t].chunk(4, dim=1)  # each [r, H]
    given, tanh = grad[rows, t], squeezed[rows, t]  # [r, H] each
    grad_cell += given * output_gate * (1 - tanh * tanh)  # [r, H]
    torch.cat(
        [
            grad_cell * cells[rows, t] * forget_gate * (1 - forget_gate),
            grad_cell * candidate * input_gate * (1 - input_gate),
            given * tanh * output_gate * (1 - output_gate),
            grad_cell * input_gate * (1 - candidate * candidate),
        ],
        dim=1,
        out=grad_gates[rows, t],
    )
    grad_cell.mul_(forget_gate)


def _compiled_step(rows: slice, t: int, is_real: Tensor, bias: Tensor, kept: tuple[Tensor, ...]) -> None:
    from taxocaps.nn.kernels import lstm_step  # numba takes a moment to load

    lstm_step(rows.start, rows.stop, t, *(tensor.numpy() for tensor in (is_real, bias, *kept)))


def _compiled_step_backward(
    rows: slice, t: int, grad: Tensor, kept: tuple[Tensor, Tensor, Tensor], grad_gates: Tensor, grad_cell: Tensor
) -> None:
    from taxocaps.nn.kernels import lstm_step_backward

    lstm_step_backward(rows.start, t, *(tensor.numpy() for tensor in (grad, *kept, grad_gates, grad_cell)))


_CHUNK_ROWS = 256
"""Rows that are read together: what a step of them needs stays in the cache."""


def _row_chunks(rows: int) -> list[slice]:
    return [slice(start, min(start + _CHUNK_ROWS, rows)) for start in range(0, rows, _CHUNK_ROWS)]


class RowSelfAttention(nn.Module):
    """Attention of each window of a row to the others, in place of the LSTM: the kind of DiSAN (Shen et al. 2018).

    h = ELU(W alpha x + b), c = the contexts of h before and behind each window, feature by feature;
    g = sigmoid(W_g [h; c] + b_g), and the output is g h + (1 - g) c. The paper names it as future work.

    Shapes:
        x: [R, W, C], or [V, C] with index: [R, W]; mask: [R, W] of 0 and 1; alpha: [R, W] or None; returns [R, W, H].
    """

    def __init__(self, inputs: int, hidden_size: int) -> None:
        """Make the weights for `inputs` features and a hidden size of H."""
        super().__init__()
        self.hidden_size = hidden_size
        self.input = dense_layer(inputs, hidden_size, "relu")
        self.before = MaskedSelfAttention(hidden_size, "forward")
        self.behind = MaskedSelfAttention(hidden_size, "backward")
        self.gate = dense_layer(2 * hidden_size, hidden_size)

    def forward(self, x: Tensor, mask: Tensor, alpha: Tensor | None = None, index: Tensor | None = None) -> Tensor:
        """Every window in the light of the others; arguments as of `AttentionalLSTM`."""
        x = _everywhere(x, index)  # [R, W, C]
        x = x if alpha is None else x * alpha[..., None]  # [R, W, C]
        h = functional.elu(self.input(x))  # [R, W, H]
        real = mask > 0  # [R, W]
        context = self.before(h, real) + self.behind(h, real)  # [R, W, H]
        gate = self.gate(torch.cat([h, context], dim=2)).sigmoid()  # [R, W, H]
        return torch.lerp(context, h, gate) * mask[..., None].to(x.dtype)  # [R, W, H]


def window_blocks(blocks: Tensor, stride: int) -> Tensor:
    """The block of every window: that of its centre, else of its last word; 0 if all of it is padding.

    Args:
        blocks: The block of every word of a row, from 1; 0 at padding, which comes last.
        stride: The step from window to window.

    Shapes:
        blocks: [R, W]; returns [R, W'] with W' = (W - 3) // stride + 1.

    >>> window_blocks(torch.tensor([[1, 1, 2, 2, 0, 0, 0]]), stride=2)
    tensor([[1, 2, 0]])
    """
    first, centre, last = blocks.unfold(1, WINDOW, stride).unbind(dim=-1)  # each [R, W']
    return torch.where(centre > 0, centre, torch.where(last > 0, last, first))  # [R, W']
