"""Files that may come from a stranger: regular files, no larger than expected, parsed within bounds."""

import contextlib
import errno
import io
import os
import stat
import struct
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from taxocaps.errors import FileError

__all__ = [
    "check_archive",
    "check_depth",
    "check_value",
    "check_xml",
    "load_yaml",
    "open_regular",
    "parse_json",
    "read_bounded",
    "read_json",
    "read_some",
    "regular_files",
]

T = TypeVar("T")

_MEGABYTE = 2**20
_MOST_FILES = 10_000
_MOST_JSON = 256 * _MEGABYTE
"""Bytes of a JSON file: the names of some million labels."""
_MOST_UNPACKED = 512 * _MEGABYTE
"""Bytes that the files in an archive have when they are unpacked."""
_DEEPEST = 32
"""Levels of sections, lists and values in a configuration file."""
_BLOCK = _MEGABYTE
_MOST_ENTITIES = 1_000
_LONGEST_ENTITY = 200
"""Characters that an entity of an XML file stands for: enough for the address of a namespace."""
_LONGEST_VALUE = 3_500
"""Characters of a value in a YAML file: no number, however it is written, then has more digits than Python prints."""


def regular_files(folder: Path) -> dict[str, int]:
    """The files of a folder and of those inside it, by their names relative to it, and their sizes in bytes.

    What is hidden is left out: nothing reads it. After this, whatever is opened by one of these names is a file of the
    folder itself, and reading it comes to an end.

    Args:
        folder: The folder; it may be a link itself.

    Raises:
        FileError: For a link that leads out of the folder or to a folder, and for what is neither a file nor a folder,
            such as a pipe or a device.
    """
    root = folder.resolve()
    found: dict[str, int] = {}
    for path in _entries(root):
        status = path.stat() if path.exists() else path.lstat()
        if path.is_symlink() and not (stat.S_ISREG(status.st_mode) and path.resolve().is_relative_to(root)):
            raise FileError(f"{_shown(folder, root, path)}: is a link that leads elsewhere; put the file itself there")
        if not stat.S_ISREG(status.st_mode):
            raise FileError(f"{_shown(folder, root, path)}: is neither a file nor a folder; remove it")
        found[path.relative_to(root).as_posix()] = status.st_size
        if len(found) > _MOST_FILES:
            raise FileError(f"{folder}: has more than {_MOST_FILES:,} files; give a folder that holds nothing else")
    return found


def open_regular(path: Path) -> io.BufferedReader:
    """Open a file for reading; a pipe that nobody writes to is not waited for, and a device is not read without end.

    Raises:
        FileError: If it is neither a regular file nor a folder.
        OSError: If it cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise FileError(f"{path}: is not a regular file; give one, or send the content to standard input, as -")
        return open(descriptor, "rb")  # noqa: PTH123 - a descriptor
    except BaseException:
        os.close(descriptor)
        raise


def read_some(file: IO[bytes], most: int, name: object) -> bytes:
    """All that is left of an open file, which may be compressed and then unpack to any size.

    Args:
        file: The file.
        most: Bytes that it may have.
        name: What it is called in messages.

    Raises:
        FileError: If it has more.
    """
    content = io.BytesIO()
    while content.tell() <= most and (block := file.read(min(_BLOCK, most + 1))):
        content.write(block)
    if content.tell() > most:
        raise FileError(f"{name}: has more than {most:,} bytes, which is too much to be read at once")
    return content.getvalue()


def read_bounded(path: Path, most: int) -> bytes:
    """The content of a regular file.

    Args:
        path: The file.
        most: Bytes that it may have.

    Raises:
        FileError: If it cannot be read, is no regular file, or larger.
    """
    try:
        with open_regular(path) as file:
            return read_some(file, most, path)
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_json(path: Path, kind: Any, *, most: int = _MOST_JSON) -> Any:
    """A JSON file as values of a type that pydantic knows; numbers and nesting have bounds.

    Args:
        path: The file.
        kind: What it must hold, such as `dict[str, int]` or a pydantic model.
        most: Bytes that it may have.

    Raises:
        FileError: If it cannot be read, or holds something else; the first problem is told.
    """
    content = read_bounded(path, most)
    try:
        return parse_json(content, kind)
    except ValueError as error:
        raise FileError(f"{path}: damaged: {error}") from None


def parse_json(content: bytes | str, kind: Any) -> Any:
    """The value of a JSON text as a type that pydantic knows; numbers and nesting have bounds.

    Raises:
        ValueError: If it is something else; the first problem is told.
    """
    try:
        return _adapter(kind).validate_json(content)
    except ValidationError as error:
        raise ValueError(_problem(error)) from None


def check_value(value: Any, kind: Any) -> Any:
    """A value as a type that pydantic knows, such as a row of a database as a dataclass.

    Raises:
        ValueError: If it is something else; the first problem is told.
    """
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        raise ValueError(_problem(error)) from None


def check_xml(content: bytes) -> None:
    """Refuse XML whose entities refer to others, by which a few lines can stand for gigabytes, or to other files.

    Entities for the addresses of namespaces, which editors of vocabularies write, are allowed. What is not well-formed
    is left to whoever parses it.

    Raises:
        ValueError: If an entity does, is long, or there are very many.
    """
    from xml.parsers import expat

    names: set[str] = set()

    def check(name: str, is_parameter: int, value: str | None, *_: object) -> None:
        names.add(name)
        if is_parameter or value is None or "&" in value or "%" in value or len(value) > _LONGEST_ENTITY:
            raise ValueError(
                f"the entity {name[:80]!r} is not a short text, and could expand without limit; write it out"
            )
        if len(names) > _MOST_ENTITIES:
            raise ValueError(f"more than {_MOST_ENTITIES:,} entities; write them out")

    def end(*_: object) -> None:
        raise StopIteration  # entities are declared before the first element

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = check
    parser.StartElementHandler = end
    with contextlib.suppress(StopIteration, expat.ExpatError):
        parser.Parse(content, True)


def load_yaml(text: str) -> Any:
    """The value of a YAML text without aliases, by which a few lines can stand for gigabytes.

    Raises:
        ValueError: If it is not YAML, or not as simple as that.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if problem := _event_problem(event, depth):
                raise ValueError(f"line {event.start_mark.line + 1}: {problem}")
        return yaml.load(text, Loader=loader)
    except (yaml.YAMLError, RecursionError, OverflowError) as error:
        raise ValueError(" ".join(str(error).split())) from error


def _event_problem(event: Any, depth: int) -> str | None:
    """Why a part of a YAML text is not read, before it becomes a value."""
    if getattr(event, "anchor", None) is not None:  # of an alias, or of what it would stand for
        return "anchors (&) and aliases (*) are not read"
    if len(getattr(event, "value", None) or "") > _LONGEST_VALUE:
        return f"a value of more than {_LONGEST_VALUE:,} characters"
    return f"nested in more than {_DEEPEST} levels" if depth > _DEEPEST else None


def check_depth(value: Any) -> None:
    """Refuse values that are nested so deep that whoever walks through them by recursion would fail.

    Raises:
        ValueError: If they are.
    """
    level = [value]
    for _ in range(_DEEPEST):
        level = [item for one in level for item in _items(one)]
        if not level:
            return
    raise ValueError(f"nested in more than {_DEEPEST} levels")


def check_archive(file: IO[bytes], path: Path | None = None) -> None:
    """Refuse a zip archive, such as a DOCX or XLSX file, that would unpack to far more than any document has.

    Args:
        file: The open archive.
        path: What it is called in messages.

    Raises:
        FileError: If it is no archive, or one of very many or very large files.
    """
    name = f"{path}: " if path is not None else ""
    try:
        with zipfile.ZipFile(file) as archive:
            sizes = [info.file_size for info in archive.infolist()]
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, struct.error) as error:  # of damaged ones
        raise FileError(f"{name}cannot be read: {error}") from error
    if len(sizes) > _MOST_FILES or sum(sizes) > _MOST_UNPACKED:
        raise FileError(f"{name}unpacks to more than {_MOST_UNPACKED:,} bytes or {_MOST_FILES:,} files; divide it")


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple | set):
        yield from value


def _entries(folder: Path) -> Iterator[Path]:
    """All that is in a folder and in those inside it, but for these folders themselves."""
    waiting = [folder]
    while waiting:
        for entry in sorted(waiting.pop().iterdir()):
            if entry.name.startswith("."):
                continue
            if entry.is_dir() and not entry.is_symlink():
                waiting.append(entry)
            else:
                yield entry


def _shown(folder: Path, root: Path, path: Path) -> Path:
    return folder / path.relative_to(root)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _problem(error: ValidationError) -> str:
    """The first problem in a few words, with its place."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(_short(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])


def _short(part: object) -> str:
    text = str(part)
    return text if len(text) <= 80 else f"{text[:80]}..."
