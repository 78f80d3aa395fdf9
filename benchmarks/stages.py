"""How each stage grows with documents, labels and words: CPU seconds, peak memory and the slope of both.

    python benchmarks/stages.py                               # all axes, each point up to a minute
    python benchmarks/stages.py --axis labels --seconds 180   # one axis, further out
    python benchmarks/stages.py --write                       # also into docs/performance.md, with the picture

The slope is the exponent that the time grows with, over the last step: 1 is linear. A point is left out if the one
before says that it would take longer than `--seconds`. Each point has a process of its own, one thread, and made-up
documents: words follow Zipf's law, labels are equally frequent, three a document, in families of twenty. The peak is
that of the whole process with its libraries and its documents. `growth.py` does the same for the step of a network.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from measure import in_own_process, timed
from tables import PERFORMANCE, Table, publish
from taxocaps import Document, GraphConfig, TaxoCapsClassifier, Taxonomy, write_documents
from taxocaps.workflows.predict import predict_documents

PICTURE = PERFORMANCE.parent / "images" / "stages.svg"
FAMILY = 20
"""Labels below one parent."""


@dataclass(frozen=True)
class Case:
    """The size of a point."""

    documents: int = 2_000
    labels: int = 100
    words: int = 30


AXES: dict[str, tuple[int, ...]] = {
    "documents": (1_000, 10_000, 100_000, 1_000_000),
    "labels": (100, 1_000, 10_000, 100_000),
    "words": (100, 1_000, 10_000, 50_000),
}


def _documents(case: Case) -> list[Document]:
    """Half of the words of a document belong to its labels, of which each has some words of its own."""
    generator = np.random.default_rng(0)
    names = np.array([f"w{number:x}" for number in range(50_000)], object)
    carried = generator.integers(case.labels, size=(case.documents, 3))
    made = []
    for labels in carried:
        own = (labels[generator.integers(3, size=case.words // 2)] * 7_919 + generator.integers(20)) % 50_000
        others = generator.zipf(1.3, case.words - len(own)) % 50_000
        words = names[np.concatenate([own, others])]
        made.append(Document(tokens=tuple(words), labels=tuple(f"l{one}" for one in labels)))
    return made


def _taxonomy(count: int) -> Taxonomy:
    families = [("root", f"f{one}") for one in range(-(-count // FAMILY))]
    return Taxonomy.from_edges([*families, *((f"f{one // FAMILY}", f"l{one}") for one in range(count))])


def encode_stage(case: Case) -> dict[str, float]:
    """A file to a store of words and words-matrices, and the reading of it."""
    from taxocaps.encoding.store import open_store
    from taxocaps.workflows.encode import encode

    with tempfile.TemporaryDirectory() as temporary:
        corpus, out = Path(temporary) / "corpus.jsonl", Path(temporary) / "store"
        write_documents(_documents(replace(case, documents=1)), corpus)
        encode(corpus, Path(temporary) / "warm", jobs=1, model="HE-AGCRCNN")  # kernels are loaded
        write_documents(_documents(case), corpus)
        written = timed(lambda: encode(corpus, out, jobs=1, model="HE-AGCRCNN"))[0]
        return {"encode": written, "store": timed(lambda: _read(open_store(out)))[0]}


def _read(store: Any) -> int:
    return sum(int(tokens.ids.sum()) for tokens in store.token_chunks())


def linear_stage(case: Case) -> dict[str, float]:
    """Training and prediction of a linear SVM, with thresholds and hierarchy."""
    documents = _documents(case)
    contents, labels = [list(one.tokens or ()) for one in documents], [one.labels or () for one in documents]
    # Three labels a document: of very many made-up ones, no threshold tells right from wrong, and all would be given.
    options = {"text__tokenizer": "none", "decision__rule": "top-k", "decision__k": 3}
    classifier = TaxoCapsClassifier("SVM", _taxonomy(case.labels), **options)
    classifier.fit(contents[:100], labels[:100])
    trained = timed(classifier.fit, contents, labels)[0]
    some = [Document(tokens=one.tokens) for one in documents]
    return {"linear training": trained, "predict": timed(lambda: sum(1 for _ in _labelled(classifier, some)))[0]}


def _labelled(classifier: TaxoCapsClassifier, documents: list[Document]) -> Any:
    return predict_documents(classifier.model_, documents)


def join_stage(case: Case) -> dict[str, float]:
    """Evidence about pairs of a document and a label, and the trees that join it; all labels are siblings."""
    from taxocaps.corpus.labels import Classes
    from taxocaps.joining.evidence import EvidenceMaker
    from taxocaps.joining.trees import TreesConfig, fit_trees

    labels = [f"l{one}" for one in range(case.labels)]
    taxonomy = Taxonomy.from_edges([("root", "all"), *(("all", label) for label in labels)])
    maker = EvidenceMaker(("one",), Classes(("all", *labels), taxonomy), 20, ("name",))
    generator = np.random.default_rng(0)
    example = generator.normal(size=(2_000, len(maker.features))).astype(np.float32)
    trees = fit_trees(example, example[:, 0] > 0, TreesConfig(), 50)
    step = max(1, 4_000_000 // case.labels)
    scores = generator.random((min(step, case.documents), case.labels + 1)).astype(np.float32)

    def join() -> None:
        for start in range(0, case.documents, step):
            part = scores[: min(step, case.documents - start)]
            pairs = maker.pairs([part], {}, np.ones(case.labels + 1), np.full(len(part), 30))
            trees.logits(pairs.rows)

    return {"join": timed(join)[0]}


def matrix_stage(case: Case) -> dict[str, float]:
    """One natural document of so many words, and one whose words are all distinct, to words-matrices."""
    from taxocaps.graph.words_matrix import encode_documents

    def seconds(tokens: Any) -> float:
        offsets, ids = np.array([0, len(tokens)]), np.arange(2, tokens.max() + 3, dtype=np.int32)
        return timed(encode_documents, tokens, offsets, ids, GraphConfig())[0]

    natural = (np.random.default_rng(0).zipf(1.3, case.words) % 50_000).astype(np.int32)
    seconds(natural[:10])
    return {"natural document": seconds(natural), "distinct words": seconds(np.arange(case.words, dtype=np.int32))}


STAGES: dict[str, tuple[tuple[Callable[[Case], dict[str, float]], Case], ...]] = {
    "documents": ((encode_stage, Case()), (linear_stage, Case(labels=20)), (join_stage, Case())),
    "labels": ((linear_stage, Case(documents=1_000)), (join_stage, Case(documents=200))),
    "words": ((encode_stage, Case(documents=20)), (linear_stage, Case(documents=50, labels=5)), (matrix_stage, Case())),
}
"""What is measured along each axis, and the other sizes."""


@dataclass(frozen=True)
class Point:
    """A stage at one size."""

    size: int
    seconds: float
    megabytes: float


Curves = dict[str, list[Point]]


def measure(axis: str, most: float) -> Curves:
    """The points of all stages along an axis."""
    curves: Curves = {}
    for stage, base in STAGES[axis]:
        spent, before = 0.0, 0
        for size in AXES[axis]:
            if before and spent * size / before > most:
                break
            began = time.perf_counter()
            cost = in_own_process(stage, replace(base, **{axis: size}))
            for name, seconds in cost.result.items():
                curves.setdefault(name, []).append(Point(size, seconds, cost.peak_megabytes))
            spent, before = sum(cost.result.values()), size
            print(f"{axis} {size:,} {cost.result} {time.perf_counter() - began:.0f} s", flush=True)
    return curves


def slope(points: list[Point], of: Callable[[Point], float]) -> float:
    """The exponent of the growth over the last step."""
    if len(points) < 2:
        return math.nan
    one, two = points[-2:]
    return math.log(max(of(two), 1e-9) / max(of(one), 1e-9)) / math.log(two.size / one.size)


def _table(axis: str, curves: Curves) -> Table:
    sizes = AXES[axis]
    rows = []
    for name, points in curves.items():
        cells = [f"{point.seconds:.3g} s" for point in points] + [""] * (len(sizes) - len(points))
        memory = f"{points[-1].megabytes:,.0f} MB at {points[-1].size:,}"
        rows.append((name, *cells, f"{slope(points, lambda one: one.seconds):.2f}", memory))
    header = (axis, *(f"{size:,}" for size in sizes), "slope", "peak memory")
    others = "; ".join(
        f"{', '.join(f'{key} {value:,}' for key, value in vars(base).items() if key != axis)} ({stage.__name__[:-6]})"
        for stage, base in STAGES[axis]
    )
    return Table(f"Growth with {axis}", header, rows, f"CPU time; the slope is over the last step. Others: {others}.")


def _draw(found: dict[str, Curves]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "stages"
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(found), figsize=(4 * len(found), 3.6), sharey=True, squeeze=False)
    for panel, (axis, curves) in zip(panels[0], found.items(), strict=True):
        for name, points in curves.items():
            label = f"{name} ({slope(points, lambda one: one.seconds):.2f})"
            panel.loglog([one.size for one in points], [one.seconds for one in points], "o-", label=label)
        panel.set(xlabel=axis)
        panel.grid(alpha=0.3)
        panel.legend(fontsize=7)
    panels[0][0].set(ylabel="CPU seconds (slope of the last step)")
    figure.tight_layout()
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axis", choices=list(AXES), help="only this one")
    parser.add_argument("--seconds", type=float, default=60, help="CPU seconds of a point at most (default: 60)")
    parser.add_argument("--write", action="store_true", help="put tables and picture into the documentation")
    options = parser.parse_args()
    if options.write and options.axis:
        parser.error("--write draws all axes; leave --axis out")
    found = {axis: measure(axis, options.seconds) for axis in ([options.axis] if options.axis else AXES)}
    if options.write:
        _draw(found)
    publish([_table(axis, curves) for axis, curves in found.items()], "stages", write=options.write)


if __name__ == "__main__":
    main()
