"""HiClass: local classifiers along one path of the taxonomy, over TF-IDF.

    run_hiclass.py FOLDER OUT [node | parent]

`node` is its logistic regression for each node, `parent` a linear SVM for each parent. Both are for documents with one
path. A training document with several most specific labels is given once for each, with the path to it; a test document
gets the labels of the one path that is predicted, those of them that training documents carry, and has no scores.
"""

import sys

import numpy as np
from exchange import Corpus, Predict, compete, tfidf
from hiclass import LocalClassifierPerNode, LocalClassifierPerParentNode
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC


def fit(corpus: Corpus) -> Predict:
    vectorizer, features = tfidf(corpus)
    pairs = [
        (document, _path(label, corpus))
        for document, labels in enumerate(corpus.labels)
        for label in _most_specific(labels, corpus)
    ]
    depth = max(len(path) for _, path in pairs)
    paths = np.array([path + [""] * (depth - len(path)) for _, path in pairs])
    if sys.argv[3] == "node":
        model = LocalClassifierPerNode(LogisticRegression(solver="liblinear"))
    else:
        model = LocalClassifierPerParentNode(LinearSVC())
    model.fit(features[[document for document, _ in pairs]], paths)
    indices = {name: index for index, name in enumerate(corpus.names)}

    def predict(texts: list[str]) -> np.ndarray:
        chosen = np.zeros((len(texts), len(corpus.names)), np.float32)
        for document, path in enumerate(model.predict(vectorizer.transform(texts))):
            chosen[document, [indices[label] for label in path if label in indices]] = 1
        return chosen

    return predict


def _path(label: str, corpus: Corpus) -> list[str]:
    """From below the root down to a label."""
    path = [label]
    while (parent := corpus.taxonomy[path[0]].parent) in corpus.taxonomy:
        path.insert(0, parent)
    return path


def _most_specific(labels: list[str], corpus: Corpus) -> list[str]:
    above = {ancestor for label in labels for ancestor in _path(label, corpus)[:-1]}
    return [label for label in labels if label not in above]


if __name__ == "__main__":
    compete(fit, "labels", "hiclass")
