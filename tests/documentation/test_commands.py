"""Every command of the documentation is run, or listed here with the reason why it cannot be.

Commands run in the order of their page, in a folder with files of the names that they speak of. In blocks of the kind
`console`, lines below a command are what it prints, `...` what is left out, unless a comment `not compared` is before
the block. Commands in blocks of the kind `sh` need more than a test has, so words of them are replaced.
"""

import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from documentation.files import write_data_sets, write_files, write_wheels
from documentation.pages import PAGES, ROOT, blocks, commands, without_comment, words_of

import taxocaps
from taxocaps.cli.main import main

NOT_RUN = {
    r"(\S*/)?pip install (?!\./)": "needs a package index; tests/test_wheel.py installs the wheel and what it needs",
    r"systemctl |journalctl ": "needs systemd; tests/test_deployment.py starts what the unit starts",
    r"make (test|lint|format)$": "runs this test, or what runs before it",
    r"make campaign$": "takes ten minutes for each kind; docs/reliability.md has a campaign that is run for a second",
}
"""Commands that no test can run, and why."""
MODELS = {
    "explanations.md": ("model",),
    "learn.md": ("model",),
    "production.md": ("model", "model-2"),
    "review.md": ("model",),
    "scale.md": ("model",),
    "serving.md": ("model", "articles", "patents"),
    "taxonomies.md": ("model",),
}
"""Models that a page takes for granted; others train them."""
SMALL_NETWORK = shlex.split("--epochs 1 --set training.min_steps=0 --set prior.kind=none --set vectors.epochs=1")
QUICK = {
    ("train", "HE-AGCRCNN"): [*SMALL_NETWORK, "--set", "walks.length=20", "--set", "label_vectors.epochs=1"],
    ("train", "XML-CNN"): SMALL_NETWORK,
    ("train", "two-views"): SMALL_NETWORK,
    ("taxonomy", "embed"): ["--set", "label_vectors.epochs=1"],
    ("taxonomy", "reconstruct"): ["--set", "label_vectors.epochs=1"],
    ("tune",): ["--trials", "2"],
    ("data", "--source"): ["--any-counts"],
}
"""Options that make a command quick, or content with small files; what it does is tested elsewhere."""
INSTEAD = {
    "data.md": {"~/": ""},
    "extending.md": {"pip install ": "python -m pip install --no-deps --no-build-isolation --target plugins "},
    "production.md": {" /": " ./", "-m venv": "-m venv --without-pip"},
    "reliability.md": {"make campaign MINUTES=60": "make campaign MINUTES=0.02 -C {root} -o .venv/dev BIN={bin}"},
    "scale.md": {
        "ray start --head": "ray start --head --block --port {port} --num-cpus 1 --include-dashboard false "
        "--temp-dir {short}",
        "--jobs 64": "--jobs 1",
        "labels/ --engine": "labels-of-ray/ --engine",
        "encoded/news --engine": "encoded/news-of-ray --engine",
        "--nnodes 2": "--nnodes 1",
        "host:29500": "localhost:0",
    },
    "security.md": {"parts.py": "parts.py --index wheels"},
}
"""What stands in the place of words of `sh` commands: folders of the test, one machine, seconds in place of hours."""
STAYS = {"taxocaps serve": "; Ctrl-C stops", "ray start": "Ray runtime started"}
"""Commands that stay until the next of them, or the end, and what they print when they are ready."""
FAILS = {"taxocaps taxonomy check broken.tsv": 2}
"""Exit codes of commands that are shown because they find something wrong."""


class Terminal:
    """Runs the commands of a page one after the other."""

    def __init__(self, folder, short, capsys):
        self.folder, self.capsys, self.running = folder, capsys, None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        (folder / ".curlrc").write_text("fail\nsilent\nshow-error\n")
        binaries = Path(sys.executable).parent
        self.places = {"root": ROOT, "bin": binaries, "port": self.port, "short": short}
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(binaries), os.environ["PATH"]]),
            "PYTHONPATH": os.pathsep.join([str(folder / "plugins"), os.environ.get("PYTHONPATH", "")]),
            "PYTEST_ADDOPTS": f"--campaign-folder {folder} -k mutated_data_sets",
            "RAY_ADDRESS": f"127.0.0.1:{self.port}",  # what `auto` means, beside clusters of other tests
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "CURL_HOME": str(folder),
            "COLUMNS": "120",
        }

    def run(self, command):
        """Run a command as it is shown; returns the exit code and all that was printed."""
        words = words_of(command)
        if not command.startswith("taxocaps ") or words is None or words[0] == "serve":
            return self.shell(command.replace(":8000", f":{self.port}"))
        with pytest.raises(SystemExit) as ended:
            main([*words, *quick(words)])
        captured = self.capsys.readouterr()
        return ended.value.code, captured.err + captured.out

    def run_instead(self, command, instead):
        """Run a command with some of its words replaced, in a process of its own."""
        for shown, replaced in instead.items():
            command = command.replace(shown, replaced.format(**self.places))
        return self.shell(shlex.join([*shlex.split(command), *quick(words_of(command) or ())]))

    def shell(self, command):
        options = {"executable": shutil.which("bash"), "env": self.environment, "cwd": self.folder, "text": True}
        for start, ready in STAYS.items():
            if command.startswith(start):
                return self.stay(command, ready, options)
        done = subprocess.run(command, shell=True, check=False, capture_output=True, timeout=180, **options)
        return done.returncode, done.stderr + done.stdout

    def stay(self, command, ready, options):
        self.close()
        if "serve" in command:
            command = re.sub(r"--port \d+", "", without_comment(command)) + f" --port {self.port}"
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.running = subprocess.Popen(f"exec {command}", shell=True, **streams, **options)
        printed = []
        for line in self.running.stdout:
            printed.append(line)
            if ready in line:
                return 0, "".join(printed)
        return self.running.wait(), "".join(printed)

    def close(self):
        if self.running is not None:
            self.running.terminate()
            self.running.communicate(timeout=60)
            assert self.running.returncode == 0 or "serve" not in self.running.args
            self.running = None


def quick(words):
    """Further options for the words of a command."""
    return next((options for known, options in QUICK.items() if set(known) <= set(words)), [])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A linear model of the toy documents."""
    folder = tmp_path_factory.mktemp("documentation")
    write_files(folder)
    out = folder / "model"
    taxocaps.train(folder / "train.jsonl", out, taxonomy=folder / "labels.tsv", test=folder / "test.jsonl", model="SVM")
    return out


@pytest.fixture
def terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    write_files(tmp_path)
    # The sockets of Ray are in a folder of their own, since the name of one may have a hundred letters only.
    with tempfile.TemporaryDirectory(prefix="docs", ignore_cleanup_errors=True) as short:
        opened = Terminal(tmp_path, short, capsys)
        yield opened
        opened.close()


def prepare(page, folder, request):
    """What the `sh` commands of a page take for granted."""
    if page == "data.md":
        write_data_sets(folder)
    elif page == "encoders.md":
        shutil.copytree(request.getfixturevalue("tiny_encoder"), folder / "encoders" / "minilm")
    elif page == "extending.md":
        shutil.copytree(ROOT / "examples" / "plugin", folder / "examples" / "plugin")
    elif page == "production.md":
        shutil.copytree(ROOT / "deploy", folder / "deploy")
        for name in ("opt", "srv", "etc/systemd/system"):
            (folder / name).mkdir(parents=True)
    elif page == "security.md":
        shutil.copytree(ROOT / "scripts", folder / "scripts")
        write_wheels(folder / "wheels")


def assert_printed(shown, printed):
    """Every line that is shown was printed, in this order."""
    lines = iter([line.strip() for line in printed.splitlines()])
    for line in map(str.strip, shown.printed):
        if line and line != "...":
            assert any(line == found for found in lines), f"{shown.command} did not print {line!r}:\n{printed}"


def is_run(command):
    return not any(re.match(known, command) for known in NOT_RUN)


def all_commands(page):
    return [shown.command for _, kind, code in blocks(page) for shown in commands(kind, code)]


RUN = [page for page in PAGES if any(map(is_run, all_commands(page)))]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_commands_run_and_print_what_is_shown(page, terminal, trained, request):
    prepare(page.name, terminal.folder, request)
    for name in MODELS.get(page.name, ()):
        shutil.copytree(trained, terminal.folder / name)
        terminal.run(f"taxocaps feedback import {name} corrected.jsonl")
    for before, kind, code in blocks(page):
        for shown in commands(kind, code):
            if not is_run(shown.command):
                continue
            if kind == "console":
                ended, printed = terminal.run(shown.command)
            else:
                ended, printed = terminal.run_instead(shown.command, INSTEAD.get(page.name, {}))
            assert ended == FAILS.get(shown.command, 0), f"{shown.command} ended with {ended}:\n{printed}"
            if "not compared" not in before:
                assert_printed(shown, printed)


def test_what_is_replaced_or_not_run_is_still_shown():
    shown = {page.name: "\n".join(all_commands(page)) for page in PAGES}
    everything = "\n".join(shown.values())
    for known in NOT_RUN:
        assert re.search(f"^(?:{known})", everything, re.MULTILINE), known
    for page, instead in INSTEAD.items():
        assert all(words in shown[page] for words in instead), page
