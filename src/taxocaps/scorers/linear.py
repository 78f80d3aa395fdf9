"""Linear classifiers over bags of words as scorers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.arrays import ModelArrays, reading_arrays, write_arrays
from taxocaps.config import Between
from taxocaps.encoding.bag import IDF_BOUNDS, BagConfig, BagOfWords
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.errors import CorpusError
from taxocaps.linear.config import LinearConfig
from taxocaps.linear.methods import METHODS, Classifiers, word_contributions
from taxocaps.linear.model import KnownWeights, LinearTask, LinearWeights
from taxocaps.metrics.calibration import logistic, logit
from taxocaps.metrics.thresholds import best_threshold
from taxocaps.progress import Progress, silent
from taxocaps.results import FitReport
from taxocaps.scorers.base import CrossFit, Examples, FitContext, ModelConfig, Scorer, Workload
from taxocaps.scorers.decision import count_labels
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["LinearModelConfig", "LinearScorer"]

_COSTS = (1.0, 0.3, 3.0)
"""The values of `linear.C` to choose from: the first, unless another one is better by more than chance explains."""
_MOST_SEARCHED = 64
"""The number of labels on which these values are compared."""
_FEATURES_PER_WORD = {"words": 0.5, "pairs": 1.6, "characters": 4.0}
_COUNTING, _DESCENT, _PRODUCT = 1e-6, 3e-8, 2e-9
"""Seconds of one core to count a feature of a document, and for one label to learn from it or from a product."""
_VOCABULARY, _WEIGHTS = "vocabulary.tsv", "weights.safetensors"


class LinearModelConfig(ModelConfig):
    """The options of a linear model.

    Attributes:
        scorer: The kind of scorer.
        folds: Number of folds.
        bag: How words are counted.
        linear: How the classifiers are fitted.
    """

    fold_cost: ClassVar[float] = 0.5  # it begins with the weights of the fit to all documents

    scorer: Literal["linear"] = "linear"
    folds: Annotated[int, Between(0, 20)] = 5
    bag: BagConfig = BagConfig()
    linear: LinearConfig = LinearConfig()

    def seconds(self, workload: Workload) -> float:
        """Time grows with the features of documents, or with the products of few documents, and with labels."""
        features = _FEATURES_PER_WORD[self.bag.features] * workload.words
        return features * _COUNTING + workload.labels * min(features * _DESCENT, workload.documents**2 * _PRODUCT)


class LinearScorer(Scorer):
    """A linear classifier for each label, or for each node of the taxonomy."""

    Config = LinearModelConfig

    bag: BagOfWords
    weights: LinearWeights
    C: float
    """The cost of errors that it was fitted with."""

    @property
    def keeps_scale(self) -> bool:
        """With the same C, margins hardly change with some more documents."""
        return True

    def fit(self, training: Examples, validation: Examples | None, context: FitContext) -> FitReport:
        """Count words, then fit the classifiers; validation documents are not needed.

        If there is a scorer to start from, descent begins at its weights and reaches the same result, only sooner;
        labels that no document carries keep its weights.
        """
        bags = self._learn_bag(training.documents)
        task = self._task(bags, training.labels, context)
        self.weights, self.C = self._classifiers(task).fit(), float(task.config.C or 0)
        return FitReport()

    def cross_fit(self, training: Examples, folds: NDArray[np.int64], context: FitContext) -> CrossFit:
        """Count words once for all folds, since features do not depend on labels; then fit without each fold."""
        bags = self._learn_bag(training.documents)
        count = int(folds.max()) + 1
        listener = _Listener(context.progress)
        task = self._task(bags, training.labels, replace(context, progress=listener))
        if self.config.linear.C is None and self.start is None:
            task = self._searched(task, np.flatnonzero(folds == 0))
        classifiers = self._classifiers(task)
        self.weights, self.C = classifiers.fit(), float(task.config.C or 0)
        scores = np.zeros(training.labels.shape, np.float32)
        for fold in range(count):
            within = context.called(f"fold {fold + 1} of {count}").within(f"fold-{fold}")
            listener.progress = within.progress
            inside = np.flatnonzero(folds == fold)

            def score(inside: NDArray[np.int64] = inside) -> NDArray[np.float32]:
                return self._scores(classifiers.margins_without(inside), bags[inside])

            scores[inside] = within.kept("scores", score)
            done = folds <= fold
            context.judge(fold + 1, training.labels[done], scores[done])
        return CrossFit(FitReport(), scores)

    def take_start(self, training: Examples) -> None:
        """Copy the weights of the scorer to start from, which must have one-vs-rest classifiers, without fitting.

        Args:
            training: Documents from which the frequency of new labels is taken, which is all that is known of them.
        """
        assert self.start is not None
        ours, theirs = self.known_columns
        other, shape = self.start.weights, (len(self.classes), len(self.start.classes))
        placed = csr_array((np.ones(len(ours), np.float32), (ours, theirs)), shape)
        shares = (count_labels(training.labels) + 0.5) / (len(training) + 1)
        intercept = logit(shares).astype(np.float32)
        intercept[ours] = other.intercept[theirs]
        self.weights, self.C = LinearWeights(csr_array(placed @ other.coef), intercept), self.start.C
        self._take(self.start.bag)

    def scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """How well each label fits each document; a document without a known word has no score."""
        bags = self.bag.transform(documents)
        return self._scores(self.weights.margins(bags), bags)

    def _learn_bag(self, documents: EncodedDocuments) -> csr_array:
        """Choose the features; returns the vectors of the documents."""
        config = self.config.bag
        least = min(config.min_documents, max(1, len(documents) // 10))  # few documents have few words in common
        bag = BagOfWords.learn(documents, config.replace(min_documents=least))
        self._take(bag if self.start is None else bag.with_features_of(self.start.bag))
        if not self.vocabulary.words:
            raise CorpusError(
                f"no word occurs in {self.config.bag.min_documents} training documents; "
                "give more text, or a smaller bag.min_documents"
            )
        return self.bag.transform(documents)

    def _task(self, bags: csr_array, labels: csr_array, context: FitContext) -> LinearTask:
        config = self.config.linear
        return LinearTask(
            bags,
            csr_array(labels),
            self.classes,
            config if config.C is not None else config.replace(C=1.0 if self.start is None else self.start.C),
            seed=self.seed,
            threads=context.threads,
            progress=context.progress,
            start=self._known_weights(),
        )

    def _known_weights(self) -> KnownWeights | None:
        """The weights of the scorer to start from, over the features of this one; only for one-vs-rest classifiers."""
        if self.start is None or self.config.linear.structure != "flat":
            return None
        ours, theirs = self.known_columns
        coef = self.start.weights.coef[theirs].tocoo()
        columns = self.vocabulary.ids(self.start.vocabulary.words) - Vocabulary.FIRST
        kept = columns[coef.col] >= 0  # not all features need to have stayed
        rows, columns = coef.row[kept], columns[coef.col[kept]]
        placed = csr_array((coef.data[kept], (rows, columns)), shape=(len(ours), len(self.vocabulary.words)))
        return KnownWeights(ours, LinearWeights(placed, self.start.weights.intercept[theirs]))

    def _classifiers(self, task: LinearTask) -> Classifiers:
        return METHODS[task.config.structure].prepare(task)

    def _searched(self, task: LinearTask, left_out: NDArray[np.int64]) -> LinearTask:
        """The task with the best C, by micro-F1 on a sample of labels that is evenly spread by frequency.

        Args:
            task: The task.
            left_out: The documents that are scored by classifiers fitted to all others.
        """
        order = np.argsort(-count_labels(task.Y), kind="stable")
        columns = np.sort(order[:: math.ceil(len(order) / _MOST_SEARCHED)])

        def quality(chosen: LinearTask) -> float:
            part = replace(chosen.of_labels(columns), progress=silent)
            margins = self._classifiers(part).margins_without(left_out)
            truth = part.Y[left_out]
            found = best_threshold(truth, logistic(margins).astype(np.float32)).f1
            return found - (0 if _COSTS[0] == chosen.config.C else 0.5 / math.sqrt(max(1, truth.nnz)))

        return max((replace(task, config=task.config.replace(C=C)) for C in _COSTS), key=quality)

    def _scores(self, margins: NDArray[np.float32], bags: csr_array) -> NDArray[np.float32]:
        scores = METHODS[self.config.linear.structure].scores(margins, self.classes)
        scores[np.diff(bags.indptr) == 0] = 0
        return scores

    def knows(self, word: str) -> bool:
        """Whether a word is a feature, or contains one."""
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
        coef = self.weights.coef
        self.vocabulary.save(folder / _VOCABULARY)
        arrays = {
            "idf": self.bag.idf,
            "C": np.array([self.C]),
            "intercept": self.weights.intercept,
            "coef.data": coef.data,
            "coef.indices": coef.indices.astype(np.int32),
            "coef.indptr": coef.indptr.astype(np.int64),
        }
        write_arrays(folder / _WEIGHTS, arrays)

    def _load(self, folder: Path) -> None:
        vocabulary = Vocabulary.load(folder / _VOCABULARY)
        with reading_arrays(folder / _WEIGHTS):
            arrays = ModelArrays.read(folder / _WEIGHTS)
            rows, words = METHODS[self.config.linear.structure].rows(self.classes), len(vocabulary.words)
            coef = arrays.sparse("coef", np.float32, (rows, words))
            self.weights = LinearWeights(coef, arrays.dense("intercept", np.float32, (rows,)))
            self.C = float(arrays.dense("C", np.float64, (1,), 1e-6, 1e6)[0])
            self._take(BagOfWords(vocabulary, arrays.dense("idf", np.float64, (words,), *IDF_BOUNDS), self.config.bag))

    def _take(self, bag: BagOfWords) -> None:
        self.bag, self.vocabulary = bag, bag.vocabulary


class _Listener:
    """Passes progress on to a listener that may be exchanged meanwhile."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        self.progress(stage, done, total, note)
