"""The speed of everything in a few minutes, each figure beside a limit measured in the same process.

    python benchmarks/bench.py                    # compare with the figures in benchmarks/results/bench.jsonl
    python benchmarks/bench.py --only linear auto # some of the parts
    python benchmarks/bench.py --write            # put the figures there, and into docs/performance.md

A limit is what the least possible work on the same documents takes: `json` reads their lines, `regex` finds their
words, `sgemm` multiplies as much as the network, in one product of large matrices; a server's is FastAPI alone, and a
command's the import of the libraries that it needs. Work and limit take turns; of each the best of some tries counts,
in CPU time. Other work on the machine slows both, so their ratio is compared with the ratio that is on file: every row
that is 20 % slower is named, and the exit code is 1.
"""

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import linear
import networks
import serve
import start
from encode import GRAPH, _pack
from measure import in_own_process, process_seconds
from tables import Table, publish
from taxocaps import Document, TextPipeline, train, write_documents
from taxocaps.compiled import expect_much_work
from taxocaps.graph.words_matrix import encode_documents

RESULTS = Path(__file__).parent / "results" / "bench.jsonl"
SLOWER = 1.2
PACKAGES = ["networkx", "scipy"]
TRIES = 5


@dataclass(frozen=True)
class Figure:
    """CPU seconds of a piece of work, and of its limit; for one document, request or command."""

    row: str
    seconds: float
    limit: float
    kind: str

    @property
    def ratio(self) -> float:
        """How many times the limit it takes."""
        return self.seconds / self.limit


def _beside(row: str, work: Callable[[], Any], limit: Callable[[], Any], kind: str, count: int = 1) -> Figure:
    """Let work and its limit take turns."""
    best = [float("inf")] * 2
    for _ in range(TRIES):
        for side, one in enumerate((work, limit)):
            began = time.process_time()
            one()
            best[side] = min(best[side], time.process_time() - began)
    return Figure(row, best[0] / count, best[1] / count, kind)


def _corpus() -> tuple[Any, list[Document], list[Document]]:
    """A taxonomy, and documents to train with and to label; from here on kernels are used, as for large inputs."""
    from taxocaps.datasets import pydocs

    expect_much_work()
    corpus = pydocs.load(packages=PACKAGES)
    return corpus.taxonomy, list(corpus.splits["train"])[:1_500], list(corpus.splits["test"])


def _regex(documents: list[Document]) -> Callable[[], Any]:
    words = re.compile(r"\w+")
    return lambda: [words.findall(document.text) for document in documents]


def _json(path: Path) -> Callable[[], Any]:
    return lambda: [json.loads(line) for line in path.open(encoding="utf-8")]


def encode_part() -> list[Figure]:
    """Texts to words, words to words-matrices, a file to a store, and reading the store."""
    from taxocaps.encoding.store import open_store
    from taxocaps.workflows.encode import encode

    _, documents, _ = _corpus()
    texts = [document.text for document in documents]
    TextPipeline().tokenize(texts)
    packed = _pack(list(TextPipeline().tokenize(texts).documents()))
    encode_documents(*packed, GRAPH)
    with tempfile.TemporaryDirectory() as temporary:
        path, out = Path(temporary) / "corpus.jsonl", Path(temporary) / "store"
        write_documents(documents, path)
        regex, count = _regex(documents), len(documents)
        return [
            _beside("text to words", lambda: TextPipeline().tokenize(texts), regex, "regex", count),
            _beside("words to words-matrix", lambda: encode_documents(*packed, GRAPH), regex, "regex", count),
            _beside(
                "file to store", lambda: encode(path, out, model="auto", overwrite=True), _json(path), "json", count
            ),
            _beside("store to words", lambda: _read(open_store(out)), _json(path), "json", count),
        ]


def _read(store: Any) -> int:
    return sum(int(tokens.ids.sum()) for tokens in store.token_chunks())


def linear_part() -> list[Figure]:
    """Training and prediction of linear models."""
    _, documents, test = _corpus()
    figures = []
    for features, (tokenizer, _) in linear.KINDS.items():
        model = linear._ours(documents[:500], features, tokenizer)

        def label(model: Any = model) -> None:
            linear._forget_words(model)
            linear._label(model, test)

        figures.append(_beside(f"SVM, {features}: predict", label, _regex(test), "regex", len(test)))
    fit = _beside(
        "SVM: train", lambda: linear._ours(documents, "words", "words"), _regex(documents), "regex", len(documents)
    )
    return [*figures, fit]


def auto_part() -> list[Figure]:
    """Training and prediction of `auto`: folds, evidence and trees."""
    from taxocaps import TaxoCapsClassifier

    taxonomy, documents, test = _corpus()
    documents = documents[:400]
    texts, labels = [one.text for one in documents], [one.labels or () for one in documents]
    classifier = TaxoCapsClassifier("auto", taxonomy)
    fit = _beside("auto: train", lambda: classifier.fit(texts, labels), _regex(documents), "regex", len(texts))
    return [
        fit,
        _beside("auto: predict", lambda: linear._label(classifier.model_, test), _regex(test), "regex", len(test)),
    ]


def networks_part() -> Iterator[Figure]:
    """A training step and prediction of networks, as far as these are products."""
    for name in ("HE-AGCRCNN", "XML-CNN"):
        found = in_own_process(networks.measure, name, "fast").result
        for stage in ("train", "predict"):
            limit = found[f"{stage} flop"] / found["limit"]
            yield Figure(f"{name}, fast: {stage}", found[f"{stage} seconds"], limit, "sgemm")


def serve_part() -> list[Figure]:
    """A request to a server, of eight clients."""
    _, documents, test = _corpus()
    best = [float("inf")] * 2
    with tempfile.TemporaryDirectory() as temporary:
        serve.HOME = Path(temporary)  # a small model instead of that of the long benchmark
        write_documents(test, serve.HOME / "pydocs" / "test.jsonl")
        write_documents(documents[:500], serve.HOME / "train.jsonl")
        train(serve.HOME / "train.jsonl", serve.HOME / "SVM", model="SVM")
        with serve.serving("SVM") as ours, serve.serving_none(1) as bare:
            for _ in range(TRIES):
                for side, server in enumerate((ours, bare)):
                    best[side] = min(best[side], serve._loaded(server, 8, 2.0)["cpu"] / 1e6)
    return [Figure("SVM: a request", *best, "FastAPI")]


def start_part() -> list[Figure]:
    """Commands, the first of a fresh install and later ones."""
    imports = [sys.executable, "-c", "import numpy, scipy.sparse, pydantic, typer, simplemma"]
    limit = min(process_seconds(imports, os.environ) for _ in range(TRIES))
    return [
        Figure(f"`predict`, {name}, {when}", seconds, limit, "imports")
        for name, first, later in start.measure(tries=3)
        for when, seconds in (("first use", first), ("later", later))
    ]


PARTS: dict[str, Callable[[], Any]] = {
    "encode": encode_part,
    "linear": linear_part,
    "auto": auto_part,
    "networks": networks_part,
    "serve": serve_part,
    "start": start_part,
}
HERE = ("networks", "serve", "start")
"""Parts that start processes themselves; the others run in one of their own."""


def slower_rows(figures: list[Figure], before: dict[str, Figure]) -> list[str]:
    """What takes 20 % more, beside its limit, than what is on file."""
    return [
        f"{one.row}: {one.ratio:.2f} times its limit, {one.ratio / before[one.row].ratio - 1:.0%} more than on file"
        for one in figures
        if one.row in before and one.ratio > SLOWER * before[one.row].ratio
    ]


def _on_file() -> dict[str, Figure]:
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return {figure.row: figure for figure in (Figure(**json.loads(line)) for line in lines)}


def _save(figures: list[Figure]) -> None:
    kept = {**_on_file(), **{figure.row: figure for figure in figures}}
    RESULTS.write_text("".join(json.dumps(asdict(one)) + "\n" for one in kept.values()), encoding="utf-8")


def _table(figures: list[Figure], before: dict[str, Figure]) -> Table:
    def cells(one: Figure) -> tuple[str, ...]:
        filed = f"{before[one.row].ratio:.2f}" if one.row in before else "new"
        limit = f"{one.limit * 1e3:.3f} ms ({one.kind})"
        return one.row, f"{one.seconds * 1e3:.3f} ms", limit, f"{one.ratio:.2f}", filed

    note = "CPU time of one document, request or command, the best of some tries. The ratio is what is compared."
    header = ("", "CPU time", "limit", "times the limit", "on file")
    return Table("All speeds beside their limits", header, [cells(one) for one in figures], note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), help="only these parts")
    parser.add_argument("--write", action="store_true", help="keep the figures, and put them into docs/performance.md")
    options = parser.parse_args()
    figures: list[Figure] = []
    for name in options.only or PARTS:
        print(f"measuring {name}", file=sys.stderr, flush=True)
        part = PARTS[name]
        figures += part() if name in HERE else in_own_process(part).result
    before = _on_file()
    if options.write:
        _save(figures)
        publish([_table(list(_on_file().values()), _on_file())], "bench", write=True)
        return
    print(_table(figures, before).markdown())
    slower = slower_rows(figures, before)
    print("\n".join(slower) if slower else "No row is 20 % slower than on file.")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
