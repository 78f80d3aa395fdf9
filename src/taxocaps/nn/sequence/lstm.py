"""LSTM and bidirectional LSTM over the words of a document (Hochreiter and Schmidhuber 1997; Graves 2005)."""

from typing import ClassVar, Literal

from torch import Tensor, nn

from taxocaps.config import Config
from taxocaps.nn.layers import Recurrence, dense_layer, pool_states
from taxocaps.nn.network import DropoutRate, LayerSize, Network, Sizes, word_embedding

__all__ = ["LSTMConfig", "LSTMNetwork"]


class LSTMConfig(Config):
    """Options of the LSTM network.

    Attributes:
        kind: The name of this network.
        directions: 1 for forward only, 2 for both directions.
        pooling: Whether a document is represented by its last state, or by the mean or the maximum of all states.
        units: Hidden size of each direction.
        dropout: Dropout rate before the last layer.
    """

    section: ClassVar[str] = "network"

    kind: Literal["lstm"] = "lstm"
    directions: Literal[1, 2] = 1
    pooling: Literal["last", "mean", "max"] = "last"
    units: LayerSize = 128
    dropout: DropoutRate = 0.5


class LSTMNetwork(Network):
    """The last state of each direction, followed by a linear layer: y = W [h_T; h_1] + b.

    Shapes:
        words: [B, T], 0 at padding; lengths: [B]; returns logits [B, L].
    """

    Config = LSTMConfig
    reads = ("tokens",)
    label_parameters = ("output.weight", "output.bias")

    def __init__(self, config: LSTMConfig, sizes: Sizes) -> None:
        """Make the layers."""
        super().__init__()
        self.pooling = config.pooling
        self.embedding = word_embedding(sizes)
        self.recurrence = Recurrence(sizes.D, config.units, directions=config.directions)
        self.dropout = nn.Dropout(config.dropout)
        self.output = dense_layer(self.recurrence.features, sizes.labels)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The logit of each label."""
        states, last = self.recurrence(self.embedding(words.long()), lengths)  # [B, T, H], [B, H]
        pooled = pool_states(states, last, lengths, self.pooling)  # [B, H]
        logits: Tensor = self.output(self.dropout(pooled))  # [B, L]
        return logits
