"""LSTM and bidirectional LSTM over the words of a document (Hochreiter and Schmidhuber 1997; Graves 2005)."""

from typing import Annotated, ClassVar, Literal

from torch import Tensor, nn

from taxocaps.config import Between, Config
from taxocaps.nn.blocks import Recurrence, SequenceSizes, word_embedding

__all__ = ["LSTMConfig", "LSTMNetwork"]


class LSTMConfig(Config):
    """The sizes of the network.

    Attributes:
        kind: The name of this network.
        directions: Whether documents are read forwards only, or backwards, too.
        units: Cells of each direction.
        dropout: Share of the features before the last layer that are dropped in training.
    """

    section: ClassVar[str] = "network"

    kind: Literal["lstm"] = "lstm"
    directions: Literal[1, 2] = 1
    units: Annotated[int, Between(1, 1_000_000)] = 128
    dropout: Annotated[float, Between(0, 0.95)] = 0.5


class LSTMNetwork(nn.Module):
    """The state after the last word, and with two directions also that after the first: y = W [h_T; h_1] + b.

    Shapes:
        words: [B, T], 0 for padding; lengths: [B]; returns logits [B, L].
    """

    def __init__(self, config: LSTMConfig, sizes: SequenceSizes) -> None:
        """Make the layers."""
        super().__init__()
        self.embedding = word_embedding(sizes)
        self.recurrence = Recurrence(sizes.D, config.units, directions=config.directions)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(self.recurrence.features, sizes.labels)
        self.label_parameters = ("output.weight", "output.bias")

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The logit of each label."""
        _, last = self.recurrence(self.embedding(words.long()), lengths)  # [B, H]
        logits: Tensor = self.output(self.dropout(last))  # [B, L]
        return logits
