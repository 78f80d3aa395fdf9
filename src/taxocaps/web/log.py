"""The log of a server: one JSON object a line, on standard error."""

import contextlib
import json
import logging
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

__all__ = ["JsonHandler", "Log", "error_entry", "write_entry"]

Log = Callable[[dict[str, Any]], None]

_lock = threading.Lock()


def write_entry(entry: dict[str, Any]) -> None:
    """Write one line with the time and what happened."""
    time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line = json.dumps({"time": time, **entry}, default=str) + "\n"
    with _lock, contextlib.suppress(OSError, ValueError):  # nobody listens: no reason to stop the work
        sys.stderr.write(line)
        sys.stderr.flush()


def error_entry(error: BaseException) -> dict[str, Any]:
    """An error that is nobody's mistake but ours, in full."""
    return {"level": "error", "message": repr(error), "traceback": "".join(traceback.format_exception(error))}


class JsonHandler(logging.Handler):
    """Lets libraries that log write the same lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write what a library says."""
        found = error_entry(record.exc_info[1]) if record.exc_info and record.exc_info[1] else {}
        write_entry({**found, "level": record.levelname.lower(), "message": record.getMessage()})
