"""What the documentation shows is so: its commands run, its options exist, and the site builds.

Blocks of the kind `console` are run, in the order of the page, in a folder with files of the names that they speak of.
Lines below a command are what it prints, `...` what is left out, unless a comment `not compared` is before the block.
Blocks of the kind `sh` need a cluster, hours, or data of others: their commands are only parsed.
"""

import functools
import gzip
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import typer

import taxocaps
from taxocaps.cli.main import app, main
from taxocaps.corpus.writers import write_documents
from taxocaps.datasets import toy
from taxocaps.taxonomy.writers import write_taxonomy
from taxocaps.workflows.config import resolve_run_config

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
KINDS = {"console", "sh", "python", "json", "toml", "ini", "nginx", "caddy", "dockerfile", "text"}
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
SMALL_NETWORK = ["--epochs", "1", "--set", "training.min_steps=0", "--set", "prior.kind=none"]
QUICK = {
    ("train", "HE-AGCRCNN"): SMALL_NETWORK,
    ("taxonomy", "embed"): ["--set", "label_vectors.epochs=1"],
    ("taxonomy", "reconstruct"): ["--set", "label_vectors.epochs=1"],
    ("tune",): ["--trials", "2"],
}
"""Options that make a command quick; what it does is tested elsewhere."""
FAILS = {"taxocaps taxonomy check broken.tsv": 2}
"""Exit codes of commands that are shown because they find something wrong."""


@dataclass
class Shown:
    """A command of a page and the lines that are shown below it."""

    command: str
    printed: list[str] = field(default_factory=list)


def blocks(page):
    """The blocks of code of a page: what comes before, the kind, and the code."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"([^\n]*)\n```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def session(code):
    """The commands of a block of the kind `console`."""
    found = []
    for line in code.splitlines():
        if line.startswith("$ "):
            found.append(Shown(line.removeprefix("$ ")))
        elif found and is_open(found[-1].command):
            found[-1].command += "\n" + line
        elif found:
            found[-1].printed.append(line)
    return found


def is_open(command):
    """Whether a command goes on in the next line."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return command.rstrip().endswith(("\\", "|"))


def words_of(command):
    """The words after `taxocaps` of a command line; None if it runs something else."""
    with suppress(ValueError):
        words = shlex.split(command, comments=True)
        if "taxocaps" in words:
            return words[words.index("taxocaps") + 1 :]
    return None


def parsed_lines():
    """All command lines of `taxocaps` in blocks, with their pages."""
    for page in PAGES:
        for _, kind, code in blocks(page):
            whole = re.sub(r"\\\n\s*", "", code)
            lines = [one.command for one in session(code)] if kind == "console" else whole.splitlines()
            for line in lines if kind in ("console", "sh") else ():
                if not line.startswith("pip ") and words_of(line):
                    yield pytest.param(words_of(line), id=f"{page.stem}: {line.partition(' #')[0]}")


@functools.cache
def command_line():
    """The commands as typer has them, which do not look for the files that they are given."""
    return without_callbacks(typer.main.get_command(app))


def without_callbacks(command):
    for parameter in command.params:
        parameter.callback = None
    for one in getattr(command, "commands", {}).values():
        without_callbacks(one)
    return command


def find_command(words):
    """The command that some words call, and the words that are left for it."""
    command = command_line()
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("words", list(parsed_lines()))
def test_command_lines_parse(words):
    command, rest = find_command(words)
    assert not hasattr(command, "commands"), f"no command is called {rest[:1]}"
    given = command.make_context("taxocaps", list(rest)).params
    if given.get("settings") and "serve" not in words:
        model = [f"model={given['model']}"] if given.get("model") else []
        resolve_run_config(overrides=[*model, *given["settings"]])


def test_options_named_in_the_text_exist():
    checked = 0
    for page in PAGES:
        for code in re.findall(r"(?<!`)`taxocaps ([a-z][^`]*)`(?!`)", prose(page)):
            command, rest = find_command(code.split())
            options = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}
            for option in re.findall(r"--[a-z-]+", " ".join(rest)):
                assert option in options, f"{page.name}: `taxocaps {code}`"
                checked += 1
    assert checked > 10


def prose(page):
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page):
    for _, kind, code in blocks(page):
        assert kind in KINDS, f"```{kind}\n{code}"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A linear model of the toy documents."""
    folder = tmp_path_factory.mktemp("documentation")
    files(folder)
    out = folder / "model"
    taxocaps.train(folder / "train.jsonl", out, taxonomy=folder / "labels.tsv", test=folder / "test.jsonl", model="SVM")
    return out


def files(folder):
    """The files that the pages speak of."""
    data = toy.load()
    documents = [replace(document, split=None, id=str(n)) for n, (_, document) in enumerate(data.documents(), 1)]
    for name in ("train", "test", "documents", "news", "new", "unlabelled"):
        write_documents(documents, folder / f"{name}.jsonl")
    corrected = [replace(document, text=f"Corrected: {document.text}", id=f"c{document.id}") for document in documents]
    write_documents(corrected, folder / "corrected.jsonl")
    (folder / "project-1-at-2026-11-17.json").write_text(
        json.dumps(
            [
                {
                    "id": 1,
                    "annotation_id": 7,
                    "text": "Twelve aces on the grass court.",
                    "labels": {"choices": ["Tennis", "Sport"]},
                }
            ]
        )
    )
    for name in ("articles.csv", "documents.csv"):
        write_documents(documents, folder / name)
    for name in ("labels.tsv", "new.ttl", "subjects.tsv"):
        write_taxonomy(data.taxonomy, folder / name)
    shutil.copy(folder / "labels.tsv", folder / "new.tsv")
    texts = [document.text.replace(";", ",").replace("\n", " ") for document in documents]
    labels = ["|".join(document.labels) for document in documents]
    rows = [f"{text[:20]};{text};{names}" for text, names in zip(texts, labels, strict=True)]
    for name in ("news.csv", "new.csv"):
        table = "\n".join(["Headline;Body;Topics", *rows, "Café;A café in town.;Sport"])
        (folder / name).write_bytes(table.encode("cp1252"))
    for name in ("news", "test", "examples"):
        (folder / name).mkdir()
    write_documents(documents, folder / "test" / "part.jsonl")
    write_documents(documents, folder / "news" / "2024-01.jsonl.zst")
    with gzip.open(folder / "news" / "a.jsonl.gz", "wb") as packed:
        packed.write((folder / "train.jsonl").read_bytes())
    shutil.copy(ROOT / "examples" / "musk.txt", folder / "examples")


class Terminal:
    """Runs the commands of a page one after the other; a server stays until the next one, or the end."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys, self.server = folder, capsys, None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        (folder / ".curlrc").write_text("fail\nsilent\nshow-error\n")
        self.environment = {**os.environ, "CURL_HOME": str(folder), "COLUMNS": "120"}

    def run(self, command):
        """Returns the exit code and all that was printed."""
        words = words_of(command)
        if not command.startswith("taxocaps ") or words is None:
            return self.shell(command.replace(":8000", f":{self.port}"))
        if words[0] == "serve":
            return self.serve(words)
        extra = next((options for known, options in QUICK.items() if set(known) <= set(words)), [])
        with pytest.raises(SystemExit) as ended:
            main([*words, *extra])
        captured = self.capsys.readouterr()
        return ended.value.code, captured.err + captured.out

    def shell(self, command):
        options = {"shell": True, "executable": shutil.which("bash"), "env": self.environment, "cwd": self.folder}
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, **options)
        return done.returncode, done.stderr + done.stdout

    def serve(self, words):
        self.close()
        line = [sys.executable, "-m", "taxocaps", *words]
        line = [*line, "--port", self.port] if "--port" not in words else [*line[:-1], self.port]
        self.server = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=self.environment, cwd=self.folder)
        printed = []
        for printed_line in self.server.stderr:
            printed.append(printed_line)
            if "; Ctrl-C stops" in printed_line:
                return 0, "".join(printed)
        return self.server.wait(), "".join(printed)

    def close(self):
        if self.server is not None:
            self.server.terminate()
            assert self.server.wait(60) == 0
            self.server.stderr.close()


@pytest.fixture
def terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    files(tmp_path)
    opened = Terminal(tmp_path, capsys)
    yield opened
    opened.close()


def assert_printed(shown, printed):
    """Every line that is shown was printed, in this order."""
    lines = iter([line.strip() for line in printed.splitlines()])
    for line in map(str.strip, shown.printed):
        if line and line != "...":
            assert any(line == found for found in lines), f"{shown.command} did not print {line!r}:\n{printed}"


RUN = [page for page in PAGES if any(kind == "console" for _, kind, _ in blocks(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_commands_run_and_print_what_is_shown(page, terminal, trained):
    for name in MODELS.get(page.name, ()):
        shutil.copytree(trained, terminal.folder / name)
        terminal.run(f"taxocaps feedback import {name} corrected.jsonl")
    for before, kind, code in blocks(page):
        for shown in session(code) if kind == "console" else ():
            ended, printed = terminal.run(shown.command)
            assert ended == FAILS.get(shown.command, 0), f"{shown.command} ended with {ended}:\n{printed}"
            if "not compared" not in before:
                assert_printed(shown, printed)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_has_every_public_name(tmp_path):
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(build, check=False, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    for name in set(taxocaps.__all__) - {"__version__"}:
        assert f'id="taxocaps.{name}"' in page, f"docs/api.md does not have {name}"
