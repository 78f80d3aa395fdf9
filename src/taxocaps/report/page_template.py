"""Self-contained HTML pages: a template of the package, filled with data that no document can break out of."""

import html
import json
import re
from importlib import resources
from typing import Any

__all__ = ["fill_template"]

_FILES = {"style": "page_style.css", "script": "page_script.js", "drawing": "graph_drawing.js"}


def fill_template(name: str, title: str, data: Any) -> str:
    """The text of a page that needs no network.

    Args:
        name: A template of this package; `{{title}}`, `{{data}}`, `{{style}}`, `{{script}}` and `{{drawing}}` stand for
            what their names say, the last three for the style, the first lines of scripts, and the drawing of graphs
            that pages share.
        title: A heading, any text.
        data: Plain values, for the script of the page to read.
    """
    # "<" is escaped so that no word can close the script element. A lone surrogate, which no file can hold, becomes the
    # escape that JSON has for it.
    values = {
        "title": html.escape(title).encode("utf-8", "replace").decode(),
        "data": json.dumps(data, ensure_ascii=False)
        .replace("<", "\\u003c")
        .encode("utf-8", "backslashreplace")
        .decode(),
        **{key: _read(file) for key, file in _FILES.items()},
    }
    # In one pass: what a title or a text says is never looked at again.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], _read(name))


def _read(file: str) -> str:
    return resources.files("taxocaps.report").joinpath(file).read_text(encoding="utf-8")
