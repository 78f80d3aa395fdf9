"""What training of `auto` spends its time on: CPU seconds of its solvers, and of all that is around them.

    python benchmarks/folds.py                     # 1,000 and 8,000 documents of the embedded corpus, one thread
    python benchmarks/folds.py --documents 3000
    python benchmarks/folds.py --write             # put the table into docs/performance.md

Folds are what members take: reading the texts their own way, counting, and fitting classifiers to all documents, then
without each fold. Their limit is the time of the solver alone. What joins the members comes after that.
"""

import argparse
from collections.abc import Callable, Mapping
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


def _table(costs: Mapping[int, Cost]) -> Table:
    headings, columns = [""], [[*STAGES, "folds of all members", "everything"]]
    for documents, cost in costs.items():
        seconds = cost.result.stages
        spent = [*(seconds[stage] for stage in STAGES), sum(seconds[stage] for stage in FOLDS), cost.result.cpu]
        headings += [f"{documents:,} documents", "times the classifiers"]
        columns += [[f"{one:.2f} s" for one in spent], [f"{one / seconds['classifiers']:.2f}" for one in spent]]
    note = (
        "CPU time on one thread. Folds are classifiers, counting, reading and other work of members. Trees are fitted "
        "by scikit-learn."
    )
    return Table("Training `auto`", tuple(headings), list(zip(*columns, strict=True)), note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="+", default=[1_000, 8_000], help="documents to train with")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    costs = {documents: in_own_process(fit, documents) for documents in options.documents}
    publish([_table(costs)], "folds", write=options.write)


if __name__ == "__main__":
    main()
