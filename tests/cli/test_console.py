"""Progress: a bar on a terminal, lines in a log, nothing when quiet."""

import json
import os
import pty
import subprocess
import sys
from dataclasses import dataclass

from taxocaps.cli.console import print_json, shown_progress


@dataclass
class Inner:
    pairs: dict
    items: tuple


def test_json_of_dataclasses_with_pairs_as_keys(capsys):
    print_json({"a": Inner({("x", "y"): 1}, ("é",))})
    assert json.loads(capsys.readouterr().out) == {"a": {"pairs": {"x + y": 1}, "items": ["é"]}}


def test_lines_in_a_log(capsys):
    with shown_progress(quiet=False) as progress:
        for done in range(1, 2_001):
            progress("reading", done)
        progress("writing", 1, 2)
        progress("writing", 2, 2)
    assert capsys.readouterr().err.splitlines() == ["reading: 1", "writing: 1 of 2", "writing: 2 of 2"]


def test_lines_end_with_the_note(capsys):
    with shown_progress(quiet=False) as progress:
        progress("training", 1, 2, "epoch 1 of 2, loss 0.5000")
        progress("training", 2, 2, "epoch 2 of 2, loss 0.2500")
    assert capsys.readouterr().err.splitlines() == [
        "training: 1 of 2 (epoch 1 of 2, loss 0.5000)",
        "training: 2 of 2 (epoch 2 of 2, loss 0.2500)",
    ]


def test_nothing_when_quiet(capsys):
    with shown_progress(quiet=True) as progress:
        progress("reading", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal():
    code = (
        "from taxocaps.cli.console import shown_progress\n"
        "with shown_progress(quiet=False) as progress:\n"
        "    progress('reading', 5)\n"
        "    progress('writing', 3, 3)\n"
    )
    leader, follower = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stderr=follower, check=True, env={**os.environ, "TERM": "xterm"})
    os.close(follower)
    shown = b""
    while True:
        try:
            shown += os.read(leader, 4096)
        except OSError:  # the other side is closed
            break
        if b"3/3" in shown:
            break
    os.close(leader)
    assert b"reading" in shown
    assert b"3/3" in shown
