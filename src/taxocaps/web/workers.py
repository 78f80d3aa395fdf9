"""Several processes that serve the same models, forked after these are loaded: they share the memory of the models.

Models are also replaced by forking: the first process loads a new one and forks workers that have it, and those before
them retire. A worker that retires accepts no more connections, and closes each one that it has after its next response,
so that no request is dropped. The sockets on which workers listen belong to the first process and outlive them all.
"""

import asyncio
import contextlib
import dataclasses
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from taxocaps.errors import ConfigError
from taxocaps.web.api import Service
from taxocaps.web.observability import error_entry, write_entry
from taxocaps.web.reloading import Exchange, Outcome, settle
from taxocaps.web.server import Listener, Server

__all__ = ["Workers", "prepare_forking"]

_STOPPING = (signal.SIGTERM, signal.SIGINT)
_PAUSE = 1.0
"""Seconds before a worker is replaced, so that one that fails at once does not keep the machine busy."""
_RETIRING = 5.0
"""Seconds in which a worker must have closed its socket after it was told to."""
_MOST_BYTES = 65_536
_RETIRED = b"retired"


def prepare_forking() -> None:
    """Let numeric libraries, which must not be imported yet, use one thread: OpenMP's would not survive a fork.

    Raises:
        ConfigError: If the system cannot fork.
    """
    if not hasattr(os, "fork"):
        raise ConfigError("--workers needs a system that can fork, such as Linux; leave it out")
    os.environ["OMP_NUM_THREADS"] = "1"


@dataclass(frozen=True)
class _Worker:
    """A worker: its process, its place among the workers, and the line over which it asks for other models."""

    process: int
    place: int
    line: socket.socket


class Workers:
    """Processes with a socket each; one that ends is replaced, and a signal stops all of them gracefully."""

    def __init__(self, service: Service, listeners: Sequence[Listener], announce: Callable[[], None]) -> None:
        """Prepare.

        Args:
            service: Handles the requests, with a row of metrics for each worker.
            listeners: Sockets at the same address; their number is that of the workers.
            announce: Called as soon as clients can connect.
        """
        self._service, self._listeners, self._announce = service, listeners, announce
        self._running: dict[int, _Worker] = {}
        self._retired: dict[int, _Worker] = {}
        self._asked: deque[tuple[_Worker, Exchange]] = deque()
        self._generation = 0
        self._is_stopping = False
        self._lifeline = os.pipe()
        self._selector = selectors.DefaultSelector()
        self._signals, self._wakeup = socket.socketpair()

    def run(self) -> None:
        """Serve until stopped."""
        self._queue_signals()
        self._start_all()
        self._announce()
        while self._running or self._retired:
            for key, _ in self._selector.select():
                self._attend(key)
            while self._asked:
                self._exchange(*self._asked.popleft())

    def _queue_signals(self) -> None:
        """Have signals handled one after the other, when nothing else is being done."""
        self._wakeup.setblocking(False)
        signal.set_wakeup_fd(self._wakeup.fileno())
        for number in (*_STOPPING, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, lambda number, frame: None)
        self._selector.register(self._signals, selectors.EVENT_READ)

    def _attend(self, key: selectors.SelectorKey) -> None:
        """Handle the signals that came, or read what a worker says that has not ended meanwhile."""
        if key.fileobj is self._signals:
            for number in self._signals.recv(_MOST_BYTES):
                self._handle(number)
        elif key.data.process in self._running | self._retired:
            self._read(key.data)

    def _handle(self, number: int) -> None:
        if number in _STOPPING:
            self._stop(number)
        elif number == signal.SIGCHLD:
            self._replace_ended()
        elif number == signal.SIGHUP and not self._is_stopping:
            outcomes = [self._reload(Exchange(name)) for name in self._service.models]
            if any(outcome.status == 200 for outcome in outcomes):
                self._replace_all()

    def _reload(self, wanted: Exchange) -> Outcome:
        """Replace a model in this process, and so for all workers to come."""
        outcome = self._service.reloader.run(wanted)
        self._service.log_exchange(wanted, outcome)
        return outcome

    def _exchange(self, worker: _Worker, wanted: Exchange) -> None:
        """Do what a worker asks for, and tell it what became of it when all workers have the model."""
        outcome = Outcome("", "", 503, "the server is stopping") if self._is_stopping else self._reload(wanted)
        if outcome.status == 200:
            self._replace_all()
        with contextlib.suppress(OSError):  # it may have been killed meanwhile
            worker.line.send(json.dumps(dataclasses.asdict(outcome)).encode())

    def _read(self, worker: _Worker) -> bool:
        """Read a message of a worker; returns whether it has closed its socket."""
        message = worker.line.recv(_MOST_BYTES)
        if message == _RETIRED:
            return True
        self._asked.append((worker, Exchange(**json.loads(message))))
        return False

    def _start_all(self) -> None:
        settle()
        for place in range(len(self._listeners)):
            self._start(place)

    def _replace_all(self) -> None:
        """Start new workers, and have those before them retire; when this returns, they accept no more connections."""
        before, self._running = self._running, {}
        self._retired |= before
        self._generation += 1
        self._start_all()
        for worker in before.values():
            os.kill(worker.process, signal.SIGHUP)
        for worker in before.values():
            worker.line.settimeout(_RETIRING)
            with contextlib.suppress(OSError):
                while not self._read(worker):
                    pass

    def _start(self, place: int) -> None:
        mine, its = socket.socketpair(type=socket.SOCK_DGRAM)
        held = (*_STOPPING, signal.SIGHUP)
        signal.pthread_sigmask(signal.SIG_BLOCK, held)  # or a signal could miss a process that just began
        try:
            process = os.fork()
            if process == 0:
                mine.close()
                self._serve(place, its)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, held)
        its.close()
        worker = self._running[process] = _Worker(process, place, mine)
        self._selector.register(mine, selectors.EVENT_READ, worker)

    def _replace_ended(self) -> None:
        """Replace workers that have ended though nobody told them to."""
        while self._running or self._retired:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            ended = self._running.get(process) or self._retired[process]
            self._selector.unregister(ended.line)
            ended.line.close()
            self._retired.pop(process, None)
            if self._running.pop(process, None) and not self._is_stopping:
                code = os.waitstatus_to_exitcode(status)
                message = f"worker {ended.place} ended with code {code} and is replaced"
                write_entry({"level": "error", "message": message})
                time.sleep(_PAUSE)
                self._start(ended.place)

    def _serve(self, place: int, line: socket.socket) -> None:
        """Be a worker, to the end of this process."""
        code = 1
        try:
            os.setpgrp()  # Ctrl-C reaches the first process alone, which passes it on
            os.close(self._lifeline[1])
            signal.set_wakeup_fd(-1)
            for number in (*_STOPPING, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
            self._close_others(place)
            self._service.exchange = _Line(line)
            self._service.metrics.begin(place + self._generation % 2 * len(self._listeners))
            _WorkerServer(self._service, line, self._lifeline[0]).serve_on(self._listeners[place])
            code = 0
        except BaseException as error:
            write_entry(error_entry(error))
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _close_others(self, place: int) -> None:
        """Close what belongs to other processes."""
        self._selector.close()
        others = [listener for other, listener in enumerate(self._listeners) if other != place]
        lines = [worker.line for worker in (self._running | self._retired).values()]
        for one in (*others, *lines, self._signals, self._wakeup):
            one.close()

    def _stop(self, number: int) -> None:
        """Pass a signal on; connections that nobody would accept any more are refused."""
        self._is_stopping = True
        for listener in self._listeners:
            listener.close()
        for process in self._running | self._retired:
            with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                os.kill(process, number)


class _Line:
    """Asks the first process for other models."""

    def __init__(self, line: socket.socket) -> None:
        self._line, self._lock = line, asyncio.Lock()
        line.setblocking(False)

    async def __call__(self, wanted: Exchange) -> Outcome:
        loop = asyncio.get_running_loop()
        async with self._lock:
            await loop.sock_sendall(self._line, json.dumps(dataclasses.asdict(wanted)).encode())
            return Outcome(**json.loads(await loop.sock_recv(self._line, _MOST_BYTES)))


class _WorkerServer(Server):
    """A server that retires at SIGHUP: others have taken over, and it ends when its last connection is closed."""

    def __init__(self, service: Service, line: socket.socket, lifeline: int) -> None:
        super().__init__(service, lifeline=lifeline)
        self._line = line

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen; a SIGHUP that came before takes effect now."""
        await super().startup(sockets)
        self._sockets = sockets or []
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGHUP,))

    def hang_up(self) -> None:
        """Accept no more connections."""
        self.service.retiring = True
        for server in self.servers:
            server.close()
        for one in self._sockets:
            one.close()
        self._line.send(_RETIRED)

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; called by uvicorn ten times a second."""
        return await super().on_tick(counter) or (self.service.retiring and not self.server_state.connections)
