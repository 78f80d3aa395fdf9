"""How kernels are compiled; only modules of kernels import this, for it loads numba."""

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["kernel"]


def kernel(function: Callable[..., Any]) -> Any:
    """Compile at the first call, without the interpreter's lock; keep the result on disk, where there is a place.

    numba notices a change of a kernel's own file only: kernels that call one another stand in one file.
    """
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither the package nor the user has a folder that can be written
        return njit(nogil=True)(function)
