"""fastText: a bag of words and pairs of words, one-vs-all, with the options of its tutorial on several labels.

With its defaults, five epochs at a fifth of the learning rate, it learns next to nothing of documents as few as these.
Its models do not tell frequent from rare words, so that texts are only put into lower case and cut into words.
"""

import re
import tempfile
from pathlib import Path

import fasttext
import numpy as np
from exchange import Corpus, Predict, compete

TUTORIAL = {"lr": 0.5, "epoch": 25, "wordNgrams": 2, "bucket": 200_000, "dim": 50, "loss": "ova"}
PREFIX = "__label__"


def fit(corpus: Corpus) -> Predict:
    names = {name: number for number, name in enumerate(corpus.names)}
    with tempfile.TemporaryDirectory() as folder:  # it reads files only
        path = Path(folder) / "train.txt"
        with path.open("w", encoding="utf-8") as file:
            for text, labels in zip(corpus.texts, corpus.labels, strict=True):
                file.write(" ".join([*(f"{PREFIX}{names[label]}" for label in labels), words(text)]) + "\n")
        model = fasttext.train_supervised(str(path), thread=1, seed=0, verbose=0, **TUTORIAL)

    def predict(texts: list[str]) -> np.ndarray:
        scores = np.zeros((len(texts), len(names)), np.float32)
        for document, text in enumerate(texts):
            # Not `model.predict`, which asks numpy for what version 2 no longer does.
            for score, label in model.f.predict(words(text) + "\n", len(names), 0.0, "strict"):
                scores[document, int(label.removeprefix(PREFIX))] = score
        return scores

    return predict


def words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


if __name__ == "__main__":
    compete(fit, "scores", "fasttext")
