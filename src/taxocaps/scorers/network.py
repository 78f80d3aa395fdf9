"""Networks as scorers: vocabulary, word vectors and label vectors, then training with Lightning."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxocaps.arrays import check_finite, reading_arrays
from taxocaps.corpus.document import Document
from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.encoding.encoders import ENCODERS, Encoding
from taxocaps.encoding.words import count_words, learn_vectors, vocabulary_ids
from taxocaps.errors import CorpusError, ModelError
from taxocaps.joining.names import label_terms
from taxocaps.linear.model import Nodes
from taxocaps.metrics.calibration import logit
from taxocaps.nn.network import UNKNOWN, Estimate, Network, Sizes, shapes_only
from taxocaps.nn.prior import Prior
from taxocaps.results import FitReport
from taxocaps.scorers.base import CrossFit, Examples, FitContext, Scorer
from taxocaps.scorers.decision import Calibration, HeldOut, count_labels, fit_calibration
from taxocaps.scorers.folds import document_folds
from taxocaps.scorers.label_weights import LabelNearness
from taxocaps.scorers.linear import LinearModelConfig, LinearScorer
from taxocaps.scorers.model_folder import available_memory
from taxocaps.scorers.network_config import (
    ENCODER_FOLDER,
    NetworkModelConfig,
    encoder_options,
    network_config_type,
    network_type,
)
from taxocaps.scorers.objectives import OBJECTIVES
from taxocaps.scorers.pretrained import copy_encoder, describe_tuning, load_reader
from taxocaps.taxonomy.embedding import train_label_vectors, unit_vectors
from taxocaps.text.vocabulary import Vocabulary
from taxocaps.training.batches import score_documents
from taxocaps.training.config import TrainingConfig

__all__ = ["NetworkInputs", "NetworkScorer", "describe_memory"]

_LOG = logging.getLogger("taxocaps")
_NAMES_AT_ONCE = 256
_VOCABULARY, _WEIGHTS = "vocabulary.tsv", "weights.safetensors"


@dataclass(frozen=True, eq=False)
class NetworkInputs:
    """What a network reads: the arrays of its encodings, with words as ids of its vocabulary.

    Attributes:
        documents: The documents.
        encodings: Those that the network always reads.
        word_ids: From word ids of the encodings to those of the vocabulary.
        context: The encoding with contextual vectors, or pieces, of words.
        linear: The logits of a linear model, [documents, L].
    """

    documents: EncodedDocuments
    encodings: tuple[Encoding, ...]
    word_ids: NDArray[np.int32]
    context: Encoding | None = None
    linear: NDArray[np.float32] | None = None

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How much work each document is; [documents]."""
        return np.asarray(self.encodings[0].lengths)

    def arrays(self, documents: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """The arrays of some documents, those of one encoding after those of another; each is [B, ...].

        At the end there are, with a context, the slots of the words of the first encoding, those of the words of the
        context, and its vectors or pieces; and what a linear model says, if there is one.
        """
        read = [encoding.arrays(documents) for encoding in self.encodings]
        found = [array for words, *others in read for array in (self.word_ids[words], *others)]
        if self.context is not None:
            known, given = self.context.arrays(documents)
            found += [*_slots(read[0][0], known), given]
        self.documents.release_pages()
        return tuple(found) if self.linear is None else (*found, self.linear[documents])


def _linear_logits(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The logits of a linear model; NaN for a document in which it knows no word."""
    return np.where(scores.any(axis=1, keepdims=True), logit(scores), np.nan).astype(np.float32)


def _slots(words: NDArray[Any], known: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The slot of each word: its number from 1 among the distinct words of its document that have a context, or 0.

    Shapes:
        words: [B, ...]; known: [B, X]; returns the same shapes.
    """
    found = np.zeros(words.shape, np.int64), np.zeros(known.shape, np.int64)
    for document, row in enumerate(known):
        distinct = np.unique(row[row > UNKNOWN])
        if len(distinct):
            for slots, ids in zip(found, (words[document], row), strict=True):
                place = np.minimum(np.searchsorted(distinct, ids), len(distinct) - 1)
                slots[document] = np.where(distinct[place] == ids, place + 1, 0)
    return found


class NetworkScorer(Scorer):
    """A network, trained with Lightning."""

    Config = NetworkModelConfig

    objective: Any
    """The network joined with its loss."""
    linear: LinearScorer | None = None
    """The linear model whose logits the network adds to."""
    _validation_inputs: NetworkInputs | None = None
    """The validation documents of the last fit, with the out-of-fold logits of the linear model."""

    @classmethod
    def config_type(cls, options: Mapping[str, Any]) -> type[NetworkModelConfig]:
        """The configuration for the kind of network that the options name."""
        return network_config_type(options)

    def advice(self, documents: int) -> tuple[str, ...]:
        """Whether there are enough documents for a network, and how training copes with few."""
        return (*_too_few(documents), *_more_epochs(documents, self.config.training))

    def fit(self, training: Examples, validation: Examples | None, context: FitContext) -> FitReport:
        """Learn vocabulary, word vectors and label vectors, then train the network."""
        from taxocaps.training.trainer import LabelledInputs, check_device, train

        check_device(self.config.training.device)
        vectors = self._learn_words(training.documents, context)
        known = self._prior_examples(training, validation)
        folds = None if known is None else self._prior_folds(known)
        self.linear = None if folds is None else self._make_linear()
        self.objective = self._make_objective(vectors.shape[1], self._nearness(training.labels, context))
        context.tell(self._describe(vectors.shape[1], training.documents))
        self._set_weights(vectors)
        self._start_labels()
        counts = torch.from_numpy(count_labels(training.labels))  # [L]
        self.objective.prepare(counts, len(training), self.known_columns[0].tolist())
        inputs = self.inputs(training.documents)
        held_out = None if validation is None else self.inputs(validation.documents)
        if known is not None and folds is not None:
            # Not earlier: by now all options are known to be good, and there is something to keep for a resumed run.
            logits, calibration = self._fit_linear(known, folds, context)  # [documents, L]
            self._set_prior(known, calibration)
            inputs = replace(inputs, linear=logits[: len(training)])
            held_out = None if held_out is None else replace(held_out, linear=logits[len(training) :])
        self._validation_inputs = held_out
        return train(
            self.objective,
            LabelledInputs(inputs, training.labels),
            None if validation is None or held_out is None else LabelledInputs(held_out, validation.labels),
            self._training_config(context),
            folder=context.folder / "checkpoints",
            seed=self.seed,
            resume=context.resume,
            progress=context.progress,
            watch=context.watch,
        )

    def validated_fit(self, training: Examples, validation: Examples, context: FitContext) -> CrossFit:
        """The linear model learns from the validation documents, too, and scores them out of fold."""
        report = self.fit(training, validation, context)
        assert self._validation_inputs is not None
        return CrossFit(report, self._scores(self._validation_inputs))

    def scores(self, documents: EncodedDocuments) -> NDArray[np.float32]:
        """The length of each label's capsule, or the output of a dense head, joined with the linear model if any.

        The scores of a document without words are 0.
        """
        return self._scores(self._with_linear(documents))

    def _scores(self, inputs: NetworkInputs) -> NDArray[np.float32]:
        scores = score_documents(self.objective, inputs, len(self.classes), device=_device(self.config.training.device))
        scores[inputs.lengths == 0] = 0
        return scores

    def logit_parts(self, document: EncodedDocuments) -> Mapping[str, NDArray[np.float32]]:
        """What the linear model and the network add to the logits of one document, [L] each; empty without a prior."""
        if self.linear is None:
            return {}
        device = next(self.objective.parameters()).device
        arrays = self._with_linear(document).arrays(np.zeros(1, np.int64))
        with torch.inference_mode():
            parts = self.objective.eval().parts(tuple(torch.from_numpy(array).to(device) for array in arrays))  # [1, L]
        return dict(zip(("linear", "network"), (part[0].cpu().numpy() for part in parts), strict=True))

    @property
    def members(self) -> Mapping[str, Scorer]:
        """The linear model, if there is one."""
        return {} if self.linear is None else {"linear": self.linear}

    def knows(self, word: str) -> bool:
        """Whether the network or the linear model knows a word."""
        return super().knows(word) or (self.linear is not None and self.linear.knows(word))

    @property
    def network(self) -> Network:
        """The network itself."""
        network: Network = self.objective.network
        return network

    def inputs(self, documents: EncodedDocuments) -> NetworkInputs:
        """The inputs of the network for some documents, without those of a linear model."""
        reads = network_type(self.config).reads
        word_ids = vocabulary_ids(documents.tokens.words, self.vocabulary)
        pretrained = encoder_options(self.config)
        context = None if pretrained is None else documents.encoding(str(pretrained.encoding))
        return NetworkInputs(documents, tuple(map(documents.encoding, reads)), word_ids, context)

    @property
    def explainer(self) -> str:
        """Networks over words-matrices show their rows and the graph, too."""
        return "words-matrix" if "words-matrix" in network_type(self.config).reads else "occlusion"

    @property
    def parameters(self) -> int:
        """The number of weights of the network, and of the linear model."""
        own = sum(int(parameter.numel()) for parameter in self.objective.parameters())
        return own + (0 if self.linear is None else self.linear.parameters)

    def _save(self, folder: Path) -> None:
        """Write `vocabulary.tsv` and `weights.safetensors`, and the pre-trained encoder, if there is one."""
        from safetensors.torch import save_file

        self.vocabulary.save(folder / _VOCABULARY)
        state = {name: tensor.contiguous() for name, tensor in self.objective.state_dict().items()}
        save_file(state, folder / _WEIGHTS)
        if (pretrained := encoder_options(self.config)) is not None:
            copy_encoder(pretrained, folder / ENCODER_FOLDER)
        (folder / _WEIGHTS).chmod(0o644)  # it comes readable by its owner only, unlike all other files

    def _load(self, folder: Path) -> None:
        from safetensors.torch import load_file

        self.vocabulary = Vocabulary.load(folder / _VOCABULARY)
        with reading_arrays(folder / _WEIGHTS):
            weights = load_file(folder / _WEIGHTS)
            D = weights[f"network.{network_type(self.config).word_vectors_name}"].shape[1]
            with shapes_only():
                expected = self._make_objective(D, pretrained=False).state_dict()
            _check_weights(weights, expected, len(self.classes))
            self.objective = self._make_objective(D, pretrained=False)
            self.objective.load_state_dict(weights)

    def load(self, folder: Path) -> Self:
        """Read what `save` wrote; the linear model and the pre-trained encoder, too, if there were any."""
        if (pretrained := encoder_options(self.config)) is not None:
            self.config = self.config.replace(encoder=pretrained.replace(folder=str(folder / ENCODER_FOLDER)))
        if (folder / "members").exists():
            self.linear = self._make_linear()
        return super().load(folder)

    def _training_config(self, context: FitContext) -> TrainingConfig:
        """How to train: for as many epochs as an earlier fit has shown to be enough, if there was one."""
        config: TrainingConfig = self.config.training
        return config if context.epochs is None else config.replace(epochs=context.epochs, min_steps=0)

    def _make_linear(self) -> LinearScorer:
        linear = LinearScorer(LinearModelConfig(text=self.config.text), self.classes, self.seed)
        linear.threads = self.threads
        return linear

    def _prior_examples(self, training: Examples, validation: Examples | None) -> Examples | None:
        """The training documents of the linear model, as words only; None if there is no linear model.

        It learns from the validation documents, too: out of fold, they are scored by a model that has not seen them.
        """
        prior = getattr(self.config, "prior", None)
        is_alone = prior is None or prior.kind == "none" if self.start is None else self.start.linear is None
        if is_alone:
            return None
        parts = [training] if validation is None else [training, validation]
        words = [Examples(replace(part.documents, documents=(), encodings={}), part.labels) for part in parts]
        return words[0] if len(words) == 1 else words[0].with_others(words[1])

    def _prior_folds(self, known: Examples) -> NDArray[np.int64] | None:
        """The fold of each document of the linear model; None if there are too few documents."""
        if self.start is not None:  # its linear model stays as it is
            return np.zeros(len(known), np.int64)
        return document_folds(known, LinearModelConfig().folds, self.seed)

    def _fit_linear(
        self, known: Examples, folds: NDArray[np.int64], context: FitContext
    ) -> tuple[NDArray[np.float32], Calibration]:
        """Fit the linear model; returns its out-of-fold logits, [documents, L], and their calibration."""
        assert self.linear is not None
        if self.start is not None and self.start.linear is not None:  # of new labels it says how frequent they are
            self.linear.start, self.linear.origins = self.start.linear, self.origins
            self.linear.take_start(known)
            return _linear_logits(self.linear.scores(known.documents)), Calibration()
        try:
            beside = replace(context.called("linear model").within("linear"), watch=None)
            scores = self.linear.cross_fit(known, folds, beside).scores
        except CorpusError as error:
            raise CorpusError(
                "no word occurs in two training documents, so the linear model beside the network learns nothing; "
                "give more text, or set prior.kind to none"
            ) from error
        held_out = HeldOut.of_folds(known.labels, scores, folds)
        return _linear_logits(scores), fit_calibration(held_out, count_labels(known.labels))

    def _set_prior(self, known: Examples, calibration: Calibration) -> None:
        """Initialize the prior: with the calibration of the linear model, or as the scorer to start from has it."""
        counts = count_labels(known.labels)
        curves = (np.broadcast_to(values, counts.shape) for values in (calibration.slopes, calibration.intercepts))
        slopes, intercepts = (torch.tensor(np.ascontiguousarray(values)) for values in curves)
        prior = self.objective.prior
        prior.set_labels(torch.from_numpy(counts), len(known), slopes, intercepts)
        if self.start is not None:
            prior.continue_from(self.start.objective.prior, *self.known_columns)

    def _with_linear(self, documents: EncodedDocuments) -> NetworkInputs:
        """The inputs of the network for some documents, with the logits of the linear model if there is one."""
        inputs = self.inputs(documents)
        return inputs if self.linear is None else replace(inputs, linear=_linear_logits(self.linear.scores(documents)))

    def _learn_words(self, documents: EncodedDocuments, context: FitContext) -> NDArray[np.float32]:
        """Learn the vocabulary and its word vectors, or take those of the scorer to start from."""
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
        """Initialize the word vectors and, if there is a scorer to start from, all weights but those of new labels."""
        state = self.network.state_dict()
        state[self.network.word_vectors_name] = torch.from_numpy(vectors)
        if self.start is not None:
            ours, theirs = self.known_columns
            for name, weights in self.start.network.state_dict().items():
                axis = 1 if name in self.network.label_parameters else 0  # the first that must be the same
                if name not in state or state[name].shape[axis:] != weights.shape[axis:]:
                    raise ModelError("the model to start from has a network of another shape; use the same options")
                if axis:
                    state[name][ours] = weights[theirs]
                else:
                    state[name] = weights
        self.network.load_state_dict(state)

    def _start_labels(self) -> None:
        """Let labels begin with what their names say, if the options want it and they have learned nothing yet."""
        if getattr(self.config.network, "start", "random") != "names" or self.start is not None:
            return
        language, taxonomy, L = self.config.text.language, self.classes.taxonomy, len(self.classes)
        names = (". ".join(label_terms(taxonomy, label, language)) for label in self.classes.names)
        inputs = self.inputs(self.encoder.encode([Document(name) for name in names]))
        network: Any = self.network.eval()
        chunks = (inputs.arrays(rows) for rows in np.split(np.arange(L), np.arange(_NAMES_AT_ONCE, L, _NAMES_AT_ONCE)))
        with torch.no_grad():
            sums = torch.cat([network.capsule_sums(*map(torch.from_numpy, arrays)) for arrays in chunks])
        network.start_labels(sums)

    def _sizes(self, D: int) -> Sizes:
        encoders = (ENCODERS[name](config) for name, config in self.config.encodings.items())
        shape = {key: size for encoder in encoders for key, size in encoder.shape.items()}
        N, T = shape.pop("N", 0), shape.pop("T", 0)
        return Sizes(len(self.vocabulary), D, len(self.classes), N, T, shape)

    def _describe(self, D: int, documents: EncodedDocuments) -> str:
        """A line about the number of weights and the memory that training takes."""
        batch_size = self.config.training.batch_size
        found = network_type(self.config).estimate(self.config.network, self._sizes(D), batch_size)
        own = sum(int(parameter.numel()) for parameter in self.network.parameters())
        line = f"the network has {own:,} weights" if found is None else describe_memory(found, batch_size)
        pretrained = encoder_options(self.config)
        if pretrained is None or pretrained.weights == "frozen":
            return line
        lengths = documents.encoding("pieces").lengths
        visits = len(documents) * self.config.training.for_documents(len(documents)).epochs
        return f"{line}; {describe_tuning(pretrained, batch_size, visits, float(lengths.mean()))}"

    def _make_objective(self, D: int, nearness: LabelNearness | None = None, *, pretrained: bool = True) -> Any:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(self.seed)
            network = network_type(self.config)(self.config.network, self._sizes(D))
            encoder = encoder_options(self.config)
            if encoder is not None and encoder.weights == "tuned" and network.context is not None:
                network.context.reader = load_reader(encoder, pretrained=pretrained and self.start is None)
        make: Any = OBJECTIVES[network.objective]
        prior = {} if self.linear is None else {"prior": Prior(len(self.classes))}
        loss = getattr(self.config, "loss", None)
        return make(network, loss, nearness=nearness, edges=self._edges(), **prior)

    def _edges(self) -> torch.Tensor | None:
        """The taxonomy's edges for recursive regularization, as columns; nodes without a column come after them."""
        loss = getattr(self.config, "loss", None)
        if loss is None or not loss.recursive:
            return None
        nodes = Nodes.of(self.classes)
        others = np.setdiff1d(np.arange(len(nodes)), nodes.own)
        index = np.argsort(np.concatenate([nodes.own, others]))  # of each node, its column or what comes after
        edges = [(index[parent], index[child]) for child, above in enumerate(nodes.parents) for parent in above]
        return torch.from_numpy(np.array(edges, np.int64)).view(-1, 2).T  # [2, E]

    def _nearness(self, labels: csr_array, context: FitContext) -> LabelNearness | None:
        """How near labels are to one another, from which the weights in the loss come; None for uniform weights.

        Args:
            labels: CSR [documents, L], those of the training documents.
            context: The run.
        """
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
        positions = [taxonomy.position(name) for name in self.classes.names]
        if loss.control == "permuted":
            positions = np.random.default_rng(self.seed).permutation(positions).tolist()
        unit = torch.from_numpy(unit_vectors(vectors[positions]))  # [L, D]
        return LabelNearness(unit, labels if loss.siblings == "observed" else None)


def _check_weights(found: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor], labels: int) -> None:
    """Check that weights belong to a network before any memory is taken for it.

    Raises:
        ValueError: If they do not, or are not finite.
    """
    if found.keys() != expected.keys():
        raise ValueError(f"there should be {len(expected):,} arrays, by the names of the network")
    for name, tensor in found.items():
        wanted = expected[name]
        if (tensor.shape, tensor.dtype) != (wanted.shape, wanted.dtype):
            raise ValueError(
                f"{name} is {tensor.dtype} of the shape {tuple(tensor.shape)}, not {wanted.dtype} {tuple(wanted.shape)}"
            )
        if tensor.is_floating_point():
            check_finite(name, tensor.numpy())
        elif tensor.ndim and not (int(tensor.min()) >= 0 and int(tensor.max()) < labels):  # whole numbers are columns
            raise ValueError(f"{name} has numbers that are no labels")


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
    """A line for the user: weights, memory and, if that is too much, the options that take less.

    Args:
        estimate: What training takes.
        batch_size: Documents of a step.
        available: Bytes of memory; by default those of this machine.
    """
    available = available_memory() if available is None else available
    line = f"the network has {estimate.parameters:,} weights; training takes about {_gigabytes(estimate.memory)}"
    if available is None or estimate.memory < available:
        return line
    return f"{line}, but there are {_gigabytes(available)}; try {' and '.join(_advice(estimate, batch_size))}"


def _advice(estimate: Estimate, batch_size: int) -> list[str]:
    """Options that take less memory, the one that costs the least quality first."""
    smaller = ("training.batch_size=8",) if batch_size > 8 else ()
    return [f"--set {one}" for one in (*estimate.savings, *smaller)] or ["a smaller graph.N, or fewer labels"]


def _gigabytes(count: int) -> str:
    return f"{count / 2**30:.1f} GB"


@cache
def _device(name: str) -> str:
    """The device to compute scores on: a model may be used on a machine without the device it was trained on."""
    has = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if has.get(name):
        return name
    found = "cuda" if has["cuda"] else "cpu"
    if name != "auto":
        _LOG.warning("training.device=%s is not available on this machine; %s is used", name, found)
    return found
