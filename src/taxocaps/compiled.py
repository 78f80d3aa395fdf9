"""Compilation of kernels by numba; only modules of kernels import this, because it loads numba."""

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["kernel"]


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call, releasing the interpreter's lock; cache the result on disk if possible.

    numba only notices changes of a kernel's own file: kernels that call one another belong in one file.
    """
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no writable folder for the cache, neither in the package nor of the user
        return njit(nogil=True)(function)
