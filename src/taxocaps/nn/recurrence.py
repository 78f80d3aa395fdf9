"""The attentional LSTM (paper, equation 4)."""

import torch
from torch import Tensor, nn

__all__ = ["AttentionalLSTM"]


class AttentionalLSTM(nn.Module):
    r"""An LSTM whose gates see the cell state and whose candidate sees the input alone, each input scaled by alpha.

    .. math::
        f_t = \sigma(W_f \alpha x_t + U_f c_{t-1} + b_f), \quad
        i_t = \sigma(W_i \alpha x_t + U_i c_{t-1} + b_i), \quad
        o_t = \sigma(W_o \alpha x_t + U_o c_{t-1} + b_o)

        c_t = f_t c_{t-1} + i_t \tanh(W_c \alpha x_t + b_c), \quad
        h_t = o_t \tanh(c_t)

    Padding carries the state on and gives 0.

    Shapes:
        x: [R, W, C]; is_real: [R, W] of 0 and 1; alpha: [R, W] or None; returns [R, W, H].
    """

    def __init__(self, inputs: int, units: int) -> None:
        """Make the weights of `units` cells that read `inputs` features."""
        super().__init__()
        self.units = units
        self.input = nn.Linear(inputs, 4 * units)
        self.state = nn.Linear(units, 3 * units, bias=False)
        # Each gate on its own: the usual ranges look at all four together, and are too small.
        for gate in self.input.weight.chunk(4):
            nn.init.xavier_normal_(gate)
        for gate in self.state.weight.chunk(3):
            nn.init.orthogonal_(gate)
        with torch.no_grad():
            self.input.bias.zero_()
            self.input.bias[:units] = 1.0  # gates that keep what they have, as usual for LSTMs

    def forward(self, x: Tensor, is_real: Tensor, alpha: Tensor | None = None) -> Tensor:
        """Read every row from left to right."""
        # W alpha x = alpha W x: one product for all steps, scaled afterwards; the bias is not scaled.
        projected = x @ self.input.weight.T  # [R, W, 4H]
        if alpha is not None:
            projected = projected * alpha[..., None]  # [R, W, 4H]
        projected = projected + self.input.bias  # [R, W, 4H]
        cell = x.new_zeros(x.shape[0], self.units)  # [R, H]
        outputs = []
        # Unbound steps: indexing x[:, t] would cost three times as much in the backward pass.
        for step, real in zip(projected.unbind(dim=1), is_real.to(x.dtype)[..., None].unbind(dim=1), strict=True):
            gates = torch.sigmoid(step[:, : 3 * self.units] + self.state(cell))  # [R, 3H]
            forget, let_in, let_out = gates.chunk(3, dim=-1)  # each [R, H]
            candidate = torch.tanh(step[:, 3 * self.units :])  # [R, H]
            new = forget * cell + let_in * candidate  # [R, H]
            cell = real * new + (1 - real) * cell  # [R, H]
            outputs.append(real * let_out * torch.tanh(cell))  # [R, H]
        return torch.stack(outputs, dim=1)  # [R, W, H]
