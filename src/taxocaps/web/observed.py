"""The outermost shell of the server: every request is timed, counted and logged, and no traceback leaves."""

import time
from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taxocaps.web.answers import INTERNAL_ERROR, error_response
from taxocaps.web.log import Log, error_entry, write_entry
from taxocaps.web.metrics import Metrics

__all__ = ["Observed"]

_GONE = 499


class Observed:
    """Passes requests on, and keeps count of what becomes of them."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str], log: Log | None) -> None:
        """Stand in front of `app`.

        Args:
            app: Answers the requests; says in the request's state how many documents it labelled.
            metrics: Counts.
            paths: The paths that are counted by name; others could be without number.
            log: Where accesses are told, if they are.
        """
        self._app, self._metrics, self._paths, self._log = app, metrics, frozenset(paths), log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), _GONE  # a client that went away gets no answer

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        state = scope.setdefault("state", {})
        try:
            await self._app(scope, receive, watch)
        except Exception as error:  # whatever it is stays here
            write_entry(error_entry(error))
            if status == _GONE:
                await error_response(INTERNAL_ERROR)(scope, receive, watch)
        finally:
            self._tell(scope, status, time.perf_counter() - begin, int(state.get("documents", 0)))

    def _tell(self, scope: Scope, status: int, seconds: float, documents: int) -> None:
        path = scope["path"]
        labelled = documents if status == 200 else 0
        self._metrics.request(path if path in self._paths else "other", status, seconds, labelled)
        if self._log:
            client = scope.get("client")
            entry = {"method": scope["method"], "path": path, "status": status, "documents": documents}
            self._log({**entry, "milliseconds": round(seconds * 1000, 1), "client": client[0] if client else None})
