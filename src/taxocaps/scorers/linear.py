"""Linear classifiers over bags of words as scorers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.config import Between
from taxocaps.encoding.bag import BagConfig, BagOfWords
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.errors import CorpusError, ModelError
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.methods import METHODS, word_contributions
from taxocaps.linear.model import LinearTask, LinearWeights
from taxocaps.progress import Progress
from taxocaps.results import FitReport
from taxocaps.scorers.base import CrossFit, Examples, FitContext, ModelConfig, Scorer
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["LinearModelConfig", "LinearScorer"]

_VOCABULARY, _WEIGHTS = "vocabulary.tsv", "weights.safetensors"


class LinearModelConfig(ModelConfig):
    """The options of a linear model.

    Attributes:
        scorer: The kind of scorer.
        folds: Number of folds.
        bag: How words are counted.
        linear: How the classifiers are fitted.
    """

    scorer: Literal["linear"] = "linear"
    folds: Annotated[int, Between(0, 20)] = 5
    bag: BagConfig = BagConfig()
    linear: LinearConfig = LinearConfig()


class LinearScorer(Scorer):
    """A linear classifier for each label, or for each node of the taxonomy."""

    Config = LinearModelConfig

    bag: BagOfWords
    weights: LinearWeights

    def fit(self, training: Examples, validation: Examples | None, context: FitContext) -> FitReport:
        """Count words, then fit the classifiers; validation documents are not needed."""
        bags = self._learn_bag(training.documents)
        self.weights = METHODS[self.config.linear.structure].fit(self._task(bags, training.labels, context))
        return FitReport()

    def cross_fit(self, training: Examples, folds: NDArray[np.int64], context: FitContext) -> CrossFit:
        """Words are counted once for all folds: how rare a word is does not depend on labels."""
        bags = self._learn_bag(training.documents)
        count = int(folds.max()) + 1
        contexts = [context.called(f"fold {fold + 1} of {count}").within(f"fold-{fold}") for fold in range(count)]
        missing = [fold for fold in range(count) if not contexts[fold].has("scores")]
        subsets = [*(np.flatnonzero(folds != fold) for fold in missing), np.arange(len(training))]
        method = METHODS[self.config.linear.structure]
        listener = _Listener(context.progress)
        task = self._task(bags, training.labels, replace(context, progress=listener))
        fitted = method.fit_subsets(task, subsets)
        scores = np.zeros(training.labels.shape, np.float32)
        for fold in range(count):
            listener.progress = contexts[fold].progress
            inside = np.flatnonzero(folds == fold)
            scores[inside] = contexts[fold].kept("scores", partial(self._next_scores, fitted, bags[inside]))
        listener.progress = context.progress
        self.weights = next(fitted)
        return CrossFit(FitReport(), scores)

    def scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """How well each label fits each document; a document without a known word has no score."""
        return self._scores(self.weights, self.bag.transform(documents))

    def _learn_bag(self, documents: EncodedDocuments) -> csr_array:
        """Choose the words that count; returns the vectors of the documents."""
        if self.start is not None:
            raise ModelError("linear models do not start from another model; train on all documents together")
        bag = self.config.bag
        least = min(bag.min_documents, max(1, len(documents) // 10))  # few documents have few words in common
        self._take(BagOfWords.learn(documents, bag.replace(min_documents=least)))
        if not self.vocabulary.words:
            raise CorpusError(
                f"no word occurs in {self.config.bag.min_documents} training documents; "
                "give more text, or a smaller bag.min_documents"
            )
        return self.bag.transform(documents)

    def _task(self, bags: csr_array, labels: csr_array, context: FitContext) -> LinearTask:
        return LinearTask(
            bags,
            csr_array(labels),
            self.classes,
            self.config.linear,
            seed=self.seed,
            threads=context.threads,
            progress=context.progress,
        )

    def _next_scores(self, fitted: Iterator[LinearWeights], bags: csr_array) -> NDArray[np.float32]:
        return self._scores(next(fitted), bags)

    def _scores(self, weights: LinearWeights, bags: csr_array) -> NDArray[np.float32]:
        scores = METHODS[self.config.linear.structure].scores(weights.margins(bags), self.classes)
        scores[np.diff(bags.indptr) == 0] = 0
        return scores

    def knows(self, word: str) -> bool:
        """Whether a word is a feature, or is spelled with one."""
        return self.bag.knows(word)

    @property
    def explainer(self) -> str:
        """Weights of words, where words are the features."""
        return "linear" if self.config.bag.features == "words" else "occlusion"

    def word_weights(self, document: EncodedDocuments, columns: Sequence[int]) -> list[Mapping[str, float]]:
        """For each of some labels, weight times value of each known word of one document."""
        bag, words = self.bag.transform(document), self.vocabulary.words
        known = [words[index] for index in bag.indices.tolist()]
        found = (word_contributions(self.weights, bag, column, self.classes, self.config.linear) for column in columns)
        return [dict(zip(known, values.tolist(), strict=True)) for values in found]

    @property
    def parameters(self) -> int:
        """The number of weights that are not 0."""
        return int(self.weights.coef.nnz) + len(self.weights.intercept)

    def _save(self, folder: Path) -> None:
        """Write `vocabulary.tsv` and `weights.safetensors`, the weights as the three arrays of a sparse matrix."""
        from safetensors.numpy import save_file

        coef = self.weights.coef
        self.vocabulary.save(folder / _VOCABULARY)
        arrays = {
            "idf": self.bag.idf,
            "intercept": self.weights.intercept,
            "coef.data": coef.data,
            "coef.indices": coef.indices.astype(np.int32),
            "coef.indptr": coef.indptr.astype(np.int64),
        }
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / _WEIGHTS)
        (folder / _WEIGHTS).chmod(0o644)

    def _load(self, folder: Path) -> None:
        from safetensors.numpy import load_file

        vocabulary = Vocabulary.load(folder / _VOCABULARY)
        try:
            arrays = load_file(folder / _WEIGHTS)
            parts = tuple(arrays[f"coef.{name}"] for name in ("data", "indices", "indptr"))
            coef = csr_array(parts, shape=(len(arrays["intercept"]), len(vocabulary.words)))
            self.weights = LinearWeights(coef, arrays["intercept"])
            self._take(BagOfWords(vocabulary, arrays["idf"], self.config.bag))
        except Exception as error:  # a damaged archive can fail in a dozen ways
            raise ModelError(f"{folder / _WEIGHTS}: damaged, or not the weights of this model") from error

    def _take(self, bag: BagOfWords) -> None:
        self.bag, self.vocabulary = bag, bag.vocabulary


class _Listener:
    """Passes progress on to whoever listens at the time."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        self.progress(stage, done, total, note)
