"""`TaxoCapsClassifier`: every model behind the interface of scikit-learn."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from taxocaps.catalogue import DEFAULT_MODEL
from taxocaps.corpus.document import Document
from taxocaps.corpus.frames import frame_documents, is_frame
from taxocaps.corpus.label_names import LabelResolver
from taxocaps.corpus.labels import Classes, LabelConfig, collect_classes, label_matrix, resolve_labels, unseen_labels
from taxocaps.encoding.documents import DocumentEncoder, EncodedDocuments
from taxocaps.encoding.store import open_store, write_store
from taxocaps.errors import ConfigError, CorpusError
from taxocaps.explanations.explanation import Explanation
from taxocaps.files import atomic_folder
from taxocaps.metrics.classification import flat_metrics
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.progress import silent
from taxocaps.scorers.base import Examples, FitContext, ModelConfig, make_scorer
from taxocaps.scorers.decision import DecisionOptions
from taxocaps.scorers.model import FittedModel, ModelName, fit_model
from taxocaps.scorers.persistence import load_model, save_model
from taxocaps.taxonomy.readers import as_taxonomy
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.text.pipeline import Content
from taxocaps.workflows.config import check_same, resolve_run_config
from taxocaps.workflows.explain import explain

__all__ = ["TaxoCapsClassifier", "load"]


class TaxoCapsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Assigns labels out of a taxonomy to texts.

    Works like any classifier of scikit-learn, in a `Pipeline`, `cross_val_score` or `GridSearchCV`. X is a list of
    texts (or of lists of ready tokens). Labels are lists of names, one name a text, an indicator matrix, or an
    indicator DataFrame whose columns are labels; predictions come back in the same form. A name is the id of a label,
    its notation, or its preferred or alternative name; predictions are ids.

    Args:
        model: The name of a model, in any case; `taxocaps models` lists them. The default joins linear models with
            the names of labels.
        taxonomy: A `Taxonomy`, the path of a taxonomy file, a dict or a networkx graph; None for a flat list of labels.
        preset: Settings of a network: `default`, `fast`, `paper-rcv1`, `paper-eurlex` or `paper-reuters`.
        random_state: Random seed: the same seed gives the same model on the same machine. None draws one.
        verbose: 1 prints the progress of `fit` to standard error, 0 nothing.
        options: Any option of the model, its section and name joined by two underscores, such as `linear__C=0.5` or
            `training__epochs=5`; `taxocaps config` shows them all. They are parameters like the others, for
            `set_params` and `GridSearchCV`.

    Attributes:
        classes_: The labels of the columns, in taxonomy order.
        model_: The fitted model, which has every option (`model_.config`), the threshold of each label
            (`model_.thresholds`), and its metrics on the validation documents (`model_.validation`).

    For example:

        classifier = TaxoCapsClassifier(taxonomy="topics.tsv")
        classifier.fit(texts, [["trade", "oil"], ["art"], ...])
        classifier.predict(["Crude prices rose again."])   # [("trade", "oil")]
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        taxonomy: Any = None,
        preset: str = "default",
        *,
        random_state: int | None = 0,
        verbose: int = 0,
        **options: Any,
    ) -> None:
        self.model = model
        self.taxonomy = taxonomy
        self.preset = preset
        self.random_state = random_state
        self.verbose = verbose
        self.options = options

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, those of the model's options included."""
        named: dict[str, Any] = super().get_params(deep=False)
        return {**named, **self.options}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; any option of the model may be given as `section__name`, and is checked by `fit`."""
        named = set(self._get_param_names())
        for key, value in params.items():
            if key in named:
                setattr(self, key, value)
            else:
                self.options = {**self.options, key: value}
        return self

    def fit(
        self,
        X: Sequence[Content],
        y: Any,
        *,
        validation: tuple[Sequence[Content], Any] | None = None,
        start: "TaxoCapsClassifier | None" = None,
        context: FitContext | None = None,
    ) -> Self:
        """Learn from texts and their labels.

        Args:
            X: The texts: a list, a column of a frame, or a frame of pandas or polars whose text column is recognised.
            y: Their labels: lists of names, one name each, an indicator matrix whose columns are the labels of the
                taxonomy in its order, or an indicator DataFrame with the names of labels as columns.
            validation: Texts and labels that decide when to stop, and that thresholds are tuned on; by default some of
                X is held out.
            start: Continue from the weights of this fitted classifier, which must have the same options; labels may be
                new, and words that it does not know stay unknown.
            context: Where checkpoints go, who is told of progress, and more; by default a temporary folder.
        """
        _check_options(self.options)
        given = {**self.options, "model": self.model, "preset": self.preset}
        run = resolve_run_config(options=given, beside=self._get_param_names())
        config = run.options
        if start is not None:
            check_is_fitted(start)
            check_same(start.model_.config, config, but=_FREE)
        targets = self._targets(y, config, start, validation)
        name = ModelName(run.model, run.preset, self._seed())
        with tempfile.TemporaryDirectory() as temporary:
            context = context or FitContext(
                Path(temporary), threads=os.cpu_count() or 1, progress=_PrintedProgress() if self.verbose else silent
            )
            context.folder.mkdir(parents=True, exist_ok=True)
            scorer = make_scorer(config, targets.classes, name.seed, context.threads)
            scorer.start = start.model_.scorer if start is not None else None
            training = _examples(_check_texts(X), targets.labels, scorer.encoder, context, "documents")
            held_out = None if validation is None else self._validation(validation, targets, scorer.encoder, context)
            self._take(fit_model(name, scorer, training, held_out, context), targets)
        return self

    def predict(
        self,
        X: Sequence[Content],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
        at_least: int | None = None,
        hierarchy: Literal["as-is", "add-ancestors", "drop-orphans"] | None = None,
    ) -> Any:
        """The labels of texts, in the form that `fit` was given: tuples of names, one name each, a matrix or a frame.

        Args:
            X: The texts.
            top_k: Take so many labels, whatever their scores.
            threshold: One threshold for all labels.
            at_least: Labels that every text with words gets.
            hierarchy: What is done about ancestors; each of these by default as the model was trained.
        """
        options = DecisionOptions(top_k=top_k, threshold=threshold, at_least=at_least, hierarchy=hierarchy)
        own = self._own_scores(X)
        if self.form_ == "single":
            if options != DecisionOptions():
                raise ConfigError(
                    "the texts had one label each when fitting, and get their best one: leave out options"
                )
            return self.classes_[own.argmax(axis=1)]
        chosen = self.model_.choose(own, options)
        if self.form_ == "frame":
            return self._frame(chosen)
        return chosen if self.form_ == "matrix" else self.model_.classes.label_lists(chosen)

    def predict_proba(self, X: Sequence[Content]) -> NDArray[np.float32]:
        """The probability of each label, between 0 and 1; [texts, L].

        If the model adds ancestors, a label is at least as probable as every label below it.
        """
        return self._scores(X, self.model_.scores if hasattr(self, "model_") else None)

    def decision_function(self, X: Sequence[Content]) -> NDArray[np.float32]:
        """Scores before calibration: the lengths of the label capsules, or the outputs of a dense head; [texts, L]."""
        return self._scores(X, self.model_.raw_scores if hasattr(self, "model_") else None)

    def score(self, X: Sequence[Content], y: Any, sample_weight: None = None) -> float:
        """Micro-F1 of the labels; accuracy where every text has one label."""
        check_is_fitted(self)
        if self.form_ == "single":
            resolver = LabelResolver(self.model_.classes.taxonomy)
            truth = np.array([resolver.resolve([str(label)])[0] for label in y], dtype=object)
            return float(np.mean(self.predict(X) == truth))
        truth = self._truth(X, y)
        return flat_metrics(truth, self.model_.choose(self._own_scores(X))).micro.f1

    def evaluate(self, X: Sequence[Content], y: Any) -> Evaluation:
        """All metrics of the labels of some texts."""
        truth = self._truth(X, y)
        return self.model_.evaluate(truth, self._own_scores(X))

    def explain(self, text: str, **options: Any) -> Explanation:
        """Why a text gets its labels; options as in `taxocaps.explain`, such as `labels` and `out`."""
        check_is_fitted(self)
        return explain(self.model_, text, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a folder, which must not exist yet."""
        check_is_fitted(self)
        with atomic_folder(Path(path)) as folder:
            save_model(self.model_, folder)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, trust_code: bool = False) -> Self:
        """Read a model that `save` or `taxocaps train` wrote; predictions are then tuples of names.

        Args:
            path: The folder.
            trust_code: Whether code that the model names, such as a tokenizer, may be run.
        """
        model = load_model(Path(path), trust_code=trust_code)
        options = {
            f"{section}__{key}" if isinstance(values, dict) else section: value
            for section, values in model.config.as_mapping().items()
            for key, value in (values.items() if isinstance(values, dict) else [("", values)])
            if section != "scorer"
        }
        classifier = cls(
            model.name.model, model.classes.taxonomy, model.name.preset, random_state=model.name.seed, **options
        )
        classifier._take(model, Targets("names", model.classes, None))
        return classifier

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    def _take(self, model: FittedModel, targets: "Targets") -> None:
        self.model_, self.form_, self.columns_ = model, targets.form, targets.columns
        self.classes_ = np.array(model.classes.names, dtype=object)

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.default_rng().integers(2**31))
        if not isinstance(self.random_state, int | np.integer) or self.random_state < 0:
            raise ConfigError(f"random_state must be a whole number from 0 on, or None; got {self.random_state!r}")
        return int(self.random_state)

    def _targets(
        self,
        y: Any,
        config: ModelConfig,
        start: "TaxoCapsClassifier | None",
        validation: tuple[Sequence[Content], Any] | None,
    ) -> "Targets":
        taxonomy = None if self.taxonomy is None else as_taxonomy(self.taxonomy)
        older: tuple[str, ...] = ()
        if start is not None:
            older = start.model_.classes.names
            taxonomy = taxonomy or start.model_.classes.taxonomy
        if taxonomy is not None:
            taxonomy = taxonomy.with_labels(older)
        unseen = unseen_labels(taxonomy) if taxonomy is not None and config.gives_unseen else ()
        learned: tuple[str, ...] = ()
        if validation is not None and len(validation[0]) and config.learns_validation and not _is_matrix(validation[1]):
            learned = read_targets(validation[1], taxonomy, config.labels).classes.names
        return read_targets(y, taxonomy, config.labels, more=(*older, *unseen, *learned))

    @staticmethod
    def _validation(
        given: tuple[Sequence[Content], Any], targets: "Targets", encoder: DocumentEncoder, context: FitContext
    ) -> Examples:
        texts, y = given
        if not len(texts):
            raise CorpusError("there are no validation documents; leave them out, and some training ones are held out")
        labels = read_targets(y, None, targets.config or LabelConfig(), known=targets.classes).labels
        return _examples(_check_texts(texts), labels, encoder, context, "validation documents")

    def _truth(self, X: Sequence[Content], y: Any) -> csr_array:
        check_is_fitted(self)
        labels = read_targets(y, None, self.model_.config.labels, known=self.model_.classes).labels
        _check_lengths(X, labels)
        return labels

    def _own_scores(self, X: Sequence[Content]) -> NDArray[np.float32]:
        return self._scores(X, self.model_.own_scores if hasattr(self, "model_") else None)

    def _scores(self, X: Sequence[Content], score: Any) -> NDArray[np.float32]:
        check_is_fitted(self)
        encoder = self.model_.scorer.encoder
        parts = [score(encoded) for encoded in encoder.stream(_documents(_check_texts(X)), 256)]
        return np.concatenate([np.zeros((0, len(self.classes_)), np.float32), *parts])

    def _frame(self, chosen: csr_array) -> Any:
        import pandas as pd

        names = list(self.classes_)
        frame = pd.DataFrame(chosen.toarray().astype(int), columns=names)
        columns = [*self.columns_, *(name for name in names if name not in self.columns_)]
        return frame.reindex(columns=columns, fill_value=0)


def load(path: str | os.PathLike[str], *, trust_code: bool = False) -> TaxoCapsClassifier:
    """Read a model that `taxocaps train` or `TaxoCapsClassifier.save` wrote.

    Args:
        path: The model's folder.
        trust_code: Whether code that the model names, such as a tokenizer, may be run.
    """
    return TaxoCapsClassifier.load(path, trust_code=trust_code)


Form = Literal["names", "single", "matrix", "frame"]

_FREE = ("labels", "validation", "decision", "training", "vocabulary", "vectors", "loss", "walks", "label_vectors")
"""What may differ from the classifier to start from, whose words are taken as they are."""

_NO_LABELS = "no document carries a label; there is nothing to learn"


@dataclass(frozen=True)
class Targets:
    """The labels of documents.

    Attributes:
        form: The form they came in, in which predictions are given back.
        classes: The labels of the columns.
        labels: CSR [documents, L] of bool.
        columns: The columns of a frame, in its order.
        config: How names were understood.
    """

    form: Form
    classes: Classes
    labels: Any
    columns: tuple[str, ...] = ()
    config: LabelConfig | None = None


def read_targets(
    y: Any, taxonomy: Taxonomy | None, config: LabelConfig, *, known: Classes | None = None, more: Sequence[str] = ()
) -> Targets:
    """Read labels in any form.

    Args:
        y: Lists of names; or one name for each document; or an indicator matrix, dense or sparse, whose columns are
            all labels of the taxonomy, in its order, or `known`; or an indicator DataFrame with named columns.
        taxonomy: The labels there are; None makes those of `y` a flat list.
        config: How names are understood.
        known: The columns, if they are fixed already; other labels have none.
        more: Labels that get a column though no document may carry them.

    Raises:
        CorpusError: For a label that is not in the taxonomy, or a matrix that does not fit it.
    """
    if hasattr(y, "columns") and hasattr(y, "to_numpy"):
        return _from_frame(y, taxonomy, config, known, more)
    if _is_matrix(y):
        return _from_matrix(y, taxonomy, config, known)
    if y is None:
        raise CorpusError("every text needs its labels; got none")
    form: Form = "single" if len(y) and all(isinstance(labels, str) for labels in y) else "names"
    return _from_names(
        form, [_as_names(labels, index) for index, labels in enumerate(y)], taxonomy, config, known, more
    )


def _is_matrix(y: Any) -> bool:
    return bool(issparse(y) or (isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind in "biuf"))


def _from_names(
    form: Form,
    lists: Sequence[tuple[str, ...]],
    taxonomy: Taxonomy | None,
    config: LabelConfig,
    known: Classes | None,
    more: Sequence[str],
) -> Targets:
    if known is not None:
        ids = LabelResolver(known.taxonomy).resolve_all(lists)
        return Targets(form, known, label_matrix(ids, known.names, known.taxonomy, config.ancestors), config=config)
    if taxonomy is None:
        given = set(more).union(*lists)
        if not given:
            raise CorpusError(_NO_LABELS)
        taxonomy = Taxonomy.from_edges((), labels=sorted(given))
    resolved = resolve_labels(lists, taxonomy, config.unknown)
    names = collect_classes([*resolved.labels, more], resolved.taxonomy, config.ancestors)
    if not names:
        raise CorpusError(_NO_LABELS)
    classes = Classes(names, resolved.taxonomy)
    matrix = label_matrix(resolved.labels, names, resolved.taxonomy, config.ancestors)
    return Targets(form, classes, matrix, config=config)


def _from_frame(
    y: Any, taxonomy: Taxonomy | None, config: LabelConfig, known: Classes | None, more: Sequence[str]
) -> Targets:
    columns = tuple(map(str, y.columns))
    values = np.asarray(y.to_numpy(), bool)
    lists = [tuple(columns[column] for column in np.flatnonzero(row)) for row in values]
    unknown = [] if taxonomy is None or known is not None else [name for name in columns if name not in taxonomy]
    if taxonomy is not None and unknown:
        if config.unknown == "error":
            raise CorpusError(
                f"the column {unknown[0]!r} is not in the taxonomy; correct it, or set labels.unknown to add or drop"
            )
        taxonomy = taxonomy.with_labels(unknown) if config.unknown == "add" else taxonomy
    # Every column of the frame is a label of the model, even where no document of a fold carries it.
    named = [name for name in columns if taxonomy is None or name in taxonomy]
    found = _from_names("frame", lists, taxonomy, config, known=known, more=(*more, *named))
    if known is None and not values.any():
        raise CorpusError(_NO_LABELS)
    return Targets("frame", found.classes, found.labels, columns, config)


def _as_names(labels: Any, index: int) -> tuple[str, ...]:
    if labels is None:
        return ()
    names = [labels] if isinstance(labels, str) else list(labels) if isinstance(labels, Iterable) else [labels]
    for name in names:
        if not isinstance(name, str):
            raise CorpusError(
                f"labels[{index}] must be names; got {name!r}; give text, or an indicator matrix as an array"
            )
    return tuple(map(str, names))


def _from_matrix(y: Any, taxonomy: Taxonomy | None, config: LabelConfig, known: Classes | None) -> Targets:
    matrix = csr_array(y).astype(bool)
    matrix.eliminate_zeros()
    is_new = known is None
    if known is None:
        tree = taxonomy or Taxonomy.from_edges((), labels=list(map(str, range(matrix.shape[1]))))
        known = Classes(tree.names, tree)
    if matrix.shape[1] != len(known):
        raise CorpusError(
            f"a label matrix has a column for each of the {len(known)} labels of the taxonomy, in its order; "
            f"got {matrix.shape[1]} columns"
        )
    if is_new and not matrix.nnz:
        raise CorpusError(_NO_LABELS)
    if config.ancestors == "add":
        matrix = csr_array(matrix @ known.closure)
    matrix.sort_indices()
    return Targets("matrix", known, matrix, config=config)


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuse what decides a run of the command line, but not this classifier."""
    for key in options:
        section = key.replace("__", ".").partition(".")[0]
        if section == "seed":
            raise ConfigError("the classifier has no option seed; give the seed as random_state")
        if section == "corpus":
            raise ConfigError(f"the classifier has no option {key}: it is given texts, and reads no files")


def _check_texts(X: Any) -> Sequence[Content]:
    if isinstance(X, str):
        raise CorpusError("texts are given as a list; got one text: put it into a list")
    if is_frame(X):
        return [document.content for document in frame_documents(X)]
    if not isinstance(X, list | tuple):
        X = list(X)
    for index, text in enumerate(X):
        if not isinstance(text, str | list | tuple):
            raise CorpusError(f"texts[{index}] must be text or a list of words; got {type(text).__name__}")
    return X  # type: ignore[no-any-return]


def _check_lengths(texts: Sequence[Content], labels: Any) -> None:
    if len(texts) != labels.shape[0]:
        raise CorpusError(f"every text needs its labels; got {len(texts)} texts and the labels of {labels.shape[0]}")


def _documents(texts: Sequence[Content]) -> Iterator[Document]:
    return (Document(text) if isinstance(text, str) else Document(tokens=tuple(text)) for text in texts)


def _examples(
    texts: Sequence[Content], labels: Any, encoder: DocumentEncoder, context: FitContext, stage: str
) -> Examples:
    """Encode texts into a store in the folder of the run, and read it from there."""
    _check_lengths(texts, labels)
    if not len(texts):
        raise CorpusError("there are no documents to learn from")
    folder = context.folder / "stores" / stage.split(maxsplit=1)[0]
    folder.mkdir(parents=True, exist_ok=True)
    cache = context.folder / "tokens" / stage.split(maxsplit=1)[0]
    reports: Any = {"progress": context.progress, "tell": context.tell}
    write_store(_documents(texts), encoder, folder, cache=cache, stage=stage, **reports)
    documents: EncodedDocuments = open_store(folder, encoder)
    return Examples(documents, labels)


class _PrintedProgress:
    """Progress as lines on standard error, one when a stage begins or ends."""

    def __init__(self) -> None:
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        if stage != self._stage or done == total:
            self._stage = stage
            sys.stderr.write(f"{stage}: {done:,}{f' of {total:,}' if total else ''}{f' ({note})' if note else ''}\n")
