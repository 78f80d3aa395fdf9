"""The layers over the rows of words-matrices: convolution, block attention, attentional LSTM (paper section 3.1)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.nn.layers import MaskedSelfAttention, dense_layer

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
        found = [convolution(x, positions) for convolution in self.convolutions]  # each [R, W', filters]
        features = torch.cat(found, dim=2).relu()  # [R, W', filters]
        kept = [features * mask[..., None]] if self.keeps_windows else []  # [R, W', filters]
        if self.context is not None:
            alpha = None if self.attention is None else self.attention(rank, block_counts, windows)  # [R, W']
            kept.append(self.context(features, mask, alpha))  # [R, W', H]
        return torch.cat(kept, dim=2), windows  # [R, W', F], [R, W']


class RowConvolution(nn.Module):
    """A convolution over windows of words of a row, in two equivalent forms.

    The words of a document occur in many of its rows. Each distinct word is therefore multiplied with the kernels once,
    and the products of each window are added up, which is several times as fast. Windows wider than three words have
    the centres of those of three, and read zeros beyond the ends of a row.

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
        kernels = self.weight.permute(1, 2, 0).flatten(1)  # [C, w F]
        products = (x @ kernels).view(-1, len(self.bias))  # [U w, F]
        indices = positions.unfold(1, self.width, self.stride) * self.width  # [R, W', w]
        indices = indices + torch.arange(self.width, device=x.device)  # [R, W', w]
        if not len(positions):  # embedding_bag needs at least one window
            return self.bias.expand(*indices.shape[:2], -1)
        sums = functional.embedding_bag(indices.flatten(0, 1), products, mode="sum")  # [R W', F]
        return (sums + self.bias).view(*indices.shape[:2], len(self.bias))  # [R, W', F]


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
        x: [R, W, C]; mask: [R, W] of 0 and 1; alpha: [R, W] or None; returns [R, W, H].
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

    def forward(self, x: Tensor, mask: Tensor, alpha: Tensor | None = None) -> Tensor:
        """Read every row from left to right."""
        # W alpha x = alpha W x: one product for all steps, scaled afterwards; the bias is not scaled.
        projected = x @ self.input.weight.T  # [R, W, 4H]
        if alpha is not None:
            projected = projected * alpha[..., None]  # [R, W, 4H]
        projected = projected + self.input.bias  # [R, W, 4H]
        cell = x.new_zeros(x.shape[0], self.hidden_size)  # [R, H]
        outputs = []
        # Unbound steps: indexing x[:, t] would cost three times as much in the backward pass.
        for step, real in zip(projected.unbind(dim=1), mask.to(x.dtype)[..., None].unbind(dim=1), strict=True):
            gates = torch.sigmoid(step[:, : 3 * self.hidden_size] + self.state(cell))  # [R, 3H]
            forget_gate, input_gate, output_gate = gates.chunk(3, dim=-1)  # each [R, H]
            candidate = torch.tanh(step[:, 3 * self.hidden_size :])  # [R, H]
            new = forget_gate * cell + input_gate * candidate  # [R, H]
            cell = real * new + (1 - real) * cell  # [R, H]
            outputs.append(real * output_gate * torch.tanh(cell))  # [R, H]
        return torch.stack(outputs, dim=1)  # [R, W, H]


class RowSelfAttention(nn.Module):
    """Attention of each window of a row to the others, in place of the LSTM: the kind of DiSAN (Shen et al. 2018).

    h = ELU(W alpha x + b), c = the contexts of h before and behind each window, feature by feature;
    g = sigmoid(W_g [h; c] + b_g), and the output is g h + (1 - g) c. The paper names it as future work.

    Shapes:
        x: [R, W, C]; mask: [R, W] of 0 and 1; alpha: [R, W] or None; returns [R, W, H].
    """

    def __init__(self, inputs: int, hidden_size: int) -> None:
        """Make the weights for `inputs` features and a hidden size of H."""
        super().__init__()
        self.hidden_size = hidden_size
        self.input = dense_layer(inputs, hidden_size, "relu")
        self.before = MaskedSelfAttention(hidden_size, "forward")
        self.behind = MaskedSelfAttention(hidden_size, "backward")
        self.gate = dense_layer(2 * hidden_size, hidden_size)

    def forward(self, x: Tensor, mask: Tensor, alpha: Tensor | None = None) -> Tensor:
        """Every window in the light of the others."""
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
