"""The pages of the server: the live ones, whose files are sent as they are, and the description of the API."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from taxocaps.report.pages import asset_files, templates

__all__ = ["PAGE_PATHS", "docs_page", "page_routes"]

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    # Nothing is loaded from elsewhere, no script is part of the page itself, and no other site can show it in a frame.
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # browsers ask each time, and are mostly told that nothing has changed
}


def _read_files() -> dict[str, bytes]:
    """The files by their paths on the server; scripts and style are shared with the pages that commands write."""
    own = {file.name: file.read_bytes() for file in resources.files(__package__).joinpath("page").iterdir()}
    pages = {"/": own.pop("index.html"), "/review": own.pop("review.html")}
    return pages | {f"/page/{name}": content for name, content in {**asset_files(), **own}.items()}


_FILES = _read_files()

PAGE_PATHS = frozenset(_FILES)
"""The paths of the files, which hold nothing that a token protects."""


def page_routes() -> list[Route]:
    """A route for each file."""
    return [Route(path, _endpoint(body, _media_type(path))) for path, body in _FILES.items()]


def _media_type(path: str) -> str:
    return _MEDIA_TYPES[PurePosixPath(path).suffix or ".html"]


def _endpoint(body: bytes, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    headers = {**_HEADERS, "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"'}

    async def file(request: Request) -> Response:
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=media_type)

    return file


def docs_page(schema: Mapping[str, Any]) -> Response:
    """An OpenAPI schema as a page for people."""
    operations = [
        {
            "method": method.upper(),
            "path": path,
            "description": operation.get("description", ""),
            "fields": list(_fields(operation, schema)),
            "example": _example(method, path, operation, schema),
        }
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    text = templates("taxocaps.web").get_template("docs.html").render(info=schema["info"], operations=operations)
    return Response(text, headers=_HEADERS, media_type="text/html")


def _fields(operation: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for parameter in operation.get("parameters", ()):
        yield parameter["name"], parameter.get("description", "")
    for name, field in _body(operation, schema).get("properties", {}).items():
        yield name, field.get("description", "")


def _example(method: str, path: str, operation: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    examples = _body(operation, schema).get("examples")
    if not examples:
        return f"curl http://localhost:8000{path}"
    body = json.dumps(examples[0])
    return f"curl -X {method.upper()} http://localhost:8000{path} -H 'Content-Type: application/json' -d '{body}'"


def _body(operation: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the request body."""
    if "requestBody" not in operation:
        return {}
    name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return dict(schema["components"]["schemas"][name])
