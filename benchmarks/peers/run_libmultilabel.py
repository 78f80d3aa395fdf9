"""LibMultiLabel: its linear one-against-the-rest (LIBLINEAR) over TF-IDF.

    run_libmultilabel.py FOLDER OUT [1vsrest | thresholding]

`thresholding` also tunes a threshold for each label by cross-validation, which is part of its decision values.

Without options it has no bias term, which costs it two points of micro-F1 on Reuters (0.862); so it has the options of
its own example for RCV1 (example_config/rcv1/l2svm.yml).
"""

import sys
from typing import Any

import numpy as np
import psutil
from exchange import Corpus, Predict, compete, label_matrix, tfidf
from libmultilabel import linear
from scipy.sparse import csc_matrix, csr_matrix

OPTIONS = "-s 2 -B 1 -e 0.0001 -q"

# It takes a thread for each core and has no option for fewer.
psutil.cpu_count = lambda logical=True: 1


class Truth(csc_matrix):
    """LibMultiLabel 0.10 counts the documents of labels over axis 2 when it tunes thresholds; it means axis 0."""

    def sum(self, axis: int | None = None, **options: Any) -> Any:
        """The sum over an axis."""
        return super().sum(0 if axis == 2 else axis, **options)


def fit(corpus: Corpus) -> Predict:
    vectorizer, features = tfidf(corpus)
    train = {"1vsrest": linear.train_1vsrest, "thresholding": linear.train_thresholding}[sys.argv[3]]
    model = train(Truth(label_matrix(corpus)), features, options=f"{OPTIONS} -m 1", verbose=False)
    return lambda texts: np.asarray(linear.predict_values(model, csr_matrix(vectorizer.transform(texts))))


if __name__ == "__main__":
    compete(fit, "margins", "libmultilabel", "liblinear-multicore")
