"""What a busy neighbour costs: training and prediction alone on two cores, and beside one other busy process.

    python benchmarks/neighbour.py                  # a Markdown table
    python benchmarks/neighbour.py --write          # into docs/performance.md, too
    python benchmarks/neighbour.py --active         # with threads that wait actively, the default of OpenMP

Each piece of work runs in a fresh process, as a user would start it; libraries are loaded and kernels compiled before
the clock starts. The neighbour computes without end in one thread. Fair shares of two cores would leave a piece of work
with two threads three quarters of its speed, or half of it in the worst case.
"""

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from measure import in_own_process
from tables import Table, publish

DOCUMENTS = 600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--active", action="store_true", help="let waiting threads spin")
    options = parser.parse_args()
    if options.active:
        os.environ["OMP_WAIT_POLICY"] = "ACTIVE"
    publish([measure()], "neighbour", write=options.write and not options.active)


def measure() -> Table:
    """All pieces of work, alone and beside the neighbour."""
    rows = []
    for name, work in WORK.items():
        alone = in_own_process(work).result
        with busy_neighbour():
            beside = in_own_process(work).result
        rows.append((name, f"{alone:.1f}", f"{beside:.1f}", f"{alone / beside:.0%}"))
    header = ("work", "alone, s", "beside a busy process, s", "speed that is left")
    return Table("Beside a busy neighbour", header, rows, f"{DOCUMENTS} documents of the embedded corpus, two cores.")


@contextmanager
def busy_neighbour() -> Iterator[None]:
    """Another process that computes all the time."""
    process = multiprocessing.get_context("spawn").Process(target=_compute, daemon=True)
    process.start()
    time.sleep(1)
    try:
        yield
    finally:
        process.terminate()
        process.join()


def _compute() -> None:
    while True:
        sum(range(100_000))


def train_network() -> float:
    """Seconds for two epochs of the network of the paper."""
    return _seconds(model="HE-AGCRCNN", preset="fast", training__epochs=2, training__min_steps=0)


def train_auto() -> float:
    """Seconds to train the default model."""
    return _seconds()


def predict_network() -> float:
    """Seconds to label documents with a network."""
    options: dict[str, Any] = {"training__epochs": 1, "training__min_steps": 0, "vectors__source": "none"}
    return _predicting(model="HE-AGCRCNN", **options)


def predict_auto() -> float:
    """Seconds to label documents with the default model."""
    return _predicting()


WORK: dict[str, Callable[[], float]] = {
    "train HE-AGCRCNN, preset fast": train_network,
    "train auto": train_auto,
    "predict with HE-AGCRCNN": predict_network,
    "predict with auto": predict_auto,
}


def _classifier(**options: Any) -> Any:
    from taxocaps import TaxoCapsClassifier
    from taxocaps.datasets import pydocs

    corpus = pydocs.load(packages=["networkx"])
    documents = [document for part, document in corpus.documents() if part == "train"][:DOCUMENTS]
    texts, labels = [document.text for document in documents], [document.labels for document in documents]
    return TaxoCapsClassifier(taxonomy=corpus.taxonomy, **options), texts, labels


def _seconds(**options: Any) -> float:
    classifier, texts, labels = _classifier(**options)
    classifier.fit(texts[:40], labels[:40])  # loads libraries and compiles kernels
    begin = time.perf_counter()
    classifier.fit(texts, labels)
    return time.perf_counter() - begin


def _predicting(**options: Any) -> float:
    classifier, texts, labels = _classifier(**options)
    classifier.fit(texts, labels)
    classifier.predict_proba(texts[:40])
    begin = time.perf_counter()
    for _ in range(3):
        classifier.predict_proba(texts)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
