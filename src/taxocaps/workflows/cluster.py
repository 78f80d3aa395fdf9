"""Work on many shards by actors of a Ray cluster, with the contract of `map_in_processes`.

Nodes need Ray, taxocaps and the input, at a path that they all see or at URLs. The model is sent to them through Ray's
object store, and what they make comes back in the same way: only the process that started the work writes files. So
the records, the bytes and what is left after a kill are the same as on one machine.

Shards are given to actors one by one, without Ray Data: its readers and writers take cores of their own, so that a
small cluster waits for ever (ray#44687), and they know nothing of records. An actor that dies, with its node or alone,
costs the shard that it was at: another actor makes it.
"""

import io
import os
import shutil
import tarfile
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from taxocaps._version import __version__
from taxocaps.errors import ConfigError, UnfinishedError
from taxocaps.registry import import_extra

__all__ = ["NodeWork", "map_on_cluster", "pack", "unpack"]

Item_contra = TypeVar("Item_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)

_AHEAD = 4
"""Shards for each actor that are given out or wait for earlier ones: their results are in memory."""
_ATTEMPTS = 4
"""How often a shard is tried if actors die at it."""
_STARTS = 3
"""How often a start of Ray on this machine is tried: on a busy one it may take longer than Ray waits."""
_PATIENCE = 300.0
"""Seconds without any actor after which a cluster is given up."""
_CONTINUE = "what is finished is kept, and the same command continues from there"


class NodeWork(Protocol[Item_contra, Result_co]):
    """What actors do with items."""

    @property
    def model(self) -> Path | None:
        """The folder of a model that they need."""

    def with_model(self, folder: Path) -> Self:
        """The same with the model in another folder."""

    def __call__(self, item: Item_contra, /) -> Result_co:
        """Do the work of an item."""


def map_on_cluster(
    work: NodeWork[Any, Result_co], items: Iterable[Any], jobs: int | None, address: str | None
) -> Iterator[Result_co]:
    """The results of `work` for all items, in their order.

    Args:
        work: What is done; it can be pickled, as its argument and its result.
        items: The items; a few for each actor are taken ahead.
        jobs: The number of actors, of one core each; by default as many as the cluster has cores.
        address: That of a cluster, `auto` for the one that this machine belongs to; by default one is started here.

    Raises:
        ConfigError: If there is no such cluster, or it is too small.
        UnfinishedError: If actors die again and again, or the cluster is gone.
        Exception: What `work` raised.
    """
    ray = import_extra("ray", "--engine ray")
    with _connected(ray, address, jobs) as count:
        model = ray.put(pack(work.model)) if work.model is not None else None
        yield from _Pool(ray, work, model, count).map(items)


@contextmanager
def _connected(ray: Any, address: str | None, jobs: int | None) -> Iterator[int]:
    """Connect to a cluster, or start one on this machine; gives the number of actors."""
    is_ours = not ray.is_initialized()
    if is_ours:
        _connect(ray, address, jobs)
    try:
        cores = int(ray.cluster_resources().get("CPU", 0))
        if cores < (jobs or 1):
            raise ConfigError(
                f"the Ray cluster has {cores} core{'s' * (cores != 1)}, too few for {jobs or 1} actors of one core "
                "each; give fewer --jobs, or add nodes"
            )
        yield jobs or cores
    finally:
        if is_ours:
            ray.shutdown()


def _connect(ray: Any, address: str | None, jobs: int | None) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    local: dict[str, Any] = {} if address else {"include_dashboard": False, "num_cpus": jobs}
    for attempt in range(1, _STARTS + 1):
        try:
            ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **local)
        except Exception as error:  # Ray raises a plain one where a start takes it too long
            ray.shutdown()
            reason = " ".join(str(error).split()).partition(". ")[0]
            if address:
                raise ConfigError(
                    f"--address {address}: no Ray cluster answers there: {reason}; start one with `ray start --head`, "
                    "or leave --address out for one on this machine"
                ) from error
            if attempt == _STARTS:
                raise UnfinishedError(f"Ray does not start on this machine: {reason}; {_CONTINUE}") from error
        else:
            return


class _Worker:
    """An actor; it unpacks the model once."""

    def __init__(self, work: NodeWork[Any, Any], model: bytes | None) -> None:
        if model is not None:
            self._folder = tempfile.TemporaryDirectory()
            unpack(model, Path(self._folder.name))
            work = work.with_model(Path(self._folder.name))
        self._work = work

    def version(self) -> str:
        return __version__

    def do(self, item: Any) -> Any:
        return self._work(item)


@dataclass
class _Shard:
    number: int
    item: Any
    attempts: int = 0


@dataclass
class _Pool:
    """Some actors, what each is at, and what is waiting.

    Attributes:
        ray: The library.
        work: What is done.
        model: The packed model in the object store.
        count: The number of actors.
        starting: Actors that are not ready yet, by the reference to their first answer.
        idle: Actors that have nothing to do.
        running: Actors and what they are at, by the reference to the result.
        again: What died with its actor.
        is_exhausted: Whether all items are given out.
    """

    ray: Any
    work: Any
    model: Any
    count: int
    starting: dict[Any, Any] = field(default_factory=dict)
    idle: list[Any] = field(default_factory=list)
    running: dict[Any, tuple[Any, _Shard]] = field(default_factory=dict)
    again: deque[_Shard] = field(default_factory=deque)
    is_exhausted: bool = False

    def map(self, items: Iterable[Any]) -> Iterator[Any]:
        """The results of all items, in their order."""
        try:
            for _ in range(self.count):
                self._start()
            yield from self._in_order(_Shard(number, item) for number, item in enumerate(items))
        finally:
            for actor in (*self.starting.values(), *self.idle, *(actor for actor, _ in self.running.values())):
                self._end(actor)

    def _in_order(self, waiting: Iterator[_Shard]) -> Iterator[Any]:
        done: dict[int, Any] = {}
        following = 0
        while self.running or self.again or not self.is_exhausted:
            done.update(self._wait())
            while following in done:
                yield done.pop(following)
                following += 1
            self._hand_out(waiting, len(done))

    def _hand_out(self, waiting: Iterator[_Shard], finished: int) -> None:
        """Give shards to idle actors, what died first; not too many, for results wait for those of earlier shards."""
        while self.idle and (self.again or finished + len(self.running) < _AHEAD * self.count):
            shard = self.again.popleft() if self.again else next(waiting, None)
            if shard is None:
                self.is_exhausted = True
                return
            actor = self.idle.pop()
            self.running[actor.do.remote(shard.item)] = actor, shard

    def _start(self) -> None:
        actor = self.ray.remote(num_cpus=1)(_Worker).remote(self.work, self.model)
        self.starting[actor.version.remote()] = actor

    def _end(self, actor: Any) -> None:
        with suppress(Exception):  # it may be dead already, and the cluster with it
            self.ray.kill(actor)

    def _wait(self) -> dict[int, Any]:
        """What is finished next, by number; nothing if an actor became ready or died."""
        begin = time.monotonic()
        ready: list[Any] = []
        while not ready:
            ready, _ = self.ray.wait([*self.running, *self.starting], num_returns=1, timeout=1.0)
            if not ready and not self.running and not self.idle and time.monotonic() - begin > _PATIENCE:
                raise UnfinishedError(
                    f"no node of the Ray cluster has taken up the work for {_PATIENCE:.0f} s; {_CONTINUE}"
                )
        (reference,) = ready
        if reference in self.starting:
            self._begin_work(reference)
            return {}
        actor, shard = self.running.pop(reference)
        found, is_alive = self._result(reference)
        if not is_alive:
            self._replace(actor, shard)
            return {}
        self.idle.append(actor)
        return {shard.number: found}

    def _begin_work(self, reference: Any) -> None:
        actor = self.starting.pop(reference)
        version, is_alive = self._result(reference)
        if not is_alive:
            self._replace(actor, None)
            return
        if version != __version__:
            raise ConfigError(f"a node of the Ray cluster has taxocaps {version}, not {__version__}; install the same")
        self.idle.append(actor)

    def _replace(self, actor: Any, shard: _Shard | None) -> None:
        """Start another actor in place of a dead one, and have what it was at done again."""
        self._end(actor)
        if shard is not None:
            shard.attempts += 1
            if shard.attempts == _ATTEMPTS:
                raise UnfinishedError(
                    f"{_ATTEMPTS} actors died at the same shard, perhaps because memory ran out; {_CONTINUE}"
                )
            self.again.append(shard)
        self._start()

    def _result(self, reference: Any) -> tuple[Any, bool]:
        """A result, and whether there is one: its actor may have died."""
        from ray.exceptions import RayError, RayTaskError

        try:
            return self.ray.get(reference), True
        except RayTaskError as error:
            raise error.cause from None
        except RayError:
            return None, False


def pack(folder: Path) -> bytes:
    """The files of a folder as the bytes of an archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name)
    return buffer.getvalue()


def unpack(content: bytes, folder: Path) -> None:
    """Put the files of an archive into a folder; each appears there when it is complete."""
    incoming = folder / ".incoming"
    shutil.rmtree(incoming, ignore_errors=True)
    incoming.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(incoming, filter="data")
    for path in incoming.iterdir():
        target = folder / path.name
        if target.is_dir():
            shutil.rmtree(target)
        path.replace(target)
    incoming.rmdir()
