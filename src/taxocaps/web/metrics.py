"""What Prometheus may ask about a server."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["Metrics"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Counts of one server; another server in the same process has its own."""

    def __init__(self) -> None:
        """Begin to count."""
        self._registry = CollectorRegistry()
        self._requests = Counter("taxocaps_requests", "Requests.", ["path", "status"], registry=self._registry)
        self._seconds = Histogram(
            "taxocaps_request_seconds", "Time to answer.", ["path"], buckets=_SECONDS, registry=self._registry
        )
        self._documents = Counter("taxocaps_documents", "Documents labelled or explained.", registry=self._registry)
        self._queue = Gauge("taxocaps_queue_documents", "Documents that wait.", ["model"], registry=self._registry)
        self._batch = Histogram(
            "taxocaps_batch_documents", "Documents of a batch.", ["model"], buckets=_SIZES, registry=self._registry
        )

    def request(self, path: str, status: int, seconds: float, documents: int) -> None:
        """Count an answer; `documents` are those that were labelled."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)
        self._documents.inc(documents)

    def batches(self, model: str) -> Callable[[float], None]:
        """What to tell the number of documents of each batch of a model."""
        return self._batch.labels(model).observe

    def watch_queue(self, model: str, waiting: Callable[[], float]) -> None:
        """Ask `waiting` for the number of documents in the queue of a model whenever somebody wants to know."""
        self._queue.labels(model).set_function(waiting)

    def text(self) -> bytes:
        """All counts as Prometheus reads them."""
        return generate_latest(self._registry)
