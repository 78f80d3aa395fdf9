"""Requests of all clients answered by one thread for each model: labels together, explanations one by one."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from taxocaps.web.answers import Refused
from taxocaps.web.limits import ServeConfig
from taxocaps.workflows.predict import Prediction
from taxocaps.workflows.serve import Answer, ExplainJob, Explanation, Job, LabelJob

__all__ = ["Batcher"]

_PATIENCE = 1.0
"""Seconds after which a job that is alone has its turn between two batches, though more wait to be labelled."""


@dataclass(frozen=True)
class _Waiting:
    """A job in the queue, when it came, and the promise of an answer."""

    job: Job
    future: "Future[Any]" = field(default_factory=Future)
    since: float = field(default_factory=time.monotonic)


class Batcher:
    """Collects jobs and has them answered, a batch at a time, by a thread of its own.

    A batch is what waits to be labelled, up to a number of documents; the oldest job waits a few milliseconds for
    others, or not at all when the thread was busy in the meantime. Jobs that are alone have a queue of their own, and
    their turn, one at a time, when no others wait or they have waited long: an explanation takes as long as the
    labels of hundreds.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Job]], Sequence[Answer]],
        config: ServeConfig,
        observe: Callable[[int], object] = lambda documents: None,
    ) -> None:
        """Start the thread.

        Args:
            work: Answers some jobs at once, or one that is alone.
            config: Limits of the queues and of a batch.
            observe: Told the number of documents of each batch.
        """
        self._work, self._config, self._observe = work, config, observe
        self._together: deque[_Waiting] = deque()
        self._alone: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._closing = self._was_alone = False
        self._thread = threading.Thread(target=self._run, name="taxocaps-batcher", daemon=True)
        self._thread.start()

    async def label(self, jobs: Sequence[LabelJob]) -> list[Prediction]:
        """The labels of the documents of some jobs, all of the same request.

        Raises:
            Refused: With 503 if the queue is full or the server stops, with 504 if the answer takes too long.
        """
        return [prediction for answer in await self._answers(jobs) for prediction in answer]

    async def explain(self, job: ExplainJob) -> Explanation:
        """Why a document gets its labels.

        Raises:
            Refused: As for labels.
        """
        explanation: Explanation
        (explanation,) = await self._answers([job])
        return explanation

    def waiting(self) -> int:
        """The number of documents in the queues."""
        with self._changed:
            return _count(self._together) + _count(self._alone)

    def close(self) -> None:
        """Take no more jobs, answer those that wait, and end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    async def _answers(self, jobs: Sequence[Job]) -> list[Any]:
        futures = self._admit(jobs, self._alone if any(job.is_alone for job in jobs) else self._together)
        try:
            async with asyncio.timeout(self._config.timeout) as limit:
                return await asyncio.gather(*map(asyncio.wrap_future, futures))
        except TimeoutError as error:
            if not limit.expired():
                raise
            message = f"no answer within {self._config.timeout:g} seconds; send less, or try again later"
            raise Refused(504, message) from error
        finally:
            for future in futures:  # what nobody waits for any more is not begun
                future.cancel()

    def _admit(self, jobs: Sequence[Job], queue: deque[_Waiting]) -> "list[Future[Any]]":
        with self._changed:
            if self._closing:
                raise Refused(503, "the server is stopping", headers={"Retry-After": "5"})
            if _count(queue) + sum(map(len, jobs)) > self._config.queue:
                raise Refused(503, "too much is waiting already; try again in a second", headers={"Retry-After": "1"})
            while queue and queue[0].future.cancelled():  # explanations may wait longer than anybody waits for them
                queue.popleft()
            added = [_Waiting(job) for job in jobs]
            queue.extend(added)
            self._changed.notify()
        return [waiting.future for waiting in added]

    def _run(self) -> None:
        while batch := self._next_batch():
            jobs = [waiting.job for waiting in batch]
            self._observe(sum(map(len, jobs)))
            try:
                answers = self._work(jobs)
            except Exception as error:  # the thread must live on
                answers = [error] * len(jobs)
            for waiting, answer in zip(batch, answers, strict=True):
                if isinstance(answer, Exception):
                    waiting.future.set_exception(answer)
                else:
                    waiting.future.set_result(answer)

    def _next_batch(self) -> list[_Waiting]:
        """Wait for a batch; empty when there will be none."""
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
        return not self._was_alone and self._alone[0].since + _PATIENCE < time.monotonic()

    def _is_enough(self) -> bool:
        return self._closing or _count(self._together) >= self._config.batch


def _count(queue: deque[_Waiting]) -> int:
    return sum(len(waiting.job) for waiting in queue if not waiting.future.cancelled())


def _take(queue: deque[_Waiting], most: int) -> list[_Waiting]:
    """The next jobs of at most so many documents, or one that is larger; what nobody waits for is dropped."""
    batch: list[_Waiting] = []
    size = 0
    while queue and (not batch or size + len(queue[0].job) <= most):
        waiting = queue.popleft()
        if waiting.future.set_running_or_notify_cancel():
            batch.append(waiting)
            size += len(waiting.job)
    return batch
