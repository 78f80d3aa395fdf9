"""Commands on a machine that fails: they are started at once, with limits, and killed; and what they must leave behind.

A *place* is a folder with documents, a taxonomy, models and a store of feedback. Each command is tried in a copy of it.
"""

import contextlib
import hashlib
import itertools
import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from taxocaps.corpus.document import Document
from taxocaps.corpus.writers import write_documents
from taxocaps.datasets import toy
from taxocaps.feedback.corrections import read_corrections
from taxocaps.taxonomy.writers import write_taxonomy

LONGEST = 300
"""Seconds that a command may take on a busy machine."""
COPIES = 8
"""How many times each toy document is in a place, in other words each time."""
LINEAR = ("--model", "SVM", "--set", "bag.min_documents=1")
NETWORK = ("model=HE-AGCRCNN", "vocabulary.min_count=1", "vectors.dimension=8", "vectors.epochs=1", "training.epochs=3")
NETWORK += ("network.filters=[8,8]", "network.units=8", "network.channels=4", "network.capsule_size=4")
NETWORK += ("network.label_capsule_size=4", "network.hidden=[8]", "network.head_filters=8", "walks.length=20")
NETWORK += ("label_vectors.dimension=8", "training.min_steps=0", "training.batch_size=32", "training.device=cpu")
TOLD = ("report.html", "README.md", "metrics.json", "versions.json", "manifest.json", "history.csv")
"""Files of models and stores that tell when, how long or where they were made."""


def hashes(path):
    """What a file or folder holds, but for hidden files and what tells when and how long."""
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    return {
        one.relative_to(path.parent).as_posix(): hashlib.sha256(one.read_bytes()).hexdigest()
        for one in files
        if one.name not in TOLD and not any(part.startswith(".") for part in one.relative_to(path.parent).parts)
    }


def reviewed(path):
    """What reviewers have said, by a database that is whole."""
    if not path.exists():
        return {}
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return {one.id: [one.text, one.labels] for one in read_corrections(path)}


def options_tried(path):
    """The trials of a search: which options the first one had, how good it was, and how many there were."""
    if not (path / "best.yaml").exists():
        return {}
    lines = [json.loads(line) for line in (path / "journal.jsonl").read_text().splitlines()]
    values = [one["values"] for one in lines if one.get("values")]
    return {"first": values[0], "trials": len(values)}


@dataclass(frozen=True)
class Command:
    """A command line and what it makes.

    Attributes:
        words: The command line.
        out: What it makes, in the place.
        again: The words that continue it, if they are others.
        holds: What is in a result; equal results hold the same.
        replaces: Whether a result is there before, which stays until another one is complete.
    """

    words: tuple[str, ...]
    out: str
    again: tuple[str, ...] = ()
    holds: Callable = hashes
    replaces: bool = False

    def content(self, place):
        """What the result in a place holds; nothing if there is none."""
        path = place / self.out
        return self.holds(path) if path.exists() else {}


_TRAIN = ("train", "docs.jsonl", "taxonomy.tsv", "--out", "new")
_SETS = tuple(word for one in NETWORK for word in ("--set", one))
COMMANDS = {
    "encode": Command(("encode", "docs", "--out", "store", "--model", "SVM", "--jobs", "1"), "store"),
    "train, linear": Command((*_TRAIN, *LINEAR, "--overwrite"), "new", (*_TRAIN, *LINEAR, "--resume")),
    "train, network": Command((*_TRAIN, *_SETS, "--overwrite"), "new", (*_TRAIN, *_SETS, "--resume")),
    "predict": Command(("predict", "linear", "docs", "--output", "labels.jsonl", "--jobs", "1"), "labels.jsonl"),
    "learn": Command(("learn", "linear", "--feedback", "fixes.jsonl", "--anyway"), "linear", replaces=True),
    "tune": Command(
        ("tune", "docs.jsonl", "taxonomy.tsv", *LINEAR, "--space", "linear.C", "--trials", "3", "--out", "search"),
        "search",
        holds=options_tried,
    ),
    "encode --jobs": Command(("encode", "docs", "--out", "store", "--model", "SVM", "--jobs", "2"), "store"),
    "predict --jobs": Command(("predict", "linear", "docs", "--output", "labels.jsonl", "--jobs", "2"), "labels.jsonl"),
    "feedback": Command(("feedback", "import", "f.sqlite", "fixes.jsonl"), "f.sqlite", holds=reviewed),
}


def make_place(folder):
    """Write a place; models are trained by the command line."""
    (folder / "docs").mkdir(parents=True)
    data = toy.load()
    documents = [one for _, one in data.documents()]
    copies = [
        [replace(one, id=f"{one.id}-{number}", text=f"{one.text} Number {number}.", split=None) for one in documents]
        for number in range(COPIES)
    ]
    for number, some in enumerate(copies):
        write_documents(some, folder / "docs" / f"{number}.jsonl")
    write_documents(itertools.chain(*copies), folder / "docs.jsonl")
    fixes = [Document(f"{one.text} Number {COPIES}, corrected.", f"{one.id}-fix", one.labels) for one in documents]
    write_documents(fixes, folder / "fixes.jsonl")
    write_taxonomy(data.taxonomy, folder / "taxonomy.tsv")
    ended = run(("train", "docs.jsonl", "taxonomy.tsv", *LINEAR, "--out", "linear"), folder)
    assert ended.code == 0, ended.message


@dataclass(frozen=True)
class Ended:
    """How a command has ended: its exit code, and what it said on standard error."""

    code: int
    message: str

    def check_refused(self):
        """It ended with code 2 and one line about what went wrong, after lines that tell where it stood."""
        assert self.code == 2, (self.code, self.message[-2_000:])
        assert "Traceback" not in self.message, self.message[-3_000:]
        assert sum(line.startswith("error: ") for line in self.message.splitlines()) == 1, self.message[-2_000:]


FORKS = multiprocessing.get_context("forkserver")
"""Processes that have loaded all libraries when they start, which takes most of the time of short commands."""
FORKS.set_forkserver_preload(
    ["lightning", "gensim.models", "optuna", "taxocaps.cli.main", "taxocaps.scorers.network", "taxocaps.scorers.linear"]
    + [f"taxocaps.workflows.{name}" for name in ("encode", "train", "predict", "learn", "tune", "feedback")]
)


class Running:
    """A command that runs; it and all of its processes are killed together."""

    def __init__(self, words, place, prepare=None):
        descriptor, name = tempfile.mkstemp()
        self._said = Path(name)
        if "2" in words:  # processes of its own, which must be started by a fresh one
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": descriptor}
            command = [sys.executable, "-m", "taxocaps", *words]
            self._process = subprocess.Popen(command, cwd=place, start_new_session=True, **streams)
        else:
            self._process = FORKS.Process(target=_command, args=(words, place, self._said, prepare))
            self._process.start()
        os.close(descriptor)

    def kill(self, number=signal.SIGKILL):
        """Kill the command, if it has not ended."""
        for one in (os.killpg, os.kill):  # it may not have made its own group yet
            with contextlib.suppress(ProcessLookupError):
                return one(self._process.pid, number)
        return None

    def end(self, seconds=LONGEST):
        """Wait for its end."""
        code = self._wait(seconds)
        if code is None:
            self.kill()
            raise TimeoutError(f"a command took more than {seconds} s: {self._said.read_text(errors='replace')}")
        message = self._said.read_text(errors="replace")
        self._said.unlink()
        return Ended(code, message)

    def _wait(self, seconds):
        if isinstance(self._process, subprocess.Popen):
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._process.wait(seconds)
            return None
        self._process.join(seconds)
        return self._process.exitcode

    def processes(self):
        """The processes that work for the command."""
        with contextlib.suppress(OSError):
            found = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
            return [int(one) for one in found if b"popen_loky" in Path(f"/proc/{one}/cmdline").read_bytes()]
        return []


def run(words, place, prepare=None):
    """Run a command in a process that has all libraries loaded."""
    return Running(words, place, prepare).end()


def _command(words, place, said, prepare):
    from taxocaps.cli.main import main

    os.setsid()
    os.chdir(place)
    for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, os.devnull, os.O_WRONLY), (2, said, _NEW)):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    if prepare is not None:
        prepare()
    main(list(words))


_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def execute(words, place, prepare=None, environment=None, **streams):
    """Run a command as a shell does, from the start of Python on."""
    done = subprocess.run(
        [sys.executable, "-m", "taxocaps", *words],
        cwd=place,
        env={**os.environ, **(environment or {})},
        preexec_fn=prepare,
        timeout=LONGEST,
        check=False,
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **streams},
    )
    return Ended(done.returncode, (done.stderr or b"").decode(errors="replace"))


class Trial:
    """A command in a copy of a place: what it makes after a fault, and after being given again."""

    def __init__(self, name, original, expected, folder):
        self.command, self.expected = COMMANDS[name], expected[name]
        self.place = folder / "place"
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(original, self.place)
        self.before = self.command.content(self.place)

    def check_nothing_half(self):
        """What is there is what was there before, or complete; returns whether it is complete."""
        found = self.command.content(self.place)
        if self.command.holds is hashes:
            assert found in (self.before, self.expected, {}), sorted(found)
            assert found or not self.command.replaces, "what was there before is gone"
        return found == self.expected

    def check_again(self, runner=run):
        """The same command, or the one that continues, completes the work; the result is as if nothing had been."""
        if not self.check_nothing_half():
            ended = runner(self.command.again or self.command.words, self.place)
            assert ended.code == 0, ended.message[-3_000:]
            assert self.command.content(self.place) == self.expected
            left = [path.name for path in self.place.iterdir() if path.name.startswith(".")]
            assert not left, left


def usual(original, folder):
    """What each command makes where nothing fails, and the seconds that it takes."""
    contents, seconds = {}, {}
    for name, command in COMMANDS.items():
        place = folder / "usual"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(original, place)
        begin = time.monotonic()
        ended = run(command.words, place)
        seconds[name] = time.monotonic() - begin
        assert ended.code == 0, (name, ended.message)
        contents[name] = command.content(place)
        assert contents[name], name
    return contents, seconds
