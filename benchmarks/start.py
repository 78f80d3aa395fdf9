"""What the first prediction of a fresh install costs, and what later ones do.

    python benchmarks/start.py            # prints the table
    python benchmarks/start.py --write    # also puts it into docs/performance.md

The package is copied without anything that was compiled, neither bytecode nor kernels; then `taxocaps predict` runs
some times. Times are CPU seconds of the whole process, user and system. Models are trained on the embedded corpus.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import taxocaps
from measure import process_seconds
from tables import Table, publish
from taxocaps.datasets import toy

LIMIT = 3.0
"""CPU seconds that the first prediction may take."""
SENTENCE = ("--text", "Astronomers followed the orbit of the comet.")
COPIES = 20


def measure(tries: int) -> list[tuple[str, float, float]]:
    """What is predicted with what, and CPU seconds: of the first time, and the best of the next ones."""
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        models = _trained(folder)
        inputs = {"a sentence": SENTENCE, f"{_write_documents(folder / 'many.jsonl'):,} documents": ("many.jsonl",)}
        for model in models:
            for name, arguments in inputs.items():
                first, *later = _fresh(folder, [model, *arguments], 1 + tries)
                found.append((f"{model}, {name}", first, min(later)))
    return found


def table() -> Table:
    """The first prediction beside its limit."""
    rows = [(name, f"{first:.2f} s", f"{later:.2f} s", f"{LIMIT:.0f} s") for name, first, later in measure(2)]
    header = ("`taxocaps predict`", "first use", "later", "limit of the first")
    note = "CPU time of the whole process. First use: neither bytecode nor kernels were compiled before."
    return Table("The first prediction of a fresh install", header, rows, note)


def _trained(folder: Path) -> list[str]:
    data = toy.load()
    taxocaps.write_documents(data.splits["train"], folder / "train.jsonl")
    taxocaps.write_taxonomy(data.taxonomy, folder / "taxonomy.tsv")
    for model in ("SVM", "auto"):
        taxocaps.train(folder / "train.jsonl", folder / model, taxonomy=folder / "taxonomy.tsv", model=model)
    return ["SVM", "auto"]


def _write_documents(path: Path) -> int:
    documents = [document for _, document in toy.load().documents()] * COPIES
    taxocaps.write_documents((taxocaps.Document(document.text) for document in documents), path)
    return len(documents)


def _fresh(folder: Path, arguments: list[str], times: int) -> list[float]:
    """CPU seconds of so many runs of a new copy of the package."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "taxocaps"
        shutil.copytree(Path(taxocaps.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
        places = {"PYTHONPATH": temporary, "XDG_CACHE_HOME": temporary}
        environment = {**os.environ, **places}
        for name in ("NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        model, *rest = arguments
        inputs = [str(folder / name) if name.endswith(".jsonl") else name for name in rest]
        command = [sys.executable, "-m", "taxocaps", "predict", str(folder / model), *inputs]
        return [process_seconds(command, environment) for _ in range(times)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    publish([table()], "start", write=options.write)


if __name__ == "__main__":
    main()
