"""Linear models at work: text to labels beside scikit-learn, and thousands of labels.

    python benchmarks/linear.py predict TRAIN TEST          # words, pairs and character n-grams, beside scikit-learn
    python benchmarks/linear.py labels 1000 16000           # training and prediction with so many labels, made up
    python benchmarks/linear.py auto TRAIN TAXONOMY         # where the time of training the default model goes

`predict` trains both on the same documents and labels the same others with both, by turns in one process on one thread;
of several tries the best counts, in CPU time. Words are met for the first time in every try, as in a stream. `labels`
runs in a process of its own for each number; the peak is that of the whole process, libraries included.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from measure import in_own_process, timed
from tables import Table
from taxocaps import Document, read_documents
from taxocaps.classifier import TaxoCapsClassifier
from taxocaps.encoding.documents import DocumentEncoder
from taxocaps.scorers.base import FitContext
from taxocaps.scorers.model import FittedModel
from taxocaps.taxonomy.readers import read_taxonomy
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
        own, peer = [], []
        for _ in range(tries):
            _forget_words(model)
            own.append(timed(_label, model, test)[0])
            peer.append(timed(label, texts)[0])
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


def _label(model: FittedModel, documents: list[Document]) -> int:
    return sum(len(one.labels) for one in predict_documents(model, documents))


def labels(counts: list[int], documents: int) -> Table:
    """Time and memory of a linear SVM with many labels."""
    rows = []
    for count in counts:
        cost = in_own_process(_many_labels, count, documents)
        used, trained, labelled, given = cost.result
        per_label, rate = trained / used * 1e3, documents / 10 / labelled
        memory = f"{cost.peak_megabytes:,.0f} MB"
        rows.append((f"{used:,}", f"{trained:,.0f} s", f"{per_label:.1f} ms", f"{rate:,.0f}", f"{given:.1f}", memory))
    header = ("labels", "training, CPU", "a label", "documents a CPU second", "labels each", "peak memory")
    return Table(f"A linear SVM, {documents:,} documents of 60 words with 3 labels each", header, rows)


def _many_labels(count: int, documents: int) -> tuple[int, float, float, float]:
    """Labels that occur, CPU seconds to train and to label a tenth of the documents, and labels given to each.

    Labels are equally frequent, and each has 20 words of its own; the other words follow Zipf's law.
    """
    generator = np.random.default_rng(0)
    of_label = generator.integers(50_000, size=(count, 20))
    carried = generator.integers(count, size=(documents, 3))
    own = of_label[carried][..., :8].reshape(documents, -1)
    words = np.concatenate([own, generator.zipf(1.3, (documents, 36)) % 50_000], axis=1)  # [documents, 60]
    names = [[f"w{word}" for word in row] for row in words.tolist()]
    classifier = TaxoCapsClassifier("SVM", text__tokenizer="none")
    given = [[f"label{label}" for label in row] for row in carried.tolist()]
    trained, _ = timed(classifier.fit, names, given)
    some = [Document(tokens=tuple(row)) for row in names[: documents // 10]]
    found = 0

    def label() -> None:
        nonlocal found
        found = _label(classifier.model_, some)

    labelled, _ = timed(label)
    return len(classifier.classes_), trained, labelled, found / len(some)


STAGES = {
    "bags": ("taxocaps.encoding.bag:BagOfWords", ("learn", "transform")),
    "solver": ("taxocaps.linear.one_vs_rest:OneVsRest", ("__init__", "fit", "margins_without")),
    "names": ("taxocaps.joining.names:LabelNames", ("__init__", "fit", "evidence")),
    "evidence": ("taxocaps.joining.evidence:EvidenceMaker", ("pairs",)),
    "trees": ("taxocaps.scorers.joined:JoinedScorer", ("_fit_trees",)),
    "walking trees": ("taxocaps.joining.trees:Trees", ("logits",)),
}
"""Where the time of training goes: methods by stage; what is called inside another stage belongs to the inner one."""


def auto(train: list[Document], taxonomy: Path) -> Table:
    """CPU seconds of each stage of the training of `auto`, of all threads, texts to a fitted model."""
    seconds: Counter[str] = Counter()
    with ExitStack() as patches:
        for stage, (owner, methods) in STAGES.items():
            module, _, name = owner.partition(":")
            kind = getattr(import_module(module), name)
            for method in methods:
                patches.enter_context(_timed(kind, method, stage, seconds))
        with tempfile.TemporaryDirectory() as folder:
            classifier = TaxoCapsClassifier("auto", read_taxonomy(taxonomy))
            texts, given = [document.text for document in train], [document.labels or () for document in train]
            total, _ = timed(lambda: classifier.fit(texts, given, context=FitContext(Path(folder))))
    seconds["all else"] = total - seconds.total()
    rows = [(stage, f"{spent:.1f} s", f"{spent / seconds['solver']:.2f}") for stage, spent in seconds.most_common()]
    rows.append(("together", f"{total:.1f} s", f"{total / seconds['solver']:.2f}"))
    return Table(f"Training of auto, {len(train):,} documents", ("stage", "CPU time", "to the solver"), rows)


@contextmanager
def _timed(kind: Any, name: str, stage: str, seconds: Counter[str]) -> Iterator[None]:
    """Add the time of a method to a stage while this lasts; that of stages within it is theirs."""
    original = kind.__dict__[name]
    method = original.__func__ if isinstance(original, classmethod) else original

    @wraps(method)
    def run(*arguments: Any, **options: Any) -> Any:
        before, began = seconds.total(), time.process_time()
        try:
            return method(*arguments, **options)
        finally:
            seconds[stage] += time.process_time() - began - (seconds.total() - before)

    setattr(kind, name, classmethod(run) if isinstance(original, classmethod) else run)
    try:
        yield
    finally:
        setattr(kind, name, original)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("predict", help="text to labels beside scikit-learn")
    one.add_argument("train", type=Path, help="labelled documents in any format")
    one.add_argument("test", type=Path, help="documents to label")
    one.add_argument("--limit", type=int, default=3_000, help="documents of each at most (default: 3,000)")
    one.add_argument("--tries", type=int, default=5, help="tries, of which the best counts (default: 5)")
    two = commands.add_parser("labels", help="thousands of labels")
    two.add_argument("counts", type=int, nargs="+", help="numbers of labels")
    two.add_argument("--documents", type=int, default=20_000, help="documents (default: 20,000)")
    three = commands.add_parser("auto", help="where the time of training auto goes")
    three.add_argument("train", type=Path, help="labelled documents in any format")
    three.add_argument("taxonomy", type=Path, help="their taxonomy")
    options = parser.parse_args()
    if options.command == "labels":
        print(labels(options.counts, options.documents).markdown())
    if options.command == "auto":
        print(auto(list(read_documents(options.train)), options.taxonomy).markdown())
    if options.command == "predict":
        train, test = (list(read_documents(path))[: options.limit] for path in (options.train, options.test))
        print(predict(train, test, options.tries).markdown())


if __name__ == "__main__":
    main()
