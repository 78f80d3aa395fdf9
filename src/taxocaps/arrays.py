"""The arrays of a model's file: written as safetensors, and each checked against what the model needs when read.

Compiled code, SciPy's included, trusts indices: one that is out of range reads or writes memory of others.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from taxocaps.errors import ModelError, TaxoCapsError

__all__ = ["ModelArrays", "check_finite", "reading_arrays", "write_arrays"]


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to a safetensors file, for `ModelArrays.read`."""
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
    path.chmod(0o644)  # it comes readable by its owner only, unlike all other files of a model


@contextmanager
def reading_arrays(path: Path) -> Iterator[None]:
    """Report whatever goes wrong with a file of arrays in one line: a damaged one can fail in a dozen ways.

    Raises:
        ModelError: In place of any other error.
    """
    try:
        yield
    except TaxoCapsError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) if isinstance(error, ValueError) else ""
        raise ModelError(f"{path}: damaged, or not the weights of this model{reason and f': {reason}'}") from error


@dataclass(frozen=True)
class ModelArrays:
    """Arrays by name, as they were read from a file.

    Attributes:
        arrays: The arrays; nothing is known of them yet.
    """

    arrays: dict[str, NDArray[Any]]

    @classmethod
    def read(cls, path: Path) -> "ModelArrays":
        """All arrays of a safetensors file."""
        from safetensors.numpy import load_file

        return cls(load_file(path))

    def dense(
        self, name: str, dtype: DTypeLike, shape: tuple[int, ...], low: float = -np.inf, high: float = np.inf
    ) -> NDArray[Any]:
        """An array of finite numbers.

        Args:
            name: Its name.
            dtype: The type of its numbers.
            shape: Its shape.
            low: The least number allowed.
            high: The greatest number allowed.

        Raises:
            ValueError: If there is no such array, or it is not as asked.
        """
        array = self._typed(name, dtype, len(shape))
        if array.shape != shape:
            raise ValueError(f"{name} has the shape {array.shape}, not {shape}")
        check_finite(name, array)
        if array.size and not (array.min() >= low and array.max() <= high):
            raise ValueError(f"{name} has numbers that are not from {low:g} to {high:g}")
        return array

    def sparse(self, name: str, dtype: DTypeLike, shape: tuple[int, int]) -> csr_array:
        """A sparse matrix out of the arrays `NAME.data`, `NAME.indices` and `NAME.indptr`.

        Args:
            name: Its name.
            dtype: The type of its numbers.
            shape: Its shape.

        Raises:
            ValueError: If arrays are missing, do not fit together, or lead outside of the matrix.
        """
        starts = self._typed(f"{name}.indptr", np.int64, 1)
        columns = self._typed(f"{name}.indices", np.int32, 1)
        values = self.dense(f"{name}.data", dtype, columns.shape)
        if (
            starts.shape != (shape[0] + 1,)
            or starts[0] != 0
            or starts[-1] != len(columns)
            or (np.diff(starts) < 0).any()
        ):
            raise ValueError(f"the rows of {name} do not fit together")
        if len(columns) and not (columns.min() >= 0 and columns.max() < shape[1]):
            raise ValueError(f"{name} has columns outside of the {shape[1]:,} that there are")
        return csr_array((values, columns, starts), shape=shape)

    def _typed(self, name: str, dtype: DTypeLike, dimensions: int) -> NDArray[Any]:
        if name not in self.arrays:
            raise ValueError(f"{name} is missing")
        array = self.arrays[name]
        if array.dtype != np.dtype(dtype) or array.ndim != dimensions:
            raise ValueError(f"{name} is {array.ndim}-dimensional {array.dtype}, not {dimensions}-dimensional {dtype}")
        return array


def check_finite(name: str, array: NDArray[Any]) -> None:
    """Refuse numbers by which scores would mean nothing.

    Raises:
        ValueError: If some are infinite or no numbers at all.
    """
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} has numbers that are infinite or no numbers at all")
