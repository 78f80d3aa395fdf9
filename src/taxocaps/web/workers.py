"""Several processes that serve the same models, forked after these are loaded: they share the memory of the models."""

import contextlib
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType

from taxocaps.errors import ConfigError
from taxocaps.web.api import Service
from taxocaps.web.observability import error_entry, write_entry
from taxocaps.web.server import Listener, Server

__all__ = ["Workers", "prepare_forking"]

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_BACKLOG = 2_048
_PAUSE = 1.0
"""Seconds before a worker is replaced, so that one that fails at once does not keep the machine busy."""


def prepare_forking() -> None:
    """Let numeric libraries, which must not be imported yet, use one thread: OpenMP's would not survive a fork.

    Raises:
        ConfigError: If the system cannot fork.
    """
    if not hasattr(os, "fork"):
        raise ConfigError("--workers needs a system that can fork, such as Linux; leave it out")
    os.environ["OMP_NUM_THREADS"] = "1"


class Workers:
    """Processes with a socket each; one that ends is replaced, and a signal stops all of them gracefully."""

    def __init__(self, service: Service, listeners: Sequence[Listener], announce: Callable[[], None]) -> None:
        """Listen.

        Args:
            service: Handles the requests, with a row of metrics for each worker.
            listeners: Sockets at the same address; their number is that of the workers.
            announce: Called as soon as clients can connect.
        """
        self._service, self._listeners, self._announce = service, listeners, announce
        self._running: dict[int, int] = {}
        self._is_stopping = False
        self._lifeline = os.pipe()

    def run(self) -> None:
        """Serve until stopped."""
        for number in _SIGNALS:
            signal.signal(number, self._stop)
        for listener in self._listeners:
            listener.listen(_BACKLOG)
        gc.collect()
        gc.freeze()  # the collector would write into objects, whose pages then were no longer shared
        for worker in range(len(self._listeners)):
            self._start(worker)
        self._announce()
        while self._running:
            process, status = os.wait()
            worker = self._running.pop(process)
            if not self._is_stopping:
                code = os.waitstatus_to_exitcode(status)
                write_entry({"level": "error", "message": f"worker {worker} ended with code {code} and is replaced"})
                time.sleep(_PAUSE)
                self._start(worker)

    def _start(self, worker: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # or a signal could miss a process that just began
        try:
            if not self._is_stopping:
                process = os.fork()
                if process == 0:
                    self._serve(worker)
                self._running[process] = worker
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def _serve(self, worker: int) -> None:
        """Be a worker, to the end of this process."""
        code = 1
        try:
            os.setpgrp()  # Ctrl-C reaches the first process alone, which passes it on
            os.close(self._lifeline[1])
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            for other, listener in enumerate(self._listeners):
                if other != worker:
                    listener.close()
            self._service.metrics.begin(worker)
            Server(self._service, lifeline=self._lifeline[0]).serve_on(self._listeners[worker])
            code = 0
        except BaseException as error:
            write_entry(error_entry(error))
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Pass a signal on; connections that nobody would accept any more are refused."""
        self._is_stopping = True
        for listener in self._listeners:
            listener.close()
        for process in self._running:
            with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                os.kill(process, number)
