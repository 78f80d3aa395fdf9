"""Ragged arrays of documents as `.npy` files that grow, for corpora that do not fit into memory."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

__all__ = ["RaggedWriter"]


class RaggedWriter:
    """Appends ragged arrays of documents to `.npy` files; `offsets` says where those of each document begin."""

    def __init__(self, folder: Path) -> None:
        """Write into `folder`, made if need be."""
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._files: dict[str, _ArrayWriter] = {}
        self._last = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for file in self._files.values():
            file.close()

    def append(
        self,
        offsets: NDArray[np.int64],
        *,
        positions: Mapping[str, NDArray[np.int64]] | None = None,
        **arrays: NDArray[Any],
    ) -> None:
        """Add documents; `positions` are arrays of positions, which continue those before."""
        if "offsets" not in self._files:
            self._file("offsets", offsets).append(np.zeros(1, np.int64))
        shifted = {name: values + self._last for name, values in (positions or {}).items()}
        for name, values in {**arrays, **shifted}.items():
            self._file(name, values).append(values)
        self._files["offsets"].append(offsets[1:] + self._last)
        self._last += int(offsets[-1])

    @property
    def described(self) -> dict[str, Any]:
        """What was written, for the manifest."""
        return {name: {"dtype": str(file.dtype), "shape": list(file.shape)} for name, file in self._files.items()}

    def _file(self, name: str, values: NDArray[Any]) -> "_ArrayWriter":
        if name not in self._files:
            self._files[name] = _ArrayWriter(self._folder / f"{name}.npy", values.dtype, values.shape[1:])
        return self._files[name]


class _ArrayWriter:
    """Appends to an `.npy` file whose length is not known beforehand."""

    def __init__(self, path: Path, dtype: Any, row: tuple[int, ...]) -> None:
        self.dtype, self.row, self.length = np.dtype(dtype), row, 0
        self._file: IO[bytes] = path.open("wb")
        self._write_header()

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.length, *self.row)

    def append(self, values: NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(values, self.dtype).data)
        self.length += len(values)

    def close(self) -> None:
        # numpy pads the header of an array so that its length can be written again in place.
        with self._file:
            self._file.seek(0)
            self._write_header()

    def _write_header(self) -> None:
        header = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": self.shape}
        npy.write_array_header_1_0(self._file, header)
