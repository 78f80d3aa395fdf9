"""Networks as scorers of texts."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from taxocaps.encoding.corpus_words import Pipeline, Text, count_words, learn_vectors, tokenise
from taxocaps.errors import CorpusError, ModelError
from taxocaps.estimators.base import FitReport, Labelled, TextScorer, Work
from taxocaps.estimators.memory import available_memory, describe_memory
from taxocaps.estimators.networks import NETWORKS, DocumentEncoder, Reading, make_network
from taxocaps.estimators.objectives import PointwiseObjective, SequenceObjective
from taxocaps.nn.estimate import estimate_training
from taxocaps.nn.sequence.sgm import SGM
from taxocaps.nn.words_matrix import NetworkConfig, Sizes
from taxocaps.taxonomy.embedding import train_label_vectors
from taxocaps.taxonomy.weights import unit_vectors
from taxocaps.text.tokens import TokenChunk
from taxocaps.text.vocabulary import Vocabulary
from taxocaps.training.batches import EncodedDocuments
from taxocaps.training.scoring import score_documents

__all__ = ["NetworkScorer"]

_VOCABULARY, _WEIGHTS = "vocabulary.tsv", "weights.safetensors"


class NetworkScorer(TextScorer):
    """A network over words-matrices, words or sentences, trained with Lightning."""

    encoder: DocumentEncoder
    objective: Any
    """A PointwiseObjective or a SequenceObjective, around the network."""

    def fit(self, training: Labelled, validation: Labelled, work: Work) -> FitReport:
        """Make vocabulary, vectors and encoded documents, then train the network."""
        from taxocaps.training.trainer import Examples, train

        pipeline = self._reading.pipeline()
        chunks = tokenise(training.texts, pipeline, work.progress)
        vectors = self._learn_words(pipeline, chunks, work)
        learned = self.encoder.store(chunks, work.folder / "training", work.progress, "encoding documents")
        held_out = self.encoder.store(
            tokenise(validation.texts, pipeline),
            work.folder / "validation",
            work.progress,
            "encoding validation documents",
        )
        self.objective = self._objective(vectors.shape[1], self._label_vectors(work))
        work.tell(self._memory(vectors.shape[1]))
        self._set_weights(vectors)
        if isinstance(self.objective, SequenceObjective):
            self.objective.network.set_frequencies(torch.from_numpy(np.asarray(training.labels.sum(axis=0)).ravel()))
        report = train(
            self.objective,
            Examples(learned, training.labels),
            Examples(held_out, validation.labels),
            self.config.training,
            folder=work.folder / "checkpoints",
            seed=self.seed,
            resume=work.resume,
            progress=work.progress,
        )
        return FitReport(report.epochs, report.best_epoch, tuple(map(dict, report.history)))

    def predict_scores(self, texts: Sequence[Text]) -> NDArray[np.float32]:
        """The length of each label's capsule, or the output of a dense head; a text without words has none."""
        documents = self.encoder.read(texts)
        scores = self.score_encoded(documents)
        scores[documents.lengths == 0] = 0
        return scores

    def score_encoded(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """The scores of documents that are encoded already."""
        return score_documents(
            self.objective, documents, len(self.classes), device=_device(self.config.training.device)
        )

    def save(self, folder: Path) -> None:
        """Write `vocabulary.tsv` and `weights.safetensors`."""
        from safetensors.torch import save_file

        self.encoder.vocabulary.save(folder / _VOCABULARY)
        save_file(self._network_state(), folder / _WEIGHTS)
        (folder / _WEIGHTS).chmod(0o644)  # it comes readable by its owner only, unlike all other files

    def load(self, folder: Path) -> Self:
        """Read vocabulary and weights.

        Raises:
            ModelError: If the weights are damaged or belong to another network.
        """
        from safetensors.torch import load_file

        vocabulary = Vocabulary.load(folder / _VOCABULARY)
        self.encoder = self._reading.encoder(self._reading.pipeline(), vocabulary, os.cpu_count() or 1)
        try:
            weights = load_file(folder / _WEIGHTS)
            self.objective = self._objective(weights["embedding.weight"].shape[1])
            self.objective.network.load_state_dict(weights)
        except Exception as error:  # a damaged archive can fail in a dozen ways
            raise ModelError(f"{folder / _WEIGHTS}: damaged, or not the weights of this model") from error
        return self

    @property
    def parameters(self) -> int:
        """The number of weights of the network."""
        return sum(parameter.numel() for parameter in self.objective.network.parameters())

    @property
    def _reading(self) -> Reading:
        config = self.config
        return Reading(NETWORKS[config.network.kind].encoding, config.text, config.graph, config.tokens)

    def _learn_words(self, pipeline: Pipeline, chunks: Sequence[TokenChunk], work: Work) -> NDArray[np.float32]:
        """The vocabulary and its vectors, those of the scorer to start from if there is one."""
        if isinstance(self.start, NetworkScorer):
            vocabulary = self.start.encoder.vocabulary
            vectors: NDArray[np.float32] = self.start.objective.network.state_dict()["embedding.weight"].numpy()
        else:
            vocabulary = count_words(chunks, self.config.vocabulary)
            if not vocabulary.words:
                raise CorpusError(
                    f"no word of the training documents occurs {self.config.vocabulary.min_count} times; "
                    "give more text, or a smaller vocabulary.min_count"
                )
            vectors, _ = learn_vectors(chunks, vocabulary, self.config.vectors, work.progress)
        self.encoder = self._reading.encoder(pipeline, vocabulary, work.threads)
        return vectors

    def _set_weights(self, vectors: NDArray[np.float32]) -> None:
        """Begin with these word vectors, or with all weights of the scorer to start from, new labels aside."""
        state = self.objective.network.state_dict()
        state["embedding.weight"] = torch.from_numpy(vectors)
        if isinstance(self.start, NetworkScorer):
            columns = {name: column for column, name in enumerate(self.classes.names)}
            places = [columns[name] for name in self.start.classes.names]
            for name, weights in self.start.objective.network.state_dict().items():
                axis = 1 if name in self.objective.network.label_parameters else 0  # the first that must be the same
                if name not in state or state[name].shape[axis:] != weights.shape[axis:]:
                    raise ModelError("the model to start from has a network of another shape; use the same options")
                if axis:
                    state[name][places] = weights
                else:
                    state[name] = weights
        self.objective.network.load_state_dict(state)

    def _network_state(self) -> dict[str, torch.Tensor]:
        return {name: tensor.contiguous() for name, tensor in self.objective.network.state_dict().items()}

    def _sizes(self, D: int) -> Any:
        return self._reading.sizes(len(self.encoder.vocabulary), D, len(self.classes))

    def _memory(self, D: int) -> str:
        network, sizes, batch_size = self.config.network, self._sizes(D), self.config.training.batch_size
        if isinstance(network, NetworkConfig) and isinstance(sizes, Sizes):
            estimate = estimate_training(network, sizes, batch_size)
            return describe_memory(estimate, available_memory(), network, batch_size)
        return f"the network has {self.parameters:,} weights"

    def _objective(
        self, D: int, label_vectors: torch.Tensor | None = None
    ) -> PointwiseObjective[Any] | SequenceObjective:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(self.seed)
            network = make_network(self.config.network, self._sizes(D))
        if isinstance(network, SGM):
            return SequenceObjective(network)
        return PointwiseObjective(
            network,
            self.config.loss,
            gives_logits=getattr(network, "gives_logits", True),  # unless it says otherwise
            label_vectors=label_vectors,
            edges=self._edges(),
        )

    def _edges(self) -> torch.Tensor | None:
        """The columns of parents and children, if labels are to be like their parents."""
        if not self.config.loss.recursive:
            return None
        edges = [(parent, child) for child, above in enumerate(self.classes.parents) for parent in above]
        return torch.tensor(edges, dtype=torch.int64).view(-1, 2).T  # [2, E]

    def _label_vectors(self, work: Work) -> torch.Tensor | None:
        """The vectors of the labels, of length 1; None if all labels weigh the same."""
        if self.config.loss.label_weights == "uniform":
            return None
        taxonomy = self.classes.taxonomy
        vectors = train_label_vectors(
            taxonomy,
            self.config.walks,
            self.config.label_vectors,
            seed=self.seed,
            threads=work.threads,
            progress=lambda done, total: work.progress("learning label vectors", done, total),
        )
        return torch.from_numpy(unit_vectors(vectors[[taxonomy.position(name) for name in self.classes.names]]))


def _device(name: str) -> str:
    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"
