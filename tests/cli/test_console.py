"""Progress: a bar on a terminal, lines in a log, nothing when quiet."""

import json
import os
import pty
import subprocess
import sys
from dataclasses import dataclass

import pytest

from taxocaps.cli.console import console, print_json, say, shown_progress, tell


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


EVIL = "a\x1b[2J\x1b]0;title\x07\x9b31m\u202eb"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_names_cannot_steer_a_terminal(capsys, monkeypatch, is_terminal):
    from rich.table import Table
    from rich.text import Text

    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    table = Table(title=EVIL)
    table.add_column(EVIL)
    table.add_row(EVIL)
    table.add_row(Text(EVIL, style="bold"))
    console().print(table)
    console().print(EVIL, style="dim")
    say(f"{EVIL}\nanother line")
    tell(EVIL)
    print_json({EVIL: EVIL})
    printed = "".join(capsys.readouterr())
    for one in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e"):
        assert one not in printed
    assert "\\x1b[2J" in printed
    assert "\nanother line" in printed


def test_json_stays_what_it_was(capsys):
    print_json({"text": EVIL, "naïve": "ü"})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"text": EVIL, "naïve": "ü"}
    assert '"naïve": "ü"' in printed


def test_paths_and_options_in_errors_cannot_steer_a_terminal(run):
    for words in (
        ["taxonomy", "show", EVIL],
        ["predict", "model", f"--{EVIL}"],
        [EVIL],
        ["graph", "a", "--rows", EVIL],
    ):
        code, out, err = run(*words)
        assert code == 2
        assert err.removesuffix("\n").isprintable(), err
        assert not out
