"""How fast a model labels documents, text in, labels out: documents a second, and what each stage takes.

    python benchmarks/predict.py MODEL DOCUMENTS                # a model's folder, and documents in any format
    python benchmarks/predict.py MODEL DOCUMENTS --threads 1    # the default is two threads
    python benchmarks/predict.py MODEL DOCUMENTS --peer         # beside tf-idf with linear classifiers (scikit-learn)

Documents are read and the model is loaded before the clock starts; compilation and dictionaries are warmed up on the
first documents. Words are met for the first time in every try, as in a stream. CPU time is of all threads; of several
tries that with the least counts. Each system runs in a process of its own. The peer is fitted on the same documents,
which must carry labels; that is not in its time. Two threads want two idle cores: beside other work they wait for each
other, busily, and are slower than one.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from measure import Cost, in_own_process
from tables import Table, publish
from taxocaps import Document, read_documents
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.scorers.model import FittedModel
from taxocaps.scorers.persistence import load_model
from taxocaps.workflows.predict import predict_documents

STAGES = ("words", "network", "decide")
WARM_UP = 64


@dataclass
class Watch:
    """CPU seconds by stage, and wall seconds of everything."""

    stages: Counter[str] = field(default_factory=Counter)
    wall: float = 0.0
    labels: int = 0

    @property
    def cpu(self) -> float:
        """CPU seconds of everything."""
        return self.stages.total()

    @contextmanager
    def total(self) -> Iterator[None]:
        """Time a whole try; what belongs to no stage is deciding."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall = time.perf_counter() - wall
        self.stages["decide"] += time.process_time() - cpu - self.cpu

    def timed(self, stage: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """The same work, its time added to a stage; that of stages within it is theirs."""

        def run(*arguments: Any, **named: Any) -> Any:
            before, cpu = self.cpu, time.process_time()
            result = work(*arguments, **named)
            self.stages[stage] += time.process_time() - cpu - (self.cpu - before)
            return result

        return run


def ours(folder: Path, documents: list[Document], threads: int, tries: int) -> Watch:
    """The best of some tries of `predict_documents`."""
    import torch

    torch.set_num_threads(threads)
    model = load_model(folder)
    return min((_try(model, documents, threads) for _ in range(tries)), key=lambda watch: watch.cpu)


def _try(model: FittedModel, documents: list[Document], threads: int) -> Watch:
    scorer: Any = model.scorer
    # A new pipeline remembers no words.
    scorer.encoder = encoder = DocumentEncoder(model.config.text, model.config.encodings, threads)
    for _ in predict_documents(model, documents[:WARM_UP]):
        pass
    watch = Watch()
    encoder.encode = watch.timed("words", encoder.encode)
    with ExitStack() as patches:
        patches.enter_context(_patched(scorer, "scores", watch.timed("network", scorer.scores)))
        if hasattr(scorer, "bag"):
            patches.enter_context(_patched(scorer.bag, "transform", watch.timed("words", scorer.bag.transform)))
        with watch.total():
            watch.labels = sum(len(prediction.labels) for prediction in predict_documents(model, documents))
    return watch


@contextmanager
def _patched(owner: Any, name: str, method: Callable[..., Any]) -> Iterator[None]:
    """Another method for one object, frozen or not, until it is taken away."""
    object.__setattr__(owner, name, method)
    yield
    object.__delattr__(owner, name)


def peer(documents: list[Document], tries: int) -> Watch:
    """The best of some tries of scikit-learn, fitted on the same documents; one thread."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer
    from sklearn.svm import LinearSVC

    texts = [document.text or " ".join(document.tokens or ()) for document in documents]
    vectorizer, binarizer = TfidfVectorizer(), MultiLabelBinarizer(sparse_output=True)
    targets = binarizer.fit_transform([document.labels or () for document in documents])
    classifier = OneVsRestClassifier(LinearSVC()).fit(vectorizer.fit_transform(texts), targets)

    def run(some: list[str]) -> Watch:
        watch = Watch()
        with watch.total():
            features = watch.timed("words", vectorizer.transform)(some)
            chosen = watch.timed("network", classifier.predict)(features)
            watch.labels = sum(map(len, binarizer.inverse_transform(chosen)))
        return watch

    run(texts[:WARM_UP])
    return min((run(texts) for _ in range(tries)), key=lambda watch: watch.cpu)


def _row(name: str, cost: Cost, documents: int) -> tuple[str, ...]:
    watch: Watch = cost.result
    stages = [
        f"{watch.stages[stage] / documents * 1e3:.3f} ms ({watch.stages[stage] / watch.cpu:.0%})" for stage in STAGES
    ]
    return (
        name,
        f"{documents / watch.wall:,.0f}",
        f"{watch.cpu / documents * 1e3:.3f} ms",
        *stages,
        f"{watch.labels / documents:.1f}",
        f"{cost.peak_megabytes:,.0f} MB",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="the folder of a trained model")
    parser.add_argument("documents", type=Path, help="documents in any format")
    parser.add_argument("--threads", type=int, default=2, help="threads of graph and network (default: 2)")
    parser.add_argument("--limit", type=int, default=2_000, help="documents at most (default: 2,000)")
    parser.add_argument("--tries", type=int, default=3, help="tries, of which the best counts (default: 3)")
    parser.add_argument("--peer", action="store_true", help="tf-idf with linear classifiers beside it")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    documents = list(islice(read_documents(options.documents), options.limit))
    if not documents:
        parser.error(f"{options.documents}: no documents in it")
    if options.peer and not any(document.labels for document in documents):
        parser.error(f"{options.documents}: no labels in it, which --peer is fitted on; leave --peer out")
    plural = "s" if options.threads > 1 else ""
    costs = {
        f"taxocaps, {options.threads} thread{plural}": in_own_process(
            ours, options.model, documents, options.threads, options.tries
        )
    }
    if options.peer:
        costs["scikit-learn, 1 thread"] = in_own_process(peer, documents, options.tries)
    words = sum(len(document.tokens or document.text.split()) for document in documents) / len(documents)
    header = ("", "documents/s", "CPU a document", "words", "network", "decide", "labels each", "peak memory")
    note = (
        "Documents a second by wall time, all else by CPU time. Words: tokens and graph, or tf-idf. Network: batches "
        "and network, or linear classifiers. Decide: all else, from calibrated scores to named labels."
    )
    rows = [_row(name, cost, len(documents)) for name, cost in costs.items()]
    if options.peer:
        mine, theirs = (cost.result.cpu for cost in costs.values())
        note += f" CPU time, taxocaps to scikit-learn: {mine / theirs:.1f}x."
    table = Table(f"Labelling {len(documents):,} documents of {words:.0f} raw words", header, rows, note)
    publish([table], "predict", write=options.write)


if __name__ == "__main__":
    main()
