"""Random numbers inside kernels: the generator SplitMix64 (Steele, Lea and Flood 2014)."""

from typing import Any

import numpy as np

from taxocaps.compiled import kernel

__all__ = ["mixed", "random_below"]


@kernel
def random_below(state: np.uint64, n: int) -> tuple[Any, Any]:
    """The next state of the generator and a random integer from 0 to n - 1."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    return state, np.int64(((mixed(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def mixed(value: np.uint64) -> np.uint64:
    """The finalizer of SplitMix64."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
