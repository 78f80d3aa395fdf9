"""taxocaps: one of its models with default options, in the environment of the project.

    run_taxocaps.py FOLDER OUT MODEL

Training includes what the others do not do: calibration and the metrics on dev documents.
"""

import sys
import tempfile
from pathlib import Path

import sklearn.linear_model  # noqa: F401 - used for calibration; its import is not training
from exchange import Corpus, Predict, compete

from taxocaps.classifier import TaxoCapsClassifier
from taxocaps.scorers.base import FitContext
from taxocaps.taxonomy.readers import read_taxonomy


def fit(corpus: Corpus) -> Predict:
    classifier = TaxoCapsClassifier(sys.argv[3], read_taxonomy(f"{sys.argv[1]}/taxonomy.tsv"))
    parts = [(corpus.texts[name], corpus.labels[name]) for name in ("train", "dev")]
    with tempfile.TemporaryDirectory() as folder:
        classifier.fit(*parts[0], validation=parts[1], context=FitContext(Path(folder), threads=1))
    indices = {name: index for index, name in enumerate(classifier.model_.classes.names)}
    order = [indices[name] for name in corpus.names]
    return lambda texts: classifier.predict_proba(texts)[:, order]


if __name__ == "__main__":
    compete(fit, "scores", "taxocaps")
