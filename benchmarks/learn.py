"""Learning from corrections against training anew: time of one core, and quality on test documents.

    python benchmarks/learn.py build/reuters --model auto --corrections 300

The last training documents are the corrections: the first model is trained without them, learns from them, and a third
one is trained on all documents. CPU seconds, all in one process, after compiled code has been loaded by a small run.
"""

import argparse
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path

from measure import timed
from taxocaps.corpus.readers import read_documents
from taxocaps.corpus.writers import write_documents
from taxocaps.workflows.evaluate import evaluate
from taxocaps.workflows.learn import LearnFiles, learn
from taxocaps.workflows.train import TrainFiles, train


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="A folder with train.jsonl, test.jsonl and taxonomy.tsv.")
    parser.add_argument("--model", default="auto")
    parser.add_argument("--documents", type=int, default=10_000, help="Training documents, at most.")
    parser.add_argument("--corrections", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _measure(options, Path(folder))


def _measure(options: argparse.Namespace, folder: Path) -> None:
    source, taxonomy = options.folder, options.folder / "taxonomy.tsv"
    documents = list(itertools.islice(read_documents(source / "train.jsonl"), options.documents))
    parts = {
        "first": documents[: -options.corrections],
        "corrections": documents[-options.corrections :],
        "all": documents,
        "warm": documents[:300],
    }
    paths = {name: folder / f"{name}.jsonl" for name in parts}
    for name, part in parts.items():
        write_documents(part, paths[name])

    def fit(name: str, start: Path | None = None) -> object:
        files = TrainFiles(paths[name], taxonomy if start is None else None, start=start)
        out = folder / f"model-{name}{'-from' if start else ''}"
        return train(files, out, model=options.model) if start is None else train(files, out)

    fit("warm")
    learn(folder / "model-warm", paths["corrections"], anyway=True)
    first, test = folder / "model-first", source / "test.jsonl"
    print(f"{source.name}, {options.model}: {len(documents):,} documents, {options.corrections:,} of them corrections")
    work: dict[str, tuple[Callable[[], object], Path]] = {
        "trained without corrections": (lambda: fit("first"), first),
        "trained on all": (lambda: fit("all"), folder / "model-all"),
        "trained on all, --from the first": (lambda: fit("all", first), folder / "model-all-from"),
        "learned, compared out of fold": (
            lambda: learn(first, LearnFiles(paths["corrections"], out=folder / "out-of-fold")),
            folder / "out-of-fold",
        ),
        "learned, compared on test documents": (
            lambda: learn(first, LearnFiles(paths["corrections"], test=test, out=folder / "on-test")),
            folder / "on-test",
        ),
    }
    for name, (run, model) in work.items():
        seconds, found = timed(run)[0], evaluate(model, test, jobs=1).flat
        scores = f"micro-F1 {found.micro.f1:.4f}  macro-F1 {found.macro.f1:.4f}"
        print(f"{name:36} {seconds:7.1f} s CPU  {scores}", flush=True)


if __name__ == "__main__":
    main()
