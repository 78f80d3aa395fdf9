"""Kernels: functions compiled by numba and kept on disk, and when they are worth the time that loading them takes.

This module does not load numba: that takes most of a second, and compiling a kernel for the first time takes several.
"""

import hashlib
import importlib.util
import math
import os
import pickle
import platform
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["expect_much_work", "kernel", "pays"]

_LOADING, _COMPILING = 0.7, 4.0
"""CPU seconds that it takes to load numba and what it needs, and to compile a kernel."""


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function at its first call, releasing the interpreter's lock; keep the result on disk if possible.

    Only changes of a kernel's own file are noticed: kernels that call one another belong in one file, those of
    `splitmix` aside, which never change.

    Args:
        function: The function.
        options: Further options of numba's `njit`.
    """
    from numba import njit

    compiled = njit(nogil=True, **options)(function)
    compiled._cache = _KernelFiles(function.__module__, function.__qualname__)  # numba has no public way to set it
    return compiled


def pays(name: str, seconds: float) -> bool:
    """Whether to use a kernel from now on, rather than plain code that gives the same.

    Plain code is used until kernels would have saved as much time as it takes to load numba; a kernel that has to be
    compiled, until it alone would have saved as much as that takes. So a process spends about twice the time of the
    better choice at most, without knowing how much work will come.

    Args:
        name: The kernel, as `module:function`.
        seconds: The CPU seconds that the kernel would save on the work at hand.
    """
    _saved[name] += seconds
    if _saved[name] >= _COMPILING:
        return True
    return ("numba" in sys.modules or sum(_saved.values()) >= _LOADING) and _is_on_disk(name)


def expect_much_work() -> None:
    """Use kernels from the beginning: for processes that go on for long, such as servers."""
    _saved.default_factory = lambda: math.inf
    _saved.clear()


_saved: defaultdict[str, float] = defaultdict(float)
"""CPU seconds that each kernel would have saved in this process."""


@cache
def _is_on_disk(name: str) -> bool:
    return _KernelFiles(*name.split(":")).exist()


class _KernelFiles:
    """What numba compiled of a kernel, a file for each combination of argument types and processor.

    This stands in for numba's own cache, which needs a folder that it may write to even if it only reads, and which
    several processes that compile at once can leave with the code of one signature under the name of another. Files
    that are missing, unreadable or damaged are compiled again; where nothing can be written, nothing is kept.
    """

    cache_path = None

    def __init__(self, module: str, function: str) -> None:
        self._module, self._function = module, function

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled function for a signature, or None; numba calls this before it compiles."""
        from numba.core.compiler import CompileResult

        context.refresh()
        for path in self._paths(signature, context.codegen()):
            with suppress(OSError):
                content = path.read_bytes()
                if content[:32] == _digest(content[32:]):
                    return CompileResult._rebuild(context, *pickle.loads(content[32:]))
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the compiled function for a signature; numba calls this after it has compiled."""
        from numba.core.serialize import dumps

        content = dumps(result._reduce())
        for path in self._paths(signature, result.codegen):
            with suppress(OSError):
                _write(path, _digest(content) + content)
                return

    def exist(self) -> bool:
        """Whether there is a file for any signature."""
        return any(True for folder in self._folders for _ in folder.glob(f"{self._stem}-*.nbc"))

    def _paths(self, signature: Any, codegen: Any) -> Iterator[Path]:
        key = _digest(repr((signature, codegen.magic_tuple())).encode()).hex()[:20]
        return (folder / f"{self._stem}-{key}.nbc" for folder in self._folders)

    @cached_property
    def _stem(self) -> str:
        """The same for the same source, options of compilation, Python and numba."""
        versions = (sys.implementation.cache_tag, platform.machine(), version("numba"), version("llvmlite"))
        sources = self._source.read_bytes() + Path(__file__).read_bytes()
        state = _digest(sources + repr(versions).encode()).hex()[:20]
        return f"{self._source.stem}.{self._function}-{state}"

    @cached_property
    def _source(self) -> Path:
        spec = importlib.util.find_spec(self._module)
        return Path(spec.origin if spec and spec.origin else "")

    @cached_property
    def _folders(self) -> list[Path]:
        """Where files may be, the best place to write to first; none if the source is no file."""
        if not self._source.is_file():
            return []
        package = self._source.parent
        below = f"{package.name}-{_digest(str(package.resolve()).encode()).hex()[:20]}"
        folders = [package / "__pycache__"]
        if chosen := os.environ.get("NUMBA_CACHE_DIR"):
            folders.insert(0, Path(chosen) / below)
        with suppress(RuntimeError):  # no home
            folders.append(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "taxocaps" / below)
        return folders


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _write(path: Path, content: bytes) -> None:
    """Put a file into its place at once, whatever other processes do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.", delete=False) as file:
        part = Path(file.name)
        try:
            file.write(content)
            file.close()
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
