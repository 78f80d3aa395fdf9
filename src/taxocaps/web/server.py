"""Run a service with uvicorn until it is stopped; requests that were accepted are finished first."""

import asyncio
import ipaddress
import logging
import math
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from taxocaps.errors import ConfigError
from taxocaps.web.api import Service
from taxocaps.web.limits import LOOPBACK_NAMES
from taxocaps.web.observability import JsonHandler
from taxocaps.web.responses import ApiError, error_response

__all__ = ["Listener", "Server", "address", "bind", "bind_shared", "is_loopback", "own_names"]

_MOST_HEAD_BYTES = 65_536
_SWITCH_SECONDS = 0.0005
_LAST_MOMENT = 0.1
"""Seconds in which a request may still arrive over an open connection when the server stops."""
_BACKLOG = 2_048
"""Connections that may wait to be accepted, as uvicorn has them."""
_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


class Listener(socket.socket):
    """A socket that remembers the name of the host that it was bound to."""

    host = ""


def bind(host: str, port: int, *options: int) -> Listener:
    """A socket that listens at an address; clients that connect before a server runs on it wait for it.

    Args:
        host: The name or address of the host.
        port: The port; 0 takes one that is free.
        options: Options of the socket besides `SO_REUSEADDR` that are switched on.

    Raises:
        ConfigError: If there is no such address, or it is in use.
    """
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = Listener(family, kind, protocol)
        listener.host = host
        try:
            for option in (socket.SO_REUSEADDR, *options):
                listener.setsockopt(socket.SOL_SOCKET, option, 1)
            listener.bind(where)
            listener.listen(_BACKLOG)  # at once: until then, another process could bind to the same port
        except OSError:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "no such host"
        raise ConfigError(
            f"cannot serve at {host}, port {port}: {reason}; choose another with --host, --port"
        ) from error
    return listener


def bind_shared(host: str, port: int, count: int) -> list[Listener]:
    """Sockets at the same address, one for each worker: the system spreads connections evenly among them.

    Raises:
        ConfigError: As for `bind`.
    """
    with bind(host, port) as alone:  # or it would share the port of another server
        port = alone.getsockname()[1]
    return [bind(host, port, socket.SO_REUSEPORT) for _ in range(count)]


def is_loopback(listener: socket.socket) -> bool:
    """Whether only programs on this machine can connect."""
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def own_names(listener: Listener) -> frozenset[str]:
    """The names that the header Host may have; none, which allows any, if other machines can connect."""
    if not is_loopback(listener):
        return frozenset()
    return LOOPBACK_NAMES | {_bracketed(listener.host.lower()), _bracketed(listener.getsockname()[0])}


def address(listener: socket.socket) -> str:
    """The URL of the server."""
    host, port = listener.getsockname()[:2]
    return f"http://{_bracketed(host)}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits for the head of a request: its size, and the time of an idle connection."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Called by uvicorn for each connection."""
        super().__init__(*arguments, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Handle data."""
        super().data_received(_without_upgrade(data) if self._awaits_head() else data)
        self._head_bytes = self._head_bytes + len(data) if self._awaits_head() else 0
        if self._head_bytes > _MOST_HEAD_BYTES:
            self._refuse(431, f"the head of a request has at most {_MOST_HEAD_BYTES:,} bytes")
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        super().connection_lost(exc)
        self._stop_timer()

    def shutdown(self) -> None:
        """Close the connection after its response; a request that is on its way is told that the server stops."""
        if self._awaits_head():
            self.loop.call_later(_LAST_MOMENT, super().shutdown)
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not an HTTP request in the shape of all errors."""
        self._refuse(400, msg)

    def _refuse(self, status: int, message: str) -> None:
        if not self.transport.is_closing():
            error = error_response(ApiError(status, message, headers={"Connection": "close"}))
            headers = b"".join(b"%b: %b\r\n" % header for header in error.raw_headers)
            self.transport.write(STATUS_LINE[status] + headers + b"\r\n" + bytes(error.body))
            self.transport.close()

    def _watch(self) -> None:
        if not self._awaits_head():
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.timeout_keep_alive, self._hang_up)

    def _awaits_head(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _hang_up(self) -> None:
        self._timer = None
        if self._awaits_head():
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _without_upgrade(data: bytes) -> bytes:
    """The head of a request without the offer of another protocol, as Java's client makes; the parser would take it."""
    head, end, body = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(b"\r\nIgnored:", head) + end + body


class Server(uvicorn.Server):
    """A service on a socket; SIGTERM and Ctrl-C stop it gracefully, a second Ctrl-C at once. SIGHUP reloads models."""

    def __init__(
        self, service: Service, announce: Callable[[], None] = lambda: None, lifeline: int | None = None
    ) -> None:
        """Configure uvicorn.

        Args:
            service: Handles the requests.
            announce: Called as soon as clients can connect.
            lifeline: A file descriptor; the server stops when its other end is closed.
        """
        limits = service.config
        super().__init__(
            uvicorn.Config(
                service.app,
                loop="auto",  # uvloop, where there is one
                http=HttpProtocol,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=math.ceil(limits.read_timeout),
                timeout_graceful_shutdown=math.ceil(limits.read_timeout + limits.timeout) + 1,
            )
        )
        self.service, self.announce, self._lifeline = service, announce, lifeline
        self._tasks: set[asyncio.Task[None]] = set()

    def serve_on(self, listener: Listener) -> None:
        """Serve until stopped."""
        self.service.hosts = own_names(listener)
        logger = logging.getLogger("uvicorn.error")
        handler = JsonHandler(logging.WARNING)
        logger.addHandler(handler)
        logger.propagate = False
        if threading.current_thread() is threading.main_thread():
            # After a stop, uvicorn raises the signal again for the previous handler; that would be no clean exit.
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self.handle_exit)
            # Threads of models let the event loop have its turn after this time, not after Python's 5 milliseconds.
            sys.setswitchinterval(_SWITCH_SECONDS)
        try:
            self.run(sockets=[listener])
        finally:
            logger.removeHandler(handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, and announce it."""
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        if self._lifeline is not None:
            loop.add_reader(self._lifeline, self._stop_alone, self._lifeline)
        if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP"):
            loop.add_signal_handler(signal.SIGHUP, self.hang_up)
        if self.started:
            self.announce()

    def hang_up(self) -> None:
        """At SIGHUP, load all models anew."""
        task = asyncio.ensure_future(self.service.reload_all())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _stop_alone(self, lifeline: int) -> None:
        """Stop when the other end of the lifeline is closed; it would be told again without a pause."""
        asyncio.get_running_loop().remove_reader(lifeline)
        self.stop()

    def stop(self) -> None:
        """Accept no more requests, finish those that were accepted, and end."""
        self.service.draining = True
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at a signal."""
        self.service.draining = True
        super().handle_exit(sig, frame)
