"""Linear models at work: text to labels beside scikit-learn, and thousands of labels.

    python benchmarks/linear.py predict TRAIN TEST              # words, pairs and character n-grams, beside scikit-learn
    python benchmarks/linear.py labels 1000 16000 100000        # training and prediction with so many labels, made up
    python benchmarks/linear.py auto TRAIN TAXONOMY             # where the time of training the default model goes

`predict` trains both on the same documents and labels the same others with both, by turns in one process on one thread;
of several tries the best counts, in CPU time. Words are met for the first time in every try, as in a stream. `labels`
runs in a process of its own for each number; the peak is that of the whole process, libraries included.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tables import Table
from taxocaps import Document, read_documents
from taxocaps.classifier import TaxoCapsClassifier
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.scorers.model import FittedModel
from taxocaps.workflows.predict import predict_documents

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "words": ("words", {}),
    "pairs": ("plain", {"ngram_range": (1, 2), "token_pattern": r"(?u)\w+|[!?]+"}),
    "characters": ("plain", {"analyzer": "char_wb", "ngram_range": (3, 5)}),
}
"""The features of bags: our tokenizer, and the options of scikit-learn's `TfidfVectorizer`."""
WARM_UP = 64


def predict(train: list[Document], test: list[Document], tries: int) -> Table:
    """Documents a CPU second, text to labels, ours and scikit-learn's."""
    rows = []
    for features, (tokenizer, theirs) in KINDS.items():
        model = _ours(train, features, tokenizer)
        label = _peer(train, theirs)
        texts, own, peer = [document.text for document in test], [], []
        for _ in range(tries):
            _forget_words(model)
            own.append(_seconds(lambda model=model: sum(len(one.labels) for one in predict_documents(model, test))))
            peer.append(_seconds(lambda label=label: label(texts)))
        rates = [len(test) / min(found) for found in (own, peer)]
        rows.append((features, *(f"{rate:,.0f}" for rate in rates), f"{rates[0] / rates[1]:.2f}"))
    words = sum(len(document.text.split()) for document in test) / len(test)
    title = f"Text to labels: {len(test):,} documents of {words:.0f} words, documents a CPU second"
    return Table(title, ("features", "taxocaps, SVM", "TfidfVectorizer + LinearSVC", "ratio"), rows)


def _ours(train: list[Document], features: str, tokenizer: str) -> FittedModel:
    classifier = TaxoCapsClassifier("SVM", bag__features=features, text__tokenizer=tokenizer)
    classifier.fit([document.text for document in train], [document.labels or () for document in train])
    return classifier.model_


def _forget_words(model: FittedModel) -> None:
    """A new pipeline remembers no words; dictionaries and compiled code are loaded."""
    scorer: Any = model.scorer
    scorer.encoder = DocumentEncoder(model.config.text, model.config.encodings)
    warm_up = [Document("Prices of crude oil fell. ") for _ in range(WARM_UP)]
    for _ in predict_documents(model, warm_up):
        pass


def _peer(train: list[Document], options: dict[str, Any]) -> Callable[[list[str]], int]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer
    from sklearn.svm import LinearSVC

    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, **options)
    binarizer = MultiLabelBinarizer(sparse_output=True)
    targets = binarizer.fit_transform([document.labels or () for document in train])
    classifier = OneVsRestClassifier(LinearSVC())
    classifier.fit(vectorizer.fit_transform([document.text for document in train]), targets)

    def label(texts: list[str]) -> int:
        return sum(map(len, binarizer.inverse_transform(classifier.predict(vectorizer.transform(texts)))))

    return label


def _seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("predict", help="text to labels beside scikit-learn")
    one.add_argument("train", type=Path, help="labelled documents in any format")
    one.add_argument("test", type=Path, help="documents to label")
    one.add_argument("--limit", type=int, default=3_000, help="documents of each at most (default: 3,000)")
    one.add_argument("--tries", type=int, default=5, help="tries, of which the best counts (default: 5)")
    options = parser.parse_args()
    if options.command == "predict":
        train, test = (list(read_documents(path))[: options.limit] for path in (options.train, options.test))
        print(predict(train, test, options.tries).markdown())


if __name__ == "__main__":
    main()
