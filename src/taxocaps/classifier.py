"""`TaxoCapsClassifier`: every model behind the interface of scikit-learn."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from taxocaps.catalogue import DEFAULT_MODEL
from taxocaps.corpus.document import Document
from taxocaps.corpus.frames import frame_documents, is_frame
from taxocaps.corpus.label_names import LabelResolver
from taxocaps.corpus.labels import unseen_labels
from taxocaps.corpus.targets import TargetForm, Targets, is_label_matrix, read_targets
from taxocaps.encoding.documents import DocumentEncoder, EncodedDocuments
from taxocaps.encoding.store import open_store
from taxocaps.encoding.store_writer import write_store
from taxocaps.errors import ConfigError, CorpusError
from taxocaps.explanations.explanation import Explanation
from taxocaps.files import atomic_folder
from taxocaps.metrics.evaluation import Evaluation
from taxocaps.progress import silent
from taxocaps.scorers.base import Examples, FitContext, ModelConfig, Scorer, make_scorer
from taxocaps.scorers.decision import DecisionOptions
from taxocaps.scorers.fitting import fit_model
from taxocaps.scorers.model import FittedModel, ModelName
from taxocaps.scorers.persistence import load_model, save_model
from taxocaps.taxonomy.readers import as_taxonomy
from taxocaps.text.pipeline import Content
from taxocaps.workflows.config import check_same, resolve_run_config
from taxocaps.workflows.explain import explain

__all__ = ["TaxoCapsClassifier", "load"]


class TaxoCapsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Assigns labels out of a taxonomy to texts.

    It works like any scikit-learn classifier, for example in a `Pipeline`, `cross_val_score` or `GridSearchCV`. X is a
    list of texts, or of lists of tokens. Labels are given as lists of names, as a single name per text, as an indicator
    matrix, or as an indicator DataFrame whose columns are labels; predictions come back in the same form. A label may
    be given by its id, its notation, or its preferred or alternative name; predictions are ids. With lists of
    names, scikit-learn's `cv` must be a splitter such as `KFold(3)`: for `cv=3` it looks at the labels itself.

    Args:
        model: The name of a model, upper or lower case; `taxocaps models` lists them. The default joins linear models
            with evidence from the names of labels.
        taxonomy: A `Taxonomy`, the path of a taxonomy file, a dict or a networkx graph; None for a flat list of labels.
        preset: Settings of a network: `default`, `fast`, `paper-rcv1`, `paper-eurlex` or `paper-reuters`.
        random_state: Random seed: the same seed gives the same model on the same machine. None draws a new one.
        verbose: 1 prints the progress of `fit` to standard error; 0 prints nothing.
        options: Any option of the model as `section__name`, such as `linear__C=0.5` or `training__epochs=5`;
            `taxocaps config` lists them all. They are ordinary parameters, so `set_params` and `GridSearchCV` can
            change them.

    Attributes:
        classes_: The labels of the columns, in taxonomy order.
        model_: The fitted model, with all its options (`model_.config`), the threshold of each label
            (`model_.thresholds`) and its metrics on the validation documents (`model_.validation`).

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
        """All parameters, including the options of the model."""
        named: dict[str, Any] = super().get_params(deep=False)
        return {**named, **self.options}

    def set_params(self, **params: Any) -> Self:
        """Change parameters, including options of the model as `section__name`; `fit` checks them."""
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
            validation: Texts and labels for early stopping and for tuning thresholds; by default part of X is held out.
            start: Continue from the weights of this fitted classifier, which must have the same options. There may be
                new labels, but words that it does not know stay unknown.
            context: Where checkpoints go, who is told of progress, and more; by default a temporary folder.
        """
        _check_options(self.options)
        given = {**self.options, "model": self.model, "preset": self.preset}
        run = resolve_run_config(options=given, beside=self._get_param_names())
        config = run.options
        if start is not None:
            check_is_fitted(start)
            check_same(start.model_.config, config, but=_MAY_DIFFER)
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
            held_out = None if validation is None else _validation_examples(validation, scorer, context)
            model = fit_model(name, scorer, training, held_out, context)
        self._set_fitted(model, targets.form, targets.columns)
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
        """Predict labels, in the form that `fit` was given: tuples of names, one name each, a matrix or a frame.

        By default labels are chosen as the model was trained; the options change that.

        Args:
            X: The texts.
            top_k: Give each text its k best labels, whatever their scores.
            threshold: Use this threshold for all labels.
            at_least: Give each text with words at least this many labels.
            hierarchy: Leave labels as they are, add their ancestors, or drop labels whose parents are not chosen.
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
        return self._scores(X, FittedModel.scores)

    def decision_function(self, X: Sequence[Content]) -> NDArray[np.float32]:
        """The raw score of each label before calibration, such as the length of its capsule; [texts, L]."""
        return self._scores(X, FittedModel.raw_scores)

    def score(self, X: Sequence[Content], y: Any, sample_weight: None = None) -> float:
        """The micro-F1 of the predicted labels, or their accuracy if every text has a single label.

        Labels that the model does not know count as missed.
        """
        check_is_fitted(self)
        if self.form_ == "single":
            resolver = LabelResolver(self.model_.classes.taxonomy)
            right = np.array([resolver.resolve([str(label)])[0] for label in y], dtype=object)
            return float(np.mean(self.predict(X) == right))
        return self.evaluate(X, y).flat.micro.f1

    def evaluate(self, X: Sequence[Content], y: Any) -> Evaluation:
        """All metrics of the predicted labels of some texts."""
        truth = self._truth(X, y)
        return self.model_.evaluate(truth.labels, self._own_scores(X), labels=truth.lists)

    def explain(self, text: str, **options: Any) -> Explanation:
        """Explain why a text gets its labels; options as in `taxocaps.explain`, such as `labels` and `out`."""
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
        name, options = model.name, _flat_options(model.config)
        classifier = cls(name.model, model.classes.taxonomy, name.preset, random_state=name.seed, **options)
        classifier._set_fitted(model, "names")
        return classifier

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    def _set_fitted(self, model: FittedModel, form: TargetForm, columns: tuple[str, ...] = ()) -> None:
        """Keep a model, and the form in which predictions are returned."""
        self.model_, self.form_, self.columns_ = model, form, columns
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
    ) -> Targets:
        """The training labels; the columns include labels of the classifier to start from, unseen ones and more."""
        taxonomy = None if self.taxonomy is None else as_taxonomy(self.taxonomy)
        older: tuple[str, ...] = ()
        if start is not None:
            older = start.model_.classes.names
            taxonomy = taxonomy or start.model_.classes.taxonomy
        if taxonomy is not None:
            taxonomy = taxonomy.with_labels(older)
        unseen = unseen_labels(taxonomy) if taxonomy is not None and config.gives_unseen else ()
        learned: tuple[str, ...] = ()
        if validation is not None and config.learns_validation:
            texts, labels = validation
            if len(texts) and not is_label_matrix(labels):
                learned = read_targets(labels, taxonomy, config.labels).classes.names
        return read_targets(y, taxonomy, config.labels, more=(*older, *unseen, *learned))

    def _truth(self, X: Sequence[Content], y: Any) -> Targets:
        check_is_fitted(self)
        targets = read_targets(y, None, self.model_.config.labels, known=self.model_.classes)
        _check_lengths(X, targets.labels)
        return targets

    def _own_scores(self, X: Sequence[Content]) -> NDArray[np.float32]:
        return self._scores(X, FittedModel.own_scores)

    def _scores(
        self, X: Sequence[Content], score: Callable[[FittedModel, EncodedDocuments], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        check_is_fitted(self)
        stream = self.model_.scorer.encoder.stream(_documents(_check_texts(X)), _CHUNK)
        parts = [score(self.model_, encoded) for encoded in stream]
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


_CHUNK = 256
"""Documents that are encoded and scored together."""

_MAY_DIFFER = (
    "labels",
    "validation",
    "decision",
    "training",
    "vocabulary",
    "vectors",
    "loss",
    "walks",
    "label_vectors",
)
"""Sections that may differ from those of the classifier to start from; its words are kept, whatever these say."""


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that only the command line has."""
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


def _flat_options(config: ModelConfig) -> dict[str, Any]:
    """The options of a model as flat parameters, such as `linear__C`."""
    options: dict[str, Any] = {}
    for section, values in config.as_mapping().items():
        if isinstance(values, dict):
            options |= {f"{section}__{key}": value for key, value in values.items()}
        elif section != "scorer":
            options[section] = values
    return options


def _validation_examples(validation: tuple[Sequence[Content], Any], scorer: Scorer, context: FitContext) -> Examples:
    texts, y = validation
    if not len(texts):
        raise CorpusError("there are no validation documents; leave them out, and some training ones are held out")
    labels = read_targets(y, None, scorer.config.labels, known=scorer.classes).labels
    return _examples(_check_texts(texts), labels, scorer.encoder, context, "validation documents")


def _examples(
    texts: Sequence[Content], labels: Any, encoder: DocumentEncoder, context: FitContext, stage: str
) -> Examples:
    """Encode texts into a store in the folder of the run, and read them from there."""
    _check_lengths(texts, labels)
    if not len(texts):
        raise CorpusError("there are no documents to learn from")
    part = stage.split(maxsplit=1)[0]
    folder = context.folder / "stores" / part
    folder.mkdir(parents=True, exist_ok=True)
    write_store(
        _documents(texts),
        encoder,
        folder,
        cache=context.folder / "tokens" / part,
        stage=stage,
        progress=context.progress,
        tell=context.tell,
    )
    return Examples(open_store(folder, encoder), labels)


class _PrintedProgress:
    """Prints progress to standard error: a line when a stage begins, and one when it ends."""

    def __init__(self) -> None:
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        if stage != self._stage or done == total:
            self._stage = stage
            sys.stderr.write(f"{stage}: {done:,}{f' of {total:,}' if total else ''}{f' ({note})' if note else ''}\n")
