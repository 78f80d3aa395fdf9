"""Memory and speed of encoding a large corpus, and of training from its store.

    python benchmarks/store_memory.py                        # 200,000 documents of 270 words
    python benchmarks/store_memory.py --documents 20000      # a quick look
    python benchmarks/store_memory.py --folder build/memory  # keep corpus and store there, and use them again

The documents are made up: 270 words that follow Zipf's law over 60,000 words, and the labels of one path of a taxonomy
with 100 labels in three levels, which favour some of the words. `taxocaps encode` makes the store, and `taxocaps train`
trains one epoch from it, each in a process of its own whose peak memory is measured by the system. Pages of the
memory-mapped store count into the peak, though the system takes them back when memory is needed: beside the peak stands
the greatest memory without them, looked up ten times a second.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tables import Table, publish

WORDS, VOCABULARY, LABELS = 270, 60_000, 100
OF_LABEL = 20
"""Words that a label favours."""
PROGRAM = (sys.executable, "-m", "taxocaps")
SECONDS_BETWEEN_LOOKS = 0.1


@dataclass(frozen=True)
class Usage:
    """What a process took, in seconds and megabytes; `own` is the greatest memory without mapped files."""

    seconds: float
    cpu_seconds: float
    peak: float
    own: float


def taxonomy_edges() -> list[tuple[str, str]]:
    """100 labels: 5 at the top, 15 below them, 80 below those."""
    tops = [f"top {index}" for index in range(5)]
    middles = [f"middle {index}" for index in range(15)]
    leaves = [f"leaf {index}" for index in range(LABELS - len(tops) - len(middles))]
    edges = [("Root", top) for top in tops]
    edges += [(tops[index % len(tops)], name) for index, name in enumerate(middles)]
    return edges + [(middles[index % len(middles)], name) for index, name in enumerate(leaves)]


def write_corpus(path: Path, taxonomy: Path, documents: int, seed: int = 0) -> None:
    """Write the documents one by one, and their taxonomy."""
    edges = taxonomy_edges()
    parents = {child: parent for parent, child in edges}
    leaves = [name for name in parents if name.startswith("leaf")]
    taxonomy.write_text("".join(f"{a}\t{b}\n" for a, b in edges), encoding="utf-8")
    generator = np.random.default_rng(seed)
    names = np.array([_word(index) for index in range(VOCABULARY)])
    cumulative = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    favoured = generator.integers(1_000, VOCABULARY, (len(leaves), OF_LABEL))
    with path.open("w", encoding="utf-8") as file:
        for index in range(documents):
            leaf = int(generator.integers(len(leaves)))
            length = int(generator.integers(WORDS // 2, WORDS * 3 // 2))
            drawn = np.searchsorted(cumulative, generator.random(length) * cumulative[-1])
            own = generator.random(length) < 0.1
            drawn[own] = favoured[leaf][generator.integers(OF_LABEL, size=int(own.sum()))]
            path = [parents[parents[leaves[leaf]]], parents[leaves[leaf]], leaves[leaf]]
            document = {"id": str(index), "text": " ".join(names[drawn]), "labels": path}
            file.write(json.dumps(document) + "\n")


def _word(index: int) -> str:
    """A word that no lemma list and no stop list knows: only consonants."""
    letters = "bcdfghjklmnpqrstvwxz"
    found = ""
    for _ in range(5):
        index, digit = divmod(index, len(letters))
        found += letters[digit]
    return f"q{found}"


def run(*arguments: object) -> Usage:
    """Run a command, and see what it takes."""
    began = time.perf_counter()
    process = subprocess.Popen([*PROGRAM, *map(str, arguments)], env=os.environ | {"OMP_NUM_THREADS": "1"})
    own, is_over = [0.0], threading.Event()

    def look() -> None:
        while not is_over.wait(SECONDS_BETWEEN_LOOKS):
            own[0] = max(own[0], _own_megabytes(process.pid))

    watcher = threading.Thread(target=look)
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    is_over.set()
    watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"taxocaps {arguments[0]} failed with {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return Usage(time.perf_counter() - began, cpu, usage.ru_maxrss / 1024, own[0])


def _own_megabytes(process: int) -> float:
    """Memory of a process without mapped files, where the system tells it."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("RssAnon")), 0.0)


def measure(folder: Path, documents: int, epochs: int, vectors: str) -> Table:
    """Make the corpus if it is not there, encode it, and train from the store."""
    corpus, taxonomy = folder / f"{documents}.jsonl", folder / "taxonomy.tsv"
    store, model = folder / f"{documents}.store", folder / f"{documents}.model"
    if not corpus.exists():
        write_corpus(corpus, taxonomy, documents)
    network = ("--model", "HE-AGCRCNN", "--preset", "fast")
    costs = {"encode": run("encode", corpus, *network, "--out", store, "--overwrite", "--quiet")}
    options = ("--split-by", "none", "--epochs", epochs, "--vectors", vectors)
    costs["train"] = run("train", store, taxonomy, "--out", model, *network, *options, "--overwrite", "--quiet")
    rows = [
        (
            f"taxocaps {name}",
            f"{cost.peak:,.0f} MB",
            f"{cost.own:,.0f} MB",
            f"{cost.seconds:,.0f} s",
            f"{cost.cpu_seconds:,.0f} s",
            f"{documents / cost.seconds:,.0f}",
        )
        for name, cost in costs.items()
    ]
    size = sum(path.stat().st_size for path in store.rglob("*") if path.is_file()) / 2**20
    trained = f"{epochs} epoch{'s' if epochs > 1 else ''}, word vectors: {vectors}"
    note = f"Preset `fast`, {trained}; the store has {size:,.0f} MB."
    header = ("", "peak memory", "without mapped files", "wall time", "CPU time", "documents/s")
    return Table(
        f"{documents:,} documents of {WORDS} words: encoding, then training from the store", header, rows, note
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--vectors", default="skip-gram", help="none saves half an hour of training word vectors")
    parser.add_argument("--folder", type=Path, help="where corpus, store and model go (default: a temporary folder)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
    with nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory() as folder:
        table = measure(Path(folder), options.documents, options.epochs, options.vectors)
        publish([table], "store-memory", write=options.write)


if __name__ == "__main__":
    main()
