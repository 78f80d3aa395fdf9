"""Documents and labels at URLs, such as `s3://bucket/news/*.jsonl.gz`, through fsspec."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from taxocaps.errors import FileError, MissingExtraError, TaxoCapsError, WriteError
from taxocaps.registry import import_extra

__all__ = ["RemoteFile", "exists", "is_url", "matching_urls", "upload"]


def is_url(given: object) -> TypeGuard[str]:
    """Whether a text is a URL and not a path.

    >>> is_url("s3://bucket/a.jsonl"), is_url("news/a.jsonl")
    (True, False)
    """
    return isinstance(given, str) and "://" in given


@dataclass(frozen=True)
class RemoteFile:
    """A file at a URL.

    Attributes:
        url: The URL.
        size: Its size in bytes.
    """

    url: str
    size: int

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """The last part of the URL."""
        return self.url.rpartition("/")[2]

    def stamp(self) -> str:
        """A hash that changes when the file does, without reading it: as its file system says, by time or by tag."""
        with _reading(self.url):
            files, path = _file_system(self.url)
            return hashlib.sha256(f"{self.url} {files.ukey(path)}".encode()).hexdigest()

    @contextmanager
    def fetched(self) -> Iterator[Path]:
        """A copy on this machine, of the same name, while it is needed; errors name the URL in its place."""
        with tempfile.TemporaryDirectory() as folder:
            local = Path(folder) / self.name
            with _reading(self.url):
                files, path = _file_system(self.url)
                files.get_file(path, str(local))
            try:
                yield local
            except TaxoCapsError as error:
                raise type(error)(str(error).replace(str(local), self.url)) from error


def matching_urls(given: Iterable[str], suffixes: Iterable[str]) -> list[RemoteFile]:
    """The files that are meant by URLs, by patterns and by folders, each once, those of a pattern or folder in order.

    Args:
        given: URLs.
        suffixes: Which files of a folder are meant; a compression may follow a suffix.

    Raises:
        FileError: If there is nothing at a URL.
    """
    found: dict[str, RemoteFile] = {}
    for url in given:
        with _reading(url):
            files, path = _file_system(url)
            for one in _matching(files, path, tuple(suffixes)):
                name = str(files.unstrip_protocol(one))
                found.setdefault(name, RemoteFile(name, int(files.size(one) or 0)))
    return list(found.values())


def exists(url: str) -> bool:
    """Whether there is a file, or a folder with something in it."""
    with _reading(url):
        files, path = _file_system(url)
        return bool(files.isfile(path) or (files.isdir(path) and files.ls(path)))


def upload(local: Path, url: str) -> None:
    """Copy a file, or the visible files of a folder, to a URL; parts of an earlier result there are removed."""
    try:
        files, path = _file_system(url)
        parts = [local] if local.is_file() else sorted(one for one in local.iterdir() if not one.name.startswith("."))
        for part in parts:
            target = path if local.is_file() else f"{path.rstrip('/')}/{part.name}"
            files.makedirs(target.rpartition("/")[0], exist_ok=True)
            files.put_file(str(part), target)
        names = {part.name for part in parts}
        for old in [] if local.is_file() else files.ls(path, detail=False):
            if (name := old.rpartition("/")[2]).startswith("part-") and name not in names:
                files.rm_file(old)
    except MissingExtraError:
        raise
    except Exception as error:  # each file system has errors of its own
        raise WriteError(f"{url}: cannot be written: {error}; give the same command again") from error


def _matching(files: Any, path: str, suffixes: tuple[str, ...]) -> list[str]:
    if any(sign in path for sign in "*?["):
        found = sorted(files.glob(path))
    elif files.isdir(path):
        names = sorted(files.find(path))
        below = (name for name in names if not any(part[:1] in "._" for part in name[len(path) :].split("/") if part))
        found = [name for name in below if any(suffix in name.rpartition("/")[2] for suffix in suffixes)]
    else:
        found = [path] if files.exists(path) else []
    if not found:
        raise FileError("no file is there")
    return [str(name) for name in found]


def _file_system(url: str) -> tuple[Any, str]:
    files, path = import_extra("fsspec.core", "reading and writing URLs").url_to_fs(url)
    return files, str(path)


@contextmanager
def _reading(url: str) -> Iterator[None]:
    try:
        yield
    except MissingExtraError:
        raise
    except Exception as error:  # each file system has errors of its own
        raise FileError(f"{url}: cannot be read: {error}") from error
