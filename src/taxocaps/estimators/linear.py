"""Linear classifiers over bags of words as scorers of texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.encoding.bag import BagEncoder
from taxocaps.encoding.corpus_words import Text, tokenise
from taxocaps.errors import CorpusError, ModelError
from taxocaps.estimators.base import FitReport, Labelled, TextScorer, Work
from taxocaps.linear.methods import METHODS
from taxocaps.linear.task import LinearTask
from taxocaps.linear.weights import LinearWeights
from taxocaps.text.pipeline import TextPipeline
from taxocaps.text.vocabulary import Vocabulary

__all__ = ["LinearScorer"]

_VOCABULARY, _WEIGHTS = "vocabulary.tsv", "weights.safetensors"


class LinearScorer(TextScorer):
    """A linear classifier for each label, or for each node of the taxonomy."""

    encoder: BagEncoder
    weights: LinearWeights

    def fit(self, training: Labelled, validation: Labelled, work: Work) -> FitReport:
        """Count words, then fit the classifiers; validation documents are not needed."""
        if self.start is not None:
            raise ModelError("linear models do not go on from another model; train on all documents together")
        pipeline = TextPipeline(self.config.text)
        chunks = tokenise(training.texts, pipeline, work.progress)
        self.encoder = BagEncoder.learn(chunks, pipeline, self.config.bag)
        if not self.encoder.vocabulary.words:
            raise CorpusError(
                f"no word occurs in {self.config.bag.min_documents} training documents; "
                "give more text, or a smaller bag.min_documents"
            )
        task = LinearTask(
            self.encoder.encode(chunks),
            csr_array(training.labels),
            self.classes,
            self.config.linear,
            seed=self.seed,
            threads=work.threads,
            progress=work.progress,
        )
        self.weights = METHODS[self.config.linear.structure].fit(task)
        return FitReport()

    def predict_scores(self, texts: Sequence[Text]) -> NDArray[np.float32]:
        """How well each label fits each text; a text without a known word has no score."""
        bags = self.encoder.read(texts)
        margins = self.weights.margins(bags)
        scores = METHODS[self.config.linear.structure].scores(margins, self.classes)
        scores[np.diff(bags.indptr) == 0] = 0
        return scores

    def save(self, folder: Path) -> None:
        """Write `vocabulary.tsv` and `weights.safetensors`, the weights as the three arrays of a sparse matrix."""
        from safetensors.numpy import save_file

        coef = self.weights.coef
        self.encoder.vocabulary.save(folder / _VOCABULARY)
        arrays = {
            "idf": self.encoder.idf,
            "intercept": self.weights.intercept,
            "coef.data": coef.data,
            "coef.indices": coef.indices.astype(np.int32),
            "coef.indptr": coef.indptr.astype(np.int64),
        }
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / _WEIGHTS)
        (folder / _WEIGHTS).chmod(0o644)

    def load(self, folder: Path) -> Self:
        """Read vocabulary and weights.

        Raises:
            ModelError: If the weights are damaged or do not fit together.
        """
        from safetensors.numpy import load_file

        vocabulary = Vocabulary.load(folder / _VOCABULARY)
        try:
            arrays = load_file(folder / _WEIGHTS)
            parts = tuple(arrays[f"coef.{name}"] for name in ("data", "indices", "indptr"))
            coef = csr_array(parts, shape=(len(arrays["intercept"]), len(vocabulary.words)))
            self.weights = LinearWeights(coef, arrays["intercept"])
            self.encoder = BagEncoder(TextPipeline(self.config.text), vocabulary, arrays["idf"], self.config.bag)
        except Exception as error:  # a damaged archive can fail in a dozen ways
            raise ModelError(f"{folder / _WEIGHTS}: damaged, or not the weights of this model") from error
        return self

    @property
    def parameters(self) -> int:
        """The number of weights that are not 0."""
        return int(self.weights.coef.nnz) + len(self.weights.intercept)
