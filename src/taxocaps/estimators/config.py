"""The configuration of a model: the sections of all stages, composed once."""

from dataclasses import dataclass, field

from taxocaps.corpus.labels import LabelConfig
from taxocaps.estimators.decisions import DecisionConfig
from taxocaps.estimators.objectives import LossConfig
from taxocaps.graph.config import GraphConfig
from taxocaps.nn.words_matrix import NetworkConfig
from taxocaps.settings import Settings
from taxocaps.taxonomy.embedding import LabelVectorsConfig
from taxocaps.taxonomy.walks import WalkConfig
from taxocaps.text.pipeline import TextConfig
from taxocaps.text.vectors import VectorsConfig
from taxocaps.text.vocabulary import VocabularyConfig
from taxocaps.training.config import TrainingConfig

__all__ = ["ModelConfig"]


@dataclass(frozen=True)
class ModelConfig(Settings):
    """Everything that decides what a model is and how it is trained."""

    labels: LabelConfig = field(default_factory=LabelConfig)
    text: TextConfig = field(default_factory=TextConfig)
    vocabulary: VocabularyConfig = field(default_factory=lambda: VocabularyConfig(min_count=2))
    graph: GraphConfig = field(default_factory=lambda: GraphConfig(radius=3, N=80, T=7))
    vectors: VectorsConfig = field(default_factory=lambda: VectorsConfig(source="skip-gram", dimension=100, epochs=10))
    network: NetworkConfig = field(default_factory=NetworkConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    walks: WalkConfig = field(default_factory=WalkConfig)
    label_vectors: LabelVectorsConfig = field(default_factory=LabelVectorsConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decision: DecisionConfig = field(default_factory=DecisionConfig)
