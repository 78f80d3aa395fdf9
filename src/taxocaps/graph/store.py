"""The encoded store: words-matrices of a whole corpus as memory-mapped arrays with a manifest.

A store is a folder. It is written in a folder of another name and renamed when complete, so that a store which can be
opened is whole; it opens in milliseconds however large it is.
"""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from taxocaps.errors import StoreError
from taxocaps.files import atomic_text
from taxocaps.graph.words_matrix import WordsMatrices

__all__ = ["FORMAT", "STORE_FILES", "EncodedStore", "StoreWriter", "open_store"]

FORMAT = "taxocaps-encoded/1"
_MANIFEST = "manifest.json"
_ARRAYS = {"words": np.int32, "blocks": np.int8, "block_counts": np.int8, "offsets": np.int64}
STORE_FILES = (_MANIFEST, *(f"{name}.npy" for name in _ARRAYS))
"""The files that every store has; others may stand beside them."""


@dataclass(frozen=True)
class EncodedStore:
    """An open store.

    Attributes:
        path: Its folder.
        manifest: What it was made from: `config`, `hashes`, `counts`, versions.
        matrices: The words-matrices; their arrays are read from disk where they are touched.
    """

    path: Path
    manifest: Mapping[str, Any]
    matrices: WordsMatrices

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.matrices)


class StoreWriter:
    """Appends words-matrices to the arrays of a store; memory does not grow with their number."""

    def __init__(self, folder: Path, T: int) -> None:
        """Begin a store of rows of T words in an existing `folder`; old arrays there are overwritten."""
        self._folder = folder
        self._files = ExitStack()
        self._writers = {
            name: self._files.enter_context(_ArrayWriter(folder / f"{name}.npy", kind, (T,) if name in _WIDE else ()))
            for name, kind in _ARRAYS.items()
        }
        self._writers["offsets"].append(np.zeros(1, np.int64))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._files.__exit__(None, None, None)

    def append(self, matrices: WordsMatrices) -> None:
        """Add documents."""
        rows = self._writers["words"].length
        self._writers["words"].append(matrices.words)
        self._writers["blocks"].append(matrices.blocks)
        self._writers["block_counts"].append(matrices.block_counts)
        self._writers["offsets"].append(matrices.offsets[1:] + rows)

    def finish(self, manifest: Mapping[str, Any]) -> None:
        """Complete the arrays and write the manifest, which makes the folder a store."""
        arrays = {name: {"dtype": str(writer.dtype), "shape": writer.shape} for name, writer in self._writers.items()}
        counts = {"documents": self._writers["offsets"].length - 1, "rows": self._writers["words"].length}
        self._files.close()
        whole = {
            "format": FORMAT,
            **manifest,
            "counts": {**counts, **manifest.get("counts", {})},
            "arrays": arrays,
        }
        with atomic_text(self._folder / _MANIFEST) as file:
            json.dump(whole, file, indent=2, ensure_ascii=False)
            file.write("\n")


def open_store(path: Path | str, *, expected: Mapping[str, str] | None = None) -> EncodedStore:
    """Open a store for reading.

    Args:
        path: Its folder.
        expected: Hashes that the store must have been made with, such as `{"vocabulary": "..."}`.

    Raises:
        StoreError: If there is no store, it is damaged, or it was made from something else.
    """
    path = Path(path)
    manifest = _read_manifest(path)
    for name, wanted in (expected or {}).items():
        if manifest["hashes"].get(name) != wanted:
            raise StoreError(f"{path}: was encoded with another {name}; encode the corpus again (--overwrite)")
    arrays = {name: _open_array(path, name, manifest["arrays"][name]) for name in _ARRAYS}
    matrices = WordsMatrices(**arrays)
    if matrices.offsets[-1] != len(matrices.words):
        raise StoreError(f"{path}: damaged: offsets.npy does not fit words.npy; encode the corpus again (--overwrite)")
    return EncodedStore(path, manifest, matrices)


_WIDE = ("words", "blocks")


class _ArrayWriter:
    """Appends to an `.npy` file whose length is not known beforehand."""

    def __init__(self, path: Path, dtype: type, row: tuple[int, ...]) -> None:
        self.dtype, self.row, self.length = np.dtype(dtype), row, 0
        self._file: IO[bytes] = path.open("wb")
        self._write_header()

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.length, *self.row)

    def append(self, values: NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(values, self.dtype).data)
        self.length += len(values)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # numpy pads the header of an array so that its length can be written again in place.
        with self._file:
            self._file.seek(0)
            self._write_header()

    def _write_header(self) -> None:
        header = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": self.shape}
        npy.write_array_header_1_0(self._file, header)


def _read_manifest(path: Path) -> Mapping[str, Any]:
    if not path.is_dir():
        raise StoreError(f"{path}: no encoded store there; make one with: taxocaps encode CORPUS --out {path}")
    try:
        manifest = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StoreError(f"{path}: not an encoded store (no {_MANIFEST} in it)") from error
    except (OSError, ValueError) as error:
        raise StoreError(f"{path / _MANIFEST}: cannot be read; encode the corpus again (--overwrite)") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        found = manifest.get("format") if isinstance(manifest, dict) else None
        raise StoreError(f"{path}: is of format {found!r}, not {FORMAT!r}; encode the corpus again (--overwrite)")
    wanted = ("config", "hashes", "counts", "arrays", *(f"arrays.{name}" for name in _ARRAYS))
    missing = [key for key in wanted if not isinstance(_lookup(manifest, key), dict)]
    if missing:
        raise StoreError(f"{path / _MANIFEST}: {missing[0]} is missing; encode the corpus again (--overwrite)")
    return manifest


def _lookup(manifest: Mapping[str, Any], key: str) -> Any:
    value: Any = manifest
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _open_array(path: Path, name: str, described: Mapping[str, Any]) -> NDArray[Any]:
    file = path / f"{name}.npy"
    try:
        # An array without rows cannot be mapped, but is small enough to read.
        is_small = file.stat().st_size < 1_024
        array: NDArray[Any] = np.load(file, mmap_mode=None if is_small else "r", allow_pickle=False)
    except FileNotFoundError as error:
        raise StoreError(f"{file}: is missing from the store; encode the corpus again (--overwrite)") from error
    except (OSError, ValueError, EOFError) as error:
        raise StoreError(f"{file}: damaged or cut off; encode the corpus again (--overwrite)") from error
    if list(array.shape) != described.get("shape") or str(array.dtype) != described.get("dtype"):
        raise StoreError(f"{file}: does not match {_MANIFEST}; encode the corpus again (--overwrite)")
    return array
