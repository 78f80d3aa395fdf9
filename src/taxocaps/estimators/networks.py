"""The networks there are: for each its options, its module, and how documents are made into what it reads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from torch import nn

from taxocaps.config import Config
from taxocaps.encoding.characters import CharacterPipeline
from taxocaps.encoding.corpus_words import Pipeline, Text
from taxocaps.encoding.tokens import SentenceEncoder, TokenEncoder, TokensConfig
from taxocaps.encoding.words_matrix import WordsMatrixEncoder
from taxocaps.graph.config import GraphConfig
from taxocaps.nn.blocks import SequenceSizes
from taxocaps.nn.dgcnn import DGCNN, DGCNNConfig
from taxocaps.nn.sequence.bi_blosan import BiBloSAN, BiBloSANConfig
from taxocaps.nn.sequence.capsule_text import CapsuleText, CapsuleTextConfig
from taxocaps.nn.sequence.hierarchical import HierarchicalConfig, HierarchicalNetwork
from taxocaps.nn.sequence.kim_cnn import KimCNN, KimCNNConfig
from taxocaps.nn.sequence.lstm import LSTMConfig, LSTMNetwork
from taxocaps.nn.sequence.rcnn import RCNN, RCNNConfig
from taxocaps.nn.sequence.sgm import SGM, SGMConfig
from taxocaps.nn.sequence.vdcnn import VDCNN, VDCNNConfig
from taxocaps.nn.sequence.xml_cnn import XMLCNN, XMLCNNConfig
from taxocaps.nn.words_matrix import NetworkConfig, Sizes, WordsMatrixNetwork
from taxocaps.progress import Progress
from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.text.tokens import TokenChunk
from taxocaps.text.vocabulary import Vocabulary
from taxocaps.training.batches import EncodedDocuments

__all__ = ["NETWORKS", "DocumentEncoder", "Encoding", "NetworkKind", "Reading", "make_network"]

Encoding = Literal["words-matrix", "tokens", "sentences"]


@dataclass(frozen=True)
class NetworkKind:
    """One kind of network.

    Attributes:
        config: Its options; `config().kind` is its name.
        module: Made of its options and sizes.
        encoding: What it reads.
        gives: A number for each label, or labels one after another.
    """

    config: type[Any]
    module: type[nn.Module]
    encoding: Encoding
    gives: Literal["scores", "sequences"] = "scores"


_KINDS = (
    NetworkKind(NetworkConfig, WordsMatrixNetwork, "words-matrix"),
    NetworkKind(DGCNNConfig, DGCNN, "words-matrix"),
    NetworkKind(LSTMConfig, LSTMNetwork, "tokens"),
    NetworkKind(HierarchicalConfig, HierarchicalNetwork, "sentences"),
    NetworkKind(KimCNNConfig, KimCNN, "tokens"),
    NetworkKind(RCNNConfig, RCNN, "tokens"),
    NetworkKind(XMLCNNConfig, XMLCNN, "tokens"),
    NetworkKind(BiBloSANConfig, BiBloSAN, "tokens"),
    NetworkKind(SGMConfig, SGM, "tokens", gives="sequences"),
    NetworkKind(VDCNNConfig, VDCNN, "tokens"),
    NetworkKind(CapsuleTextConfig, CapsuleText, "tokens"),
)

NETWORKS: Mapping[str, NetworkKind] = {kind.config().kind: kind for kind in _KINDS}
"""Every kind of network by its name."""


class DocumentEncoder(Protocol):
    """Makes what a network reads out of documents."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that have a number."""

    def read(self, texts: Iterable[Text]) -> EncodedDocuments:
        """Encode some texts."""

    def store(self, chunks: Sequence[TokenChunk], folder: Path, progress: Progress, stage: str) -> EncodedDocuments:
        """Encode all documents of a training run, on disk if they are large."""


@dataclass(frozen=True)
class Reading:
    """The options that decide how documents are read, whatever the network makes of them."""

    encoding: Encoding
    text: TextConfig
    graph: GraphConfig
    tokens: TokensConfig

    def pipeline(self) -> Pipeline:
        """What makes words, or characters, out of texts."""
        by_character = self.encoding == "tokens" and self.tokens.unit == "characters"
        return CharacterPipeline() if by_character else TextPipeline(self.text)

    def encoder(self, pipeline: Pipeline, vocabulary: Vocabulary, threads: int) -> DocumentEncoder:
        """What makes arrays out of words."""
        if self.encoding == "words-matrix":
            return WordsMatrixEncoder(pipeline, vocabulary, self.graph, threads)
        encoder = TokenEncoder if self.encoding == "tokens" else SentenceEncoder
        return encoder(pipeline, vocabulary, self.tokens)

    def sizes(self, vocabulary: int, D: int, labels: int) -> Sizes | SequenceSizes:
        """What the data decide about a network."""
        if self.encoding == "words-matrix":
            return Sizes(vocabulary, D, self.graph.N, self.graph.T, labels)
        return SequenceSizes(vocabulary, D, labels)


def make_network(config: Config, sizes: Sizes | SequenceSizes) -> nn.Module:
    """The network of these options, with random weights."""
    return NETWORKS[config.kind].module(config, sizes)  # type: ignore[attr-defined]
