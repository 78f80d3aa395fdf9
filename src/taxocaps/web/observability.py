"""What those who run a server can see: a log of JSON lines on standard error, and metrics for Prometheus."""

import asyncio
import contextlib
import json
import logging
import math
import mmap
import sys
import threading
import time
import traceback
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString
from pydantic_core import PydanticSerializationError, to_json
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taxocaps.web.responses import INTERNAL_ERROR, error_response

__all__ = ["JsonHandler", "Log", "Metrics", "ObservabilityMiddleware", "error_entry", "write_entry"]

Log = Callable[[dict[str, Any]], None]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_STATUSES = 600
_OTHER = "other"
_DISCONNECTED = 499

_entries: deque[str] = deque()
"""Lines that are about to be written."""
_lock = threading.Lock()


def write_entry(entry: dict[str, Any]) -> None:
    """Write one line with the time and the entry; an event loop writes those of all requests of a batch at once."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
    timed = {"time": f"{now}Z", **entry}
    try:
        _entries.append(to_json(timed, fallback=str, ensure_ascii=True).decode())
    except PydanticSerializationError:  # half a character, a lone surrogate
        _entries.append(json.dumps(timed, default=str))
    try:
        asyncio.get_running_loop().call_soon(_write_entries)
    except RuntimeError:  # there is none in this thread
        _write_entries()


def _write_entries() -> None:
    if not _entries:
        return
    with _lock, contextlib.suppress(OSError, ValueError):  # a closed stream must not stop the server
        lines = "".join(f"{_entries.popleft()}\n" for _ in range(len(_entries)))
        if lines:
            sys.stderr.write(lines)
            sys.stderr.flush()


def error_entry(error: BaseException) -> dict[str, Any]:
    """An unexpected exception, with its traceback."""
    return {"level": "error", "message": repr(error), "traceback": "".join(traceback.format_exception(error))}


class JsonHandler(logging.Handler):
    """Writes the log records of libraries as the same JSON lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        found = error_entry(record.exc_info[1]) if record.exc_info and record.exc_info[1] else {}
        write_entry({**found, "level": record.levelname.lower(), "message": record.getMessage()})


class Metrics:
    """The metrics of a server, counted by all its workers in shared memory; another server has its own.

    Each worker counts in its own row, so that none waits for another; who is asked for the metrics adds up all rows.
    A worker that replaces another one goes on in its row: nothing is lost.
    """

    def __init__(self, paths: Iterable[str], models: Iterable[str], workers: int = 1) -> None:
        """Start all counters at 0.

        Args:
            paths: The paths that are counted by name; all others are counted together.
            models: The names of the models.
            workers: The number of processes, which are forked later.
        """
        self._paths = {path: number for number, path in enumerate((*paths, _OTHER))}
        self._models = {model: number for number, model in enumerate(models)}
        self._worker = 0
        self._requests = _shared(workers, len(self._paths), _STATUSES)
        self._seconds = _shared(workers, len(self._paths), len(_SECONDS) + 2)
        self._documents = _shared(workers)
        self._queue = _shared(workers, len(self._models))
        self._batch = _shared(workers, len(self._models), len(_SIZES) + 2)
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def begin(self, worker: int) -> None:
        """Count in the row of a worker, in whose queues nothing waits yet."""
        self._worker = worker
        self._queue[worker] = 0

    def observe_request(self, path: str, status: int, seconds: float, documents: int) -> None:
        """Count a response and the documents that were labelled or explained."""
        number = self._paths.get(path, len(self._paths) - 1)
        self._requests[self._worker, number, status] += 1
        _observe(self._seconds[self._worker, number], _SECONDS, seconds)
        self._documents[self._worker] += documents

    def observe_batch(self, model: str, documents: int) -> None:
        """Count a batch of a model."""
        _observe(self._batch[self._worker, self._models[model]], _SIZES, documents)

    def set_queue(self, model: str, documents: int) -> None:
        """Note how many documents wait for a model."""
        self._queue[self._worker, self._models[model]] = documents

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The sums over all workers; called by `generate_latest`."""
        requests = CounterMetricFamily("taxocaps_requests", "Requests.", labels=["path", "status"])
        counts = self._requests.sum(axis=0)
        for path, number in self._paths.items():
            for status in np.flatnonzero(counts[number]).tolist():
                requests.add_metric([path, str(status)], counts[number, status])
        yield requests
        yield _histogram("taxocaps_request_seconds", "Response time.", "path", self._paths, _SECONDS, self._seconds)
        yield CounterMetricFamily("taxocaps_documents", "Documents labelled or explained.", self._documents.sum())
        queue = GaugeMetricFamily("taxocaps_queue_documents", "Documents in the queue.", labels=["model"])
        for model, number in self._models.items():
            queue.add_metric([model], self._queue[:, number].sum())
        yield queue
        yield _histogram(
            "taxocaps_batch_documents", "Documents of a batch.", "model", self._models, _SIZES, self._batch
        )


def _shared(*shape: int) -> NDArray[np.float64]:
    """Zeros that processes share which are forked later."""
    cells = math.prod(shape)
    return np.frombuffer(mmap.mmap(-1, 8 * max(cells, 1)), np.float64, cells).reshape(shape)


def _observe(row: NDArray[np.float64], bounds: Sequence[float], value: float) -> None:
    """Count a value in its bucket; the last cell has the sum of all values."""
    row[bisect_left(bounds, value)] += 1
    row[-1] += value


def _histogram(
    name: str, help: str, label: str, rows: Mapping[str, int], bounds: Sequence[float], cells: NDArray[np.float64]
) -> Metric:
    family = HistogramMetricFamily(name, help, labels=[label])
    for value, number in rows.items():
        *counts, total = cells[:, number].sum(axis=0).tolist()
        if any(counts):
            ends = [*map(float, bounds), math.inf]
            family.add_metric([value], list(zip(map(floatToGoString, ends), accumulate(counts), strict=True)), total)
    return family


class ObservabilityMiddleware:
    """The outermost middleware: times, counts and logs every request, and keeps tracebacks inside."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log: Log | None) -> None:
        """Wrap an application.

        Args:
            app: Handles the requests; stores the number of documents in the request's state.
            metrics: The metrics.
            log: Where requests are logged, if they are.
        """
        self._app, self._metrics, self._log = app, metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), _DISCONNECTED  # a client that disconnects gets no response

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        state = scope.setdefault("state", {})
        try:
            await self._app(scope, receive, watch)
        except Exception as error:  # no traceback leaves the server
            write_entry(error_entry(error))
            if status == _DISCONNECTED:
                await error_response(INTERNAL_ERROR)(scope, receive, watch)
        finally:
            self._record(scope, status, time.perf_counter() - begin, int(state.get("documents", 0)))

    def _record(self, scope: Scope, status: int, seconds: float, documents: int) -> None:
        path = scope["path"]
        self._metrics.observe_request(path, status, seconds, documents if status == 200 else 0)
        if self._log:
            client = scope.get("client")
            entry = {"method": scope["method"], "path": path, "status": status, "documents": documents}
            self._log({**entry, "milliseconds": round(seconds * 1000, 1), "client": client[0] if client else None})
