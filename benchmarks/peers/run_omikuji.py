"""omikuji: Parabel, three trees of labels, with its own defaults and one thread, over TF-IDF.

It trains from a file, whose writing counts. Prediction has a beam of 10 and gives ten labels, the rest score 0.
"""

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import omikuji
from exchange import Corpus, Predict, compete, label_rows, tfidf
from scipy.sparse import csr_matrix


def fit(corpus: Corpus) -> Predict:
    vectorizer, features = tfidf(corpus)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        _write(path, features, label_rows(corpus), len(corpus.names))
        model = omikuji.Model.train_on_data(str(path), n_threads=1)
    model.init_prediction_thread_pool(1)

    def predict(texts: list[str]) -> np.ndarray:
        scores = np.zeros((len(texts), len(corpus.names)), np.float32)
        for document, row in enumerate(_rows(csr_matrix(vectorizer.transform(texts)))):
            for label, score in model.predict(row):
                scores[document, label] = score
        return scores

    return predict


def _write(path: Path, features: csr_matrix, labels: list[list[int]], size: int) -> None:
    given = [pair for pair in zip(_rows(features), labels, strict=True) if all(pair)]  # it reads no empty document
    with path.open("w", encoding="ascii") as file:
        file.write(f"{len(given)} {features.shape[1]} {size}\n")
        for row, carried in given:
            words = " ".join(f"{word}:{value:.6f}" for word, value in row)
            file.write(f"{','.join(map(str, carried))} {words}\n")


def _rows(features: csr_matrix) -> list[list[tuple[int, float]]]:
    features.sort_indices()
    ends = features.indptr
    return [
        list(zip(features.indices[a:b].tolist(), features.data[a:b].tolist(), strict=True)) for a, b in pairwise(ends)
    ]


if __name__ == "__main__":
    compete(fit, "scores", "omikuji")
