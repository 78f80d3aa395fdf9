"""The docstrings of an installed package, parsed from its source files; nothing is imported."""

import ast
import importlib.util
import os
import sysconfig
import warnings
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

__all__ = ["STANDARD_LIBRARY", "Docstring", "package_folder", "read_docstrings"]

STANDARD_LIBRARY = "python"
"""The name under which the standard library goes, as if it were one package."""

_TESTS = {"test", "tests", "_internal", "benchmarks", "examples"}
_COPIES = {"externals", "extern", "vendor", "vendored", "_vendor", "_vendored", "third_party"}
_PROGRAMS = {"idlelib", "lib2to3", "turtledemo", "pydoc_data"}
_LEFT_OUT = _TESTS | _COPIES | _PROGRAMS
"""Folders with tests, with copies of other packages, or with programs of the standard library."""

_PUBLIC_FACE = frozenset({("numpy", "_core")})
"""Private folders right below a package hold its internals; this one holds the functions that users call."""

_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Docstring(NamedTuple):
    """A docstring, the dotted name of what it describes, and the public modules it lies in, the package first."""

    name: str
    place: tuple[str, ...]
    text: str


def package_folder(package: str) -> Path | None:
    """The folder with the sources of a top-level package, or None if it is not installed."""
    if package == STANDARD_LIBRARY:
        return Path(sysconfig.get_path("stdlib"))
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    locations = list(spec.submodule_search_locations or ()) if spec else []
    return Path(locations[0]) if locations else None


def read_docstrings(package: str, min_words: int) -> Iterator[Docstring]:
    """Yield the docstrings of the public modules, classes, functions and methods of a package, in a fixed order.

    A private module, such as `scipy/optimize/_root.py`, counts as part of the public one above it. Files that cannot
    be read or parsed are passed over.

    Args:
        package: The name of a top-level package, or `STANDARD_LIBRARY`.
        min_words: Shorter docstrings are left out.
    """
    root = package_folder(package)
    if root is None:
        return
    for path in _source_files(root, package):
        module = path.relative_to(root).with_suffix("").parts
        place = (package, *takewhile(_is_public_module, module))
        for inside, text in _parse(path):
            if len(text.split()) >= min_words:
                yield Docstring(_name(package, module, inside), place, text)


def _name(package: str, module: tuple[str, ...], inside: tuple[str, ...]) -> str:
    """The name users know, such as `scipy.optimize.root`; a private module's own docstring gets its full name."""
    path = module[:-1] if module[-1] == "__init__" else module
    public = tuple(takewhile(_is_public_module, path))
    stem = public if inside and public else path
    return ".".join((*(() if package == STANDARD_LIBRARY else (package,)), *stem, *inside)) or package


def _is_public_module(name: str) -> bool:
    return not name.startswith("_")


def _source_files(root: Path, package: str) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        is_top = Path(folder) == root
        folders[:] = sorted(name for name in folders if _is_searched(name, package, is_top))
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".py"))


def _is_searched(folder: str, package: str, is_top: bool) -> bool:
    if not folder.isidentifier() or folder in _LEFT_OUT:  # a package's folder has an identifier for a name
        return False
    return not (is_top and folder.startswith("_")) or (package, folder) in _PUBLIC_FACE


def _parse(path: Path) -> Iterator[tuple[tuple[str, ...], str]]:
    """The docstrings of a file, each with the names inside the module that lead to it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in sources that are not ours
            module = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    text = ast.get_docstring(module)
    if text:
        yield (), text
    yield from _walk(module, ())


def _walk(node: ast.Module | ast.ClassDef, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for child in node.body:
        if isinstance(child, _Definition) and _is_public(child.name):
            text = ast.get_docstring(child)
            if text:
                yield (*names, child.name), text
            if isinstance(child, ast.ClassDef):
                yield from _walk(child, (*names, child.name))


def _is_public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))
