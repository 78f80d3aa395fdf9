"""What the taxonomy alone does in the transfer task: the best topic of a linear SVM, and the topics beside it.

    python benchmarks/siblings.py [--data build/transfer-zhao]

Label weights without a floor are near 0 for topics that are siblings in the taxonomy, so a network is not trained to
tell them apart. This gives every document its best topic and, in a second line, all topics with a weight below 0.05
beside it. What a network has above that, it did not learn from the taxonomy alone.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import precision_recall_fscore_support
from sklearn.svm import LinearSVC

from taxocaps import read_documents, read_taxonomy
from taxocaps.taxonomy.embedding import LabelVectorsConfig, train_label_vectors, unit_vectors
from taxocaps.taxonomy.walks import WalkConfig

ROOT = Path(__file__).parents[1]
NEAR = 0.05


def near(folder: Path, topics: list[str]) -> NDArray[np.bool_]:
    """[topics, topics] which topics have a weight below `NEAR` beside which, themselves included."""
    taxonomy = read_taxonomy(folder / "taxonomy.tsv")
    vectors = train_label_vectors(taxonomy, WalkConfig(), LabelVectorsConfig())
    unit = unit_vectors(vectors[[taxonomy.position(topic) for topic in topics]])
    return (1 - unit @ unit.T < NEAR) | np.eye(len(topics), dtype=bool)


def shown(targets: NDArray[np.bool_], given: NDArray[np.bool_]) -> str:
    """Precision, recall and F1 in both averages."""
    parts = []
    for average in ("micro", "samples"):
        p, r, f1, _ = precision_recall_fscore_support(targets, given, average=average, zero_division=0)
        parts.append(f"{average} P {p:.3f} R {r:.3f} F1 {f1:.3f}")
    return ", ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "transfer-zhao")
    options = parser.parse_args()
    documents = {name: list(read_documents(options.data / f"{name}.jsonl")) for name in ("train", "dev", "test")}
    topics = sorted({label for document in documents["train"] for label in document.labels or ()})
    words = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2)
    features = words.fit_transform(document.text for document in documents["train"])
    model = LinearSVC().fit(features, [topics.index((document.labels or ("",))[0]) for document in documents["train"]])
    beside = near(options.data, topics)
    for name in ("dev", "test"):
        targets = np.array([[topic in (document.labels or ()) for topic in topics] for document in documents[name]])
        best = model.predict(words.transform(document.text for document in documents[name]))
        print(f"{name}, best topic: {shown(targets, np.eye(len(topics), dtype=bool)[best])}")
        print(f"{name}, and those beside it: {shown(targets, beside[best])}")


if __name__ == "__main__":
    main()
