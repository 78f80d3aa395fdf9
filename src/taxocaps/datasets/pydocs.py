"""A corpus without downloads: docstrings of Python and of the dependencies of taxocaps, labelled by module."""

import ast
import hashlib
import importlib.util
import os
import platform
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from taxocaps.corpus.document import Dataset, Document
from taxocaps.errors import CorpusError
from taxocaps.progress import Progress, silent
from taxocaps.taxonomy.tree import Taxonomy

__all__ = ["PACKAGES", "ROOT", "STANDARD_LIBRARY", "Docstring", "load", "package_folder", "read_docstrings"]

STANDARD_LIBRARY = "python"
"""The name of the standard library as a package."""

PACKAGES = (
    STANDARD_LIBRARY,
    "fsspec",
    "gensim",
    "jinja2",
    "joblib",
    "mpmath",
    "networkx",
    "numba",
    "numpy",
    "rich",
    "scipy",
    "sklearn",
    "sympy",
    "torch",
    "typer",
)
"""The packages whose docstrings are read, all dependencies of taxocaps."""

ROOT = "python-docs"
"""The root of the taxonomy, which is not a label of any document."""

_LEVELS = 3
_PERCENTAGES = {"train": 70, "dev": 15, "test": 15}
_TESTS = {"test", "tests", "_internal", "benchmarks", "examples"}
_COPIES = {"externals", "extern", "vendor", "vendored", "_vendor", "_vendored", "third_party"}
_PROGRAMS = {"idlelib", "lib2to3", "turtledemo", "pydoc_data"}
_SKIPPED = _TESTS | _COPIES | _PROGRAMS
"""Folders with tests, copies of other packages, or programs of the standard library."""

_PUBLIC_FOLDERS = frozenset({("numpy", "_core")})
"""Top-level folders with private names that contain public functions."""

_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Docstring(NamedTuple):
    """A docstring, the dotted name of its object, and its public modules, the package first."""

    name: str
    modules: tuple[str, ...]
    text: str


def load(
    min_words: int = 20,
    min_documents: int = 25,
    packages: Sequence[str] = PACKAGES,
    *,
    progress: Progress = silent,
) -> Dataset:
    """Build the corpus from the installed source files; the same files always give the same corpus.

    Each docstring is a document. Its labels are the modules that contain it, at most three levels ("scipy",
    "scipy.sparse", "scipy.sparse.linalg"); a text that occurs several times is one document with all labels.

    Args:
        min_words: Shorter docstrings are skipped.
        min_documents: Labels with fewer documents are removed; their documents keep the ancestors.
        packages: Top-level packages, "python" for the standard library; those not installed are skipped.
        progress: Told how many packages are read.

    Raises:
        CorpusError: If no documents are left.
    """
    installed = [name for name in packages if package_folder(name)]
    found: list[Docstring] = []
    for number, name in enumerate(installed, 1):
        found += read_docstrings(name, min_words)
        progress("reading packages", number, len(installed))
    documents = _drop_rare(_merge(found), min_documents)
    if not documents:
        raise CorpusError(
            f"no docstrings of {min_words} words or more with a label of {min_documents} documents or more in: "
            f"{', '.join(packages)}; give other packages or lower the limits"
        )
    return Dataset(
        name="pydocs",
        splits={split: tuple(d for d in documents if d.split == split) for split in _PERCENTAGES},
        taxonomy=_taxonomy(documents),
        description=_description(installed, [name for name in packages if name not in installed]),
    )


def _merge(docstrings: Iterable[Docstring]) -> list[Document]:
    """One document per distinct text, ignoring white space, with the name of its first occurrence."""
    found: dict[str, list[Docstring]] = {}
    for docstring in sorted(docstrings):
        found.setdefault(" ".join(docstring.text.split()), []).append(docstring)
    names: Counter[str] = Counter()
    documents = []
    for text, same in found.items():
        name = same[0].name
        names[name] += 1
        number = f"#{names[name]}" if names[name] > 1 else ""
        labels = sorted({label for docstring in same for label in _labels(docstring.modules)})
        documents.append(Document(same[0].text, f"{name}{number}", tuple(labels), split=_split(text)))
    return documents


def _labels(modules: Sequence[str]) -> list[str]:
    return [".".join(modules[: depth + 1]) for depth in range(min(len(modules), _LEVELS))]


def _split(text: str) -> str:
    """The split, which depends only on the text, so that it does not change if other documents are added or removed."""
    bucket = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") % 100
    return next(split for split, end in _ends() if bucket < end)


def _ends() -> list[tuple[str, int]]:
    shares = list(_PERCENTAGES.items())
    return [(split, sum(share for _, share in shares[: number + 1])) for number, (split, _) in enumerate(shares)]


def _drop_rare(documents: Sequence[Document], min_documents: int) -> list[Document]:
    counts = Counter(label for document in documents for label in document.labels or ())
    kept = (
        replace(d, labels=tuple(label for label in d.labels or () if counts[label] >= min_documents)) for d in documents
    )
    return [document for document in kept if document.labels]


def _taxonomy(documents: Iterable[Document]) -> Taxonomy:
    labels = sorted({label for document in documents for label in document.labels or ()})
    return Taxonomy.from_edges((label.rpartition(".")[0] or ROOT, label) for label in labels)


def _description(installed: Sequence[str], missing: Sequence[str]) -> str:
    left_out = f" Not installed, so skipped: {', '.join(missing)}." if missing else ""
    return f"Docstrings of {', '.join(installed)} (Python {platform.python_version()}), labelled by module.{left_out}"


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
    be read or parsed are skipped.

    Args:
        package: The name of a top-level package, or `STANDARD_LIBRARY`.
        min_words: Shorter docstrings are skipped.
    """
    root = package_folder(package)
    if root is None:
        return
    for path in _source_files(root, package):
        module = path.relative_to(root).with_suffix("").parts
        modules = (package, *takewhile(_is_public_module, module))
        for inside, text in _parse(path):
            if len(text.split()) >= min_words:
                yield Docstring(_name(package, module, inside), modules, text)


def _name(package: str, module: tuple[str, ...], inside: tuple[str, ...]) -> str:
    """The public name, such as `scipy.optimize.root`; a private module's own docstring has its full name."""
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
    if not folder.isidentifier() or folder in _SKIPPED:  # the name of a package is an identifier
        return False
    return not (is_top and folder.startswith("_")) or (package, folder) in _PUBLIC_FOLDERS


def _parse(path: Path) -> Iterator[tuple[tuple[str, ...], str]]:
    """The docstrings of a file, each with the names inside the module that lead to it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the sources of others
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
