"""What can be added from outside: a table of built-in things, entry points of installed packages, loaded lazily.

A package adds to a registry by an entry point of its group, such as in its `pyproject.toml`::

    [project.entry-points."taxocaps.metrics"]
    coverage = "my_package.metrics:coverage"
"""

import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from taxocaps.errors import ConfigError, MissingExtraError, TaxoCapsError, nearest

__all__ = ["Registry", "import_extra"]

T = TypeVar("T")

_EXTRAS = {
    **dict.fromkeys(("torch", "lightning", "gensim"), "networks"),
    **dict.fromkeys(("fastapi", "uvicorn", "httptools", "prometheus_client"), "serve"),
    "pyarrow": "parquet",
    "rdflib": "skos",
    "spacy": "spacy",
    **dict.fromkeys(("tokenizers", "transformers"), "encoders"),
    "matplotlib": "plot",
    **dict.fromkeys(("docx", "lxml", "openpyxl", "pypdf"), "documents"),
    "optuna": "tune",
    **dict.fromkeys(("ray", "fsspec"), "ray"),
}
"""Which extra brings a library."""


class Registry(Mapping[str, T], Generic[T]):
    """Named things, each loaded when it is first asked for.

    >>> Registry("number", "example.numbers", {"pi": "math:pi"})["pi"] > 3
    True
    """

    def __init__(self, noun: str, group: str, table: Mapping[str, str]) -> None:
        """Describe a registry.

        Args:
            noun: What the things are, for messages, such as "network".
            group: The group of entry points by which packages add things.
            table: The built-in things by name, each as "module:attribute".
        """
        self.noun, self.group = noun, group
        self._table = dict(table)
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        """The thing of a name.

        Raises:
            ConfigError: For an unknown name; the nearest is named.
            MissingExtraError: If a library that it needs is not installed.
            TaxoCapsError: If another package brings it and cannot be imported.
        """
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        """The names: the built-in ones first, then those of other packages."""
        return iter([*self._table, *(name for name in self._external if name not in self._table)])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in self._table or name in self._external

    def is_external(self, name: str) -> bool:
        """Whether another package brings the thing: code that a model from a stranger must not run unasked."""
        return name not in self._table and name in self._external

    def package(self, name: str) -> tuple[str, str]:
        """The name and the summary of the package that brings an external thing; nothing is loaded."""
        point = self._external[name]
        summary = (point.dist.metadata["Summary"] if point.dist else None) or ""
        return _package(point), summary

    def check(self, name: str) -> str:
        """The name itself, if there is such a thing; nothing is loaded.

        Raises:
            ConfigError: For an unknown name; the nearest is named.
        """
        if name in self:
            return name
        close = nearest(name, self)
        hint = f"did you mean {close}?" if close else f"there are {', '.join(self)}"
        raise ConfigError(f"no {self.noun} is called {name!r}; {hint}")

    @cached_property
    def _external(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=self.group):
            if point.name in self._table or point.name in found:
                other = "is built in" if point.name in self._table else f"{_package(found[point.name])} has, too"
                message = f"the {self.noun} {point.name} of {_package(point)} is passed over: one of this name {other}"
                warnings.warn(message, stacklevel=2)
            found.setdefault(point.name, point)
        return found

    def _load(self, name: str) -> T:
        self.check(name)
        try:
            if name not in self._table:
                return self._plug_in(name)
            module, _, attribute = self._table[name].partition(":")
            return getattr(import_module(module), attribute)  # type: ignore[no-any-return]
        except ModuleNotFoundError as error:
            raise _missing(error, f"the {self.noun} {name}") from error

    def _plug_in(self, name: str) -> T:
        """A thing of another package, whose code may fail in any way."""
        point = self._external[name]
        try:
            return point.load()  # type: ignore[no-any-return]
        except Exception as error:
            if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _EXTRAS:
                raise
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise TaxoCapsError(
                f"the {self.noun} {name} of {_package(point)} ({point.value}) cannot be loaded: {reason}; "
                "update the package, or uninstall it"
            ) from error


def _package(point: EntryPoint) -> str:
    return f"the package {point.dist.name if point.dist else point.module}"


def import_extra(module: str, purpose: str) -> Any:
    """Import a module of an optional library.

    Args:
        module: Its full name, such as `gensim.models`.
        purpose: What it is needed for, for the message.

    Raises:
        MissingExtraError: If the library is not installed; the extra that brings it is named.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise _missing(error, purpose) from error


def _missing(error: ModuleNotFoundError, purpose: str) -> Exception:
    library = (error.name or "").partition(".")[0]
    return MissingExtraError(library, _EXTRAS[library], purpose) if library in _EXTRAS else error
