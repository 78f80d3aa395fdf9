"""The names by which a server of this machine may be called.

A page of another site can have its own name lead to 127.0.0.1 (DNS rebinding); the browser then takes this server for
that site, and lets the page read all answers. But it says in the header Host which name it looked up.
"""

from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from taxocaps.web.answers import Refused, error_response

__all__ = ["LOOPBACK_NAMES", "HostGate"]

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


class HostGate:
    """Lets requests through that call the server by one of its names, with any port."""

    def __init__(self, app: ASGIApp, names: Callable[[], Collection[str]]) -> None:
        """Stand in front of `app`.

        Args:
            app: Answers the requests.
            names: Gives the names, in lower case; none means that any will do.
        """
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        names = self._names()
        if scope["type"] == "http" and names and _name(Headers(scope=scope).get("host", "")) not in names:
            message = f"this server is called {' or '.join(sorted(names))}; the request has another name in its Host"
            await error_response(Refused(421, message, headers={"Connection": "close"}))(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _name(host: str) -> str:
    """A host without its port; an IPv6 address keeps its brackets."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()
