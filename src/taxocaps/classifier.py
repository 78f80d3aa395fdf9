"""`TaxoCapsClassifier`: every model behind the interface of scikit-learn."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from taxocaps.catalogue.presets import DEFAULT_MODEL, model_config
from taxocaps.catalogue.registry import find_model
from taxocaps.config import merge, nested
from taxocaps.encoding.corpus_words import Text
from taxocaps.errors import ConfigError, CorpusError
from taxocaps.estimators.base import Labelled, Work
from taxocaps.estimators.config import ModelConfig, used_options, used_sections
from taxocaps.estimators.model import FittedModel, ModelName, fit_model
from taxocaps.estimators.persistence import load_model, save_model
from taxocaps.estimators.scorers import make_scorer
from taxocaps.estimators.targets import Targets, read_targets
from taxocaps.files import atomic_folder
from taxocaps.metrics.flat import flat_metrics
from taxocaps.taxonomy.readers import read_taxonomy
from taxocaps.taxonomy.tree import Taxonomy
from taxocaps.taxonomy.writers import write_taxonomy

__all__ = ["TaxoCapsClassifier"]

_TOO_FEW_TO_PART = 10
"""With fewer documents, holding some out would leave next to nothing; they validate themselves."""


class TaxoCapsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Assigns labels out of a taxonomy to texts.

    Works like any classifier of scikit-learn, in a `Pipeline`, `cross_val_score` or `GridSearchCV`. X is a list of
    texts (or of lists of ready words). Labels are lists of names, one name a text, or an indicator matrix, and
    predictions come back in the same form.

    Args:
        model: The name of a model, in any case; `taxocaps models` lists them.
        taxonomy: A `Taxonomy` or the path of a taxonomy file; None for labels that stand side by side.
        preset: `default`, `fast`, `paper-rcv1`, `paper-eurlex` or `paper-reuters`.
        settings: Further options by their full names, such as `{"graph.window": 4, "training.epochs": 5}`.
        random_state: The seed of all randomness: the same seed gives the same model on the same machine. None draws
            one.

    Attributes:
        classes_: The labels of the columns, in taxonomy order.
        model_: The fitted model, which has every option (`model_.config`), the threshold of each label
            (`model_.cuts`), and how good it is on its validation documents (`model_.validation`).

    Example::

        classifier = TaxoCapsClassifier(taxonomy="topics.tsv", preset="fast")
        classifier.fit(texts, [["trade", "oil"], ["art"], ...])
        classifier.predict(["Crude prices rose again."])   # [("trade", "oil")]
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        taxonomy: Taxonomy | str | os.PathLike[str] | None = None,
        preset: str = "default",
        *,
        settings: Mapping[str, Any] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.model = model
        self.taxonomy = taxonomy
        self.preset = preset
        self.settings = settings
        self.random_state = random_state

    def fit(
        self,
        X: Sequence[Text],
        y: Any,
        *,
        validation: tuple[Sequence[Text], Any] | None = None,
        start: "TaxoCapsClassifier | None" = None,
        work: Work | None = None,
    ) -> Self:
        """Learn from texts and their labels.

        Args:
            X: The texts.
            y: Their labels: lists of names, one name each, or an indicator matrix whose columns are the labels of the
                taxonomy in its order.
            validation: Texts and labels that decide when to stop and where to cut; by default some of X is held out.
            start: Go on from the weights of this fitted classifier, which must have the same options; labels may be
                new, and words that it does not know stay unknown.
            work: Where checkpoints go, who is told of progress, and more; by default a temporary folder, and nobody.
        """
        config = self._config()
        if start is not None:
            _check_start(start, config)
        targets = self._targets(y, config, start)
        name = ModelName(find_model(self.model).name, self.preset, self._seed())
        training = _together(_check_texts(X), targets.labels)
        held_out = self._validation(validation, targets, config)
        if held_out is None:
            training, held_out = _part(training, config.training.validation, name.seed)
        with tempfile.TemporaryDirectory() as temporary:
            work = work or Work(Path(temporary), threads=os.cpu_count() or 1)
            work.folder.mkdir(parents=True, exist_ok=True)
            write_taxonomy(targets.classes.taxonomy, work.folder / "taxonomy.tsv")  # if it cannot be saved, say so now
            scorer = make_scorer(config, targets.classes, name.seed)
            scorer.start = start.model_.scorer if start is not None else None
            self._take(fit_model(name, scorer, training, held_out, work), targets.form)
        return self

    def predict(self, X: Sequence[Text]) -> Any:
        """The labels of texts, in the form that `fit` was given: tuples of names, one name each, or a CSR matrix."""
        check_is_fitted(self)
        scores = self.predict_proba(X)
        if self.form_ == "single":
            return self.classes_[scores.argmax(axis=1)]
        chosen = self.model_.choose(scores)
        return chosen if self.form_ == "matrix" else self.model_.classes.lists(chosen)

    def predict_proba(self, X: Sequence[Text]) -> NDArray[np.float32]:
        """The calibrated score of each label; [texts, L], each label on its own between 0 and 1."""
        check_is_fitted(self)
        return self.model_.scores(_check_texts(X))

    def decision_function(self, X: Sequence[Text]) -> NDArray[np.float32]:
        """Scores before calibration: the lengths of the label capsules, or the outputs of a dense head; [texts, L]."""
        check_is_fitted(self)
        return self.model_.raw_scores(_check_texts(X))

    def score(self, X: Sequence[Text], y: Any, sample_weight: None = None) -> float:
        """Micro-F1 of the labels; accuracy where every text has one label."""
        check_is_fitted(self)
        truth = read_targets(y, None, self.model_.config.labels, known=self.model_.classes)
        if self.form_ == "single":
            return float(np.mean(self.predict(X) == np.asarray(y)))
        return flat_metrics(truth.labels, self.model_.choose(self.predict_proba(X))).micro.f1

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
            trust_code: Whether a tokenizer that the model names, a Python function, may be run.
        """
        model = load_model(Path(path), trust_code=trust_code)
        classifier = cls(
            model.name.model,
            model.classes.taxonomy,
            model.name.preset,
            settings=used_options(model.config),
            random_state=model.name.seed,
        )
        classifier._take(model, "names")
        return classifier

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    def _take(self, model: FittedModel, form: str) -> None:
        self.model_, self.form_ = model, form
        self.classes_ = np.array(model.classes.names, dtype=object)

    def _config(self) -> ModelConfig:
        layers = [nested(key, value) for key, value in (self.settings or {}).items()]
        return model_config(self.model, self.preset, merge(*layers))

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.default_rng().integers(2**31))
        if not isinstance(self.random_state, int | np.integer) or self.random_state < 0:
            raise ConfigError(f"random_state must be a whole number from 0 on, or None; got {self.random_state!r}")
        return int(self.random_state)

    def _targets(self, y: Any, config: ModelConfig, start: "TaxoCapsClassifier | None") -> Targets:
        taxonomy = self.taxonomy
        if taxonomy is not None and not isinstance(taxonomy, Taxonomy):
            taxonomy = read_taxonomy(taxonomy)
        if start is not None:
            taxonomy = taxonomy or start.model_.classes.taxonomy
        older = start.model_.classes.names if start is not None else ()
        if taxonomy is not None:
            taxonomy = taxonomy.with_labels(older)
        return read_targets(y, taxonomy, config.labels, more=older)

    @staticmethod
    def _validation(given: tuple[Sequence[Text], Any] | None, targets: Targets, config: ModelConfig) -> Labelled | None:
        if given is None:
            return None
        texts, y = given
        if not len(texts):
            raise CorpusError("there are no validation documents; leave them out, and some training ones are held out")
        labels = read_targets(y, None, config.labels, known=targets.classes).labels
        return _together(_check_texts(texts), labels)


def _check_start(start: TaxoCapsClassifier, config: ModelConfig) -> None:
    """Weights fit only a network of the same shape over words of the same kind."""
    check_is_fitted(start)
    if start.model_.config.family != config.family:
        raise ConfigError(f"the model to start from is {start.model_.config.family}, not {config.family}")
    used = used_sections(config)
    for section in (name for name in ("text", "graph", "tokens", "network") if name in used):
        theirs, ours = getattr(start.model_.config, section).as_mapping(), getattr(config, section).as_mapping()
        for key, value in ours.items():
            if theirs.get(key) != value:
                raise ConfigError(
                    f"the model to start from has {section}.{key}={theirs.get(key)}, not {value}; use the same options"
                )


def _check_texts(X: Any) -> Sequence[Text]:
    if isinstance(X, str):
        raise CorpusError("texts are given as a list; got one text: put it into a list")
    if not isinstance(X, list | tuple):
        X = list(X)
    for place, text in enumerate(X):
        if not isinstance(text, str | list | tuple):
            raise CorpusError(f"texts[{place}] must be text or a list of words; got {type(text).__name__}")
    return X  # type: ignore[no-any-return]


def _together(texts: Sequence[Text], labels: Any) -> Labelled:
    if len(texts) != labels.shape[0]:
        raise CorpusError(f"every text needs its labels; got {len(texts)} texts and the labels of {labels.shape[0]}")
    return Labelled(texts, labels)


def _part(documents: Labelled, share: float, seed: int) -> tuple[Labelled, Labelled]:
    """Training and validation documents, drawn at random; very few documents are both."""
    count = len(documents)
    if count == 0:
        raise CorpusError("there are no documents to learn from")
    if count < _TOO_FEW_TO_PART:
        return documents, documents
    order = np.random.default_rng(seed).permutation(count)
    end = max(1, round(share * count))
    return _some(documents, np.sort(order[end:])), _some(documents, np.sort(order[:end]))


def _some(documents: Labelled, numbers: NDArray[np.int64]) -> Labelled:
    return Labelled([documents.texts[number] for number in numbers.tolist()], documents.labels[numbers])
