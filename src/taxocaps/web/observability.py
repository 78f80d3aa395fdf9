"""What those who run a server can see: a log of JSON lines on standard error, and metrics for Prometheus."""

import contextlib
import json
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taxocaps.web.responses import INTERNAL_ERROR, error_response

__all__ = ["JsonHandler", "Log", "Metrics", "ObservabilityMiddleware", "error_entry", "write_entry"]

Log = Callable[[dict[str, Any]], None]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_DISCONNECTED = 499

_lock = threading.Lock()


def write_entry(entry: dict[str, Any]) -> None:
    """Write one line with the time and the entry."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line = json.dumps({"time": now, **entry}, default=str) + "\n"
    with _lock, contextlib.suppress(OSError, ValueError):  # a closed stream must not stop the server
        sys.stderr.write(line)
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
    """The metrics of one server; another server in the same process has its own."""

    def __init__(self) -> None:
        """Start all counters at 0."""
        self._registry = CollectorRegistry()
        self._requests = Counter("taxocaps_requests", "Requests.", ["path", "status"], registry=self._registry)
        self._seconds = Histogram(
            "taxocaps_request_seconds", "Response time.", ["path"], buckets=_SECONDS, registry=self._registry
        )
        self._documents = Counter("taxocaps_documents", "Documents labelled or explained.", registry=self._registry)
        self._queue = Gauge("taxocaps_queue_documents", "Documents in the queue.", ["model"], registry=self._registry)
        self._batch = Histogram(
            "taxocaps_batch_documents", "Documents of a batch.", ["model"], buckets=_SIZES, registry=self._registry
        )

    def observe_request(self, path: str, status: int, seconds: float, documents: int) -> None:
        """Count a response and the documents that were labelled or explained."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)
        self._documents.inc(documents)

    def batch_observer(self, model: str) -> Callable[[float], None]:
        """A function to call with the number of documents of each batch of a model."""
        return self._batch.labels(model).observe

    def watch_queue(self, model: str, waiting: Callable[[], float]) -> None:
        """Call `waiting` for the number of documents in the queue of a model whenever metrics are read."""
        self._queue.labels(model).set_function(waiting)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


class ObservabilityMiddleware:
    """The outermost middleware: times, counts and logs every request, and keeps tracebacks inside."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str], log: Log | None) -> None:
        """Wrap an application.

        Args:
            app: Handles the requests; stores the number of documents in the request's state.
            metrics: The metrics.
            paths: The paths that are counted by name; all others are counted together.
            log: Where requests are logged, if they are.
        """
        self._app, self._metrics, self._paths, self._log = app, metrics, frozenset(paths), log

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
        labelled = documents if status == 200 else 0
        self._metrics.observe_request(path if path in self._paths else "other", status, seconds, labelled)
        if self._log:
            client = scope.get("client")
            entry = {"method": scope["method"], "path": path, "status": status, "documents": documents}
            self._log({**entry, "milliseconds": round(seconds * 1000, 1), "client": client[0] if client else None})
