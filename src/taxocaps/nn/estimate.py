"""What a network will take before it is made: weights, and the memory of training."""

from dataclasses import dataclass

import torch

from taxocaps.nn.windows import WINDOW
from taxocaps.nn.words_matrix import NetworkConfig, Sizes, WordsMatrixNetwork

__all__ = ["Estimate", "estimate_training"]

_FLOAT = 4
_COPIES_OF_WEIGHTS = 4
"""The weights, their gradients, and the two averages of Adam."""

_COPIES_OF_CAPSULES = 8
"""Linear outputs, squashed capsules, their groups, and the gradients of these."""

_COPIES_OF_CELLS = 11
"""Of each cell of an LSTM at each step: four projections twice, gates, states, and what the backward pass adds."""

_ROUTING_AT_MOST = 128 * 2**20
_FIXED = 300 * 2**20
"""Python, torch and its libraries."""


@dataclass(frozen=True)
class Estimate:
    """What training takes.

    Attributes:
        parameters: The number of weights; exact.
        memory: Bytes at the peak of a training step, roughly.
    """

    parameters: int
    memory: int


def estimate_training(config: NetworkConfig, sizes: Sizes, batch_size: int) -> Estimate:
    """Estimate a training step, with Adam, on documents that fill all their rows.

    Args:
        config: The network.
        sizes: What the data decide.
        batch_size: Documents of a step.
    """
    with torch.device("meta"):  # shapes without memory
        network = WordsMatrixNetwork(config, sizes)
    parameters = sum(weights.numel() for weights in network.parameters())
    rows = batch_size * sizes.N
    numbers = parameters * _COPIES_OF_WEIGHTS + rows * _row_numbers(config, sizes)
    numbers += 6 * batch_size * sizes.labels * (config.label_capsule_size if config.head == "capsule" else 1)
    logits = _routed_capsules(config, batch_size, sizes.N) * sizes.labels * _FLOAT
    return Estimate(parameters, numbers * _FLOAT + 3 * min(logits, _ROUTING_AT_MOST) + _FIXED)


def _routed_capsules(config: NetworkConfig, batch_size: int, rows: int) -> int:
    """Capsules with a routing logit for every label; a single pass of routing has none."""
    if config.head != "capsule" or config.iterations == 1:
        return 0
    return batch_size * (rows * config.channels if config.compress is None else config.compress)


def _row_numbers(config: NetworkConfig, sizes: Sizes) -> int:
    """The numbers that a row leaves behind for the backward pass."""
    numbers, width, features = 0, sizes.T, sizes.D
    for filters in config.filters:
        width = (width - WINDOW) // config.stride + 1
        numbers += width * (WINDOW * features + 3 * filters)
        features = filters
        if config.recurrent == "lstm":
            numbers += width * config.units * _COPIES_OF_CELLS
            features = config.units
    if config.head == "capsule":
        return numbers + config.channels * config.capsule_size * _COPIES_OF_CAPSULES
    return numbers + 3 * config.head_filters
