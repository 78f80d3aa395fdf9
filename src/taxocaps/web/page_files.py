"""The files of the web page: plain HTML, CSS and scripts of this package, sent as they are."""

import hashlib
from collections.abc import Awaitable, Callable
from importlib import resources
from pathlib import PurePosixPath

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["PAGE_PATHS", "page_routes"]

_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_SHARED = ("graph_drawing.js", "page_style.css")
"""Files that the pages which commands write are made of, too."""

_HEADERS = {
    # Nothing is loaded from elsewhere, no script stands in the page itself, and no other site can show it in a frame.
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # a browser asks each time, and mostly hears that nothing has changed
}


def _read_files() -> dict[str, bytes]:
    """The files by their paths on the server."""
    page, report = resources.files("taxocaps.web").joinpath("page"), resources.files("taxocaps.report")
    files = {f"/page/{file.name}": file.read_bytes() for file in page.iterdir() if file.name != "index.html"}
    shared = {f"/page/{name}": report.joinpath(name).read_bytes() for name in _SHARED}
    return {"/": page.joinpath("index.html").read_bytes(), **files, **shared}


_FILES = _read_files()

PAGE_PATHS = frozenset(_FILES)
"""Where the files of the page are; they hold nothing that a token protects."""


def page_routes() -> list[Route]:
    """A path for each file."""
    return [Route(path, _answer(body, _kind(path))) for path, body in _FILES.items()]


def _kind(path: str) -> str:
    return _KINDS[PurePosixPath(path).suffix or ".html"]


def _answer(body: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    headers = {**_HEADERS, "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"'}

    async def file(request: Request) -> Response:
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=kind)

    return file
