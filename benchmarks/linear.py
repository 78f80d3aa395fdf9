"""Linear models at work: text to labels beside scikit-learn, for words, pairs of words and character n-grams.

    python benchmarks/linear.py TRAIN TEST            # a Markdown table
    python benchmarks/linear.py TRAIN TEST --write    # into docs/performance.md, too

Both are trained on the same documents and label the same others, by turns in one process on one thread; of several
tries the best counts, in CPU time. Ours label the documents twice: words are met for the first time, as at the
beginning of a stream, and then met again, as later on or in a server; a word's lemma is looked up once. For training of
the default model see `folds.py`, for thousands of labels `scale.py`.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import timed
from tables import Table, publish
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
    rows, texts = [], [document.text for document in test]
    for features, (tokenizer, theirs) in KINDS.items():
        model = _ours(train, features, tokenizer)
        label = _peer(train, theirs)
        first, again, peer = [], [], []
        for _ in range(tries):
            _forget_words(model)
            first.append(timed(_label, model, test)[0])
            again.append(timed(_label, model, test)[0])
            peer.append(timed(label, texts)[0])
        *rates, other = [len(test) / min(found) for found in (first, again, peer)]
        rows.append((features, *(f"{rate:,.0f} ({rate / other:.2f})" for rate in rates), f"{other:,.0f}"))
    words = sum(len(document.text.split()) for document in test) / len(test)
    title = f"Text to labels: {len(test):,} documents of {words:.0f} words, documents a CPU second"
    header = ("features", "taxocaps, SVM, new words", "words met before", "TfidfVectorizer + LinearSVC")
    return Table(title, header, rows, "In brackets, times scikit-learn's speed.")


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


def _label(model: FittedModel, documents: list[Document]) -> int:
    return sum(len(one.labels) for one in predict_documents(model, documents))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path, help="labelled documents in any format")
    parser.add_argument("test", type=Path, help="documents to label")
    parser.add_argument("--limit", type=int, default=3_000, help="documents of each at most (default: 3,000)")
    parser.add_argument("--tries", type=int, default=5, help="tries, of which the best counts (default: 5)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    train, test = (list(read_documents(path))[: options.limit] for path in (options.train, options.test))
    publish([predict(train, test, options.tries)], "linear", write=options.write)


if __name__ == "__main__":
    main()
