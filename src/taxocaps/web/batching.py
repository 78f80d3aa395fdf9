"""Each model answers the requests of all clients one after the other: labels in batches, all else one by one."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from taxocaps.explanations.explanation import Explanation
from taxocaps.results import Prediction
from taxocaps.web.limits import ServeConfig
from taxocaps.web.responses import ApiError
from taxocaps.workflows.serve import ExplainJob, Job, LabelJob, Ranking, RankJob

__all__ = ["Batcher"]

_LONGEST_WAIT = 1.0
"""Seconds after which an explanation is done between two batches, although documents wait to be labelled."""
_QUICK = 0.005
"""Seconds for which the event loop may label documents itself: others would hardly wait less for the thread."""
_NEWEST = 0.2
"""How much the last batch counts in the pace, beside all before it."""
_EACH = 1_000
"""A document takes as long as so many characters, even if it has none."""


@dataclass(eq=False, slots=True)
class _QueuedJob:
    """A job in a queue, when it came, whether it is begun, and the future of its result or of an exception."""

    job: Job
    future: "asyncio.Future[Any]"
    since: float = field(default_factory=time.monotonic)
    is_begun: bool = False


class _Queue(deque[_QueuedJob]):
    """Jobs that wait, and how many documents they have."""

    documents = 0

    def add(self, one: _QueuedJob) -> None:
        self.append(one)
        self.documents += len(one.job)

    def drop(self, one: _QueuedJob) -> None:
        self.remove(one)
        self.documents -= len(one.job)

    def take(self, most: int) -> list[_QueuedJob]:
        """The next jobs of at most so many documents, or one that is larger."""
        batch: list[_QueuedJob] = []
        while self and (not batch or len(self[0].job) <= most):
            one = self.popleft()
            one.is_begun = True
            batch.append(one)
            most -= len(one.job)
            self.documents -= len(one.job)
        return batch


def _size(jobs: Sequence[Job]) -> int:
    """How much there is to label, in characters; 0 for all else, and with options, which may ask for all labels."""
    usual = [job for job in jobs if isinstance(job, LabelJob) and not job.options.model_fields_set]
    if len(usual) < len(jobs):
        return 0
    documents = (document for job in usual for document in job.documents)
    return sum(_EACH + len(one.text) + sum(len(token) + 1 for token in one.tokens or ()) for one in documents)


class Batcher:
    """Collects jobs and processes them in batches: quick ones in the event loop, others in a thread of its own.

    A batch starts as soon as the one before is done and has all documents that wait to be labelled, up to a limit: one
    client alone never waits for others, and many fill the batches. Explanations and rankings have a queue of their
    own: they are done one at a time when nothing else waits or they have waited long, since one takes as long as
    labelling hundreds of documents.

    Documents that take no more than a few milliseconds, by the pace of those before them, are labelled by the event
    loop itself: the thread would take a third longer, since both threads then wait for each other at every step.

    The queues belong to the event loop, so they need no lock, and all answers of a batch reach it in one step.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Any]], Sequence[Any]],
        config: ServeConfig,
        observe: Callable[[int], object] = lambda documents: None,
        observe_queue: Callable[[int], object] = lambda documents: None,
        *,
        quick: float = _QUICK,
    ) -> None:
        """Prepare the thread, which starts with the first job.

        Args:
            work: Processes several jobs at once, or one alone; returns a result or an exception for each.
            config: Limits of the queues and of a batch.
            observe: Called with the number of documents of each batch.
            observe_queue: Called with the number of documents that wait, whenever it changes.
            quick: Batches that take less than so many seconds are done by the event loop itself.
        """
        self._work, self._config, self._observe, self._observe_queue = work, config, observe, observe_queue
        self._together, self._alone = _Queue(), _Queue()
        self._thread = ThreadPoolExecutor(1, "taxocaps-batcher")
        self._running: asyncio.Task[None] | None = None
        self._closing = self._was_alone = False
        self._quick, self._pace = quick, math.inf  # seconds a character, not known yet

    async def label(self, jobs: Sequence[LabelJob]) -> list[Prediction]:
        """The labels of the documents of some jobs, all of the same request.

        Raises:
            ApiError: With 503 if the queue is full or the server stops, with 504 if it takes too long.
        """
        return [prediction for result in await self._results(jobs, self._together) for prediction in result]

    async def explain(self, job: ExplainJob) -> Explanation:
        """Why a document gets its labels.

        Raises:
            ApiError: As for `label`.
        """
        explanation: Explanation
        (explanation,) = await self._results([job], self._alone)
        return explanation

    async def rank(self, job: RankJob) -> Ranking:
        """In which order documents are worth reviewing.

        Raises:
            ApiError: As for `label`.
        """
        ranking: Ranking
        (ranking,) = await self._results([job], self._alone)
        return ranking

    def waiting(self) -> int:
        """The number of documents in the queues."""
        return self._together.documents + self._alone.documents

    async def close(self) -> None:
        """Accept no more jobs, process those that wait, and end the thread."""
        self._closing = True
        if self._running:
            await self._running
        self._thread.shutdown()

    async def _results(self, jobs: Sequence[Job], queue: _Queue) -> list[Any]:
        added = self._admit(jobs, queue)
        timer = asyncio.get_running_loop().call_later(self._config.timeout, self._expire, added)
        try:
            results = [await one.future for one in added]
        finally:
            timer.cancel()
            self._withdraw(added, queue)
        for result in results:
            if isinstance(result, Exception):
                raise result
        return results

    def _expire(self, jobs: Sequence[_QueuedJob]) -> None:
        message = f"no result within {self._config.timeout:g} seconds; send less, or try again later"
        for one in jobs:
            if not one.future.done():
                one.future.set_result(ApiError(504, message))

    def _admit(self, jobs: Sequence[Job], queue: _Queue) -> list[_QueuedJob]:
        if self._closing:
            raise ApiError(503, "the server is stopping", headers={"Retry-After": "5"})
        if queue.documents + sum(map(len, jobs)) > self._config.queue:
            raise ApiError(503, "the queue is full; try again in a second", headers={"Retry-After": "1"})
        loop = asyncio.get_running_loop()
        added = [_QueuedJob(job, loop.create_future()) for job in jobs]
        for one in added:
            queue.add(one)
        self._observe_queue(self.waiting())
        if added and self._running is None:
            self._running = loop.create_task(self._run())
        return added

    def _withdraw(self, jobs: Sequence[_QueuedJob], queue: _Queue) -> None:
        """Nobody waits for some jobs any more: they are not started, or their results are dropped."""
        late = [one for one in jobs if not one.is_begun]
        for one in late:
            queue.drop(one)
        if late:
            self._observe_queue(self.waiting())

    async def _run(self) -> None:
        """Process all jobs that wait, and those that come in the meantime."""
        loop = asyncio.get_running_loop()
        while self._together or self._alone:
            await self._let_others_come()
            batch = self._next_batch()
            jobs = [one.job for one in batch]
            size = _size(jobs)
            if size and self._pace * size < self._quick:
                results = self._timed(jobs, size)
                await asyncio.sleep(0)  # others have their turn
            else:
                results = await loop.run_in_executor(self._thread, self._timed, jobs, size)
            for one, result in zip(batch, results, strict=True):
                if not one.future.done():
                    one.future.set_result(result)
        self._running = None

    async def _let_others_come(self) -> None:
        """Wait while each turn of the event loop brings further documents: requests that have arrived, unread so far.

        It takes a turn to read a request and another one until it is in the queue.
        """
        before = -1
        while before < self._together.documents < self._config.batch:
            before = self._together.documents
            for _ in range(2):
                await asyncio.sleep(0)

    def _next_batch(self) -> list[_QueuedJob]:
        self._was_alone = self._is_turn_of_alone()
        batch = self._alone.take(1) if self._was_alone else self._together.take(self._config.batch)
        self._observe_queue(self.waiting())
        return batch

    def _is_turn_of_alone(self) -> bool:
        if not (self._together and self._alone):
            return bool(self._alone)
        return not self._was_alone and self._alone[0].since + _LONGEST_WAIT < time.monotonic()

    def _timed(self, jobs: Sequence[Job], size: int) -> Sequence[Any]:
        """The results of some jobs; those with a size tell the pace, however long other processes kept the core."""
        begin = time.thread_time()
        results = self._process(jobs)
        if size:
            pace = (time.thread_time() - begin) / size
            self._pace = pace if self._pace == math.inf else _NEWEST * pace + (1 - _NEWEST) * self._pace
        return results

    def _process(self, jobs: Sequence[Job]) -> Sequence[Any]:
        if not jobs:  # those who waited have gone in the meantime
            return []
        self._observe(sum(map(len, jobs)))
        try:
            return self._work(jobs)
        except Exception as error:  # the thread must survive
            return [error] * len(jobs)
