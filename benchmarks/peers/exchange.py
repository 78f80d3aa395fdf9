"""What the scripts of all peers share: the documents they get, what is timed, and the file they leave.

Runs in the environment of each peer, which has numpy, scipy and scikit-learn, and not taxocaps.

All programs follow one rule. The threshold of scores is chosen on documents that were not learned from: on the dev
documents, or, where there are none, on all training documents in five folds. Then the program learns from all training
and dev documents.
"""

import json
import re
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

__all__ = ["Corpus", "Label", "Predict", "compete", "label_matrix", "label_rows", "tfidf"]

FOLDS = 5

Kind = Literal["margins", "scores", "labels"]
Predict = Callable[[Sequence[str]], np.ndarray]
"""From texts to a matrix [documents, labels] of scores, or of zeros and ones.

Its columns are `Corpus.names`, and after them, if the program can give labels that it has not learned, `Corpus.others`.
"""


@dataclass(frozen=True)
class Label:
    """A label of the taxonomy, with its name and the first of its parents."""

    title: str
    parent: str


@dataclass(frozen=True)
class Corpus:
    """Documents to learn from.

    Attributes:
        texts: The texts.
        labels: The labels of each.
        taxonomy: All labels but the root, by id.
    """

    texts: list[str]
    labels: list[list[str]]
    taxonomy: dict[str, Label]

    @property
    def names(self) -> list[str]:
        """The labels that the documents carry, sorted."""
        return sorted(set().union(*self.labels))

    @property
    def others(self) -> list[str]:
        """The other labels of the taxonomy, sorted."""
        return sorted(self.taxonomy.keys() - set(self.names))

    def __len__(self) -> int:
        return len(self.texts)

    def select(self, indices: Iterable[int]) -> "Corpus":
        """Some of the documents."""
        kept = list(indices)
        return Corpus([self.texts[index] for index in kept], [self.labels[index] for index in kept], self.taxonomy)

    def with_others(self, more: "Corpus") -> "Corpus":
        """These documents and some more."""
        return Corpus(self.texts + more.texts, self.labels + more.labels, self.taxonomy)


def compete(fit: Callable[[Corpus], Predict], kind: Kind, *packages: str) -> None:
    """Train and use a peer; `script.py FOLDER OUT` leaves OUT.npz with what it predicts and OUT.json with the costs.

    Training begins with texts and ends with a model; it includes what the choice of a threshold takes, and `fit` is the
    last part of it, without that. Prediction of test documents begins with texts and ends with a matrix. Reading files
    is not timed.
    """
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    parts = _read(folder)
    learned = parts["train"].with_others(parts["dev"]) if "dev" in parts else parts["train"]
    missing = -np.inf if kind == "margins" else 0.0

    def score(corpus: Corpus, texts: Sequence[str], predict: Predict) -> np.ndarray:
        return _aligned(predict(texts), corpus, [*learned.names, *learned.others], missing)

    def hold_out() -> np.ndarray:
        if "dev" in parts:
            return score(parts["train"], parts["dev"].texts, fit(parts["train"]))
        fold_of = np.random.default_rng(0).permutation(len(learned)) % FOLDS
        held_out = np.zeros((len(learned), len(learned.taxonomy)), np.float32)
        for fold in range(FOLDS):
            corpus, others = (learned.select(np.flatnonzero(chosen)) for chosen in (fold_of != fold, fold_of == fold))
            held_out[fold_of == fold] = score(corpus, others.texts, fit(corpus))
        return held_out

    before, held_out = _timed(hold_out) if kind != "labels" else ({}, None)
    last, predict = _timed(lambda: fit(learned))
    use, test = _timed(lambda: score(learned, parts["test"].texts, predict))
    report = {
        "kind": kind,
        "train": {name: before.get(name, 0) + spent for name, spent in last.items()},
        "fit": last,
        "predict": use,
        "peak_megabytes": _peak_megabytes(),
        "versions": _versions(packages),
    }
    found = {"test": test} if held_out is None else {"test": test, "held_out": held_out}
    np.savez(out.with_suffix(".npz"), names=[*learned.names, *learned.others], **found)
    out.with_suffix(".json").write_text(json.dumps(report), encoding="utf-8")


def tfidf(corpus: Corpus) -> tuple[TfidfVectorizer, csr_matrix]:
    """The features that most peers get; those of the documents to learn from."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    return vectorizer, csr_matrix(vectorizer.fit_transform(corpus.texts))


def label_rows(corpus: Corpus) -> list[list[int]]:
    """The indices in `names` of the labels of each document."""
    indices = {name: index for index, name in enumerate(corpus.names)}
    return [sorted(indices[label] for label in labels) for labels in corpus.labels]


def label_matrix(corpus: Corpus) -> csr_matrix:
    """The same as a matrix of zeros and ones."""
    rows = label_rows(corpus)
    columns = [label for labels in rows for label in labels]
    starts = np.cumsum([0, *map(len, rows)])
    return csr_matrix((np.ones(len(columns)), columns, starts), (len(corpus), len(corpus.names)))


def _read(folder: Path) -> dict[str, Corpus]:
    taxonomy = _read_taxonomy(folder / "taxonomy.tsv")
    parts = {}
    for part in ("train", "dev", "test"):
        path = folder / f"{part}.jsonl"
        if path.exists():
            with path.open(encoding="utf-8") as file:
                documents = [json.loads(line) for line in file]
            labels = [sorted(set(document["labels"])) for document in documents]
            parts[part] = Corpus([document["text"] for document in documents], labels, taxonomy)
    return parts


def _read_taxonomy(path: Path) -> dict[str, Label]:
    labels: dict[str, Label] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        parent, child, *titles = line.split("\t")
        labels.setdefault(child, Label(titles[0] if titles and titles[0] else child, parent))
    return labels


def _aligned(matrix: np.ndarray, corpus: Corpus, names: Sequence[str], missing: float) -> np.ndarray:
    """The matrix with a column for each name, for all that a program has learned nothing about `missing`."""
    columns = {name: column for column, name in enumerate(names)}
    order = [columns[name] for name in [*corpus.names, *corpus.others][: matrix.shape[1]]]
    aligned = np.full((len(matrix), len(names)), missing, np.float32)
    aligned[:, order] = matrix
    return aligned


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
