"""A GRU over padded sequences on a processor, with gradients by hand."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

__all__ = ["read_sequences"]


def read_sequences(layer: nn.GRU, x: Tensor) -> Tensor:
    """The states of a GRU of one layer and one direction, with biases, from states of 0.

    torch has fused steps for LSTMs only: those of a GRU are a dozen operations each, and autograd keeps, and reads
    again, the result of each. Here a step is a product of matrices and a kernel.

    Shapes:
        x: [B, T, C] of float32, in the memory of the processor; returns [B, T, H].
    """
    weights = layer.weight_ih_l0, layer.bias_ih_l0, layer.weight_hh_l0, layer.bias_hh_l0
    states: Tensor = _Steps.apply(x, *weights)  # type: ignore[no-untyped-call]
    return states  # [B, T, H]


class _Steps(torch.autograd.Function):
    """All steps; time is the first axis inside, so that the numbers of a step lie together.

    Shapes:
        x: [B, T, C]; weight: [3H, C]; bias: [3H]; state_weight: [3H, H]; state_bias: [3H]; returns [B, T, H].
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, state_weight: Tensor, state_bias: Tensor) -> Tensor:
        from taxocaps.nn.kernels import gru_step  # numba takes a moment to load

        x = x.transpose(0, 1).contiguous()  # [T, B, C]
        T, B, H = *x.shape[:2], state_weight.shape[1]
        given = functional.linear(x, weight, bias)  # [T, B, 3H]: one product for all steps
        states, gates = x.new_zeros(T + 1, B, H), x.new_empty(T, B, 4 * H)
        of_state = x.new_empty(B, 3 * H)
        arrays = [tensor.numpy() for tensor in (given, states, gates, of_state)]
        for t in range(T):
            torch.addmm(state_bias, states[t], state_weight.T, out=of_state)
            gru_step(arrays[0][t], arrays[3], arrays[1][t], arrays[2][t], arrays[1][t + 1])
        ctx.save_for_backward(x, states, gates, weight, state_weight)
        return states[1:].transpose(0, 1).contiguous()  # [B, T, H]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        from taxocaps.nn.kernels import gru_step_backward

        x, states, gates, weight, state_weight = ctx.saved_tensors
        T, B, H = gates.shape[0], gates.shape[1], states.shape[2]
        grad = grad.transpose(0, 1).contiguous()  # [T, B, H]
        grad_given, grad_of_state = (gates.new_empty(T, B, 3 * H) for _ in range(2))
        carried = gates.new_zeros(B, H)
        tensors = (grad, gates, states, grad_given, grad_of_state)
        arrays = [tensor.numpy() for tensor in tensors]
        for t in reversed(range(T)):
            gru_step_backward(*(array[t] for array in arrays), carried.numpy())
            carried.addmm_(grad_of_state[t], state_weight)  # [B, H]
        given, of_state = grad_given.flatten(0, 1), grad_of_state.flatten(0, 1)  # [T B, 3H] each
        return (
            (given @ weight).view_as(x).transpose(0, 1),  # [B, T, C]
            given.T @ x.flatten(0, 1),  # [3H, C]
            given.sum(dim=0),  # [3H]
            of_state.T @ states[:-1].flatten(0, 1),  # [3H, H]
            of_state.sum(dim=0),  # [3H]
        )
