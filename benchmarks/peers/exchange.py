"""What the scripts of all peers share: the documents they get, what is timed, and the file they leave.

Runs in the environment of each peer, which has numpy, scipy and scikit-learn, and not taxocaps.
"""

import json
import re
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

__all__ = ["Corpus", "Predict", "compete", "label_rows", "tfidf"]

Predict = Callable[[Sequence[str]], np.ndarray]
"""From texts to a matrix [documents, labels] of scores, or of zeros and ones."""


@dataclass(frozen=True)
class Corpus:
    """The documents of a folder.

    Attributes:
        texts: By the name of the part: train, dev, test.
        labels: The same.
        names: The labels that training documents carry, sorted.
        parents: Of each label of the taxonomy the first parent.
    """

    texts: dict[str, list[str]]
    labels: dict[str, list[list[str]]]
    names: list[str]
    parents: dict[str, str]


def compete(fit: Callable[[Corpus], Predict], kind: Literal["margins", "scores", "labels"], *packages: str) -> None:
    """Train and use a peer; `script.py FOLDER OUT` leaves OUT.npz with what it predicts and OUT.json with the costs.

    Training begins with texts and ends with a model. Prediction of test documents begins with texts and ends with a
    matrix. Reading files is not timed.
    """
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    corpus = _read(folder)
    train, predict = _timed(lambda: fit(corpus))
    use, test = _timed(lambda: predict(corpus.texts["test"]))
    peak = _peak_megabytes()
    dev = predict(corpus.texts["dev"])
    np.savez(out.with_suffix(".npz"), dev=dev.astype(np.float32), test=test.astype(np.float32), names=corpus.names)
    report = {"kind": kind, "train": train, "predict": use, "peak_megabytes": peak, "versions": _versions(packages)}
    out.with_suffix(".json").write_text(json.dumps(report), encoding="utf-8")


def tfidf(corpus: Corpus) -> tuple[TfidfVectorizer, csr_matrix]:
    """The features that all peers get; those of training documents."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    return vectorizer, csr_matrix(vectorizer.fit_transform(corpus.texts["train"]))


def label_rows(corpus: Corpus) -> list[list[int]]:
    """The indices in `names` of the labels of each training document."""
    indices = {name: index for index, name in enumerate(corpus.names)}
    return [sorted(indices[label] for label in labels) for labels in corpus.labels["train"]]


def _read(folder: Path) -> Corpus:
    texts: dict[str, list[str]] = {}
    labels: dict[str, list[list[str]]] = {}
    for part in ("train", "dev", "test"):
        with (folder / f"{part}.jsonl").open(encoding="utf-8") as file:
            documents = [json.loads(line) for line in file]
        texts[part] = [document["text"] for document in documents]
        labels[part] = [sorted(set(document["labels"])) for document in documents]
    edges = [line.split("\t")[:2] for line in (folder / "taxonomy.tsv").read_text(encoding="utf-8").splitlines()]
    parents = {child: parent for parent, child in reversed(edges)}
    return Corpus(texts, labels, sorted(set().union(*labels["train"])), parents)


def _timed(work: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return {"cpu_seconds": time.process_time() - cpu, "seconds": time.perf_counter() - wall}, result


def _peak_megabytes() -> float:
    # Not getrusage: its peak survives fork and exec, and would be that of the process that started this one.
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    return (int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024


def _versions(packages: Sequence[str]) -> dict[str, str]:
    return {name: version(name) for name in (*packages, "scikit-learn", "numpy", "scipy")}
