"""Finding the official files of a data set in a folder: at any depth, plain, compressed or in archives."""

import contextlib
import fnmatch
import io
import json
import lzma
import os
import re
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from taxocaps.errors import FileError
from taxocaps.files import COMPRESSIONS, open_binary

__all__ = ["Publication", "Source", "SourceFile"]

_TAR = (".tar", ".tar.gz", ".tgz", ".tar.xz")
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True)
class Publication:
    """What a data set is called, where it is published, and as which archives.

    Attributes:
        title: The name of the data set, for people.
        url: Where it can be had.
        archives: Names, with `*` for anything, of the archives it comes in; they need not be unpacked. A `.zip` is read
            member by member, a `.tar` is held in memory while it is read.
    """

    title: str
    url: str
    archives: tuple[str, ...] = ()


class _OpenArchive:
    """The archive that is being read; only one stays open, for the directory of a large one takes much memory."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._zip: zipfile.ZipFile | None = None
        self._tar: dict[str, bytes] = {}

    def names(self, path: Path) -> list[str]:
        """The files in an archive."""
        self._switch(path)
        if self._zip is None:
            return list(self._tar)
        return [entry.filename for entry in self._zip.infolist() if not entry.is_dir()]

    def open(self, path: Path, member: str) -> IO[bytes]:
        """Open a file in an archive."""
        self._switch(path)
        return io.BytesIO(self._tar[member]) if self._zip is None else self._zip.open(member)

    def _switch(self, path: Path) -> None:
        if path == self._path:
            return
        if self._zip is not None:
            self._zip.close()  # members that are still open keep the file
        self._path, self._zip, self._tar = None, None, {}
        try:
            if path.name.lower().endswith(_TAR):
                self._tar = _read_tar(path)
            else:
                self._zip = zipfile.ZipFile(path)
        except _BROKEN as error:
            raise FileError(f"{path}: cannot be read as an archive: {error}; download it again") from error
        self._path = path


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the user's, which may be compressed or lie in an archive.

    Attributes:
        name: Its path below the folder, without the suffix of a compression.
        path: The file on disk, or the archive it lies in.
        member: Its name in the archive.
    """

    name: str
    path: Path
    member: str | None = None
    _archive: _OpenArchive | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        """How messages name the file."""
        return str(self.path) if self.member is None else f"{self.path}, {self.member}"

    @contextlib.contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the unpacked content for reading."""
        if self.member is None or self._archive is None:
            with open_binary(self.path) as file:
                yield file
            return
        try:
            with self._archive.open(self.path, self.member) as file:
                yield file
        except _BROKEN as error:
            raise FileError(f"{self}: cannot be read: {error}; download the archive again") from error

    def read(self, encoding: str = "utf-8") -> str:
        """The whole text; bytes that do not fit the encoding become U+FFFD."""
        with self.open() as file:
            return file.read().decode(encoding, "replace")

    def lines(self, encoding: str = "utf-8") -> Iterator[str]:
        """The lines, without their ends; only newlines part them. Bytes that do not fit become U+FFFD."""
        with self.open() as file:
            for line in file:
                yield line.decode(encoding, "replace").rstrip("\r\n")

    def records(self, *fields: str) -> Iterator[dict[str, Any]]:
        """The JSON objects of a file with one a line, each of which must have the `fields`.

        Raises:
            FileError: When a line holds no object, or a field is missing.
        """
        for number, line in enumerate(self.lines(), 1):
            if not line:
                continue
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                record = None
            if not isinstance(record, dict):
                raise FileError(f"{self}, line {number}: no JSON object; download the file again")
            for name in fields:
                if name not in record:
                    raise FileError(f"{self}, line {number}: no field '{name}'; download the file again")
            yield record

    @contextlib.contextmanager
    def on_disk(self) -> Iterator[Path]:
        """A path from which the file can be read by its suffix, also if it lies in an archive."""
        if self.member is None:
            yield self.path
            return
        with tempfile.TemporaryDirectory() as folder, self.open() as file:
            copy = Path(folder) / Path(self.name).name
            copy.write_bytes(file.read())
            yield copy


class Source:
    """A folder, or a single file, that holds what was published."""

    def __init__(self, folder: Path, publication: Publication) -> None:
        """Look at `folder`; files are listed when the first is asked for.

        Raises:
            FileError: When the folder is not there.
        """
        if not folder.exists():
            raise FileError(
                f"{folder}: no such folder; give the one with the files of {publication.title}, "
                f"published at {publication.url}"
            )
        self.folder = folder
        self.publication = publication
        self._archive = _OpenArchive()

    def find(self, pattern: str) -> list[SourceFile]:
        """The files whose path ends as `pattern` says, such as `train/*.json`, sorted by that end.

        Upper and lower case are alike. Of several files with the same end one is taken: plain ones first, then those
        that lie less deep.
        """
        parts = pattern.count("/") + 1
        matches = re.compile(fnmatch.translate(pattern.lower())).match
        found: dict[str, SourceFile] = {}
        for file in self._files:
            end = "/".join(file.name.lower().rsplit("/", parts)[-parts:])
            if matches(end):
                found.setdefault(end, file)
        return [found[end] for end in sorted(found)]

    def get(self, *patterns: str) -> SourceFile | None:
        """The first file that one of the patterns finds, or None."""
        return next((file for pattern in patterns for file in self.find(pattern)), None)

    def one(self, *patterns: str) -> SourceFile:
        """The first file that one of the patterns finds.

        Raises:
            FileError: When there is none; it says which, where it is published and what to do.
        """
        file = self.get(*patterns)
        if file is None:
            raise self.missing(" or ".join(patterns))
        return file

    def missing(self, what: str, hint: str = "") -> FileError:
        """The error for a file that is not there."""
        packed = f" (plain, .gz or .xz, or in {' or '.join(self.publication.archives)})" * bool(
            self.publication.archives
        )
        return FileError(
            f"{self.folder}: no {what}{packed}{hint}; it is part of {self.publication.title}, published at "
            f"{self.publication.url}; put it into this folder, or give another one as --source"
        )

    @cached_property
    def _files(self) -> tuple[SourceFile, ...]:
        """All files: plain before compressed before packed ones, and those that lie less deep first."""
        plain = [self._plain(path) for path in self._walk()]
        packed = [file for path in self._walk() if self._is_archive(path) for file in self._members(path)]
        plain.sort(key=lambda file: (file.path.suffix.lower() in COMPRESSIONS, file.name.count("/"), file.name))
        packed.sort(key=lambda file: (file.name.count("/"), str(file.path)))  # members keep the order of the archive
        return (*plain, *packed)

    def _walk(self) -> Iterator[Path]:
        if self.folder.is_file():
            yield self.folder
        for folder, folders, files in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if _is_content(name))
            yield from (Path(folder, name) for name in sorted(files) if _is_content(name))

    def _plain(self, path: Path) -> SourceFile:
        name = path.relative_to(self.folder).as_posix() if path != self.folder else path.name
        stem = name.rpartition(".")[0] if path.suffix.lower() in COMPRESSIONS else name
        return SourceFile(stem, path)

    def _is_archive(self, path: Path) -> bool:
        return any(fnmatch.fnmatch(path.name.lower(), name.lower()) for name in self.publication.archives)

    def _members(self, path: Path) -> list[SourceFile]:
        names = self._archive.names(path)
        return [
            SourceFile(name.removeprefix("./"), path, name, self._archive)
            for name in names
            if all(map(_is_content, name.removeprefix("./").split("/")))
        ]


def _is_content(name: str) -> bool:
    """Whether a name is none that a computer puts beside the user's files."""
    return not name.startswith(".") and name != "__MACOSX"


def _read_tar(path: Path) -> dict[str, bytes]:
    contents = {}
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                contents[member.name] = file.read()
    return contents
