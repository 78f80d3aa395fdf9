"""Requests of all clients labelled together: a queue in front of one thread for each model."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from taxocaps.web.answers import Refused
from taxocaps.web.limits import ServeConfig
from taxocaps.workflows.predict import Prediction
from taxocaps.workflows.serve import Answer, Job

__all__ = ["Batcher"]


@dataclass(frozen=True)
class _Waiting:
    """A job in the queue, when it came, and the promise of an answer."""

    job: Job
    future: "Future[tuple[Prediction, ...]]" = field(default_factory=Future)
    since: float = field(default_factory=time.monotonic)


class Batcher:
    """Collects jobs and has them answered, a batch at a time, by a thread of its own.

    A batch is what waits, up to a number of documents; the oldest job waits a few milliseconds for others, or not at
    all when the thread was busy in the meantime.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Job]], Sequence[Answer]],
        config: ServeConfig,
        observe: Callable[[int], object] = lambda documents: None,
    ) -> None:
        """Start the thread.

        Args:
            work: Answers some jobs at once.
            config: Limits of queue and batch.
            observe: Told the number of documents of each batch.
        """
        self._work, self._config, self._observe = work, config, observe
        self._queue: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="taxocaps-batcher", daemon=True)
        self._thread.start()

    async def label(self, jobs: Sequence[Job]) -> list[Prediction]:
        """The labels of the documents of some jobs, all of the same request.

        Raises:
            Refused: With 503 if the queue is full or the server stops, with 504 if the answer takes too long.
        """
        futures = self._admit(jobs)
        try:
            async with asyncio.timeout(self._config.timeout) as limit:
                answers = await asyncio.gather(*map(asyncio.wrap_future, futures))
        except TimeoutError as error:
            if not limit.expired():
                raise
            message = f"no answer within {self._config.timeout:g} seconds; send fewer documents, or try again later"
            raise Refused(504, message) from error
        finally:
            for future in futures:  # what nobody waits for any more is not begun
                future.cancel()
        return [prediction for answer in answers for prediction in answer]

    def waiting(self) -> int:
        """The number of documents in the queue."""
        with self._changed:
            return self._count()

    def close(self) -> None:
        """Take no more jobs, answer those that wait, and end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _admit(self, jobs: Sequence[Job]) -> "list[Future[tuple[Prediction, ...]]]":
        with self._changed:
            if self._closing:
                raise Refused(503, "the server is stopping", headers={"Retry-After": "5"})
            if self._count() + sum(map(len, jobs)) > self._config.queue:
                raise Refused(503, "too much is waiting already; try again in a second", headers={"Retry-After": "1"})
            added = [_Waiting(job) for job in jobs]
            self._queue.extend(added)
            self._changed.notify()
        return [waiting.future for waiting in added]

    def _count(self) -> int:
        return sum(len(waiting.job) for waiting in self._queue if not waiting.future.cancelled())

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
                self._changed.wait_for(lambda: self._queue or self._closing)
                if not self._queue:
                    return []
                left = self._queue[0].since + self._config.batch_wait - time.monotonic()
                self._changed.wait_for(lambda: self._closing or self._count() >= self._config.batch, max(left, 0))
                batch = self._take()
            if batch:
                return batch

    def _take(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        size = 0
        while self._queue and (not batch or size + len(self._queue[0].job) <= self._config.batch):
            waiting = self._queue.popleft()
            if waiting.future.set_running_or_notify_cancel():
                batch.append(waiting)
                size += len(waiting.job)
        return batch
