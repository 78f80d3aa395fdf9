"""Words to sentences to documents: HLSTM (Tang et al. 2015; Chen et al. 2016) and HAN (Yang et al. 2016)."""

from typing import Annotated, ClassVar, Literal

from torch import Tensor, nn

from taxocaps.config import Between, Config
from taxocaps.nn.blocks import AttentionPooling, Recurrence, SequenceSizes, is_real, word_embedding
from taxocaps.nn.heads import to_documents

__all__ = ["HierarchicalConfig", "HierarchicalNetwork"]

_Size = Annotated[int, Between(1, 1_000_000)]


class HierarchicalConfig(Config):
    """The axes and sizes of the network; the defaults are those of the hierarchical attention network, HAN.

    Attributes:
        kind: The name of this network.
        pooling: Whether a sequence becomes its last state, or a mean of all states weighted by attention.
        cell: The kind of recurrence on both levels.
        directions: Whether sequences are read forwards only, or backwards, too.
        units: Cells of each direction, on both levels.
        attention_size: Numbers that attention compares, where `pooling` is attention.
        dropout: Share of the features of a document that are dropped in training.
    """

    section: ClassVar[str] = "network"

    kind: Literal["hierarchical"] = "hierarchical"
    pooling: Literal["last", "attention"] = "attention"
    cell: Literal["lstm", "gru"] = "gru"
    directions: Literal[1, 2] = 2
    units: _Size = 50
    attention_size: _Size = 100
    dropout: Annotated[float, Between(0, 0.95)] = 0.0


class HierarchicalNetwork(nn.Module):
    """One level reads the words of a sentence, the next its document's sentences: s_i = f(w_i1 ...), d = g(s_1 ...).

    Only sentences that are there are computed. One that is not may stand anywhere; the others move together.

    Shapes:
        words: [B, S, W], 0 for padding; lengths: [B, S] words of each sentence, 0 for one that is not there; returns
        logits [B, L].
    """

    def __init__(self, config: HierarchicalConfig, sizes: SequenceSizes) -> None:
        """Make the layers."""
        super().__init__()
        self.embedding = word_embedding(sizes)
        self.sentence = _Level(config, sizes.D)
        self.document = _Level(config, self.sentence.features)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(self.document.features, sizes.labels)
        self.label_parameters = ("output.weight", "output.bias")

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The logit of each label."""
        is_there = lengths > 0  # [B, S]
        sentences = self.sentence(self.embedding(words[is_there].long()), lengths[is_there])  # [R, H]
        counts = is_there.sum(dim=1)  # [B]
        documents = to_documents(sentences, is_real(counts, words.shape[1]))  # [B, S, H]
        logits: Tensor = self.output(self.dropout(self.document(documents, counts)))  # [B, L]
        return logits


class _Level(nn.Module):
    """One vector for each sequence.

    Shapes:
        x: [B, T, C]; lengths: [B]; returns [B, H].
    """

    def __init__(self, config: HierarchicalConfig, inputs: int) -> None:
        super().__init__()
        self.recurrence = Recurrence(inputs, config.units, directions=config.directions, cell=config.cell)
        self.features = self.recurrence.features
        is_attentive = config.pooling == "attention"
        self.attention = AttentionPooling(self.features, config.attention_size) if is_attentive else None

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        states: Tensor
        last: Tensor
        states, last = self.recurrence(x, lengths)  # [B, T, H], [B, H]
        if self.attention is None:
            return last  # [B, H]
        pooled: Tensor = self.attention(states, is_real(lengths, x.shape[1]))  # [B, H]
        return pooled
