"""The command line as a whole: version, help, errors in one line, completion."""

import io
import os
import subprocess
import sys

import pytest

import taxocaps
from taxocaps.cli.main import main
from taxocaps.errors import FileError


def test_version(run):
    assert run("--version") == (0, f"taxocaps {taxocaps.__version__}\n", "")


COMMANDS = [
    [],
    ["taxonomy"],
    ["taxonomy", "show"],
    ["taxonomy", "check"],
    ["taxonomy", "convert"],
    ["taxonomy", "embed"],
    ["taxonomy", "reconstruct"],
    ["corpus"],
    ["corpus", "check"],
    ["corpus", "convert"],
    ["data"],
    ["data", "pydocs"],
    ["graph"],
    ["encode"],
    ["config"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help(run, command):
    code, out, _ = run(*command, "--help")
    assert code == 0
    assert "Usage: taxocaps" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["encode"], "Missing argument 'corpus'; see taxocaps encode --help"),
        (["encode", "x.jsonl", "--out", "y", "--windw", "3"], "--windw"),
        (["nonsense"], "nonsense"),
        (["encode", "x.jsonl", "--out", "y", "--on-error", "ignore"], "ignore"),
        (["graph", "text", "--rows", "0"], "--rows"),
        (["encode", "missing.jsonl", "--out", "y"], "missing.jsonl: no such file"),
        (["graph", "a text", "--set", "graph.windw=3"], "did you mean graph.window?"),
        (["graph", "a text", "--set", "graph.distance=far"], "graph.distance must be one of hops"),
        (["config", "--model", "gccnn", "--set", "training.epochs=0"], "error: --epochs must be"),
        (["config", "--set", "corpus.on_error=foo"], "error: corpus.on_error must be"),
        (["graph", "a text", "--set", "corpus.on_error=foo"], "error: --on-error must be"),
        (["taxonomy", "show", "missing.tsv"], "missing.tsv: no such file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_end_in_one_line_and_code_2(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_the_traceback(tmp_path):
    arguments = ["graph", str(tmp_path / "missing.txt"), "--debug"]
    with pytest.raises(FileError):
        main(arguments)
    ended = subprocess.run([sys.executable, "-m", "taxocaps", *arguments], capture_output=True, text=True, check=False)
    assert "Traceback" in ended.stderr


def test_shell_completion_is_offered():
    # Asked for as the shell's start-up file asks, which names the shell; `--show-completion` guesses it from the parent
    # process, and that may be any program here.
    shown = subprocess.run(
        [sys.executable, "-m", "taxocaps"],
        env={**os.environ, "_TAXOCAPS_COMPLETE": "source_bash"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "complete -o default" in shown.stdout


def test_a_closed_pipe_is_no_error(tmp_path):
    many = tmp_path / "labels.tsv"
    many.write_text("".join(f"Root\tlabel{number}\n" for number in range(20_000)))
    ended = subprocess.run(
        f"{sys.executable} -m taxocaps taxonomy show {many} | head -n 2",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.splitlines()[0] == "Root"
    assert "Traceback" not in ended.stderr


def test_no_command_shows_the_help_and_nothing_else(run):
    code, out, err = run()
    assert code == 2
    assert "Usage: taxocaps" in out + err
    assert "error:" not in err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_any_terminal_can_be_printed_to(tmp_path, monkeypatch, encoding):
    (tmp_path / "t.tsv").write_text("Root\tпривет\nRoot\t[/red]\nпривет\t[bold]\nпривет\t🏠\n", encoding="utf-8")
    for arguments in (["taxonomy", "show", str(tmp_path / "t.tsv")], ["graph", "привет [/red] 🏠 мир"]):
        printed = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding))
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        sys.stdout.flush()
        assert ended.value.code == 0
        assert printed.getvalue()


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
@pytest.mark.slow
def test_closed_streams_do_no_harm(tmp_path, closed):
    (tmp_path / "c.jsonl").write_text('{"text": "Cats purr."}\n')
    command = f"{sys.executable} -m taxocaps encode {tmp_path / 'c.jsonl'} --out {tmp_path / 'store'} {closed}"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "store" / "manifest.json").exists()


def test_inputs_are_not_written_over(run, tmp_path):
    (tmp_path / "c.jsonl").write_text('{"text": "Cats purr.", "more": 1}\n')
    (tmp_path / "t.tsv").write_text("a\tb\n")
    (tmp_path / "t.txt").write_text("Cats purr.")
    for arguments in (
        ["corpus", "convert", tmp_path / "c.jsonl", tmp_path / "c.jsonl"],
        ["taxonomy", "convert", tmp_path / "t.tsv", tmp_path / "t.tsv"],
        ["graph", tmp_path / "t.txt", "--out", tmp_path / "t.txt"],
    ):
        code, _, err = run(*arguments)
        assert code == 2
        assert "is the input itself" in err
    assert "more" in (tmp_path / "c.jsonl").read_text()
