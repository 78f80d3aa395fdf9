"""Networks as scorers: vocabulary, word vectors and label vectors, then training with Lightning."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import create_model

from taxocaps.config import Config
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.encoding.encoders import ENCODERS, Encoding
from taxocaps.encoding.words import count_words, learn_vectors, vocabulary_ids
from taxocaps.errors import ConfigError, CorpusError, ModelError, TaxoCapsError
from taxocaps.nn.network import Estimate, Network, Sizes
from taxocaps.nn.networks import NETWORKS
from taxocaps.results import FitReport
from taxocaps.scorers.base import Examples, FitContext, ModelConfig, Scorer, Workload
from taxocaps.scorers.objectives import OBJECTIVES, LossConfig
from taxocaps.taxonomy.embedding import LabelVectorsConfig, train_label_vectors, unit_vectors
from taxocaps.taxonomy.walks import WalkConfig
from taxocaps.text.vectors import VectorsConfig
from taxocaps.text.vocabulary import Vocabulary, VocabularyConfig
from taxocaps.training.batches import score_documents
from taxocaps.training.config import TrainingConfig

__all__ = ["NetworkInputs", "NetworkModelConfig", "NetworkScorer", "describe_memory"]

_PER_DOCUMENT, _PER_LABEL = 4e-3, 1e-5
"""Seconds of one core for a document in an epoch, and what each label adds: networks of usual sizes are much alike."""
_VOCABULARY, _WEIGHTS = "vocabulary.tsv", "weights.safetensors"


class NetworkModelConfig(ModelConfig):
    """The options of a network model; the sections of what its network reads are added to these.

    Attributes:
        scorer: The kind of scorer.
        vocabulary: Which words have an id.
        vectors: Where word vectors come from.
        network: The options of the network.
        training: How it is trained.
    """

    scorer: Literal["network"] = "network"
    vocabulary: VocabularyConfig = VocabularyConfig()
    vectors: VectorsConfig = VectorsConfig()
    network: Config
    training: TrainingConfig = TrainingConfig()

    @property
    def encodings(self) -> Mapping[str, Config]:
        """The encodings that the network reads, each with its options."""
        return {name: getattr(self, ENCODERS[name].Config.section) for name in _network_type(self).reads}

    def seconds(self, workload: Workload) -> float:
        """Time goes with documents and epochs; more labels make a network larger."""
        visits = workload.documents * self.training.for_documents(workload.documents).epochs
        return visits * (_PER_DOCUMENT + _PER_LABEL * workload.labels)

    def __reduce__(self) -> tuple[Any, ...]:
        # The classes of configurations are made when they are needed, and have no name that pickle would find.
        return _restore, (self.as_mapping(),)


def _restore(options: Mapping[str, Any]) -> NetworkModelConfig:
    return NetworkScorer.config_type(options).model_validate(options)


class _PointwiseModelConfig(NetworkModelConfig):
    """The options of a network that scores each label on its own.

    Attributes:
        loss: The training loss.
        walks: The random walks on the taxonomy.
        label_vectors: The label vectors learned from them.
    """

    loss: LossConfig = LossConfig()
    walks: WalkConfig = WalkConfig()
    label_vectors: LabelVectorsConfig = LabelVectorsConfig()


@cache
def _config_type(kind: str) -> type[NetworkModelConfig]:
    """The options of models with one kind of network."""
    network = NETWORKS[kind]
    configs = [ENCODERS[name].Config for name in network.reads]
    sections: dict[str, Any] = {config.section: (config, config()) for config in configs}
    return create_model(
        f"{network.__name__}ModelConfig",
        __base__=_PointwiseModelConfig if network.objective == "pointwise" else NetworkModelConfig,
        __doc__=NetworkModelConfig.__doc__,
        network=(network.Config, network.Config()),
        **sections,
    )


@dataclass(frozen=True, eq=False)
class NetworkInputs:
    """What a network reads: the arrays of its encodings, with words as ids of its vocabulary."""

    documents: EncodedDocuments
    encodings: tuple[Encoding, ...]
    word_ids: NDArray[np.int32]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How much work each document is; [documents]."""
        return np.asarray(self.encodings[0].lengths)

    def arrays(self, documents: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """The arrays of some documents, those of one encoding after those of another; each is [B, ...]."""
        found: list[NDArray[Any]] = []
        for encoding in self.encodings:
            words, *others = encoding.arrays(documents)
            found += [self.word_ids[words], *others]
        self.documents.release_pages()
        return tuple(found)


class NetworkScorer(Scorer):
    """A network, trained with Lightning."""

    Config = NetworkModelConfig

    objective: Any
    """The network joined with its loss."""

    @classmethod
    def config_type(cls, options: Mapping[str, Any]) -> type[NetworkModelConfig]:
        """The configuration for the kind of network that the options name."""
        network = options.get("network")
        kind = network.get("kind") if isinstance(network, Mapping) else None
        if kind is None:
            raise ConfigError(f"network.kind is missing; there are {', '.join(NETWORKS)}")
        return _config_type(str(kind))

    def advice(self, documents: int) -> tuple[str, ...]:
        """Whether there are enough documents for a network, and how training copes with few."""
        return (*_too_few(documents), *_more_epochs(documents, self.config.training))

    def fit(self, training: Examples, validation: Examples | None, context: FitContext) -> FitReport:
        """Learn vocabulary, word vectors and label vectors, then train the network."""
        from taxocaps.training.trainer import LabelledInputs, train

        vectors = self._learn_words(training.documents, context)
        self.objective = self._make_objective(vectors.shape[1], self._label_vectors(context))
        context.tell(self._describe(vectors.shape[1]))
        self._set_weights(vectors)
        self.objective.prepare(torch.from_numpy(np.asarray(training.labels.sum(axis=0)).ravel()))
        return train(
            self.objective,
            LabelledInputs(self.inputs(training.documents), training.labels),
            None if validation is None else LabelledInputs(self.inputs(validation.documents), validation.labels),
            self.config.training,
            folder=context.folder / "checkpoints",
            seed=self.seed,
            resume=context.resume,
            progress=context.progress,
        )

    def scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """The length of each label's capsule, or the output of a dense head; a document without words has none."""
        inputs = self.inputs(documents)
        scores = score_documents(self.objective, inputs, len(self.classes), device=_device(self.config.training.device))
        scores[inputs.lengths == 0] = 0
        return scores

    @property
    def network(self) -> Network:
        """The network itself."""
        network: Network = self.objective.network
        return network

    def inputs(self, documents: EncodedDocuments) -> NetworkInputs:
        """What the network reads of some documents."""
        reads = _network_type(self.config).reads
        word_ids = vocabulary_ids(documents.tokens.words, self.vocabulary)
        return NetworkInputs(documents, tuple(map(documents.encoding, reads)), word_ids)

    @property
    def explainer(self) -> str:
        """Networks over words-matrices show their rows and the graph, too."""
        return "words-matrix" if "words-matrix" in _network_type(self.config).reads else "occlusion"

    @property
    def parameters(self) -> int:
        """The number of weights of the network."""
        return sum(parameter.numel() for parameter in self.network.parameters())

    def _save(self, folder: Path) -> None:
        """Write `vocabulary.tsv` and `weights.safetensors`."""
        from safetensors.torch import save_file

        self.vocabulary.save(folder / _VOCABULARY)
        state = {name: tensor.contiguous() for name, tensor in self.network.state_dict().items()}
        save_file(state, folder / _WEIGHTS)
        (folder / _WEIGHTS).chmod(0o644)  # it comes readable by its owner only, unlike all other files

    def _load(self, folder: Path) -> None:
        from safetensors.torch import load_file

        self.vocabulary = Vocabulary.load(folder / _VOCABULARY)
        try:
            weights = load_file(folder / _WEIGHTS)
            D = weights[_network_type(self.config).word_vectors_name].shape[1]
            self.objective = self._make_objective(D)
            self.network.load_state_dict(weights)
        except TaxoCapsError:  # such as a tokenizer that is not installed
            raise
        except Exception as error:  # a damaged archive can fail in a dozen ways
            raise ModelError(f"{folder / _WEIGHTS}: damaged, or not the weights of this model") from error

    def _learn_words(self, documents: EncodedDocuments, context: FitContext) -> NDArray[np.float32]:
        """The vocabulary and its vectors, those of the scorer to start from if there is one."""
        if self.start is not None:
            self.vocabulary = self.start.vocabulary
            vectors: NDArray[np.float32] = self.start.network.word_vectors.detach().numpy()
            return vectors
        self.vocabulary = count_words(documents, self.config.vocabulary)
        if not self.vocabulary.words:
            raise CorpusError(
                f"no word of the training documents occurs {self.config.vocabulary.min_count} times; "
                "give more text, or a smaller vocabulary.min_count"
            )
        return learn_vectors(documents, self.vocabulary, self.config.vectors, context.progress)

    def _set_weights(self, vectors: NDArray[np.float32]) -> None:
        """Begin with these word vectors, or with all weights of the scorer to start from, new labels aside."""
        state = self.network.state_dict()
        state[self.network.word_vectors_name] = torch.from_numpy(vectors)
        if self.start is not None:
            columns = {name: column for column, name in enumerate(self.classes.names)}
            known = [columns[name] for name in self.start.classes.names]
            for name, weights in self.start.network.state_dict().items():
                axis = 1 if name in self.network.label_parameters else 0  # the first that must be the same
                if name not in state or state[name].shape[axis:] != weights.shape[axis:]:
                    raise ModelError("the model to start from has a network of another shape; use the same options")
                if axis:
                    state[name][known] = weights
                else:
                    state[name] = weights
        self.network.load_state_dict(state)

    def _sizes(self, D: int) -> Sizes:
        encoders = (ENCODERS[name](config) for name, config in self.config.encodings.items())
        shape = {key: size for encoder in encoders for key, size in encoder.shape.items()}
        N, T = shape.pop("N", 0), shape.pop("T", 0)
        return Sizes(len(self.vocabulary), D, len(self.classes), N, T, shape)

    def _describe(self, D: int) -> str:
        """A line about weights and memory, and what would take less if that is too much."""
        batch_size = self.config.training.batch_size
        found = _network_type(self.config).estimate(self.config.network, self._sizes(D), batch_size)
        return f"the network has {self.parameters:,} weights" if found is None else describe_memory(found, batch_size)

    def _make_objective(self, D: int, label_vectors: torch.Tensor | None = None) -> Any:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(self.seed)
            network = _network_type(self.config)(self.config.network, self._sizes(D))
        make: Any = OBJECTIVES[network.objective]
        return make(network, getattr(self.config, "loss", None), label_vectors=label_vectors, edges=self._edges())

    def _edges(self) -> torch.Tensor | None:
        """The columns of parents and children, if labels are to be like their parents."""
        loss = getattr(self.config, "loss", None)
        if loss is None or not loss.recursive:
            return None
        edges = [(parent, child) for child, above in enumerate(self.classes.parents) for parent in above]
        return torch.tensor(edges, dtype=torch.int64).view(-1, 2).T  # [2, E]

    def _label_vectors(self, context: FitContext) -> torch.Tensor | None:
        """The vectors of the labels, of length 1; None if all labels weigh the same."""
        loss = getattr(self.config, "loss", None)
        if loss is None or loss.label_weights == "uniform":
            return None
        taxonomy = self.classes.taxonomy
        vectors = train_label_vectors(
            taxonomy,
            self.config.walks,
            self.config.label_vectors,
            seed=self.seed,
            threads=context.threads,
            progress=lambda done, total: context.progress("learning label vectors", done, total),
        )
        return torch.from_numpy(unit_vectors(vectors[[taxonomy.position(name) for name in self.classes.names]]))


def _too_few(documents: int) -> Iterator[str]:
    if documents < _FEW_FOR_A_NETWORK:
        yield (
            f"networks need thousands of documents, and there are {documents:,}: "
            "linear models, joined by --model auto, are usually better"
        )


_FEW_FOR_A_NETWORK = 1_000


def _more_epochs(documents: int, config: TrainingConfig) -> Iterator[str]:
    epochs, batches = config.for_documents(documents).epochs, config.batches(documents)
    if epochs > config.epochs:
        yield (
            f"{documents:,} documents are {batches:,} batch{'es' * (batches != 1)}: training for {epochs:,} epochs "
            f"in place of {config.epochs:,}, {epochs * batches:,} steps (training.min_steps)"
        )


def describe_memory(estimate: Estimate, batch_size: int, available: int | None = None) -> str:
    """A line for people: weights, memory and, if that is too much, what would take less.

    Args:
        estimate: What training takes.
        batch_size: Documents of a step.
        available: Bytes of memory; by default those of this machine.
    """
    available = _available_memory() if available is None else available
    line = f"the network has {estimate.parameters:,} weights; training takes about {_gigabytes(estimate.memory)}"
    if available is None or estimate.memory < available:
        return line
    return f"{line}, but there are {_gigabytes(available)}; try {' and '.join(_advice(estimate, batch_size))}"


def _available_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a Unix system
        return None


def _advice(estimate: Estimate, batch_size: int) -> list[str]:
    """Settings that take less memory, the one that costs least quality first."""
    smaller = ("training.batch_size=8",) if batch_size > 8 else ()
    return [f"--set {one}" for one in (*estimate.savings, *smaller)] or ["a smaller graph.N, or fewer labels"]


def _gigabytes(count: int) -> str:
    return f"{count / 2**30:.1f} GB"


def _network_type(config: Any) -> type[Network]:
    return NETWORKS[config.network.kind]


def _device(name: str) -> str:
    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"
