"""Compiled: what follows products of matrices in recurrent layers and capsules, in one pass over the numbers.

On a processor, torch needs a dozen passes for what follows the products of matrices, and its tanh alone takes as long
as all other functions of a step.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxocaps.compiled import kernel

__all__ = ["add_squashed", "gru_step", "gru_step_backward", "lstm_step", "lstm_step_backward", "read_windows"]

Floats = NDArray[np.float32]

# Divisions that check for 0 would keep the loops from using vectors; a product and a sum may be one instruction.
_arithmetic = partial(kernel, error_model="numpy", fastmath={"contract"})

_F = np.float32
_HALF, _ONE = _F(0.5), _F(1)
_FAR = _F(7.90531110763549805)
"""Where tanh is 1 or -1 in single precision."""


@_arithmetic
def _tanh(x: Any) -> Any:
    """The quotient of two polynomials that comes within 4e-7 of tanh: the approximation of Eigen and TensorFlow."""
    x = _FAR if x > _FAR else x  # in this form, numbers that are none stay so
    x = -_FAR if x < -_FAR else x
    square = x * x
    above = square * _F(-2.76076847742355e-16) + _F(2.00018790482477e-13)
    above = above * square + _F(-8.60467152213735e-11)
    above = above * square + _F(5.12229709037114e-08)
    above = above * square + _F(1.48572235717979e-05)
    above = above * square + _F(6.37261928875436e-04)
    above = above * square + _F(4.89352455891786e-03)
    below = square * _F(1.19825839466702e-06) + _F(1.18534705686654e-04)
    below = below * square + _F(2.26843463243900e-03)
    below = below * square + _F(4.89352518554385e-03)
    return x * above / below


@_arithmetic
def _sigmoid(x: Any) -> Any:
    return _tanh(x * _HALF) * _HALF + _HALF


@_arithmetic
def read_windows(
    products: Floats,
    index: NDArray[np.int64],
    is_real: NDArray[np.bool_],
    alpha: Floats,
    bias: Floats,
    of_state: Floats,
    first: int,
    t: int,
    cells: Floats,
    outputs: Floats,
) -> None:
    """One step of some rows: read window t of each (paper, equation 4). Padding keeps the cell, and its output is 0.

    Args:
        products: [U, 4H] what the gates f, i, o and the candidate read in each distinct window, without attention.
        index: [R, W] the distinct window of each window of each row.
        is_real: [R, W] False at padding.
        alpha: [R, W] the attention of each window.
        bias: [4H] of gates and candidate.
        of_state: [r, 3H] what the gates read in the cells.
        first: The first row.
        t: The window.
        cells: In and out: [r, H] of r rows from the first one on.
        outputs: Out: [R, W, H].
    """
    H = cells.shape[1]
    for row in range(len(cells)):
        output = outputs[first + row, t]
        if not is_real[first + row, t]:
            output[:] = 0
            continue
        given, state, cell = products[index[first + row, t]], of_state[row], cells[row]
        factor = alpha[first + row, t]
        for k in range(H):
            forget_gate = _sigmoid(factor * given[k] + bias[k] + state[k])
            input_gate = _sigmoid(factor * given[H + k] + bias[H + k] + state[H + k])
            output_gate = _sigmoid(factor * given[2 * H + k] + bias[2 * H + k] + state[2 * H + k])
            candidate = _tanh(factor * given[3 * H + k] + bias[3 * H + k])
            cell[k] = forget_gate * cell[k] + input_gate * candidate
            output[k] = output_gate * _tanh(cell[k])


@_arithmetic
def lstm_step(
    first: int,
    last: int,
    t: int,
    is_real: NDArray[np.bool_],
    bias: Floats,
    gates: Floats,
    cells: Floats,
    squeezed: Floats,
    outputs: Floats,
) -> None:
    """Step t of some rows (paper, equation 4), with all that its gradients need.

    Args:
        first: The first row.
        last: The row after the last one.
        t: The step.
        is_real: [R, W] False at padding, whose gates keep the cell, and whose output is 0.
        bias: [4H] of gates and candidate.
        gates: In: [R, W, 4H] what the gates f, i, o and the candidate read, without bias; out: their values.
        cells: In and out: [R, W + 1, H] the cells before each step, and after the last one.
        squeezed: Out: [R, W, H] tanh of the cells after each step.
        outputs: Out: [R, W, H].
    """
    H = cells.shape[2]
    for row in range(first, last):
        gate, before, cell = gates[row, t], cells[row, t], cells[row, t + 1]
        tanh, output = squeezed[row, t], outputs[row, t]
        if not is_real[row, t]:
            gate[:H], gate[H:], cell[:], output[:] = 1, 0, before, 0
            for k in range(H):
                tanh[k] = _tanh(cell[k])
            continue
        for k in range(H):
            forget_gate, input_gate = _sigmoid(gate[k] + bias[k]), _sigmoid(gate[H + k] + bias[H + k])
            output_gate = _sigmoid(gate[2 * H + k] + bias[2 * H + k])
            candidate = _tanh(gate[3 * H + k] + bias[3 * H + k])
            cell[k] = forget_gate * before[k] + input_gate * candidate
            tanh[k] = _tanh(cell[k])
            output[k] = output_gate * tanh[k]
            gate[k], gate[H + k], gate[2 * H + k], gate[3 * H + k] = forget_gate, input_gate, output_gate, candidate


@_arithmetic
def lstm_step_backward(
    first: int,
    t: int,
    grad: Floats,
    gates: Floats,
    cells: Floats,
    squeezed: Floats,
    grad_gates: Floats,
    grad_cell: Floats,
) -> None:
    """The gradients of `lstm_step`.

    Args:
        first: The first row.
        t: The step.
        grad: [R, W, H] of the outputs.
        gates: [R, W, 4H] as `lstm_step` left them.
        cells: [R, W + 1, H] likewise.
        squeezed: [R, W, H] likewise.
        grad_gates: Out: [R, W, 4H] of what gates and candidate read.
        grad_cell: [r, H] of r rows from the first one on; in: of the cells after the step, by the steps that follow;
            out: of the cells before it, without what reaches them through the gates.
    """
    H = cells.shape[2]
    for r in range(len(grad_cell)):
        row = first + r
        given, gate, before, tanh = grad[row, t], gates[row, t], cells[row, t], squeezed[row, t]
        found, carry = grad_gates[row, t], grad_cell[r]
        f, i, o, c = gate[:H], gate[H : 2 * H], gate[2 * H : 3 * H], gate[3 * H :]
        for k in range(H):
            carry[k] += given[k] * o[k] * (_ONE - tanh[k] * tanh[k])
        for k in range(H):
            found[k] = carry[k] * before[k] * f[k] * (_ONE - f[k])
        for k in range(H):
            found[H + k] = carry[k] * c[k] * i[k] * (_ONE - i[k])
        for k in range(H):
            found[2 * H + k] = given[k] * tanh[k] * o[k] * (_ONE - o[k])
        for k in range(H):
            found[3 * H + k] = carry[k] * i[k] * (_ONE - c[k] * c[k])
        for k in range(H):
            carry[k] *= f[k]


@_arithmetic
def add_squashed(
    capsules: Floats, weights: Floats, document: NDArray[np.int64], tiny: np.float32, sums: Floats
) -> None:
    """Squash the capsules of rows, and add them up for each document; see `nn.capsules.squash`.

    Args:
        capsules: [R, m, M] the M capsules of each row; the numbers of one lie apart, those of neighbours together.
        weights: [R] the weight of each row.
        document: [R] the document of each row.
        tiny: Added to squared lengths.
        sums: In and out: [B, m, M].
    """
    size, channels = capsules.shape[1:]
    factors = np.empty(channels, np.float32)
    for row in range(len(capsules)):
        capsule, total, weight = capsules[row], sums[document[row]], weights[row]
        factors[:] = 0
        for i in range(size):
            for k in range(channels):
                factors[k] += capsule[i, k] * capsule[i, k]
        for k in range(channels):
            factors[k] = weight * np.sqrt(factors[k] + tiny) / (_ONE + factors[k])
        for i in range(size):
            for k in range(channels):
                total[i, k] += capsule[i, k] * factors[k]


@_arithmetic
def gru_step(given: Floats, of_state: Floats, before: Floats, gates: Floats, after: Floats) -> None:
    """One step of a GRU: r = sigma(x_r + h_r), z = sigma(x_z + h_z), n = tanh(x_n + r h_n), h' = (1 - z) n + z h.

    Args:
        given: [B, 3H] x_r, x_z and x_n, what is read in the inputs.
        of_state: [B, 3H] h_r, h_z and h_n, what is read in the states.
        before: [B, H] the states h.
        gates: Out: [B, 4H] r, z, n and h_n.
        after: Out: [B, H] the next states h'.
    """
    H = before.shape[1]
    for row in range(len(before)):
        x, h, old, gate, new = given[row], of_state[row], before[row], gates[row], after[row]
        # One after another: the compiler uses vectors only where few arrays could overlap.
        for k in range(2 * H):
            gate[k] = _sigmoid(x[k] + h[k])
        for k in range(H):
            gate[2 * H + k] = _tanh(x[2 * H + k] + gate[k] * h[2 * H + k])
        for k in range(H):
            new[k] = gate[2 * H + k] + gate[H + k] * (old[k] - gate[2 * H + k])
        gate[3 * H :] = h[2 * H :]


@_arithmetic
def gru_step_backward(
    grad: Floats, gates: Floats, before: Floats, grad_given: Floats, grad_of_state: Floats, carried: Floats
) -> None:
    """The gradients of `gru_step`.

    Args:
        grad: [B, H] of the outputs of this step.
        gates: [B, 4H] as `gru_step` left them.
        before: [B, H] the states before the step.
        grad_given: Out: [B, 3H].
        grad_of_state: Out: [B, 3H].
        carried: [B, H] in: of the next states, by the steps that follow; out: of the states before, without what
            reaches them through `of_state`.
    """
    H = before.shape[1]
    for row in range(len(before)):
        gate, old, x, h, carry = gates[row], before[row], grad_given[row], grad_of_state[row], carried[row]
        of_output = grad[row]
        for k in range(H):
            r, z, n, h_n = gate[k], gate[H + k], gate[2 * H + k], gate[3 * H + k]
            total = of_output[k] + carry[k]
            of_n = total * (_ONE - z) * (_ONE - n * n)
            of_z = total * (old[k] - n) * z * (_ONE - z)
            of_r = of_n * h_n * r * (_ONE - r)
            x[k], x[H + k], x[2 * H + k] = of_r, of_z, of_n
            h[k], h[H + k], h[2 * H + k] = of_r, of_z, of_n * r
            carry[k] = total * z
