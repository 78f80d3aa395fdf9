"""All models side by side: what each costs.

    python benchmarks/models.py                     # all that are missing in benchmarks/results/models.jsonl
    python benchmarks/models.py --only SVM HAN      # some of them, again
    python benchmarks/models.py --peer              # LR and SVM beside scikit-learn, to docs/models.md
    python benchmarks/models.py --large             # LR and SVM with 4,000 labels, to docs/models.md
    python benchmarks/models.py --write             # put the results into docs/models.md

The documents are some of pydocs, which comes with the package. Training takes 3,000 training documents, evenly chosen,
for 3 epochs at the default sizes of each model, on one thread. Each model runs in a process of its own. How good the
models are: benchmarks/run.py.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from measure import in_own_process, timed
from tables import Table, put_between
from taxocaps.catalogue.models import MODELS, find_model
from taxocaps.classifier import TaxoCapsClassifier
from taxocaps.corpus.document import Dataset
from taxocaps.corpus.labels import Classes, collect_classes, label_matrix
from taxocaps.datasets import pydocs
from taxocaps.encoding.bag import BagConfig, BagOfWords
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.methods import METHODS
from taxocaps.linear.model import LinearTask
from taxocaps.scorers.base import FitContext
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.text.pipeline import TextPipeline

RESULTS = Path(__file__).parent / "results" / "models.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "models.md"
DOCUMENTS, EPOCHS = 3_000, 3
CATALOGUE = ("model", "reads a document as", "what it is", "published", "use it for")
HEADER = ("model", "weights", "CPU s an epoch", "peak memory", "documents/s")


class Clock:
    """CPU seconds of training alone, by the reports of progress."""

    def __init__(self) -> None:
        self.first = self.last = 0.0

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        """Take the time, if it is of training."""
        if stage.startswith("training") and "vectors" not in stage:
            self.last = time.process_time()
            self.first = self.first or self.last


def part(data: Dataset, name: str, most: int | None = None) -> tuple[list[str], list[Sequence[str]]]:
    """The texts and labels of a split, or of evenly chosen documents of it."""
    found = data.splits[name]
    found = found[:: max(1, len(found) // (most or len(found)))][:most]
    return [document.text for document in found], [document.labels for document in found]


def measure(name: str) -> dict[str, Any]:
    """Train a model and use it."""
    import torch

    torch.set_num_threads(1)
    data, clock = pydocs.load(), Clock()
    train, dev = part(data, "train", DOCUMENTS), part(data, "dev", 1_000)
    is_network = find_model(name).family not in ("linear", "joined")
    options = {"training__epochs": EPOCHS, "training__min_steps": 0} if is_network else {}
    classifier = TaxoCapsClassifier(name, data.taxonomy, **options)
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        classifier.fit(*train, validation=dev, context=FitContext(Path(folder), progress=clock))
    trained = time.process_time() - began
    epochs = max(1, classifier.model_.report.epochs)
    began = time.perf_counter()
    classifier.predict(dev[0])
    return {
        "model": name,
        "parameters": classifier.model_.scorer.parameters,
        "epoch": (clock.last - clock.first) / epochs if clock.first else trained,
        "rate": len(dev[0]) / (time.perf_counter() - began),
    }


def peers() -> Table:
    """LR and SVM beside scikit-learn's one against the rest, on the same matrix and one thread."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    data = pydocs.load()
    texts, labels = part(data, "train")
    classes = Classes(collect_classes(labels, data.taxonomy), data.taxonomy)
    Y, documents = label_matrix(labels, classes.names), EncodedDocuments((), TextPipeline().tokenize(texts), {})
    X = BagOfWords.learn(documents, BagConfig()).transform(documents)
    theirs = {"SVM": LinearSVC(), "LR": LogisticRegression(solver="liblinear")}
    rows = []
    for name, loss in (("SVM", "hinge"), ("LR", "logistic")):
        config = LinearConfig(loss=loss, structure="flat")
        ours_seconds, ours = timed(
            lambda config=config: METHODS["flat"].fit(LinearTask(X, Y, classes, config)).margins(X)
        )
        seconds, wanted = timed(
            lambda name=name: OneVsRestClassifier(theirs[name]).fit(X, Y.toarray().astype(int)).decision_function(X)
        )
        rows.append(
            (
                name,
                f"{seconds:.1f} s",
                f"{ours_seconds:.1f} s",
                f"{ours_seconds / seconds:.2f}",
                f"{np.abs(ours - wanted).max():.4f}",
            )
        )
    title = f"Beside scikit-learn: {X.shape[0]:,} documents, {X.shape[1]:,} words, {len(classes):,} labels, CPU time"
    return Table(title, ("", "scikit-learn", "taxocaps", "ratio", "greatest difference of margins"), rows)


def large(loss: str) -> tuple[float, int]:
    """CPU seconds and kept weights of a flat model for 4,000 labels, 20,000 documents and 50,000 words, made up.

    Words follow Zipf's law, 60 in a document; labels too, 5 on a document, and each has 20 words of its own.
    """
    generator = np.random.default_rng(0)
    labels, documents, words = 4_000, 20_000, 50_000
    of_label = generator.integers(words, size=(labels, 20))
    carried = (generator.zipf(1.3, (documents, 5)) - 1) % labels  # [documents, 5]
    common = (generator.zipf(1.3, (documents, 40)) - 1) % words
    own = of_label[carried][..., :4].reshape(documents, -1)
    columns = np.concatenate([common, own], axis=1)  # [documents, 60]
    rows = np.arange(documents)[:, None]
    X = csr_array((np.ones(columns.size), (np.broadcast_to(rows, columns.shape).ravel(), columns.ravel())))
    X.data = 1 + np.log(X.data)
    Y = csr_array((np.ones(carried.size, bool), (np.broadcast_to(rows, carried.shape).ravel(), carried.ravel())))
    names = tuple(f"label {number}" for number in range(Y.shape[1]))
    classes = Classes(names, Taxonomy.from_edges([("Root", name) for name in names]))
    seconds, weights = timed(
        lambda: METHODS["flat"].fit(LinearTask(X, Y, classes, LinearConfig(loss=loss, structure="flat")))
    )
    return seconds, weights.coef.nnz


def large_table() -> Table:
    """Time and memory of many labels."""
    rows = []
    for name, loss in (("SVM", "hinge"), ("LR", "logistic")):
        cost = in_own_process(large, loss)
        seconds, weights = cost.result
        rows.append((name, f"{seconds:,.0f} s", f"{weights / 1e6:.1f} M", f"{cost.peak_megabytes:,.0f} MB"))
    return Table("4,000 labels, 20,000 documents, CPU time", ("", "training", "weights kept", "peak memory"), rows)


def catalogue() -> str:
    """The table of all models, out of the catalogue."""
    rows = [(m.name, m.input, m.summary, m.citation, m.use) for m in MODELS]
    return Table("", CATALOGUE, rows).body().replace("---:", "---")


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    return (
        result["model"],
        f"{result['parameters'] / 1e6:.2f} M",
        f"{result['epoch']:.1f}",
        f"{result['peak']:,.0f} MB",
        f"{result['rate']:,.0f}",
    )


def results() -> dict[str, dict[str, Any]]:
    """The newest result of each model, in the order of the catalogue."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    newest = {result["model"]: result for result in map(json.loads, lines)}
    return {model.name: newest[model.name] for model in MODELS if model.name in newest}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="MODEL")
    parser.add_argument("--peer", action="store_true", help="LR and SVM beside scikit-learn")
    parser.add_argument("--large", action="store_true", help="LR and SVM with 4,000 labels")
    parser.add_argument("--write", action="store_true", help="put all results so far into docs/models.md")
    options = parser.parse_args()
    for is_asked, mark, make in ((options.peer, "peer", peers), (options.large, "large", large_table)):
        if is_asked:
            table = make()
            print(table.markdown())
            put_between(PAGE, mark, table.markdown().rstrip())
    if options.peer or options.large:
        return
    known = results()
    names = [find_model(name).name for name in options.only or ()] or [m.name for m in MODELS if m.name not in known]
    for name in () if options.write and not options.only else names:
        cost = in_own_process(measure, name)
        result = {**cost.result, "peak": cost.peak_megabytes, "documents": DOCUMENTS, "epochs": EPOCHS}
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        print(" | ".join(_row(result)), flush=True)
    if options.write:
        put_between(PAGE, "catalogue", catalogue())
        put_between(PAGE, "costs", Table("", HEADER, list(map(_row, results().values()))).body())


if __name__ == "__main__":
    main()
