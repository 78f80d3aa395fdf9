"""What training of `auto` spends its time on: CPU seconds of its solvers, and of all that is around them.

    python benchmarks/folds.py                     # 1,000 documents of the embedded corpus, one thread
    python benchmarks/folds.py --documents 3000
    python benchmarks/folds.py --write             # put the table into docs/performance.md

Folds are what members take: reading the texts their own way, counting, and fitting classifiers to all documents, then
without each fold. Their limit is the time of the solver alone. What joins the members comes after that.
"""

import argparse
from collections.abc import Callable
from typing import Any

from measure import Cost, in_own_process
from predict import Watch
from tables import Table, publish

FOLDS = ("classifiers", "counting features", "reading texts", "other work of members")
STAGES = (*FOLDS, "trees", "evidence", "other work")


def fit(documents: int) -> Watch:
    """The CPU seconds of each stage of one training run."""
    from taxocaps import TaxoCapsClassifier
    from taxocaps.compiled import expect_much_work
    from taxocaps.datasets import pydocs
    from taxocaps.encoding.bag import BagOfWords
    from taxocaps.joining.evidence import EvidenceMaker
    from taxocaps.joining.names import LabelNames
    from taxocaps.linear.one_vs_rest import OneVsRest
    from taxocaps.scorers import joined
    from taxocaps.scorers.linear import LinearScorer
    from taxocaps.text.pipeline import TextPipeline

    expect_much_work()
    corpus = pydocs.load(packages=["networkx", "scipy", "sklearn"])
    train = list(corpus.splits["train"])
    texts, labels = [one.text for one in train], [one.labels or () for one in train]
    TaxoCapsClassifier("auto", corpus.taxonomy).fit(texts[-200:], labels[-200:])  # kernels and dictionaries
    watch = Watch()
    for owner, name, stage in (
        (OneVsRest, "fit", "classifiers"),
        (OneVsRest, "margins_without", "classifiers"),
        (BagOfWords, "learn", "counting features"),
        (BagOfWords, "transform", "counting features"),
        (TextPipeline, "tokenize", "reading texts"),
        (TextPipeline, "reread", "reading texts"),
        (LinearScorer, "cross_fit", "other work of members"),
        (joined, "fit_trees", "trees"),
        (joined.Trees, "logits", "trees"),
        (LabelNames, "fit", "evidence"),
        (LabelNames, "evidence", "evidence"),
        (EvidenceMaker, "pairs", "evidence"),
    ):
        setattr(owner, name, _timed(watch, stage, vars(owner)[name]))
    with watch.total():
        TaxoCapsClassifier("auto", corpus.taxonomy).fit(texts[:documents], labels[:documents])
    watch.stages["other work"] = watch.stages.pop("decide")
    return watch


def _timed(watch: Watch, stage: str, work: Any) -> Callable[..., Any] | classmethod:
    if isinstance(work, classmethod):
        return classmethod(watch.timed(stage, work.__func__))
    return watch.timed(stage, work)


def _table(cost: Cost, documents: int) -> Table:
    seconds = cost.result.stages
    solver, folds = seconds["classifiers"], sum(seconds[stage] for stage in FOLDS)
    rows = [(stage, f"{seconds[stage]:.2f} s", f"{seconds[stage] / solver:.2f}") for stage in STAGES]
    rows += [
        ("folds of all members", f"{folds:.2f} s", f"{folds / solver:.2f}"),
        ("everything", f"{cost.result.cpu:.2f} s", f"{cost.result.cpu / solver:.2f}"),
    ]
    note = (
        f"CPU time on one thread, {documents:,} documents. Folds are classifiers, counting, reading and other work of "
        "members. Trees are fitted by scikit-learn."
    )
    return Table("Training `auto`", ("", "CPU time", "times the classifiers"), rows, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000, help="documents to train with (default: 1,000)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    publish([_table(in_own_process(fit, options.documents), options.documents)], "folds", write=options.write)


if __name__ == "__main__":
    main()
