"""Compilation of kernels by numba, and their random numbers; only modules of kernels import this: it loads numba."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

__all__ = ["kernel", "mixed", "random_below"]


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function at its first call, releasing the interpreter's lock; cache the result on disk if possible.

    numba only notices changes of a kernel's own file: kernels that call one another belong in one file, those below
    aside, which never change.

    Args:
        function: The function.
        options: Further options of numba's `njit`.
    """
    try:
        return njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no writable folder for the cache, neither in the package nor of the user
        return njit(nogil=True, **options)(function)


@kernel
def random_below(state: np.uint64, n: int) -> tuple[Any, Any]:
    """The next state of a SplitMix64 generator and a random integer from 0 to n - 1."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    return state, np.int64(((mixed(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def mixed(value: np.uint64) -> np.uint64:
    """The finalizer of SplitMix64."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
