"""Bulk work: shards in, shards out, in several processes; what is finished is recorded and never done twice."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol, Self, TypeVar

from taxocaps.corpus.readers import CorpusConfig, ReadReport
from taxocaps.corpus.shards import InputFile, cut, nothing_read, total_size
from taxocaps.errors import ConfigError, MissingExtraError, ModelError, TaxoCapsError, UnfinishedError, WriteError
from taxocaps.files import atomic_text
from taxocaps.progress import Pace, Progress
from taxocaps.registry import import_extra
from taxocaps.workflows.cluster import NodeWork, map_on_cluster, pack, unpack
from taxocaps.workflows.processes import check_jobs, map_in_processes

__all__ = [
    "Engine",
    "EngineKind",
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


EngineKind = Literal["processes", "ray"]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Engine:
    """Who does bulk work: processes of this machine, or actors of a Ray cluster.

    Attributes:
        kind: `processes` or `ray`.
        jobs: The number of processes or actors; None for as many as there are cores.
        address: The address of a Ray cluster; None to start one on this machine.
    """

    kind: EngineKind = "processes"
    jobs: int | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        """Refuse what does not fit together, before any work.

        Raises:
            ConfigError: For options of another engine, or an unknown one.
            MissingExtraError: If Ray is not installed.
        """
        if self.kind not in ("processes", "ray"):
            raise ConfigError(f"--engine must be one of processes, ray; got {self.kind!r}")
        if self.kind == "ray":
            import_extra("ray", "--engine ray")
        elif self.address is not None:
            raise ConfigError("--address is that of a Ray cluster; give --engine ray, too")
        check_jobs(self.jobs)

    @property
    def processes(self) -> int:
        """The number of processes on this machine."""
        return check_jobs(self.jobs)

    def map(self, work: NodeWork[Any, Result], items: Iterable[Any]) -> Iterator[Result]:
        """The results of `work` for all items, in their order; see `map_in_processes` and `map_on_cluster`."""
        if self.kind == "ray":
            return map_on_cluster(work, items, self.jobs, self.address)
        return map_in_processes(work, items, self.processes)


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

    @property
    def model(self) -> Path | None:
        """The folder of the model that is needed."""

    def elsewhere(self, folder: Path, model: Path | None) -> Self:
        """The same for another machine, where results go into another folder, and the model is in another one."""


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
        """Do the work of a shard, unless it is done, and record it."""
        index, shard = numbered
        return self.recorded(self.do(index, shard, self.known(index)))

    def known(self, index: int) -> dict[str, Any]:
        """What is recorded of a shard, if its result is there."""
        return read_record(record_path(self.folder, index)) if self.work.is_there(index) else {}

    def do(self, index: int, shard: Any, known: Mapping[str, Any]) -> Outcome:
        """Do the work of a shard, unless what is known of it says that it is done."""
        try:
            key = hashlib.sha256(f"{self.key} {shard.digest()}".encode()).hexdigest()
            if known.get("key") == key:
                return Outcome(index, shard.size, dict(known), is_new=False)
            self.forget(index)
            report = ReadReport()
            counts = self.work(index, shard, report)
            record = {"key": key, **counts, "skipped": report.skipped, "problems": report.messages}
        except _FATAL:
            raise
        except TaxoCapsError as error:
            return Outcome(index, shard.size, None, error=error)
        return Outcome(index, shard.size, record)

    def forget(self, index: int) -> None:
        """Remove the record of a shard that is about to change."""
        record_path(self.folder, index).unlink(missing_ok=True)

    def recorded(self, outcome: Outcome) -> Outcome:
        """Record what was done, now that the result is there."""
        if outcome.is_new and outcome.record is not None:
            with atomic_text(record_path(self.folder, outcome.index)) as file:
                json.dump(outcome.record, file)
        return outcome


@dataclass(frozen=True)
class _NodeWork:
    """Recorded work on a node of a cluster: done in a folder of its own, whose files are handed back."""

    recorded: RecordedWork
    unpacked: Path | None = None

    @property
    def model(self) -> Path | None:
        return self.recorded.work.model

    def with_model(self, folder: Path) -> "_NodeWork":
        return replace(self, unpacked=folder)

    def __call__(self, item: tuple[int, Any, Mapping[str, Any]]) -> tuple[Outcome, bytes | None]:
        with TemporaryDirectory() as name:
            folder = Path(name)
            work = replace(self.recorded, folder=folder, work=self.recorded.work.elsewhere(folder, self.unpacked))
            outcome = work.do(*item)
            return outcome, pack(folder) if outcome.is_new and outcome.record is not None else None


def _outcomes(work: RecordedWork, shards: Iterable[Any], engine: Engine) -> Iterator[Outcome]:
    """What becomes of shards, in their order."""
    if engine.kind == "processes":
        yield from map_in_processes(work, enumerate(shards), engine.processes)
        return
    items = ((index, shard, work.known(index)) for index, shard in enumerate(shards))
    for outcome, files in map_on_cluster(_NodeWork(work), items, engine.jobs, engine.address):
        if files is not None:
            work.forget(outcome.index)
            unpack(files, work.folder)
        yield work.recorded(outcome)


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

    files: Sequence[InputFile]
    shards: Iterable[Any]
    size: int | None
    is_one: bool


def shards_of(files: Sequence[InputFile], config: CorpusConfig) -> ShardedInput:
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
    engine: Engine,
    *,
    stage: str,
    progress: Progress,
    finished: Callable[[Outcome], None] = lambda outcome: None,
) -> Totals:
    """Do the work of all shards, in several processes or on a cluster; a single shard is done in this process.

    Args:
        work: What is done with each.
        given: The shards.
        engine: Who does it.
        stage: What the work is called in progress reports.
        progress: Told how many documents are done, how fast, and how long it will take.
        finished: Called for each shard that is done, in order, up to the first that fails.

    Raises:
        UnfinishedError: If some shards failed, after all others were done, or if a process was killed.
        CorpusError: If there are no documents.
    """
    totals, failures, pace = Totals(), list[TaxoCapsError](), Pace(given.size)
    for outcome in _outcomes(work, given.shards, Engine(jobs=1) if given.is_one else engine):
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
