"""Bulk work: shards in, shards out, in several processes; what is finished is recorded and never done twice."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

from taxocaps.corpus.readers import CorpusConfig, ReadReport
from taxocaps.corpus.shards import cut, nothing_read, total_size
from taxocaps.errors import MissingExtraError, ModelError, TaxoCapsError, UnfinishedError, WriteError
from taxocaps.files import atomic_text
from taxocaps.progress import Pace, Progress
from taxocaps.workflows.processes import map_in_processes

__all__ = [
    "Outcome",
    "RecordedWork",
    "ShardWork",
    "ShardedInput",
    "Totals",
    "read_record",
    "record_path",
    "run_shards",
    "shards_of",
]

_FATAL = (WriteError, ModelError, MissingExtraError)
"""What concerns all shards, not one."""

_FAILURES = 10
"""If so many shards fail before any is done, the rest is not tried: an option is wrong, not a file."""


class ShardWork(Protocol):
    """What is done with a shard, by any process."""

    def __call__(self, index: int, shard: Any, report: ReadReport) -> dict[str, Any]:
        """Do the work of a shard; its result is on disk, complete, when this returns.

        Args:
            index: The number of the shard in the input, from 0.
            shard: The shard.
            report: Updated with the numbers of documents and errors.

        Returns:
            Counts, `documents` among them.
        """

    def is_there(self, index: int) -> bool:
        """Whether the result of a shard is on disk."""


@dataclass(frozen=True)
class Outcome:
    """What became of a shard.

    Attributes:
        index: Its number in the input, from 0.
        size: Its size, see `Shard`.
        record: What is recorded of it: counts, `skipped` and `problems`; None if it failed.
        is_new: Whether it was done now, not by an earlier run.
        error: Why it failed.
    """

    index: int
    size: int
    record: dict[str, Any] | None
    is_new: bool = True
    error: TaxoCapsError | None = None


@dataclass(frozen=True)
class RecordedWork:
    """Work that is recorded, shard by shard, in a folder; what a record says is done is not done again.

    Attributes:
        folder: The folder of the records.
        key: A hash of all that decides the result beside the documents.
        corpus: How documents are read.
        work: What is done with a shard.
    """

    folder: Path
    key: str
    corpus: CorpusConfig
    work: ShardWork

    def __call__(self, numbered: tuple[int, Any]) -> Outcome:
        """Do the work of a shard, unless it is done."""
        index, shard = numbered
        path = record_path(self.folder, index)
        try:
            key = hashlib.sha256(f"{self.key} {shard.digest()}".encode()).hexdigest()
            record = read_record(path)
            if record.get("key") == key and self.work.is_there(index):
                return Outcome(index, shard.size, record, is_new=False)
            path.unlink(missing_ok=True)
            report = ReadReport()
            counts = self.work(index, shard, report)
            record = {"key": key, **counts, "skipped": report.skipped, "problems": report.messages}
        except _FATAL:
            raise
        except TaxoCapsError as error:
            return Outcome(index, shard.size, None, error=error)
        with atomic_text(path) as file:
            json.dump(record, file)
        return Outcome(index, shard.size, record)


def record_path(folder: Path, index: int) -> Path:
    """Where the record of a shard is."""
    return folder / f"{index:06d}.json"


def read_record(path: Path) -> dict[str, Any]:
    """What is recorded of a shard; nothing if it is not done, or the record is cut off."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


@dataclass(frozen=True)
class ShardedInput:
    """An input in shards.

    Attributes:
        files: Its files, for messages.
        shards: Its shards, in order.
        size: Their sizes in all, if known.
        is_one: Whether there is only one shard, which is not worth a process of its own.
    """

    files: Sequence[Path]
    shards: Iterable[Any]
    size: int | None
    is_one: bool


def shards_of(files: Sequence[Path], config: CorpusConfig) -> ShardedInput:
    """The shards of files."""
    shards = cut(files, config)
    first = list(islice(shards, 2))
    return ShardedInput(files, chain(first, shards), total_size(files), len(first) < 2)


@dataclass
class Totals:
    """Counts over all shards.

    Attributes:
        counts: Sums of what the work counts.
        reading: Invalid records.
        shards: Shards that are done.
    """

    counts: dict[str, int] = field(default_factory=dict)
    reading: ReadReport = field(default_factory=ReadReport)
    shards: int = 0

    def add(self, record: dict[str, Any]) -> None:
        """Add the counts of a shard."""
        self.shards += 1
        self.reading.add(record["skipped"], record["problems"])
        for name, count in record.items():
            if isinstance(count, int) and name != "skipped":
                self.counts[name] = self.counts.get(name, 0) + count


def run_shards(
    work: RecordedWork,
    given: ShardedInput,
    jobs: int,
    *,
    stage: str,
    progress: Progress,
    finished: Callable[[Outcome], None] = lambda outcome: None,
) -> Totals:
    """Do the work of all shards, in several processes.

    Args:
        work: What is done with each.
        given: The shards.
        jobs: The number of processes.
        stage: What the work is called in progress reports.
        progress: Told how many documents are done, how fast, and how long it will take.
        finished: Called for each shard that is done, in order, up to the first that fails.

    Raises:
        UnfinishedError: If some shards failed, after all others were done, or if a process was killed.
        CorpusError: If there are no documents.
    """
    totals, failures, pace = Totals(), list[TaxoCapsError](), Pace(given.size)
    for outcome in map_in_processes(work, enumerate(given.shards), 1 if given.is_one else jobs):
        if outcome.record is None:
            assert outcome.error is not None
            failures.append(outcome.error)
            if not totals.shards and len(failures) == _FAILURES:
                break
            continue
        totals.add(outcome.record)
        if not failures:
            finished(outcome)
        pace.add(outcome.record["documents"], outcome.size, is_new=outcome.is_new)
        progress(stage, pace.documents, None, pace.note)
    if failures:
        raise _failed(failures, totals)
    if not totals.counts.get("documents"):
        raise nothing_read(given.files, work.corpus, totals.reading)
    progress(stage, pace.documents, pace.documents, pace.speed)
    return totals


def _failed(failures: Sequence[TaxoCapsError], totals: Totals) -> TaxoCapsError:
    if not totals.shards:
        return failures[0]
    others = f" ({len(failures) - 1:,} more could not be read)" if failures[1:] else ""
    kept = f"{totals.shards:,} shard{'s are' if totals.shards > 1 else ' is'}"
    return UnfinishedError(
        f"{failures[0]}{others}; {kept} finished and kept, and the same command continues from there"
    )
