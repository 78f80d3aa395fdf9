"""Work on many shards in several processes of one thread each.

This is the engine of one machine. Its contract is that of a map: a function that can be pickled is called for every
item, results come back in the order of the items, and only a few items are taken ahead. What must survive a kill, the
function itself writes to disk, atomically, so that another run finds it.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from threading import Thread
from typing import Any, TypeVar

from taxocaps.errors import ConfigError, UnfinishedError

__all__ = ["check_jobs", "map_in_processes", "once"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_WATCH_SECONDS = 0.5
_SILENCE = "ignore:resource_tracker:UserWarning"


def check_jobs(jobs: int | None) -> int:
    """The number of processes: as given, or by default the number of cores that this process may use."""
    if jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jobs < 1:
        raise ConfigError(f"--jobs must be at least 1; got {jobs}")
    return jobs


def map_in_processes(work: Callable[[Item], Result], items: Iterable[Item], jobs: int) -> Iterator[Result]:
    """The results of `work` for all items, in their order; one job is done in this process.

    Args:
        work: A function that can be pickled, as its argument and its result.
        items: The items; a few are taken ahead.
        jobs: The number of processes.

    Raises:
        UnfinishedError: If a process was ended from outside.
        Exception: What `work` raised; the other processes are stopped.
    """
    if jobs == 1:
        yield from map(work, items)
        return
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    _silence_tracker()
    # Compiled kernels and linear algebra read these limits when they are loaded: pools of threads are not nested.
    with parallel_config(
        backend="loky", inner_max_num_threads=1, initializer=_end_with_parent, initargs=(os.getpid(),)
    ):
        parallel: Any = Parallel(
            n_jobs=jobs, return_as="generator", batch_size=1, pre_dispatch="2 * n_jobs", max_nbytes=None
        )
        results = parallel(delayed(work)(item) for item in items)
    try:
        yield from results
    except TerminatedWorkerError as error:
        raise UnfinishedError(
            "a process was killed, perhaps because memory ran out; what is finished is kept, and the same command "
            "continues from there; with fewer --jobs it needs less memory"
        ) from error
    finally:
        results.close()


def _silence_tracker() -> None:
    """Keep loky's tracker of semaphores, a process of its own, from warning of what a killed worker left behind.

    It removes that by itself, and its warnings would hide the line that says how to go on.
    """
    given = os.environ.get("PYTHONWARNINGS", "")
    if _SILENCE not in given:
        os.environ["PYTHONWARNINGS"] = f"{given},{_SILENCE}".lstrip(",")


_made: tuple[str, Any] = ("", None)


def once(key: str, make: Callable[[], Result]) -> Result:
    """What `make` makes, made once in a process for all its shards with the same `key`, such as a model."""
    global _made  # noqa: PLW0603 - one thing at a time, in each process
    if _made[0] != key:
        _made = ("", None)  # the old one is given up before the new one is made
        _made = (key, make())
    found: Result = _made[1]
    return found


def _end_with_parent(parent: int) -> None:
    """End this process soon after the one that it works for, which may be killed without a chance to say so."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    Thread(target=watch, daemon=True).start()
