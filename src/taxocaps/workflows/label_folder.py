"""Where a bulk run keeps its shards of labels: resumable, refused to others, published in order."""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock

from taxocaps.corpus.remote import RemoteFile
from taxocaps.corpus.shards import InputFile
from taxocaps.errors import FileError, UnfinishedError
from taxocaps.files import atomic_text
from taxocaps.workflows.bulk import Outcome, read_record, record_path
from taxocaps.workflows.folders import acquire, partial_folder
from taxocaps.workflows.label_files import LABEL_FILES, LabelFile, Output

__all__ = ["LabelFolder", "RunIdentity", "part_path", "shard_path"]

_HIDDEN, _RUN, _LOCK = ".run", "run.json", "lock"
_HEAD = 4_096


@dataclass(frozen=True)
class RunIdentity:
    """What labels depend on: a run continues only what was begun with the same.

    Attributes:
        taxocaps: The version.
        model: A hash of the model.
        documents: The names of the files, each with a hash of its beginning.
        options: All options that decide what is written.
    """

    taxocaps: str
    model: str
    documents: Mapping[str, str]
    options: Mapping[str, Any]

    @classmethod
    def of(cls, version: str, model: str, files: Sequence[InputFile], options: Mapping[str, Any]) -> Self:
        """The identity of a run over files."""
        heads = {f"{number}: {path.name}": _head(path) for number, path in enumerate(files)}
        return cls(version, model, heads, options)

    @property
    def key(self) -> str:
        """A hash of all but the documents, which are known shard by shard."""
        content = json.dumps([self.taxocaps, self.model, self.options], sort_keys=True, default=str)
        return hashlib.sha256(content.encode()).hexdigest()

    def difference(self, other: Mapping[str, Any]) -> str | None:
        """In what another run differs, for people; None if it is the same."""
        if other.get("taxocaps") != self.taxocaps:
            return f"another version of taxocaps ({other.get('taxocaps')}, not {self.taxocaps})"
        if other.get("model") != self.model:
            return "another model"
        theirs = dict(other.get("documents", {}))
        is_same = any(theirs[name] == head for name, head in self.documents.items() if name in theirs)
        if list(theirs) != list(self.documents) or not is_same:
            return "other documents"
        for name, value in self.options.items():
            if (found := dict(other.get("options", {})).get(name)) != value:
                return f"other options ({name}={found}, not {value})"
        return None


def _head(path: InputFile) -> str:
    if isinstance(path, RemoteFile):
        return path.stamp()
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.sha256(file.read(_HEAD)).hexdigest()


def shard_path(work: Path, output: Output, index: int) -> Path:
    """Where the labels of a shard are written, in the hidden folder of a run."""
    return work / f"{index:06d}{LABEL_FILES[output.format].suffix}"


def part_path(output: Output, index: int) -> Path:
    """Where the labels of a shard appear in an output folder."""
    return output.path / f"part-{index:06d}{LABEL_FILES[output.format].suffix}"


class LabelFolder:
    """The shards of labels of one run, as a context manager that lets one run at a time work at an output.

    Shards and their records are in a hidden folder: `.run` inside an output folder, `.NAME.partial` beside an output
    file. In an output folder, shards appear in order as `part-000000.jsonl` and so on, each complete, and the records
    stay; a file is made at the end, and the hidden folder goes.
    """

    def __init__(self, output: Output, identity: RunIdentity, *, overwrite: bool = False) -> None:
        """Prepare to write `output`; `overwrite` gives up what an interrupted run with other options has done."""
        self.output, self._identity, self._overwrite = output, identity, overwrite
        self.work = output.path.resolve() / _HIDDEN if output.is_folder else partial_folder(output.path)
        self._kind: LabelFile = LABEL_FILES[output.format]
        self._lock = FileLock(self.work / _LOCK, timeout=0)
        self._next = 1  # position of the first document of the next shard
        self._count = 0
        self._shards: list[tuple[Path, int]] = []

    def __enter__(self) -> Self:
        self._check_folder()
        self.work.mkdir(parents=True, exist_ok=True)
        acquire(self._lock, self.output.path, "--output")
        try:
            self._check_run()
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_complete = error is None and not self.output.is_folder
        has_begun = any(self.work.glob("[0-9]*.json"))
        if is_complete or not has_begun:
            shutil.rmtree(self.work, ignore_errors=True)
        self._lock.release()
        if not has_begun and self.output.is_folder and self.output.path.is_dir():
            _remove_if_empty(self.output.path)

    def _shard(self, index: int) -> Path:
        return shard_path(self.work, self.output, index)

    def _part(self, index: int) -> Path:
        return part_path(self.output, index)

    def add(self, outcome: Outcome) -> None:
        """Take in a shard that is done; called in order."""
        assert outcome.record is not None
        first, self._next = self._next, self._next + outcome.record["documents"]
        self._count += 1
        if not self.output.is_folder:
            self._shards.append((self._shard(outcome.index), first))
        elif outcome.record["unnamed"]:
            self._publish_named(outcome.index, first)
        elif self._shard(outcome.index).exists():
            self._shard(outcome.index).replace(self._part(outcome.index))

    def complete(self) -> None:
        """All shards are there: make the output whole."""
        if not self.output.is_folder:
            self._join(self.output.path, self._shards)
            return
        for path in (*self.output.path.glob("part-*"), *self.work.glob("[0-9]*")):
            if _number(path) >= self._count:  # the input has become shorter
                path.unlink()

    def _join(self, target: Path, shards: Sequence[tuple[Path, int]]) -> None:
        """Make a file of shards in the hidden folder, where nobody minds what a kill leaves, and move it."""
        joined = self.work / f"joined-{target.name}"
        self._kind.join(joined, shards)
        joined.replace(target.resolve())

    def _publish_named(self, index: int, first: int) -> None:
        """Give documents without an id their positions, which are known now that all shards before are done."""
        path = record_path(self.work, index)
        record = read_record(path)
        if self._shard(index).exists():
            self._join(self._part(index), [(self._shard(index), first)])
            with atomic_text(path) as file:
                json.dump({**record, "first": first}, file)
            self._shard(index).unlink()
        elif record.get("first") != first:
            path.unlink()
            raise UnfinishedError(f"{self._part(index)}: the documents before it have changed; give the command again")

    def _check_folder(self) -> None:
        """Refuse a folder with other things in it."""
        path = self.output.path
        if not self.output.is_folder or not path.exists() or self.work.exists():
            return
        found = sorted(one.name for one in path.iterdir())
        if found:
            raise FileError(f"{path}: holds other things than labels ({found[0]}); choose another --output")

    def _check_run(self) -> None:
        """Begin anew, or make sure that the run to continue was the same."""
        for leftover in self.work.glob(".*"):  # half written when a process was killed
            shutil.rmtree(leftover, ignore_errors=True)
        path = self.work / _RUN
        begun = read_record(path)
        difference = self._identity.difference(begun) if begun else None
        if difference and not self._overwrite:
            raise FileError(
                f"{self.output.path}: has labels of {difference}; choose another --output, or give --overwrite to "
                "begin anew"
            )
        if difference or self._overwrite:
            self._clear()
        with atomic_text(path) as file:
            json.dump(vars(self._identity), file, indent=2, default=str)

    def _clear(self) -> None:
        old = [*self.work.glob("[0-9]*"), *(self.output.path.glob("part-*") if self.output.is_folder else ())]
        for path in old:
            path.unlink()


def _number(path: Path) -> int:
    """The number of a shard, of its record or its part."""
    digits = path.name.partition(".")[0].removeprefix("part-")
    return int(digits) if digits.isdigit() else -1


def _remove_if_empty(folder: Path) -> None:
    if not any(folder.iterdir()):
        folder.rmdir()
