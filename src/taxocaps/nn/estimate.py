"""An estimate of the memory of training a network over words-matrices."""

from typing import TYPE_CHECKING

from taxocaps.nn.network import Sizes
from taxocaps.nn.rows import WINDOW

if TYPE_CHECKING:
    from taxocaps.nn.words_matrix import WordsMatrixConfig

__all__ = ["training_memory"]

_FLOAT = 4
_COPIES_OF_PARAMETERS = 4
"""The parameters, their gradients, and the two averages of Adam."""

_COPIES_OF_CAPSULES = 8
"""Linear outputs, squashed capsules, their groups, and the gradients of these."""

_COPIES_OF_STATES = 11
"""Of the state of an LSTM at each step: four projections twice, gates, states, and their gradients."""

_MAX_ROUTING = 128 * 2**20
_FIXED = 300 * 2**20
"""Python, torch and its libraries."""


def training_memory(config: "WordsMatrixConfig", sizes: Sizes, batch_size: int, parameters: int) -> int:
    """The approximate peak memory, in bytes, of a training step with Adam on documents that have all N rows.

    Args:
        config: The options of the network.
        sizes: The sizes that the data determine.
        batch_size: Documents of a step.
        parameters: The number of parameters of the network.
    """
    rows = batch_size * sizes.N
    values = parameters * _COPIES_OF_PARAMETERS + rows * _row_values(config, sizes)
    values += 6 * batch_size * sizes.labels * (config.label_capsule_size if config.head == "capsule" else 1)
    logits = _routed_capsules(config, batch_size, sizes.N) * sizes.labels * _FLOAT
    return values * _FLOAT + 3 * min(logits, _MAX_ROUTING) + _FIXED


def _routed_capsules(config: "WordsMatrixConfig", batch_size: int, rows: int) -> int:
    """The number of capsules with routing logits; a single iteration has no logits."""
    if config.head != "capsule" or config.iterations == 1:
        return 0
    return batch_size * (rows * config.channels if config.compress is None else config.compress)


def _row_values(config: "WordsMatrixConfig", sizes: Sizes) -> int:
    """The number of values that are kept of a row for the backward pass."""
    values, width, features = 0, sizes.T, sizes.D
    for filters in config.filters:
        width = (width - WINDOW) // config.stride + 1
        values += width * (max(config.widths) * features + 3 * filters)
        features = filters
        if config.recurrent != "none":
            values += width * config.units * _COPIES_OF_STATES
            features = config.units + (filters if config.windows == "kept" else 0)
    if config.head == "capsule":
        return values + config.channels * config.capsule_size * _COPIES_OF_CAPSULES
    return values + 3 * config.head_filters
