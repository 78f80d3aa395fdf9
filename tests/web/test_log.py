"""Lines of JSON on standard error."""

import io
import json
import logging
import sys
from datetime import datetime

from taxocaps.web.log import JsonHandler, error_entry, write_entry


def test_a_line_with_the_time(capsys):
    write_entry({"path": "/a\nb", "status": 200})
    (line,) = capsys.readouterr().err.splitlines()
    entry = json.loads(line)
    assert datetime.fromisoformat(entry.pop("time")).tzinfo is not None
    assert entry == {"path": "/a\nb", "status": 200}


def test_nobody_listening_is_no_error(monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    write_entry({"status": 200})


def test_an_error_in_full():
    try:
        raise ValueError("deep down")
    except ValueError as error:
        entry = error_entry(error)
    assert entry["level"] == "error"
    assert entry["traceback"].startswith("Traceback")
    assert "deep down" in entry["traceback"]


def test_what_libraries_say(capsys):
    logger = logging.Logger("library")
    logger.addHandler(JsonHandler(logging.WARNING))
    logger.info("not this")
    logger.warning("this %s", "one")
    try:
        raise ValueError("deep down")
    except ValueError:
        logger.exception("and this")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["level"], first["message"]) == ("warning", "this one")
    assert (second["level"], second["message"]) == ("error", "and this")
    assert "deep down" in second["traceback"]
