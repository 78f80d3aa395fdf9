"""napkinXC: a probabilistic label tree (PLT) with its own defaults and one thread, over TF-IDF.

Prediction is exact and gives ten labels, the rest score 0.
"""

import tempfile

import numpy as np
from exchange import Corpus, Predict, compete, label_rows, tfidf
from napkinxc.models import PLT
from scipy.sparse import csr_matrix

MODEL = tempfile.TemporaryDirectory()  # its model is a folder


def fit(corpus: Corpus) -> Predict:
    vectorizer, features = tfidf(corpus)
    model = PLT(MODEL.name, seed=0, threads=1)
    model.fit(features, label_rows(corpus))

    def predict(texts: list[str]) -> np.ndarray:
        scores = np.zeros((len(texts), len(corpus.names)), np.float32)
        for document, found in enumerate(model.predict_proba(csr_matrix(vectorizer.transform(texts)), top_k=10)):
            for label, score in found:
                scores[document, label] = score
        return scores

    return predict


if __name__ == "__main__":
    compete(fit, "scores", "napkinxc")
