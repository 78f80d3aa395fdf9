"""The files of a model's folder: which there are, and whether they are complete; light, so that errors come at once."""

import logging
import os
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict

from taxocaps._version import __version__
from taxocaps.errors import FileError, ModelError, nearest
from taxocaps.files import digest
from taxocaps.untrusted import read_json, regular_files

__all__ = [
    "FORMAT",
    "MODEL_FILES",
    "UNHASHED",
    "Versions",
    "available_memory",
    "check_files",
    "digest",
    "file_names",
    "is_model",
    "model_version",
    "read_versions",
    "written_on",
]

FORMAT = "taxocaps-model/2"
UNHASHED = {"versions.json", "README.md", "metrics.json", "history.csv", "report.html", "sources.json"}
MODEL_FILES = frozenset(
    {"config.yaml", "vocabulary.tsv", "taxonomy.json", "labels.json", "weights.safetensors", "thresholds.json"}
    | {"stop_words.txt", "join.safetensors", "name_words.tsv", "name_characters.tsv", "members", "encoder"}
    | {"corrections.jsonl"}
    | UNHASHED
)
"""What the folder of a model usually holds; a scorer of another package may write more."""
_MOST_BESIDE = 1_000
"""Entries of a folder among which one that was misspelt is looked for."""
_MOST_BYTES = 2**22
_AGAIN = "copy the model again, or train it anew"


class Versions(BaseModel):
    """What `versions.json` says of a model.

    Attributes:
        format: The format of the folder.
        taxocaps: The version that wrote it.
        files: The hash of each file.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    format: str
    files: dict[str, str]
    taxocaps: str = ""


def file_names(folder: Path) -> frozenset[str]:
    """What may lie in a model's folder: the usual files, and those in it that its scorer wrote."""
    try:
        files = read_versions(folder).files
    except ModelError:
        return MODEL_FILES
    # Whoever replaces a model removes these: a name such as ".." must not lead out of the folder.
    return MODEL_FILES | {path.name for path in folder.iterdir()} & {name.partition("/")[0] for name in files}


def is_model(folder: Path) -> bool:
    """Whether a folder has a complete model in it, of whatever version."""
    try:
        found = read_json(folder / "versions.json", Versions, most=_MOST_BYTES)
    except FileError:
        return False
    return bool(found.format.startswith(FORMAT.partition("/")[0]))


def read_versions(folder: Path) -> Versions:
    """What `versions.json` says of a model; the other files are not looked at.

    Raises:
        ModelError: If there is no model, or of another format.
    """
    path = folder / "versions.json"
    if folder.is_file():
        raise ModelError(f"{folder}: is a file, not the folder of a model")
    if not folder.is_dir():
        raise ModelError(f"{folder}: no model there; {_what_to_do(folder)}")
    if not path.exists():
        raise ModelError(f"{folder}: not a model (no versions.json in it)")
    try:
        versions: Versions = read_json(path, Versions, most=_MOST_BYTES)
    except FileError as error:
        raise ModelError(f"{path}: damaged; {_AGAIN}") from error
    if versions.format != FORMAT:
        raise ModelError(
            f"{folder}: is of format {versions.format[:80]!r}, not {FORMAT!r}; install the version that wrote it"
        )
    return versions


def _what_to_do(folder: Path) -> str:
    """The model beside it that is likely meant, or how to train one."""
    beside = islice(folder.parent.iterdir(), _MOST_BESIDE) if folder.parent.is_dir() else ()
    close = nearest(folder.name, [one.name for one in beside if (one / "versions.json").is_file()])
    if close:
        return f"did you mean {folder.with_name(close)}?"
    return f"train one with: taxocaps train FILE --out {folder}"


def model_version(folder: Path) -> str:
    """Some digits that another model in the same folder would not have: `versions.json` has the hash of every file."""
    return digest(folder / "versions.json")[:12]


def written_on(folder: Path) -> str:
    """The day on which a model was written, such as 2026-05-31, by the time of its last file."""
    return datetime.fromtimestamp((folder / "versions.json").stat().st_mtime, UTC).date().isoformat()


def check_files(folder: Path) -> None:
    """Make sure that all files of a model are there, unchanged, and really files of this folder.

    Raises:
        ModelError: If there is no model, it is damaged, or of another format.
    """
    versions, found = read_versions(folder), _files(folder)
    for name in sorted(found):
        if PurePosixPath(name).parts[0] in MODEL_FILES - UNHASHED and name not in versions.files:
            raise ModelError(f"{folder / name}: is not listed in versions.json; {_AGAIN}")
    for name, expected in versions.files.items():
        if name not in found:
            raise ModelError(f"{folder / name[:255]}: is missing from the model; {_AGAIN}")
        if name != "thresholds.json" and digest(folder / name) != expected:  # thresholds may be set by hand
            raise ModelError(f"{folder / name}: damaged or changed; {_AGAIN}")
    if _release(versions.taxocaps) > _release(__version__):
        _LOG.warning("%s: was written by taxocaps %s, which is newer than this one", folder, versions.taxocaps[:80])


def _files(folder: Path) -> frozenset[str]:
    """The files of a folder that can be read without end or harm."""
    try:
        found = regular_files(folder)
    except FileError as error:
        raise ModelError(str(error)) from error
    size, memory = sum(found.values()), available_memory()
    if memory is not None and size > memory:
        raise ModelError(f"{folder}: has {size:,} bytes, more than the memory of this machine ({memory:,} bytes)")
    return frozenset(found)


def available_memory() -> int | None:
    """The bytes of memory of this machine; None if that is not known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a Unix system
        return None


_LOG = logging.getLogger("taxocaps")


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, as far as they are numbers.

    >>> _release("1.12.0rc1")
    (1, 12)
    """
    parts = version.split(".")[:3]
    return tuple(int(part) for part in parts if part.isdecimal() and len(part) < 10)
