"""The body of a request: read as a whole, within limits, before anything is done about it."""

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taxocaps.web.answers import Refused, error_response
from taxocaps.web.limits import ServeConfig

__all__ = ["BodyReader"]

_MOST_DISCARDED = 2**27


class BodyReader:
    """Hands requests on with their whole body, or refuses them: too large, too slow, not JSON, not UTF-8."""

    def __init__(self, app: ASGIApp, config: ServeConfig) -> None:
        """Stand in front of `app`."""
        self._app, self._config = app, config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(Headers(scope=scope), receive)
        except Refused as refused:
            await error_response(refused)(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, _replay(body, receive), send)

    async def _read(self, headers: Headers, receive: Receive) -> bytes | None:
        """The body; None if the client has gone."""
        limit, seconds = self._config.body_bytes, self._config.read_timeout
        declared = headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > limit and headers.get("expect", "").lower() == "100-continue":
            raise _too_large(limit)  # the client asks before it sends
        try:
            async with asyncio.timeout(seconds):
                body = await _collect(receive, limit)
        except TimeoutError as error:
            message = f"the request did not arrive within {seconds:g} seconds"
            raise Refused(408, message, headers={"Connection": "close"}) from error
        if body:
            _check_content(body, headers)
        return body


async def _collect(receive: Receive, limit: int) -> bytes | None:
    """All pieces; what is beyond the limit is read and forgotten, or the client would not see the answer."""
    body, size, more = bytearray(), 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        piece, more = message.get("body", b""), message.get("more_body", False)
        size += len(piece)
        if size <= limit:
            body += piece
        elif size > _MOST_DISCARDED:
            break
    if size > limit:
        raise _too_large(limit)
    return bytes(body)


def _too_large(limit: int) -> Refused:
    return Refused(413, f"the body of a request has at most {limit:,} bytes", headers={"Connection": "close"})


def _check_content(body: bytes, headers: Headers) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # pages of other sites may send anything but this without being asked first
        raise Refused(415, "the body must be JSON, with the header Content-Type: application/json")
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(400, f"the body is not valid UTF-8 at byte {error.start:,}") from error


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
