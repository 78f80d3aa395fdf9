"""The way of one document through the package: how often it is tokenised and encoded, and how much code it passes.

    python benchmarks/walk.py                # a Markdown table
    python benchmarks/walk.py --json
    python benchmarks/walk.py --write        # into docs/performance.md, too
    python benchmarks/walk.py --skip-start   # without the CPU time of starting commands

A linear model and a small network are trained on the toy corpus; then one of its documents is trained with, labelled,
explained and sent to a server; `predict` loads the model first, `predict, loaded` does not. Counted are the functions
of the package that are called on the way, the files that they are in, and the greatest number of them that are on the
stack at once, from the entry function on; comprehensions, generator expressions and the bodies of modules and classes
are not functions. Everything runs once before it is counted, so that imports and caches do not count. Last, the CPU
time (user and system) of whole processes of some commands, the best of three.
"""

import argparse
import dataclasses
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import taxocaps
from measure import process_seconds
from tables import Table, publish
from taxocaps.datasets import toy

PACKAGE = str(Path(taxocaps.__file__).parent) + os.sep
PROGRAM = (sys.executable, "-m", "taxocaps")
TRIES = 3
MODELS: dict[str, dict[str, Any]] = {
    "SVM": {"model": "SVM"},
    "network": {
        "model": "HE-AGCRCNN",
        "preset": "fast",
        "training__epochs": 2,
        "training__min_steps": 0,
        "vectors__source": "none",
        "vectors__dimension": 8,
        "vocabulary__min_count": 1,
        "prior__kind": "none",  # a linear model of its own would make bags of the same words, too
    },
}


@dataclass(frozen=True)
class Walk:
    """What happened to one document; None where it is not known.

    Attributes:
        tokenised: How often its text became words.
        encoded: How often its words became what the model reads: a words-matrix, or a bag of words.
        functions: Distinct functions that were called.
        files: The files that these are in.
        depth: Functions on the stack at once, at most.
    """

    tokenised: int | None = None
    encoded: int | None = None
    functions: int | None = None
    files: int | None = None
    depth: int | None = None


BEFORE: dict[tuple[str, str], Walk] = {
    ("train", "SVM"): Walk(tokenised=2, encoded=2),
    ("train", "network"): Walk(tokenised=2, encoded=2),
    ("predict", "SVM"): Walk(functions=136, files=36, depth=13),
    ("predict", "network"): Walk(functions=193, files=49, depth=14),
    ("predict, loaded", "SVM"): Walk(functions=33, files=13, depth=8),
    ("predict, loaded", "network"): Walk(functions=70, files=27, depth=13),
    ("explain", "SVM"): Walk(tokenised=6, encoded=3),
    ("explain", "network"): Walk(tokenised=6, encoded=3),
    ("serve, explain", "SVM"): Walk(tokenised=8),
    ("serve, explain", "network"): Walk(tokenised=8),
}
"""The state before documents became one stream (9a92a15). Functions, files and depth are counted by this script, on the
same corpus with the same models. How often a document was tokenised and encoded was found in a review of the code:
validation documents twice in training; in an explanation six times and three times, and eight times in a server. (The
review had 109 functions in 36 files, 14 frames deep, for labelling one document, by a rule of its own.)"""


@dataclass
class Walker:
    """Follows one document through all threads that begin while it is walking."""

    text: str
    words: list[str]
    codes: set[Any] = field(default_factory=set)
    depth: int = 0
    tokenised: int = 0
    encoded: int = 0

    @contextmanager
    def walking(self) -> Iterator[None]:
        """Count what is called inside the block."""
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def result(self) -> Walk:
        """What was counted so far."""
        files = {code.co_filename for code in self.codes}
        return Walk(self.tokenised, self.encoded, len(self.codes), len(files), self.depth)

    def _see(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or not _is_ours(frame):
            return
        is_new = frame.f_lasti <= _first_instruction(frame)  # a generator is called once and resumed often
        self.codes.add(frame.f_code)
        self.depth = max(self.depth, _depth(frame))
        if is_new:
            self._count(frame.f_code.co_qualname, frame.f_locals)

    def _count(self, name: str, values: dict[str, Any]) -> None:
        if name == "TextPipeline._document_pieces":
            self.tokenised += values["content"] == self.text
        elif name == "TextPipeline._scan":
            self.tokenised += list(values["contents"]).count(self.text)
        elif name == "WordsMatrixEncoder.encode":
            self.encoded += self._is_in(values["tokens"])
        elif name == "BagOfWords.transform":
            self.encoded += any(map(self._is_in, values["documents"].token_chunks()))

    def _is_in(self, tokens: Any) -> bool:
        return any(words == self.words for words in tokens.documents())


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(PACKAGE) and _is_function(frame)


def _is_function(frame: FrameType) -> bool:
    code = frame.f_code
    is_optimised = bool(code.co_flags & 1)  # neither a module nor a class
    return is_optimised and code.co_name not in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def _first_instruction(frame: FrameType) -> int:
    """Where a frame stands when it is called and not resumed."""
    is_generator = bool(frame.f_code.co_flags & 0x220)
    return 10 if is_generator else sys.maxsize


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        depth += _is_ours(frame)
        frame = frame.f_back
    return depth


def ways(models: dict[str, Path], data: Path, scratch: Path) -> Iterator[tuple[str, str, Walk]]:
    """Each command with each model, and what happened to the document."""
    from taxocaps.scorers.persistence import load_model
    from taxocaps.workflows.explain import explain
    from taxocaps.workflows.predict import predict_documents

    (document, *_) = taxocaps.read_documents(data / "dev.jsonl")
    for name, folder in models.items():
        words = taxocaps.TextPipeline().tokenize([document.text]).document(0)

        def follow(work: Callable[[], object], words: list[str] = words) -> Walk:
            work()
            walker = Walker(document.text, words)
            with walker.walking():
                work()
            return walker.result()

        def train(name: str = name) -> None:
            _train(name, data, Path(tempfile.mkdtemp(dir=scratch)) / "model")

        yield "train", name, follow(train)
        yield "predict", name, follow(lambda folder=folder: list(predict_documents(load_model(folder), [document])))
        fitted = load_model(folder)
        yield "predict, loaded", name, follow(lambda fitted=fitted: list(predict_documents(fitted, [document])))
        yield "explain", name, follow(lambda folder=folder: explain(folder, document.text))
        for task in ("predict", "explain"):
            yield f"serve, {task}", name, follow(lambda folder=folder, task=task: _serve(folder, task, document.text))


def _train(name: str, data: Path, out: Path) -> None:
    options = {"taxonomy": data / "taxonomy.tsv", "dev": data / "dev.jsonl"} | MODELS[name]
    taxocaps.train(data / "train.jsonl", out, **options)


def _serve(folder: Path, task: str, text: str) -> None:
    """One request to a server inside this process; loading the model labels another text."""
    from starlette.testclient import TestClient

    from taxocaps.web.api import Service
    from taxocaps.workflows.serve import load_models

    with TestClient(Service(load_models([folder])).app) as client:
        response = client.post(f"/v1/{task}", json={"text": text})
        assert response.status_code == 200, response.text


def start_seconds(models: dict[str, Path], data: Path) -> dict[str, float]:
    """CPU seconds of some commands."""
    text = ("--text", "Astronomers followed the orbit of the comet.")
    commands = {
        "taxocaps --version": ("--version",),
        "taxocaps --help": ("--help",),
        "taxocaps predict SVM --text ...": ("predict", str(models["SVM"]), *text),
        "taxocaps predict NOWHERE --text ...": ("predict", str(data / "NOWHERE"), *text),
        "taxocaps taxonomy show FILE": ("taxonomy", "show", str(data / "taxonomy.tsv")),
    }
    with tempfile.TemporaryDirectory() as cache:  # as of an installed package, whose bytecode is there
        environment = os.environ | {"PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for arguments in commands.values():
            process_seconds([*PROGRAM, *arguments], environment)
        return {
            name: min(process_seconds([*PROGRAM, *arguments], environment) for _ in range(TRIES))
            for name, arguments in commands.items()
        }


def walk_table(walks: list[tuple[str, str, Walk]]) -> Table:
    """What happened to the document, beside what happened to it before."""
    names = [one.name for one in dataclasses.fields(Walk)]
    rows = []
    for command, model, walk in walks:
        before = BEFORE.get((command, model), Walk())
        cells = [_cell(getattr(before, name), getattr(walk, name)) for name in names]
        rows.append((f"{command}, {model}", *cells))
    note = "A number after an arrow is measured; the one before it is that of the state before the stream."
    return Table("One document", ("", *names), rows, note)


def _cell(before: int | None, after: int | None) -> str:
    return f"{after}" if before is None else f"{before} → {after}"


def start_table(seconds: dict[str, float]) -> Table:
    """CPU time of starting commands."""
    rows = [(f"`{name}`", f"{value:.2f} s") for name, value in seconds.items()]
    return Table("Starting a command", ("", "CPU time"), rows, f"User and system time, the best of {TRIES}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--skip-start", action="store_true", help="do not measure how commands start")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _write_toy(folder)
        models = {name: folder / name for name in MODELS}
        for name, path in models.items():
            _train(name, folder, path)
        walks = list(ways(models, folder, folder))
        seconds = {} if options.skip_start else start_seconds(models, folder)
    if options.json:
        found = [{"command": command, "model": model, **vars(walk)} for command, model, walk in walks]
        before = [{"command": command, "model": model, **vars(walk)} for (command, model), walk in BEFORE.items()]
        print(json.dumps({"before": before, "walks": found, "start": seconds}, indent=2))
        return
    publish([walk_table(walks), *([start_table(seconds)] if seconds else [])], "walk", write=options.write)


def _write_toy(folder: Path) -> None:
    data = toy.load()
    for name, documents in data.splits.items():
        taxocaps.write_documents(documents, folder / f"{name}.jsonl")
    taxocaps.write_taxonomy(data.taxonomy, folder / "taxonomy.tsv")


if __name__ == "__main__":
    main()
