"""The limits of a server, and the middlewares that guard it: body, token and host.

A page of another site can let its own name lead to 127.0.0.1 (DNS rebinding); the browser then takes this server for
that site, and lets the page read all responses. But it sends the name that it looked up in the header Host, which is
why a server of this machine accepts only its own names.
"""

import asyncio
import contextlib
import hmac
import os
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import Field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.web.responses import ApiError, error_response
from taxocaps.workflows.config import CorpusConfig, resolve_sections

__all__ = [
    "LOOPBACK_NAMES",
    "BodyMiddleware",
    "HostMiddleware",
    "ServeConfig",
    "TokenMiddleware",
    "check_lengths",
    "find_token",
    "replay",
    "resolve_corpus_config",
    "resolve_serve_config",
]

T = TypeVar("T")

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

_MOST_DISCARDED = 2**27
_DISCARDED_PER_SECOND = 2**25
_TOKEN_VARIABLE = "TAXOCAPS_TOKEN"
_CHALLENGE = {"WWW-Authenticate": "Bearer", "Connection": "close"}


class ServeConfig(Config):
    """The limits of a server.

    Attributes:
        body_bytes: The largest body of a request.
        documents: The most documents of a request.
        text_length: The most characters of a document; tokens count with a space each.
        timeout: Seconds until a request that was read must be answered.
        read_timeout: Seconds for a request to arrive, and for an idle connection to stay open.
        queue: The most documents that wait for a model.
        batch: The most documents that are labelled at once.
        explain_words: The most words of a document that is explained: each distinct one costs a forward pass.
        explain_labels: The most labels that a request may ask to explain.
        review: The most documents that wait for reviewers.
    """

    section: ClassVar[str] = "serve"

    body_bytes: Annotated[int, Between(1, 2**31 - 1)] = 4_000_000
    documents: Annotated[int, Between(1, 1_000_000)] = 256
    text_length: Annotated[int, Between(1, 2**31 - 1)] = 200_000
    timeout: Annotated[float, Between(0.001, 86_400)] = 30.0
    read_timeout: Annotated[float, Between(0.1, 86_400)] = 10.0
    queue: Annotated[int, Between(1, 1_000_000)] = 1_024
    batch: Annotated[int, Between(1, 100_000)] = 64
    explain_words: Annotated[int, Between(1, 20_000)] = 2_000
    explain_labels: Annotated[int, Between(1, 1_000_000)] = 100
    review: Annotated[int, Between(1, 1_000_000)] = 10_000

    def model_post_init(self, context: object, /) -> None:
        """Refuse a queue into which an allowed request can never fit."""
        if self.queue < self.documents:
            raise ConfigError(f"serve.queue must be at least serve.documents, {self.documents}; got {self.queue}")


class _Sections(Config):
    serve: ServeConfig = Field(default_factory=ServeConfig)
    corpus: CorpusConfig = Field(default_factory=CorpusConfig)


def resolve_serve_config(file: Path | None = None, overrides: Iterable[str] = ()) -> ServeConfig:
    """The defaults, then the section `serve` of a YAML or TOML file, then overrides.

    Args:
        file: A configuration file; its other sections belong to other commands.
        overrides: Texts such as `serve.batch=64`.
    """
    return resolve_sections(_Sections, file, overrides).serve


def resolve_corpus_config(file: Path | None = None, overrides: Iterable[str] = ()) -> CorpusConfig:
    """How files of documents are read: the section `corpus` of the same configuration."""
    return resolve_sections(_Sections, file, overrides).corpus


def check_lengths(documents: list[dict[str, Any]], config: ServeConfig, prefix: str = "documents[{}].") -> None:
    """Refuse with 413 documents that are too long.

    Args:
        documents: Each with `text` or `tokens`.
        config: The limits.
        prefix: What stands before `text` or `tokens` in the place of a document; {} is its number, from 0.
    """
    for index, document in enumerate(documents):
        name, length = _length(document)
        if length > config.text_length:
            message = f"a document has at most {config.text_length:,} characters; got {length:,}"
            raise ApiError(413, message, prefix.format(index) + name)


def _length(document: Mapping[str, Any]) -> tuple[str, int]:
    tokens = document.get("tokens")
    if tokens is None:
        return "text", len(document.get("text") or "")
    return "tokens", sum(map(len, tokens)) + len(tokens)


class BodyMiddleware:
    """Reads the whole body of a request, and refuses those that are too large, too slow, not JSON or not UTF-8."""

    def __init__(self, app: ASGIApp, config: ServeConfig) -> None:
        """Wrap an application."""
        self._app, self._config = app, config
        self._discarding = asyncio.Semaphore(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(scope, receive)
        except ApiError as error:
            await error_response(error)(scope, receive, send)
            return
        if body is not None:
            message = {"type": "http.request", "body": body, "more_body": False}
            await self._app(scope, replay(message, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body; None if the client disconnected."""
        limit, seconds = self._config.body_bytes, self._config.read_timeout
        declared = _header(scope, b"content-length")[:20]
        is_large = declared.isdigit() and int(declared) > limit
        if is_large and _header(scope, b"expect").lower() == b"100-continue":
            raise _too_large(limit)  # the client asks before it sends
        try:
            body, more = (bytearray(), True) if is_large else await _within(seconds, _collect(receive, limit))
        except TimeoutError as error:
            message = f"the request did not arrive within {seconds:g} seconds"
            raise ApiError(408, message, headers={"Connection": "close"}) from error
        if is_large or (body and len(body) > limit):
            if more:
                await self._discard(receive, seconds)
            raise _too_large(limit)
        if body is None:
            return None
        if content := bytes(body):
            _check_content(content, _header(scope, b"content-type"))
        return content

    async def _discard(self, receive: Receive, seconds: float) -> None:
        """Read on for a while, or the client would not see the response.

        Only one body is discarded at a time, and not as fast as it comes: other clients have the server for themselves.
        """
        more, size = True, 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._discarding:
                while more and size < _MOST_DISCARDED:
                    message = await receive()
                    more, size = message.get("more_body", False), size + len(message.get("body", b""))
                    await asyncio.sleep(len(message.get("body", b"")) / _DISCARDED_PER_SECOND)


async def _within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What comes of some work, or TimeoutError; `asyncio.timeout` takes longer, and every request needs one."""
    task, is_late = asyncio.current_task(), False
    assert task is not None

    def expire() -> None:
        nonlocal is_late
        is_late = True
        task.cancel()

    timer = asyncio.get_running_loop().call_later(seconds, expire)
    try:
        return await work
    except asyncio.CancelledError:
        if is_late and task.uncancel() == 0:
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()


async def _collect(receive: Receive, limit: int) -> tuple[bytearray | None, bool]:
    """The chunks of a body until there are more bytes than allowed, None if the client disconnected; is there more?"""
    body, more = bytearray(), True
    while more and len(body) <= limit:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None, False
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body, more


def _too_large(limit: int) -> ApiError:
    return ApiError(413, f"the body of a request has at most {limit:,} bytes", headers={"Connection": "close"})


def _check_content(body: bytes, content_type: bytes) -> None:
    if (
        content_type.partition(b";")[0].strip().lower() != b"application/json"
    ):  # pages of other sites may send other types without a preflight request
        raise ApiError(415, "the body must be JSON, with the header Content-Type: application/json")
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ApiError(400, f"the body is not valid UTF-8 at byte {error.start:,}") from error


def _header(scope: Scope, wanted: bytes) -> bytes:
    """The first header of a name, or nothing."""
    for name, value in scope["headers"]:
        if name == wanted:
            return bytes(value)
    return b""


def replay(message: Message, receive: Receive) -> Receive:
    """The messages of a request of which one was read already."""
    is_sent = False

    async def again() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return message

    return again


class TokenMiddleware:
    """Lets through requests with the bearer token, and all requests for some paths."""

    def __init__(self, app: ASGIApp, token: str, open_paths: Collection[str]) -> None:
        """Wrap an application.

        Args:
            app: Handles the requests.
            token: The token.
            open_paths: Paths that need no token.
        """
        self._app, self._expected, self._open_paths = app, b"bearer " + token.encode("ascii"), frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "http" and scope["path"] not in self._open_paths and not self._has_token(scope):
            error = ApiError(401, "a token is required: Authorization: Bearer ...", headers=_CHALLENGE)
            await error_response(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _has_token(self, scope: Scope) -> bool:
        scheme, _, token = _header(scope, b"authorization").partition(b" ")
        # In constant time, so that its duration does not tell how much of a token is right.
        return hmac.compare_digest(scheme.lower() + b" " + token.strip(), self._expected)


def find_token(file: Path | None) -> str | None:
    """The token from a file, else from the environment variable TAXOCAPS_TOKEN, else none.

    Raises:
        ConfigError: If it is empty, or has characters that a header cannot carry.
    """
    if file is not None:
        try:
            token, where = file.read_text(encoding="utf-8").strip(), str(file)
        except UnicodeDecodeError as error:
            raise ConfigError(f"{file}: a token is printable ASCII without spaces") from error
    elif _TOKEN_VARIABLE in os.environ:
        token, where = os.environ[_TOKEN_VARIABLE].strip(), f"the environment variable {_TOKEN_VARIABLE}"
    else:
        return None
    if not token:
        raise ConfigError(f"{where}: the token is empty")
    if not all("!" <= character <= "~" for character in token):
        raise ConfigError(f"{where}: a token is printable ASCII without spaces")
    return token


class HostMiddleware:
    """Lets through requests whose header Host has one of the server's names, with any port."""

    def __init__(self, app: ASGIApp, names: Callable[[], Collection[str]]) -> None:
        """Wrap an application.

        Args:
            app: Handles the requests.
            names: Returns the names, in lower case; none allows any.
        """
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        names = self._names()
        if scope["type"] == "http" and names and _host_name(_header(scope, b"host")) not in names:
            message = f"the header Host must name this server: {' or '.join(sorted(names))}"
            await error_response(ApiError(421, message, headers={"Connection": "close"}))(scope, receive, send)
            return
        await self._app(scope, receive, send)


@lru_cache(maxsize=64)
def _host_name(header: bytes) -> str:
    """The host of a header, without its port; an IPv6 address keeps its brackets."""
    host = header.decode("latin-1")
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()
