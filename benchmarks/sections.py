"""One label a document: short descriptions of Debian packages and their sections, beside scikit-learn.

    python benchmarks/sections.py                        # 1,000 and 5,000 documents to learn from
    python benchmarks/sections.py --documents 300 --models SVM
    python benchmarks/sections.py --write                # and put the table into docs/thresholds.md

The descriptions are those that `apt-cache dumpavail` prints, so the script needs a Debian system. No setting was ever
chosen on them. 3,000 documents are labelled: micro-F1, which is accuracy where each gets one label, the mean F1 of the
labels, and the share of documents without a label.
"""

import argparse
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

import taxocaps
from tables import Table, put_between

PAGE = Path(__file__).parents[1] / "docs" / "thresholds.md"
TESTED = 3_000
Labels = Sequence[Sequence[str]]


def read_sections() -> list[tuple[str, str]]:
    """The descriptions of all packages, each once, with their sections, shuffled."""
    listed = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout
    found: dict[str, str] = {}
    for package in listed.split("\n\n"):
        fields = dict(re.findall(r"^(Description|Section): (.*)$", package, re.MULTILINE))
        if len(fields) == 2:
            found.setdefault(fields["Description"], fields["Section"].rpartition("/")[2])
    documents = list(found.items())
    random.Random(0).shuffle(documents)
    return documents


def rows(
    models: Sequence[str], learned: list[tuple[str, str]], tested: list[tuple[str, str]]
) -> Iterator[tuple[str, ...]]:
    """A row for each program."""
    (texts, labels), (new, truth) = (tuple(zip(*part, strict=True)) for part in (learned, tested))
    binarizer = MultiLabelBinarizer().fit([[label] for label in (*labels, *truth)])

    def row(name: str, given: Labels) -> tuple[str, ...]:
        right, chosen = binarizer.transform([[label] for label in truth]), binarizer.transform(given)
        scores = [f1_score(right, chosen, average=average, zero_division=0) for average in ("micro", "macro")]
        empty: NDArray[np.bool_] = chosen.sum(axis=1) == 0
        return (name, f"{len(texts):,}", *(f"{score:.3f}" for score in scores), f"{empty.mean():.1%}")

    for model in models:
        for rule in ("auto", "global"):
            classifier = taxocaps.TaxoCapsClassifier(model, decision__rule=rule)
            given = classifier.fit(texts, [[label] for label in labels]).predict(new)
            yield row(f"taxocaps {model}, decision.rule={rule}", given)
    words = TfidfVectorizer(sublinear_tf=True)
    characters = TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(3, 5))
    for name, features in (("words", words), ("words and characters", make_union(words, characters))):
        peer = make_pipeline(features, LinearSVC()).fit(texts, labels)
        yield row(f"scikit-learn, {name}", [[label] for label in peer.predict(new)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="+", default=[1_000, 5_000], metavar="N")
    parser.add_argument("--models", nargs="+", default=["auto", "SVM"], metavar="MODEL")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    documents = read_sections()
    tested, others = documents[:TESTED], documents[TESTED:]
    found = [row for count in options.documents for row in rows(options.models, others[:count], tested)]
    header = ("program", "training documents", "micro-F1", "macro-F1", "documents without a label")
    table = Table("Sections of Debian packages", header, found)
    print(table.markdown())
    if options.write:
        put_between(PAGE, "sections", table.body())


if __name__ == "__main__":
    main()
