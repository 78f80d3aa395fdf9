"""One worker thread per model answers the requests of all clients: labels in batches, explanations one by one."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from taxocaps.explanations.explanation import Explanation
from taxocaps.results import Prediction
from taxocaps.web.limits import ServeConfig
from taxocaps.web.responses import ApiError
from taxocaps.workflows.serve import ExplainJob, LabelJob

__all__ = ["Batcher"]

Job = LabelJob | ExplainJob

_LONGEST_WAIT = 1.0
"""Seconds after which an explanation is done between two batches, although documents wait to be labelled."""


@dataclass(frozen=True)
class _QueuedJob:
    """A job in the queue, when it came, and the future of its result."""

    job: Job
    future: "Future[Any]" = field(default_factory=Future)
    since: float = field(default_factory=time.monotonic)


class Batcher:
    """Collects jobs and processes them in batches, in a thread of its own.

    A batch has the documents that wait to be labelled, up to a limit; the oldest job waits a few milliseconds for
    others, or not at all if the thread was busy in the meantime. Jobs that are processed alone, explanations, have a
    queue of their own: they are done one at a time when nothing else waits or they have waited long, since one takes as
    long as labelling hundreds of documents.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Any]], Sequence[Any]],
        config: ServeConfig,
        observe: Callable[[int], object] = lambda documents: None,
    ) -> None:
        """Start the thread.

        Args:
            work: Processes several jobs at once, or one alone; returns a result or an exception for each.
            config: Limits of the queues and of a batch.
            observe: Called with the number of documents of each batch.
        """
        self._work, self._config, self._observe = work, config, observe
        self._together: deque[_QueuedJob] = deque()
        self._alone: deque[_QueuedJob] = deque()
        self._changed = threading.Condition()
        self._closing = self._was_alone = False
        self._thread = threading.Thread(target=self._run, name="taxocaps-batcher", daemon=True)
        self._thread.start()

    async def label(self, jobs: Sequence[LabelJob]) -> list[Prediction]:
        """The labels of the documents of some jobs, all of the same request.

        Raises:
            ApiError: With 503 if the queue is full or the server stops, with 504 if it takes too long.
        """
        return [prediction for result in await self._results(jobs) for prediction in result]

    async def explain(self, job: ExplainJob) -> Explanation:
        """Why a document gets its labels.

        Raises:
            ApiError: As for `label`.
        """
        explanation: Explanation
        (explanation,) = await self._results([job])
        return explanation

    def waiting(self) -> int:
        """The number of documents in the queues."""
        with self._changed:
            return _count(self._together) + _count(self._alone)

    def close(self) -> None:
        """Accept no more jobs, process those that wait, and end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    async def _results(self, jobs: Sequence[Job]) -> list[Any]:
        futures = self._admit(jobs, self._alone if any(job.is_alone for job in jobs) else self._together)
        try:
            async with asyncio.timeout(self._config.timeout) as limit:
                return await asyncio.gather(*map(asyncio.wrap_future, futures))
        except TimeoutError as error:
            if not limit.expired():
                raise
            message = f"no result within {self._config.timeout:g} seconds; send less, or try again later"
            raise ApiError(504, message) from error
        finally:
            for future in futures:  # a cancelled job is not started
                future.cancel()

    def _admit(self, jobs: Sequence[Job], queue: deque[_QueuedJob]) -> "list[Future[Any]]":
        with self._changed:
            if self._closing:
                raise ApiError(503, "the server is stopping", headers={"Retry-After": "5"})
            if _count(queue) + sum(map(len, jobs)) > self._config.queue:
                raise ApiError(503, "the queue is full; try again in a second", headers={"Retry-After": "1"})
            while queue and queue[0].future.cancelled():  # explanations may wait longer than their clients
                queue.popleft()
            added = [_QueuedJob(job) for job in jobs]
            queue.extend(added)
            self._changed.notify()
        return [one.future for one in added]

    def _run(self) -> None:
        while batch := self._next_batch():
            jobs = [one.job for one in batch]
            self._observe(sum(map(len, jobs)))
            try:
                results = self._work(jobs)
            except Exception as error:  # the thread must survive
                results = [error] * len(jobs)
            for one, result in zip(batch, results, strict=True):
                if isinstance(result, Exception):
                    one.future.set_exception(result)
                else:
                    one.future.set_result(result)

    def _next_batch(self) -> list[_QueuedJob]:
        """Wait for a batch; empty when the batcher is closed."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._together or self._alone or self._closing)
                if not (self._together or self._alone):
                    return []
                self._was_alone = self._is_turn_of_alone()
                if self._was_alone:
                    batch = _take(self._alone, 1)
                else:
                    left = self._together[0].since + self._config.batch_wait - time.monotonic()
                    self._changed.wait_for(self._is_enough, max(left, 0))
                    batch = _take(self._together, self._config.batch)
            if batch:
                return batch

    def _is_turn_of_alone(self) -> bool:
        if not (self._together and self._alone):
            return bool(self._alone)
        return not self._was_alone and self._alone[0].since + _LONGEST_WAIT < time.monotonic()

    def _is_enough(self) -> bool:
        return self._closing or _count(self._together) >= self._config.batch


def _count(queue: deque[_QueuedJob]) -> int:
    return sum(len(one.job) for one in queue if not one.future.cancelled())


def _take(queue: deque[_QueuedJob], most: int) -> list[_QueuedJob]:
    """The next jobs of at most so many documents, or one that is larger; cancelled jobs are dropped."""
    batch: list[_QueuedJob] = []
    size = 0
    while queue and (not batch or size + len(queue[0].job) <= most):
        one = queue.popleft()
        if one.future.set_running_or_notify_cancel():
            batch.append(one)
            size += len(one.job)
    return batch
