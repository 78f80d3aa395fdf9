"""Simulated reviewers: how many labelled documents a model needs, chosen by the queue or at random.

    python benchmarks/loop.py build/reuters build/pydocs --seeds 0 1 --kept build/loop.json --plot docs/images/loop.svg

A linear model learns from 200 documents drawn at random. Then 100 of the others are labelled, as they are in the
corpus, and it learns again; and so on. Which ones is up to the queue, as in `taxocaps review --pool`, or to chance.
Micro-F1 and macro-F1 are on test documents, which nothing is chosen by; macro-F1 is over the labels that these carry.
The last column is the number of documents that the queue needs for the macro-F1 of so many random ones, divided by
their number, over the means of all seeds. What does not change, vectors and the likeness to names, is computed once for
all documents. `--kept FILE` has the curves that are finished: another run goes on from there.
"""

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from taxocaps.corpus.document import Document
from taxocaps.corpus.labels import Classes, collect_classes, label_matrix, resolve_labels
from taxocaps.corpus.readers import read_documents
from taxocaps.metrics.classification import flat_metrics
from taxocaps.reviewing.batch import latent_vectors, name_scores, next_batch, pool_scores, unmet_labels
from taxocaps.scorers.base import Examples, FitContext, make_scorer
from taxocaps.scorers.fitting import fit_model
from taxocaps.scorers.model import FittedModel, ModelName
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.workflows.config import resolve_run_config

Curve = NDArray[np.float64]
"""[steps, 2], micro-F1 and macro-F1."""
CHOICES = ("queue", "random")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", help="Folders with train.jsonl, test.jsonl and taxonomy.tsv.")
    parser.add_argument("--documents", type=int, default=5_000, help="Documents to choose from, at most.")
    parser.add_argument("--most", type=int, default=1_500, help="Documents that are labelled in the end.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--part", default="test", help="What is measured on: test, or dev to compare ways of choosing.")
    parser.add_argument("--kept", type=Path, help="Where finished curves are kept.")
    parser.add_argument("--plot", type=Path, help="Draw the curves.")
    options = parser.parse_args()
    sizes = list(range(200, options.most + 1, 100))
    kept = json.loads(options.kept.read_text()) if options.kept and options.kept.exists() else {}
    found = {}
    for folder in options.folders:
        loop = Loop(folder, options.documents, options.part)

        def curve(choice: str, seed: int, loop: Loop = loop, name: str = folder.name) -> Curve:
            key = f"{name}, {options.part}, {choice}, seed {seed}, {options.most}"
            if key not in kept:
                kept[key] = loop.curve(choice, sizes, seed).tolist()
                if options.kept:
                    options.kept.write_text(json.dumps(kept))
            return np.array(kept[key])

        found[folder.name] = {
            choice: np.mean([curve(choice, seed) for seed in options.seeds], axis=0) for choice in CHOICES
        }
        show(folder.name, sizes, found[folder.name])
    if options.plot:
        draw(found, sizes, options.plot)


class Loop:
    """A corpus whose labels reviewers reveal."""

    def __init__(self, folder: Path, documents: int, part: str) -> None:
        taxonomy = read_taxonomy(folder / "taxonomy.tsv")
        everything = list(read_documents(folder / "train.jsonl"))
        order = np.random.default_rng(0).permutation(len(everything))[:documents]
        lists = {"pool": [everything[index] for index in order], part: list(read_documents(folder / f"{part}.jsonl"))}
        labels = {name: resolve_labels([one.labels for one in found], taxonomy).labels for name, found in lists.items()}
        self._classes = Classes(collect_classes([*labels["pool"], *labels[part]], taxonomy), taxonomy)
        self._config = resolve_run_config(options={"model": "SVM"}).options
        encoder = make_scorer(self._config, self._classes, 0).encoder

        def examples(name: str, found: list[Document]) -> Examples:
            return Examples(encoder.encode(found), label_matrix(labels[name], self._classes.names))

        self._pool, self._measured = examples("pool", lists["pool"]), examples(part, lists[part])

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        return latent_vectors(self._pool.documents)[0]

    @cached_property
    def _by_name(self) -> NDArray[np.float32]:
        taxonomy = self._classes.taxonomy
        return name_scores(taxonomy, taxonomy.names, self._pool.documents, self._config.text)

    def curve(self, choice: str, sizes: Sequence[int], seed: int) -> Curve:
        """The quality of models of more and more documents."""
        generator = np.random.default_rng(seed)
        labelled = generator.permutation(len(self._pool))[: sizes[0]]
        model = self._fit(labelled)
        points = [self._quality(model)]
        for size in sizes[1:]:
            labelled = np.concatenate([labelled, self._chosen(choice, model, labelled, size, generator)])
            model = self._fit(labelled)
            points.append(self._quality(model))
        return np.array(points)

    def _chosen(
        self, choice: str, model: FittedModel, labelled: NDArray[np.int64], size: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        left, wanted = np.setdiff1d(np.arange(len(self._pool)), labelled), size - len(labelled)
        if choice == "random":
            return generator.permutation(left)[:wanted]
        unmet = [self._classes.taxonomy.names.index(label) for label in unmet_labels(model)]
        scores = np.hstack([pool_scores(model, self._pool.documents.select(left)), self._by_name[left][:, unmet]])
        counts = np.append(model.counts, np.zeros(len(unmet), np.int64))
        return left[next_batch(scores, counts, self._vectors[left], wanted, self._vectors[labelled]).documents]

    def _fit(self, labelled: NDArray[np.int64]) -> FittedModel:
        scorer = make_scorer(self._config, self._classes, 0)
        with tempfile.TemporaryDirectory() as folder:
            examples = self._pool.select(np.sort(labelled))
            return fit_model(ModelName("SVM", "default", 0), scorer, examples, None, FitContext(Path(folder)))

    def _quality(self, model: FittedModel) -> tuple[float, float]:
        truth = self._measured.labels
        given = model.choose(model.own_scores(self._measured.documents))
        found = flat_metrics(truth, given, averaged=np.asarray(truth.sum(axis=0)).ravel() > 0)
        return found.micro.f1, found.macro.f1


def show(name: str, sizes: Sequence[int], curves: Mapping[str, Curve]) -> None:
    queue, chance = curves["queue"], curves["random"]
    print(f"| {name}: documents | micro-F1, queue | at random | macro-F1, queue | at random | needed |")
    print("|---:|---:|---:|---:|---:|---:|")
    for index, size in enumerate(sizes):
        needed = documents_for(chance[index, 1], sizes, queue[:, 1]) / size
        shown = (queue[index, 0], chance[index, 0], queue[index, 1], chance[index, 1])
        print(f"| {size:,} | {' | '.join(f'{value:.3f}' for value in shown)} | {needed:.2f} |", flush=True)


def documents_for(wanted: float, sizes: Sequence[int], reached: NDArray[np.float64]) -> float:
    """The first number of documents at which a curve has reached a value, between two points by a line."""
    above = np.flatnonzero(reached >= wanted)
    if not len(above):
        return float("nan")
    last = int(above[0])
    if last == 0:
        return float(sizes[0])
    low, high = reached[last - 1], reached[last]
    return float(sizes[last - 1] + (sizes[last] - sizes[last - 1]) * (wanted - low) / (high - low))


def draw(found: Mapping[str, Mapping[str, Curve]], sizes: Sequence[int], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(4.5 * len(found), 3.4), squeeze=False, layout="constrained")
    for axis, (name, curves) in zip(axes[0], found.items(), strict=True):
        for choice, style in zip(CHOICES, ("-", "--"), strict=True):
            for column, (metric, colour) in enumerate((("micro-F1", "tab:blue"), ("macro-F1", "tab:orange"))):
                axis.plot(sizes, curves[choice][:, column], style, color=colour, label=f"{metric}, {choice}")
        axis.set(title=name, xlabel="documents labelled", ylim=(0, 1))
        axis.grid(alpha=0.3)
    axes[0, 0].legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
