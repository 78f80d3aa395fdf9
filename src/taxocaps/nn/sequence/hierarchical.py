"""Words to sentences to documents: HLSTM (Tang et al. 2015; Chen et al. 2016) and HAN (Yang et al. 2016)."""

from typing import ClassVar, Literal

from torch import Tensor, nn

from taxocaps.config import Config
from taxocaps.nn.layers import (
    AttentionPooling,
    Recurrence,
    dense_layer,
    pool_states,
    sequence_mask,
    to_documents,
)
from taxocaps.nn.network import DropoutRate, LayerSize, Network, Sizes, word_embedding

__all__ = ["HierarchicalConfig", "HierarchicalNetwork"]


class HierarchicalConfig(Config):
    """Options of the hierarchical networks; the defaults are those of the hierarchical attention network, HAN.

    Attributes:
        kind: The name of this network.
        pooling: Whether a sequence is represented by its last state, by the mean or the maximum of all states, or by a
            mean weighted by attention.
        cell: The kind of recurrent layer on both levels.
        directions: 1 for forward only, 2 for both directions.
        units: Hidden size of each direction, on both levels.
        attention_size: Size of the context vectors of attention.
        dropout: Dropout rate of the document vector.
    """

    section: ClassVar[str] = "network"

    kind: Literal["hierarchical"] = "hierarchical"
    pooling: Literal["last", "mean", "max", "attention"] = "attention"
    cell: Literal["lstm", "gru"] = "gru"
    directions: Literal[1, 2] = 2
    units: LayerSize = 50
    attention_size: LayerSize = 100
    dropout: DropoutRate = 0.0


class HierarchicalNetwork(Network):
    """One level reads the words of a sentence, the next its document's sentences: s_i = f(w_i1 ...), d = g(s_1 ...).

    Only sentences that exist are computed. Empty sentences are skipped wherever they stand.

    Shapes:
        words: [B, S, W], 0 at padding; lengths: [B, S] words of each sentence, 0 for one that does not exist; returns
        logits [B, L].
    """

    Config = HierarchicalConfig
    reads = ("sentences",)
    label_parameters = ("output.weight", "output.bias")

    def __init__(self, config: HierarchicalConfig, sizes: Sizes) -> None:
        """Make the layers."""
        super().__init__()
        self.embedding = word_embedding(sizes)
        self.sentence = _Level(config, sizes.D)
        self.document = _Level(config, self.sentence.features)
        self.dropout = nn.Dropout(config.dropout)
        self.output = dense_layer(self.document.features, sizes.labels)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The logit of each label."""
        mask = lengths > 0  # [B, S]
        sentences = self.sentence(self.embedding(words[mask].long()), lengths[mask])  # [R, H]
        counts = mask.sum(dim=1)  # [B]
        documents = to_documents(sentences, sequence_mask(counts, words.shape[1]))  # [B, S, H]
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
        self.pooling = config.pooling

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        states: Tensor
        last: Tensor
        states, last = self.recurrence(x, lengths)  # [B, T, H], [B, H]
        if self.pooling != "attention":
            return pool_states(states, last, lengths, self.pooling)  # [B, H]
        assert self.attention is not None
        pooled: Tensor = self.attention(states, sequence_mask(lengths, x.shape[1]))  # [B, H]
        return pooled
