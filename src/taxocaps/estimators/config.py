"""The configuration of a model: the sections of all stages, composed once."""

from dataclasses import field
from typing import Annotated, Any, Literal

from taxocaps.config import Config, Kinds
from taxocaps.corpus.labels import LabelConfig
from taxocaps.encoding.bag import BagConfig
from taxocaps.encoding.tokens import TokensConfig
from taxocaps.estimators.decisions import DecisionConfig
from taxocaps.estimators.networks import NETWORKS
from taxocaps.estimators.objectives import LossConfig
from taxocaps.graph.config import GraphConfig
from taxocaps.linear.config import LinearConfig
from taxocaps.nn.words_matrix import NetworkConfig
from taxocaps.taxonomy.embedding import LabelVectorsConfig
from taxocaps.taxonomy.walks import WalkConfig
from taxocaps.text.pipeline import TextConfig
from taxocaps.text.vectors import VectorsConfig
from taxocaps.text.vocabulary import VocabularyConfig
from taxocaps.training.config import TrainingConfig

__all__ = ["ModelConfig", "used_options", "used_sections"]

_KINDS = Kinds({name: kind.config for name, kind in NETWORKS.items()})
_SECTIONS_OF_LINEAR = ("bag", "linear")
_SECTIONS_OF_LOSSES = ("loss", "walks", "label_vectors")
_SECTIONS_OF_NETWORKS = ("vocabulary", "vectors", "network", *_SECTIONS_OF_LOSSES)
_SECTION_OF_ENCODING = {"words-matrix": "graph", "tokens": "tokens", "sentences": "tokens"}


class ModelConfig(Config):
    """Everything that decides what a model is and how it is trained; a model reads only some of the sections.

    Attributes:
        family: Whether the model is a network or linear.
    """

    family: Literal["network", "linear"] = "network"
    labels: LabelConfig = field(default_factory=LabelConfig)
    text: TextConfig = field(default_factory=TextConfig)
    bag: BagConfig = field(default_factory=BagConfig)
    linear: LinearConfig = field(default_factory=LinearConfig)
    vocabulary: VocabularyConfig = field(default_factory=lambda: VocabularyConfig(min_count=2))
    graph: GraphConfig = field(default_factory=lambda: GraphConfig(radius=3, N=80, T=7))
    tokens: TokensConfig = field(default_factory=TokensConfig)
    vectors: VectorsConfig = field(default_factory=lambda: VectorsConfig(source="skip-gram", dimension=100, epochs=10))
    network: Annotated[Any, _KINDS] = field(default_factory=NetworkConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    walks: WalkConfig = field(default_factory=WalkConfig)
    label_vectors: LabelVectorsConfig = field(default_factory=LabelVectorsConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decision: DecisionConfig = field(default_factory=DecisionConfig)


def used_sections(config: ModelConfig) -> frozenset[str]:
    """The keys of a configuration that its model reads."""
    if config.family == "linear":
        unused = {*_SECTIONS_OF_NETWORKS, *_SECTION_OF_ENCODING.values()}
    else:
        kind = NETWORKS[config.network.kind]
        others = set(_SECTION_OF_ENCODING.values()) - {_SECTION_OF_ENCODING[kind.encoding]}
        unused = {*_SECTIONS_OF_LINEAR, *others, *(_SECTIONS_OF_LOSSES if kind.gives == "sequences" else ())}
        if kind.encoding == "tokens" and config.tokens.unit == "characters":
            unused.add("text")
    return frozenset(vars(config)) - unused


def used_options(config: ModelConfig) -> dict[str, Any]:
    """The options that the model reads, as nested plain values."""
    used = used_sections(config)
    return {key: value for key, value in config.as_mapping().items() if key in used}
