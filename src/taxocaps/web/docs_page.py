"""The OpenAPI description as a page for people: plain HTML that loads nothing."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import Response

__all__ = ["docs_page"]

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }}
body {{ max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }}
pre {{ overflow-x: auto; padding: .75rem; border: 1px solid #8886; border-radius: .4rem; }}
dt {{ font-family: monospace; font-weight: bold; }}
</style>
</head>
<body>
<h1>{title} {version}</h1>
<p>{description} For programs: <a href="openapi.json">openapi.json</a>.</p>
{operations}
</body>
</html>
"""


def docs_page(description: Mapping[str, Any]) -> Response:
    """The page of an OpenAPI description."""
    operations = "\n".join(
        _operation(method, path, operation, description)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    )
    info = {key: escape(description["info"][key]) for key in ("title", "version", "description")}
    headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
    return Response(_PAGE.format(**info, operations=operations), headers=headers, media_type="text/html")


def _operation(method: str, path: str, operation: Mapping[str, Any], description: Mapping[str, Any]) -> str:
    parts = [f"<h2>{method.upper()} {escape(path)}</h2>", f"<p>{escape(operation.get('description', ''))}</p>"]
    fields = list(_fields(operation, description))
    if fields:
        items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(said)}</dd>" for name, said in fields)
        parts.append(f"<dl>{items}</dl>")
    parts.append(f"<pre>{escape(_example(method, path, operation, description))}</pre>")
    return "\n".join(parts)


def _fields(operation: Mapping[str, Any], description: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for parameter in operation.get("parameters", ()):
        yield parameter["name"], parameter.get("description", "")
    for name, said in _body(operation, description).get("properties", {}).items():
        yield name, said.get("description", "")


def _example(method: str, path: str, operation: Mapping[str, Any], description: Mapping[str, Any]) -> str:
    examples = _body(operation, description).get("examples")
    if not examples:
        return f"curl http://localhost:8000{path}"
    sent = json.dumps(examples[0])
    return f"curl -X {method.upper()} http://localhost:8000{path} -H 'Content-Type: application/json' -d '{sent}'"


def _body(operation: Mapping[str, Any], description: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of what is sent."""
    if "requestBody" not in operation:
        return {}
    name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return dict(description["components"]["schemas"][name])
