"""A linear SVM over TF-IDF on a corpus in three files, with the same threshold rule and figures as our models.

    python benchmarks/linear_svm.py FOLDER      # with train.jsonl, dev.jsonl, test.jsonl and taxonomy.tsv

One threshold for all labels, the one with the best micro-F1 on the dev documents.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from taxocaps.corpus.classes import Classes
from taxocaps.corpus.labels import collect_classes, count_unseen, label_matrix
from taxocaps.corpus.readers import read_documents
from taxocaps.estimators.decisions import choose_labels
from taxocaps.metrics.cuts import best_cut
from taxocaps.metrics.evaluation import Evaluation, evaluate
from taxocaps.taxonomy.readers import read_taxonomy


@dataclass(frozen=True)
class Result:
    """Figures on dev and test documents, and the CPU seconds of training."""

    dev: Evaluation
    test: Evaluation
    seconds: float


def linear_svm(folder: Path) -> Result:
    """Train on `train.jsonl`, tune the threshold on `dev.jsonl`, and measure."""
    parts = {name: list(read_documents(folder / f"{name}.jsonl")) for name in ("train", "dev", "test")}
    taxonomy = read_taxonomy(folder / "taxonomy.tsv")
    classes = Classes(collect_classes([document.labels for document in parts["train"]], taxonomy), taxonomy)
    labels = {name: label_matrix([d.labels for d in documents], classes.names) for name, documents in parts.items()}
    began = time.process_time()
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    features = vectorizer.fit_transform([document.text for document in parts["train"]])
    model = OneVsRestClassifier(LinearSVC()).fit(features, labels["train"].toarray().astype(int))
    seconds = time.process_time() - began
    scores = {
        name: expit(model.decision_function(vectorizer.transform([d.text for d in parts[name]]))).astype(np.float32)
        for name in ("dev", "test")
    }
    cut = best_cut(labels["dev"], scores["dev"]).threshold

    def measure(name: str) -> Evaluation:
        return evaluate(
            labels[name],
            csr_array(choose_labels(scores[name], cut)),
            names=classes.names,
            closure=classes.full_closure,
            unseen=count_unseen([document.labels for document in parts[name]], classes.names),
        )

    return Result(measure("dev"), measure("test"), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    result = linear_svm(parser.parse_args().folder)
    print(f"TF-IDF + linear SVM, trained in {result.seconds:.0f} CPU s")
    for name in ("dev", "test"):
        found = getattr(result, name)
        print(
            f"  {name:4}  micro-F1 {found.flat.micro.f1:.4f}  macro-F1 {found.flat.macro.f1:.4f}  "
            f"hierarchical F1 {found.hierarchical.f1:.4f}"
        )


if __name__ == "__main__":
    main()
