"""Shared by the loaders: finding published files, checking counts, splitting, and reading documents on demand."""

import contextlib
import fnmatch
import hashlib
import io
import lzma
import os
import re
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar, overload

from typing_extensions import TypedDict

from taxocaps.corpus.document import Document
from taxocaps.errors import CorpusError, FileError
from taxocaps.files import COMPRESSIONS, open_binary
from taxocaps.untrusted import open_regular, parse_json, read_some

__all__ = [
    "Publication",
    "Source",
    "SourceFile",
    "StreamedSplit",
    "check_count",
    "check_counts",
    "distinct",
    "last_tenth",
    "shuffled",
    "typed_fields",
    "with_split_names",
]

T = TypeVar("T")

_TAR = (".tar", ".tar.gz", ".tgz", ".tar.xz")
_BROKEN = (
    *(zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, struct.error),
    *(ValueError, KeyError, IndexError, RuntimeError),  # of damaged or encrypted archives
)
_LONGEST_LINE = 2**24
_LARGEST_FILE = 2**28
_WHAT_TO_DO = "complete or correct the files, or use them as they are with --any-counts (check=False in Python)"
_DEV_FRACTION = 0.1


@dataclass(frozen=True)
class Publication:
    """The name of a data set, where it is published, and its archives.

    Attributes:
        title: The name of the data set, for users.
        url: Where it can be downloaded.
        archives: Patterns of the names of its archives, which need not be unpacked. A `.zip` is read member by member,
            a `.tar` is loaded into memory.
    """

    title: str
    url: str
    archives: tuple[str, ...] = ()


class _OpenArchive:
    """The archive that is being read; only one is open at a time, to save memory."""

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
            self._zip.close()  # members that are still open keep the file open
        self._path, self._zip, self._tar = None, None, {}
        try:
            if path.name.lower().endswith(_TAR):
                self._tar = _read_tar(path)
            else:
                open_regular(path).close()
                self._zip = zipfile.ZipFile(path)
        except _BROKEN as error:
            raise FileError(f"{path}: cannot be read as an archive: {error}; download it again") from error
        self._path = path


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source file, which may be compressed or inside an archive.

    Attributes:
        name: Its path below the folder, without the suffix of the compression.
        path: The file on disk, or its archive.
        member: Its name in the archive.
    """

    name: str
    path: Path
    member: str | None = None
    _archive: _OpenArchive | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        """The name of the file in messages."""
        return str(self.path) if self.member is None else f"{self.path}, {self.member}"

    @contextlib.contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the decompressed content for reading."""
        if self.member is None or self._archive is None:
            with open_binary(self.path) as file:
                yield file
            return
        try:
            with self._archive.open(self.path, self.member) as file:
                yield file
        except _BROKEN as error:
            raise FileError(f"{self}: cannot be read: {error}; download the archive again") from error

    def read_bytes(self) -> bytes:
        """The whole content.

        Raises:
            FileError: If it is very large.
        """
        with self.open() as file:
            return read_some(file, _LARGEST_FILE, self)

    def read(self, encoding: str = "utf-8") -> str:
        """The whole text; undecodable bytes become U+FFFD."""
        return self.read_bytes().decode(encoding, "replace")

    def lines(self, encoding: str = "utf-8") -> Iterator[str]:
        """The lines, split at newlines only, without their endings; undecodable bytes become U+FFFD."""
        with self.open() as file:
            while line := file.readline(_LONGEST_LINE):
                if len(line) == _LONGEST_LINE:
                    raise FileError(f"{self}: has a line of {_LONGEST_LINE:,} bytes and more; download the file again")
                yield line.decode(encoding, "replace").rstrip("\r\n")

    def records(self, **fields: Any) -> Iterator[dict[str, Any]]:
        """The objects of a JSONL file, each of which must have these fields; there may be others, which are left out.

        Args:
            **fields: The type of each field.

        Raises:
            FileError: If a line is not an object, or a field is missing or of another type.
        """
        kind = typed_fields(**fields)
        for number, line in enumerate(self.lines(), 1):
            if line:
                try:
                    yield parse_json(line, kind)
                except ValueError as error:
                    raise FileError(f"{self}, line {number}: {error}; download the file again") from None

    def json(self, kind: Any) -> Any:
        """The value of a JSON file, of a type that pydantic knows.

        Raises:
            FileError: If it is something else.
        """
        try:
            return parse_json(self.read_bytes(), kind)
        except ValueError as error:
            raise FileError(f"{self}: {error}; download it again") from None

    @contextlib.contextmanager
    def on_disk(self) -> Iterator[Path]:
        """A path of the file; a file in an archive is copied to a temporary folder."""
        if self.member is None:
            yield self.path
            return
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / Path(self.name).name
            copy.write_bytes(self.read_bytes())
            yield copy


def typed_fields(**fields: Any) -> Any:
    """The type of an object with these fields, and perhaps others."""
    return TypedDict("typed_fields", fields)  # type: ignore[operator]


class Source:
    """A folder, or a single file, with the published data."""

    def __init__(self, folder: Path, publication: Publication) -> None:
        """Use `folder`; its files are listed on first access.

        Raises:
            FileError: If the folder does not exist.
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
        """The files whose path ends with `pattern`, such as `train/*.json`, sorted by that end.

        Case is ignored. Of several files with the same end the first is used: uncompressed ones first, then those that
        are less deep.
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
        """The first file that matches one of the patterns, or None."""
        return next((file for pattern in patterns for file in self.find(pattern)), None)

    def one(self, *patterns: str) -> SourceFile:
        """The first file that matches one of the patterns.

        Raises:
            FileError: If there is none; the message says where it is published and what to do.
        """
        file = self.get(*patterns)
        if file is None:
            raise self.missing(" or ".join(patterns))
        return file

    def missing(self, what: str, hint: str = "") -> FileError:
        """The error for a missing file."""
        packed = f" (plain, .gz or .xz, or in {' or '.join(self.publication.archives)})" * bool(
            self.publication.archives
        )
        return FileError(
            f"{self.folder}: no {what}{packed}{hint}; it is part of {self.publication.title}, published at "
            f"{self.publication.url}; put it into this folder, or give another folder as --source"
        )

    @cached_property
    def _files(self) -> tuple[SourceFile, ...]:
        """All files: uncompressed, then compressed, then archived ones, each by depth."""
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


class StreamedSplit(Sequence[Document]):
    """A sequence of documents that are read again on each iteration; random access is slow."""

    def __init__(self, read: Callable[[], Iterator[Document]], *, title: str = "", expected: int | None = None) -> None:
        """Create a split.

        Args:
            read: Returns an iterator over all documents.
            title: The name of the data set, for messages.
            expected: The required number of documents; otherwise iterating to the end raises `CorpusError`.
        """
        self._read = read
        self._title = title
        self._expected = expected
        self._length: int | None = None

    def __iter__(self) -> Iterator[Document]:
        self._length = yield from self._counted()
        if self._expected is not None:
            check_count(self._title, "documents of this split", self._length, self._expected)

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(1 for _ in self)
        return self._length

    def _counted(self) -> Generator[Document, None, int]:
        number = 0
        for document in self._read():
            yield document
            number += 1
        return number

    @overload
    def __getitem__(self, index: int) -> Document: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Document]: ...

    def __getitem__(self, index: int | slice) -> Document | Sequence[Document]:
        if isinstance(index, slice):
            return tuple(self)[index]
        position = index + len(self) if index < 0 else index
        document = next(islice(self, position, None), None) if position >= 0 else None
        if document is None:
            raise IndexError(index)
        return document


def _is_content(name: str) -> bool:
    """Whether a name is not that of a hidden or system file."""
    return not name.startswith(".") and name != "__MACOSX"


def _read_tar(path: Path) -> dict[str, bytes]:
    contents = {}
    suffix = {".tgz": ".gz"}.get(path.suffix.lower(), path.suffix.lower())
    with open_regular(path) as packed:
        unpacked = COMPRESSIONS[suffix](packed, "rb") if suffix in COMPRESSIONS else packed
        content = read_some(unpacked, _LARGEST_FILE, path)  # names, too, can have any length
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                contents[member.name] = file.read()
    return contents


def check_counts(title: str, found: Mapping[str, int], official: Mapping[str, int]) -> None:
    """Compare counts with the official ones.

    Args:
        title: The name of the data set.
        found: The counts, such as {"training documents": 7}.
        official: The official counts; other counts are not checked.

    Raises:
        CorpusError: For the first difference.
    """
    for what, expected in official.items():
        check_count(title, what, found[what], expected)


def check_count(title: str, what: str, found: int, expected: int) -> None:
    """Compare one count with the official one.

    >>> check_count("Reuters-21578", "documents", 21_577, 21_578)
    Traceback (most recent call last):
    taxocaps.errors.CorpusError: Reuters-21578: 21,577 documents, but officially there are 21,578; complete or \
correct the files, or use them as they are with --any-counts (check=False in Python)
    """
    if found != expected:
        raise CorpusError(f"{title}: {found:,} {what}, but officially there are {expected:,}; {_WHAT_TO_DO}")


def distinct(items: Iterable[T], key: Callable[[T], Hashable], title: str, check: bool) -> Iterator[T]:
    """The items without duplicates: a second item with the same id is an error or, if `check` is false, skipped.

    Raises:
        CorpusError: For an id that occurs twice, if `check`.
    """
    seen = set()
    for item in items:
        id_ = key(item)
        if id_ not in seen:
            seen.add(id_)
            yield item
        elif check:
            raise CorpusError(f"{title}: the id {id_!r} occurs twice, but officially once; {_WHAT_TO_DO}")


def last_tenth(items: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """Split items, the oldest first, into the first nine tenths and the last.

    If test documents are later than training documents, dev documents should be later too: on Reuters a random tenth is
    three points easier for every model.

    >>> last_tenth(range(20))
    (range(0, 18), range(18, 20))
    """
    end = round(len(items) * (1 - _DEV_FRACTION))
    return items[:end], items[end:]


def shuffled(ids: Iterable[str], seed: int) -> list[str]:
    """The ids in a random order that depends only on the ids and the seed, not on the version of Python.

    >>> shuffled(["a", "b", "c"], 0) == shuffled(["c", "b", "a"], 0)
    True
    """
    return sorted(ids, key=lambda id_: hashlib.sha256(f"{seed}:{id_}".encode()).digest())


def with_split_names(splits: Mapping[str, Iterable[Document]]) -> dict[str, tuple[Document, ...]]:
    """The splits, with the name of the split set in each document."""
    return {name: tuple(replace(document, split=name) for document in split) for name, split in splits.items()}
