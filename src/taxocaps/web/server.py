"""Run a service with uvicorn until it is told to stop; what was accepted is finished first."""

import ipaddress
import logging
import math
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType

import uvicorn

from taxocaps.errors import ConfigError
from taxocaps.web.api import Service
from taxocaps.web.host import LOOPBACK_NAMES
from taxocaps.web.log import JsonHandler
from taxocaps.web.protocol import PatientProtocol

__all__ = ["Listener", "Server", "address", "bind", "is_loopback", "own_names"]


class Listener(socket.socket):
    """A socket that remembers by which name its address was asked for."""

    host = ""


def bind(host: str, port: int) -> Listener:
    """A socket at an address; nobody can connect before a server runs on it.

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
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(where)
        except OSError:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "no such host"
        raise ConfigError(
            f"cannot serve at {host}, port {port}: {reason}; choose another with --host, --port"
        ) from error
    return listener


def is_loopback(listener: socket.socket) -> bool:
    """Whether only programs of this machine can connect."""
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def own_names(listener: Listener) -> frozenset[str]:
    """The names that clients may call the server by; none, for any will do, if other machines can connect."""
    if not is_loopback(listener):
        return frozenset()
    return LOOPBACK_NAMES | {_bracketed(listener.host.lower()), _bracketed(listener.getsockname()[0])}


def address(listener: socket.socket) -> str:
    """The address as a browser takes it."""
    host, port = listener.getsockname()[:2]
    return f"http://{_bracketed(host)}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class Server(uvicorn.Server):
    """A service on a socket; SIGTERM and Ctrl-C end it in good order, a second Ctrl-C at once."""

    def __init__(self, service: Service, announce: Callable[[], None] = lambda: None) -> None:
        """Prepare to serve.

        Args:
            service: What answers.
            announce: Called as soon as clients can connect.
        """
        limits = service.config
        super().__init__(
            uvicorn.Config(
                service.app,
                loop="asyncio",
                http=PatientProtocol,
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
        self._service, self.announce = service, announce

    def serve_on(self, listener: Listener) -> None:
        """Serve until told to stop."""
        self._service.hosts = own_names(listener)
        logger = logging.getLogger("uvicorn.error")
        handler = JsonHandler(logging.WARNING)
        logger.addHandler(handler)
        logger.propagate = False
        if threading.current_thread() is threading.main_thread():
            # After a stop, uvicorn sends the signal once more to whoever had it before; that would be no clean exit.
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self.handle_exit)
        try:
            self.run(sockets=[listener])
        finally:
            logger.removeHandler(handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        if self.started:
            self.announce()

    def stop(self) -> None:
        """Take no more requests, finish what was accepted, and end."""
        self._service.draining = True
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at a signal."""
        self._service.draining = True
        super().handle_exit(sig, frame)
