"""Reading plain and compressed files with errors that name file and line; writing that is never half done."""

import contextlib
import ctypes
import glob
import gzip
import hashlib
import io
import lzma
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, TextIO, cast

from taxocaps.errors import FileError, WriteError
from taxocaps.untrusted import open_regular, read_some

__all__ = [
    "COMPRESSIONS",
    "LARGEST_TEXT",
    "LONGEST_LINE",
    "CutLine",
    "atomic_folder",
    "atomic_path",
    "atomic_text",
    "check_exists",
    "digest",
    "exchange_folders",
    "format_stem",
    "format_suffix",
    "is_decodable",
    "matching_paths",
    "open_binary",
    "read_lines",
    "read_text",
    "refuse_same_file",
]


def _open_gzip(file: Path | IO[bytes], mode: str) -> IO[bytes]:
    if not isinstance(file, Path):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode=mode))
    return cast("IO[bytes]", gzip.GzipFile(file, mode, mtime=0))  # the same content gives the same bytes at any time


def _open_xz(file: Path | IO[bytes], mode: str) -> IO[bytes]:
    return cast("IO[bytes]", lzma.open(file, mode))


def _open_zstd(file: Path | IO[bytes], mode: str) -> IO[bytes]:
    return cast("IO[bytes]", _zstd().open(file, mode))


def _zstd() -> Any:
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        from backports import zstd
    return zstd


COMPRESSIONS: dict[str, Callable[[Path | IO[bytes], str], IO[bytes]]] = {
    ".gz": _open_gzip,
    ".xz": _open_xz,
    ".zst": _open_zstd,
}
"""How a compressed file is opened, by the last part of its name."""

LONGEST_LINE = 2**24
"""Letters of a line, unless another bound is given: three times those of the Bible."""

LARGEST_TEXT = 2**28
"""Bytes of a file that is read as a whole."""

_NAME_ENCODING = "name the file's encoding, such as --encoding latin-1"

_SKIPPED = 2**16
"""Read at a time where little of it is kept."""


def format_suffix(path: Path) -> str:
    """The suffix that tells the format, without the one that tells the compression.

    >>> format_suffix(Path("news.jsonl.gz"))
    '.jsonl'
    """
    stem = path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
    return stem.suffix.lower()


def format_stem(path: Path) -> str:
    """The name of a file without the suffixes that tell format and compression.

    >>> format_stem(Path("data/train.v2.JSONL.gz"))
    'train.v2'
    """
    stem = path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
    return stem.stem


@contextlib.contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """Open a regular file for reading, unpacked if it is compressed; failures become a `FileError` naming the file.

    The path `-` is standard input, which stays open. A compressed file may unpack to any size: read it line by line, or
    by `read_some`.
    """
    if str(path) == "-":
        yield _standard_input()
        return
    opener = COMPRESSIONS.get(path.suffix.lower(), lambda file, _: file)
    try:
        with open_regular(path) as packed, opener(packed, "rb") as file:
            yield file
    except FileError:
        raise
    except FileNotFoundError as error:
        raise FileError(f"{path}: no such file; check the path") from error
    except IsADirectoryError as error:
        raise FileError(f"{path}: is a directory; give a file") from error
    except EOFError as error:
        raise FileError(f"{path}: the compressed file is cut off; copy or download it again") from error
    except MemoryError as error:
        raise FileError(f"{path}: cannot be read: there is not enough memory; give smaller files") from error
    except _read_errors(path) as error:
        raise FileError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise FileError("standard input is closed; give a file")
    return sys.stdin.buffer


def _read_errors(path: Path) -> tuple[type[Exception], ...]:
    """What reading may raise; the zstd library is loaded only for files that need it."""
    errors = (OSError, zlib.error, lzma.LZMAError)
    return (*errors, _zstd().ZstdError) if path.suffix.lower() == ".zst" else errors


class CutLine(str):
    """The beginning of a line that is longer than allowed."""

    __slots__ = ()


def read_lines(
    path: Path,
    encoding: str = "utf-8",
    *,
    strict: bool = True,
    keep_ends: bool = False,
    part: tuple[int, int] | None = None,
    longest: int = LONGEST_LINE,
    remedy: str = _NAME_ENCODING,
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers, from 1, without line ends.

    Args:
        path: A file, compressed or not.
        encoding: Its encoding; a byte order mark is dropped.
        strict: Raise `FileError`, naming the line, where bytes do not fit the encoding or a line is too long. Otherwise
            a line is yielded with those bytes escaped, and `is_decodable` tells such lines apart; of one that is too
            long the beginning is yielded as a `CutLine`.
        keep_ends: Leave each line its end, as it stands in the file (quoted CSV fields need that).
        part: Only the lines between two positions, in bytes, which are borders of lines. Lines are counted from there.
        longest: Letters that a line may have.
        remedy: What the error about bytes that do not fit the encoding tells users to do.
    """
    with open_binary(path) as binary:
        text = _decoded(_part(binary, part), path, encoding, newline="" if keep_ends else None)
        number = 0
        try:
            for number, line in enumerate(iter(partial(text.readline, longest + 2), ""), 1):  # two letters for its end
                if len(line) > longest and len(line.rstrip("\r\n")) > longest:
                    if strict:
                        raise FileError(f"{path}, line {number}: more than {longest:,} letters; break it into lines")
                    _skip_line(text, line)
                    yield number, CutLine(line[:longest])
                    continue
                if strict and not is_decodable(line):
                    raise FileError(_undecodable_message(path, number, encoding, remedy))
                yield number, line if keep_ends else line.removesuffix("\n")
        except UnicodeError as error:  # encodings in which single bytes cannot be escaped, such as UTF-16
            raise FileError(_undecodable_message(path, number + 1, encoding, remedy)) from error
        finally:
            text.detach()


def _skip_line(text: io.TextIOWrapper, line: str) -> None:
    while line and not line.endswith(("\n", "\r")):
        line = text.readline(_SKIPPED)


def _part(binary: IO[bytes], part: tuple[int, int] | None) -> IO[bytes]:
    if part is None:
        return binary
    binary.seek(part[0])
    return io.BufferedReader(_Part(binary, part[1] - part[0]), _SKIPPED)


class _Part(io.RawIOBase):
    """The next bytes of a file, as a file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._file.read(min(len(buffer), self._left))
        buffer[: len(block)] = block
        self._left -= len(block)
        return len(block)


def is_decodable(line: str) -> bool:
    """Whether a line read with `strict=False` fitted its encoding."""
    if line.isascii():
        return True
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _undecodable_message(path: Path, number: int, encoding: str, remedy: str) -> str:
    return f"{path}, line {number}: not valid {encoding.upper()}; {remedy}"


def read_text(path: Path, encoding: str = "utf-8", *, remedy: str = _NAME_ENCODING) -> str:
    """The whole text of a file, compressed or not; lines end with a newline; arguments as of `read_lines`.

    Raises:
        FileError: If it cannot be read, or is larger than `LARGEST_TEXT`.
    """
    with open_binary(path) as file:
        content = read_some(file, LARGEST_TEXT, path)
    try:
        text = content.decode("utf-8-sig" if _is_utf8(encoding) else encoding)
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise FileError(_undecodable_message(path, number, encoding, remedy)) from error
    except LookupError as error:
        raise FileError(_unknown_encoding(path, encoding)) from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.endswith("\n") or not text else f"{text}\n"


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` at the end, or remove it if anything goes wrong.

    What stood at `path` before stays untouched until the new content is complete and on disk. A link is followed; what
    is no file, such as `/dev/stdout` or a pipe, is written to as it is.
    """
    path = path.resolve()
    if path.exists() and not (path.is_file() or path.is_dir()):
        yield path
        return
    with _writing(path) as part:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)


def check_exists(path: Path) -> None:
    """Refuse an input that is not there; `-` is standard input.

    Raises:
        FileError: If there is neither a file nor a folder.
    """
    if str(path) != "-" and not path.exists():
        raise FileError(f"{path}: no such file or folder; check the path")


def matching_paths(given: Iterable[Path | str]) -> list[Path]:
    """The paths that are meant by paths and by patterns such as `news/*.jsonl`; those of a pattern in order.

    A path that is named more than once, directly or by patterns, is there once.

    Raises:
        FileError: If there is nothing at a path, or a pattern matches nothing.
    """
    found: dict[Path, Path] = {}
    for path in map(Path, given):
        for one in _matching(path):
            found.setdefault(one if str(one) == "-" else one.resolve(), one)
    return list(found.values())


def _matching(path: Path) -> list[Path]:
    if str(path) == "-" or path.exists() or not glob.has_magic(str(path)):
        check_exists(path)
        return [path]
    matches = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207 - pathlib has no absolute patterns
    if not matches:
        raise FileError(f"{path}: no file matches; check the pattern")
    return matches


def digest(path: Path) -> str:
    """The hash of what a file holds."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_same_file(source: Path, target: Path) -> None:
    """Keep a command from writing over its own input.

    Raises:
        FileError: If both paths lead to the same file.
    """
    if source.exists() and target.exists() and target.samefile(source):
        raise FileError(f"{target}: is the input itself; choose another file to write")


@contextlib.contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder beside `path`; rename it to `path` at the end, or remove it if anything goes wrong.

    Only an empty folder may stand at `path` before: a folder cannot be exchanged in one step.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise FileError(f"{path}: is already there; remove it, or give the path of a new folder")
    with _writing(path) as part:
        part.mkdir()
        yield part
        if path.exists():
            path.rmdir()
        part.replace(path)


def exchange_folders(first: Path, second: Path) -> None:
    """Let two folders on one disk change places; on Linux in one step, so that there is always a whole one in place."""
    if not _exchange_at_once(first, second):
        aside = first.with_name(f".{first.name}.aside")
        first.rename(aside)
        second.rename(first)
        aside.rename(second)


def _exchange_at_once(first: Path, second: Path) -> bool:
    """By the system call renameat2; false if this system has none."""
    try:
        call = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux
        return False
    return int(call(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE)) == 0


_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[Path]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            yield folder / path.name
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def atomic_text(path: Path) -> Iterator[TextIO]:
    """Open `path` for writing UTF-8 text, compressed as its suffix says; it appears only when complete."""
    opener: Any = COMPRESSIONS.get(path.suffix.lower(), open)
    with (
        atomic_path(path) as part,
        opener(part, "wb") as binary,
        io.TextIOWrapper(binary, encoding="utf-8", newline="") as text,
    ):
        yield text


def _decoded(binary: IO[bytes], path: Path, encoding: str, newline: str | None) -> io.TextIOWrapper:
    cannot_escape = encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32"))
    try:
        return io.TextIOWrapper(
            binary,
            encoding="utf-8-sig" if _is_utf8(encoding) else encoding,
            errors="strict" if cannot_escape else "surrogateescape",
            newline=newline,
        )
    except LookupError as error:
        raise FileError(_unknown_encoding(path, encoding)) from error


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8")


def _unknown_encoding(path: Path, encoding: str) -> str:
    return f"{path}: unknown encoding {encoding!r}; use a name such as utf-8 or latin-1"
