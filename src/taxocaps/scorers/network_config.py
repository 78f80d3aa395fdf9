"""The options of network models: those of all networks, and the sections that each kind of network adds."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import create_model

from taxocaps.config import Config
from taxocaps.encoding.encoders import ENCODERS
from taxocaps.encoding.pieces import EncoderConfig
from taxocaps.errors import ConfigError
from taxocaps.nn.networks import NETWORKS
from taxocaps.scorers.base import ModelConfig, Workload
from taxocaps.scorers.linear import LinearModelConfig
from taxocaps.scorers.objectives import LossConfig
from taxocaps.scorers.pretrained import seconds_to_read
from taxocaps.taxonomy.embedding import LabelVectorsConfig
from taxocaps.taxonomy.walks import WalkConfig
from taxocaps.text.vectors import VectorsConfig
from taxocaps.text.vocabulary import VocabularyConfig
from taxocaps.training.config import TrainingConfig

if TYPE_CHECKING:
    from taxocaps.nn.network import Network

__all__ = [
    "ENCODER_FOLDER",
    "NetworkModelConfig",
    "PriorConfig",
    "encoder_options",
    "network_config_type",
    "network_type",
]

ENCODER_FOLDER = "encoder"
"""The folder of the pre-trained encoder inside that of a model."""

_PER_DOCUMENT, _PER_LABEL = 4e-3, 1e-5
"""Seconds of one core for a document in an epoch, and what each label adds: networks of usual sizes are much alike."""


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
        found = {name: getattr(self, ENCODERS[name].Config.section) for name in network_type(self).reads}
        pretrained = encoder_options(self)
        return found if pretrained is None else {**found, str(pretrained.encoding): pretrained}

    def seconds(self, workload: Workload) -> float:
        """Time grows with documents and epochs; more labels make a network larger, and an encoder reads all words."""
        epochs = self.training.for_documents(workload.documents).epochs
        pretrained = encoder_options(self)
        reading = 0.0 if pretrained is None else seconds_to_read(pretrained, workload.words, epochs)
        return workload.documents * epochs * (_PER_DOCUMENT + _PER_LABEL * workload.labels) + reading

    @property
    def portable(self) -> Self:
        """With the encoder that lies in the model's own folder."""
        pretrained = encoder_options(self)
        return self if pretrained is None else self.replace(encoder=pretrained.replace(folder=ENCODER_FOLDER))

    def __reduce__(self) -> tuple[Any, ...]:
        # The class of a configuration is made when it is needed, and has no name by which pickle would find it.
        return _restore, (self.as_mapping(),)


def _restore(options: Mapping[str, Any]) -> NetworkModelConfig:
    return network_config_type(options).model_validate(options)


class PriorConfig(Config):
    """The model beside a network, whose scores the network adds to.

    Attributes:
        kind: `linear` for a linear model over the same words: its out-of-fold scores are a prior, and the network
            learns what they miss; `none` for a network alone.
    """

    section: ClassVar[str] = "prior"

    kind: Literal["none", "linear"] = "linear"


class _PointwiseModelConfig(NetworkModelConfig):
    """The options of a network that scores each label on its own.

    Attributes:
        loss: The training loss.
        walks: The random walks on the taxonomy.
        label_vectors: The label vectors learned from them.
        prior: What the network adds to.
    """

    loss: LossConfig = LossConfig()
    walks: WalkConfig = WalkConfig()
    label_vectors: LabelVectorsConfig = LabelVectorsConfig()
    prior: PriorConfig = PriorConfig()

    def seconds(self, workload: Workload) -> float:
        """The network, and the linear model with its folds."""
        linear = LinearModelConfig()
        fits = 1 + linear.fold_cost * linear.folds if self.prior.kind == "linear" else 0
        return super().seconds(workload) + fits * linear.seconds(workload)

    def as_member(self) -> Self:
        """Without a linear model of its own: a joined model has better ones."""
        return self.replace(prior=PriorConfig(kind="none"))


@cache
def _config_type(kind: str) -> type[NetworkModelConfig]:
    """The options of models with one kind of network."""
    network = NETWORKS[kind]
    configs: list[Any] = [ENCODERS[name].Config for name in network.reads]
    configs += [EncoderConfig] if network.reads_context else []
    sections: dict[str, Any] = {config.section: (config, config()) for config in configs}
    return create_model(
        f"{network.__name__}ModelConfig",
        __base__=_PointwiseModelConfig if network.objective == "pointwise" else NetworkModelConfig,
        __doc__=NetworkModelConfig.__doc__,
        network=(network.Config, network.Config()),
        **sections,
    )


def network_config_type(options: Mapping[str, Any]) -> type[NetworkModelConfig]:
    """The configuration class for the kind of network that some options name."""
    network = options.get("network")
    kind = network.get("kind") if isinstance(network, Mapping) else None
    if kind is None:
        raise ConfigError(f"network.kind is missing; there are {', '.join(NETWORKS)}")
    return _config_type(str(kind))


def network_type(config: Any) -> "type[Network]":
    """The class of the network of a model."""
    return NETWORKS[config.network.kind]


def encoder_options(config: Any) -> EncoderConfig | None:
    """The options of the pre-trained encoder, if a model has one."""
    found: EncoderConfig | None = getattr(config, EncoderConfig.section, None)
    return found if found is not None and found.folder is not None else None
