"""Speed and memory of encoding, from tokens to words-matrices, with networkx in the same run.

    python benchmarks/encode.py                      # prints the tables
    python benchmarks/encode.py --write              # also renders docs/performance.md and its plot
    python benchmarks/encode.py --only peer threads  # some of the measurements

Times are CPU seconds, the best of several tries; ratios are of two times of the same run. `--data` names a folder with
prepared data sets (reuters21578, eurlex); without it the embedded corpus is measured.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from measure import cpu_seconds, in_own_process
from networkx_peer import words_matrix
from samples import natural_words, real_documents, sized, write_synthetic
from scale import run
from tables import PERFORMANCE, Table, put_between
from taxocaps import Document, GraphConfig, TextPipeline
from taxocaps.graph.words_matrix import WordsMatrices, encode_documents

ROOT = Path(__file__).parents[1]
WORDS = 8_000_000
LENGTHS = (100, 300, 1_000, 3_000, 10_000, 50_000)
GRAPH = GraphConfig(N=100, K=25, T=20, radius=5)
"""The sizes of the paper, which those of the peer are, too."""
PAPER = "HE-AGCRCNN, sizes of the paper"
READERS = {
    "auto": ["--model=auto"],
    "HE-AGCRCNN": ["--model=HE-AGCRCNN"],
    PAPER: [
        "--model=HE-AGCRCNN",
        *(f"--set=graph.{name}={getattr(GRAPH, name)}" for name in ("N", "K", "T", "radius")),
    ],
}
"""The models that documents are encoded for, with their options."""
STREAM = 200_000


@dataclass(frozen=True)
class Samples:
    """What is measured with."""

    documents: dict[str, list[Document]]

    def short(self, count: int) -> tuple[str, list[list[str]]]:
        """Documents of about 270 kept words: those of the first data set."""
        name, *_ = self.documents
        return f"{name}, 270 words", sized(self.documents[name], 270, count)

    def long(self, count: int) -> tuple[str, list[list[str]]]:
        """Documents of about 1,230 kept words: those of the last data set."""
        *_, name = self.documents
        return f"{name}, 1,230 words", sized(self.documents[name], 1_230, count)


def _pack(documents: list[list[str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    numbers: dict[str, int] = {}
    tokens = np.array([numbers.setdefault(word, len(numbers)) for words in documents for word in words], np.int32)
    offsets = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    return tokens, offsets, np.arange(2, len(numbers) + 2, dtype=np.int32)


def _matrices(documents: list[list[str]], threads: int = 1) -> WordsMatrices:
    return encode_documents(*_pack(documents), GRAPH, threads=threads)


def peer(samples: Samples) -> Table:
    """Tokens to words-matrix, one thread, beside networkx; both must give the same rows."""
    rows = []
    for (name, documents), by_peer in ((samples.short(300), 20), (samples.long(100), 8)):
        packed = _pack(documents)
        ours = cpu_seconds(lambda packed=packed: encode_documents(*packed, GRAPH), 7) / len(documents)
        theirs = cpu_seconds(lambda some=documents[:by_peer]: [words_matrix(words) for words in some], 2) / by_peer
        _check_equal(documents[:by_peer])
        kept = float(np.mean([len(words) for words in documents]))
        distinct = float(np.mean([len(set(words)) for words in documents]))
        rows.append(
            (
                name,
                f"{kept:.0f}",
                f"{distinct:.0f}",
                f"{theirs * 1e3:.1f} ms",
                f"{ours * 1e3:.3f} ms",
                f"{theirs / ours:.0f}x",
            )
        )
    header = ("documents", "words", "distinct", "networkx", "taxocaps", "ratio")
    return Table(
        "Tokens to words-matrix, one thread",
        header,
        rows,
        "CPU time a document; words are those that the text pipeline keeps. The rows of both are equal.",
    )


def _check_equal(documents: list[list[str]]) -> None:
    tokens, offsets, ids = _pack(documents)
    matrices = encode_documents(tokens, offsets, ids, GRAPH)
    words = list(dict.fromkeys(word for document in documents for word in document))
    for number, document in enumerate(documents):
        ours = matrices.words[matrices.offsets[number] : matrices.offsets[number + 1]]
        assert [[words[i - 2] for i in row if i] for row in ours] == words_matrix(document)


def threads(samples: Samples) -> Table:
    """The compiled part on one and two threads, wall time."""
    rows = []
    for name, some in (samples.short(1_000), samples.long(100)):
        documents = some * (2_000 // len(some))  # enough work for the start of the threads not to count
        packed = _pack(documents)
        one, two = (_wall(lambda p=packed, t=t: encode_documents(*p, GRAPH, threads=t)) for t in (1, 2))
        per_second = len(documents) / two
        rows.append((name, f"{one:.3f} s", f"{two:.3f} s", f"{one / two:.2f}x", f"{per_second:,.0f}"))
    header = ("documents", "1 thread", "2 threads", "ratio", "documents/s")
    return Table("Two threads, compiled part", header, rows, "Wall time, the best of seven.")


def _wall(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(7):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def pipeline(samples: Samples) -> Table:
    """The text pipeline by itself, and everything from file to store."""
    rows = []
    for name, documents in samples.documents.items():
        texts = [document.text for document in documents[:4_000]]
        raw = sum(len(text.split()) for text in texts)
        text_pipeline = TextPipeline()
        text_pipeline.tokenize(texts)  # fills the caches, as the first documents of any corpus do
        seconds = cpu_seconds(lambda texts=texts, run=text_pipeline: run.tokenize(texts), 3)
        with tempfile.TemporaryDirectory() as folder:
            corpus = Path(folder) / "corpus.jsonl"
            many = list(islice(cycle(texts), WORDS * len(texts) // raw))
            _write(corpus, many)
            wall = run("encode", corpus, *READERS[PAPER], "--out", Path(folder) / "store").seconds
        rows.append(
            (
                name,
                f"{raw / len(texts):.0f}",
                f"{raw / seconds / 1e6:.2f} M",
                f"{len(texts) / seconds:,.0f}",
                f"{len(many) / wall:,.0f}",
            )
        )
    header = (
        "documents",
        "raw words",
        "words/s, text pipeline",
        "documents/s, text pipeline",
        "documents/s, file to store",
    )
    note = (
        "Text pipeline: one thread, CPU time. File to store: `taxocaps encode` of so many of these documents as have "
        f"{WORDS:,} words, the sizes of the paper, with a process per core, all in, wall time."
    )
    return Table("Text pipeline, and all in", header, rows, note)


def _write(path: Path, texts: list[str]) -> None:
    from taxocaps import write_documents

    write_documents((Document(text) for text in texts), path)


def growth(samples: Samples) -> Table:
    """Time and memory of one document against its length, on natural text and on all-distinct words."""
    text = natural_words([d for documents in samples.documents.values() for d in documents], max(LENGTHS))
    rows, points = [], []
    for length in LENGTHS:
        natural = in_own_process(_encode_one, text[:length])
        distinct = in_own_process(_encode_one, [str(number) for number in range(length)])
        points.append((length, natural.result, distinct.result))
        rows.append(
            (
                f"{length:,}",
                f"{len(set(text[:length])):,}",
                f"{natural.result:.4f} s",
                f"{natural.peak_megabytes:.0f} MB",
                f"{distinct.result:.4f} s",
                f"{distinct.peak_megabytes:.0f} MB",
            )
        )
    _plot(points, ROOT / "docs" / "images" / "growth.png")
    header = ("words", "distinct (natural)", "natural", "peak", "all distinct", "peak")
    note = "CPU time a document, hop distances; peak memory of the whole process, libraries included.\n\n"
    return Table("Growth with the length of a document", header, rows, note + "![growth](images/growth.png)")


def _encode_one(words: list[str]) -> float:
    packed = _pack([words])
    encode_documents(*_pack([["warm", "up"]]), GRAPH)
    return cpu_seconds(lambda: encode_documents(*packed, GRAPH), 1 if len(words) > 5_000 else 20)


def _plot(points: list[tuple[int, float, float]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    lengths, natural, distinct = zip(*points, strict=True)
    figure, axes = plt.subplots(figsize=(6, 3.6))
    axes.loglog(lengths, natural, "o-", label="natural text")
    axes.loglog(lengths, distinct, "s--", label="all words distinct")
    axes.set(xlabel="words in the document", ylabel="CPU seconds")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def stream(samples: Samples) -> Table:
    """200,000 documents through `taxocaps encode`: running text cut to a length, and made-up words."""
    name, *_ = samples.documents
    text = " ".join(document.text for document in samples.documents[name]).split()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.jsonl"
        for length in (129, 270):
            cuts = (" ".join(text[start : start + length]) for start in range(0, len(text) - length, length))
            _write(corpus, list(islice(cycle(list(cuts)), STREAM)))
            rows += [_streamed(corpus, f"{name}, {length} words", reader) for reader in READERS]
        write_synthetic(corpus, STREAM)
        rows.append(_streamed(corpus, "100,000 made-up words, 270 each, no stop words", PAPER))
    header = ("documents", "for", "documents/s", "CPU a document", "peak memory, driver", "peak memory, largest worker")
    note = f"{STREAM:,} documents, with a process per core, all in. Documents a second by wall time."
    return Table("A stream of documents, file to store", header, rows, note)


def _streamed(corpus: Path, documents: str, reader: str) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as folder:
        used = run("encode", corpus, *READERS[reader], "--out", Path(folder) / "store")
    speed, each = f"{STREAM / used.seconds:,.0f}", f"{used.cpu_seconds / STREAM * 1e3:.3f} ms"
    return documents, reader, speed, each, f"{used.driver:.0f} MB", f"{used.worker:.0f} MB"


def compilation(_samples: Samples) -> Table:
    """What the first call costs, and what it costs once the kernels are cached."""
    code = (
        "import time, numpy as np; from taxocaps.graph.words_matrix import encode_documents; "
        "from taxocaps import GraphConfig; begin = time.process_time(); "
        "encode_documents(np.zeros(1, np.int32), np.array([0, 1]), np.ones(1, np.int32), GraphConfig()); "
        "print(time.process_time() - begin)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        first, second = (
            float(
                subprocess.run(
                    [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
                ).stdout
            )
            for _ in range(2)
        )
    header = ("first call ever", "first call of a later process")
    note = "CPU time, numba's own import included. Compiled kernels are kept on disk."
    return Table("Compiling the kernels", header, [(f"{first:.1f} s", f"{second:.2f} s")], note)


MEASUREMENTS = {work.__name__: work for work in (peer, threads, pipeline, growth, stream, compilation)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="prepared data sets")
    parser.add_argument("--only", nargs="*", choices=list(MEASUREMENTS), help="measure only these")
    parser.add_argument("--write", action="store_true", help="render docs/performance.md")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write renders all tables; leave --only out")
    samples = Samples(real_documents(options.data))
    tables = []
    for name in options.only or MEASUREMENTS:
        tables.append(MEASUREMENTS[name](samples))
        print(tables[-1].markdown(), flush=True)
    if options.write:
        _write_pages(tables)


def _write_pages(tables: list[Table]) -> None:
    """All tables into docs/performance.md, and the first into the README."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    head = f"Rendered by `python benchmarks/encode.py --write` on {machine}.\n"
    put_between(PERFORMANCE, "encode", "\n".join([head, *(table.markdown() for table in tables)]))
    put_between(ROOT / "README.md", "speed", tables[0].body())
    print("written to docs/performance.md and README.md")


if __name__ == "__main__":
    main()
