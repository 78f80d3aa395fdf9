"""Words with their left and right contexts, and max pooling over time: the recurrent CNN (Lai et al. 2015)."""

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from taxocaps.config import Config
from taxocaps.nn.layers import Recurrence, dense_layer, masked_max, sequence_mask
from taxocaps.nn.network import DropoutRate, LayerSize, Network, Sizes, word_embedding

__all__ = ["RCNN", "RCNNConfig"]


class RCNNConfig(Config):
    """Options of the recurrent CNN; the defaults are the published ones.

    Attributes:
        kind: The name of this network.
        context: Size of the context vector on each side of a word.
        hidden: Size of the latent vector of a word.
        dropout: Dropout rate before the last layer.
    """

    section: ClassVar[str] = "network"

    kind: Literal["rcnn"] = "rcnn"
    context: LayerSize = 50
    hidden: LayerSize = 100
    dropout: DropoutRate = 0.0


class RCNN(Network):
    """Each word with its left and right context, which do not include the word itself.

    l_i = tanh(W_l l_{i-1} + W_sl e_{i-1}), r_i = tanh(W_r r_{i+1} + W_sr e_{i+1}), where l_1 and r_n are learned,
    y_i = tanh(W_2 [l_i; e_i; r_i] + b_2), and the logits are W_4 max_i y_i + b_4.

    Shapes:
        words: [B, T], 0 at padding; lengths: [B]; returns logits [B, L].
    """

    Config = RCNNConfig
    reads = ("tokens",)
    label_parameters = ("output.weight", "output.bias")

    def __init__(self, config: RCNNConfig, sizes: Sizes) -> None:
        """Make the layers."""
        super().__init__()
        self.embedding = word_embedding(sizes)
        self.contexts = Recurrence(sizes.D, config.context, directions=2, cell="rnn", bias=False)
        self.ends = nn.Parameter(torch.zeros(2, config.context))
        """The left context of the first word and the right context of the last, [2, C]."""
        self.latent = dense_layer(sizes.D + 2 * config.context, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.output = dense_layer(config.hidden, sizes.labels)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The logit of each label."""
        x = self.embedding(words.long())  # [B, T, D]
        left, right = self._contexts(x, lengths)  # [B, T, C], [B, T, C]
        y = self.latent(torch.cat([left, x, right], dim=-1)).tanh()  # [B, T, H]
        logits: Tensor = self.output(self.dropout(masked_max(y, sequence_mask(lengths, words.shape[1]))))  # [B, L]
        return logits

    def _contexts(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The left and right context of each word."""
        B, T, _ = x.shape
        states, _ = self.contexts(x, lengths, self.ends)  # [B, T, 2C]
        # The state at a word includes the word: the left context is the state at the word before it, and so on.
        before, after = states.chunk(2, dim=-1)  # each [B, T, C]
        first, last = self.ends  # [C], [C]
        left = torch.cat([first.expand(B, 1, -1), before], dim=1)[:, :T]  # [B, T, C]
        right = torch.cat([after, torch.zeros_like(last).expand(B, 1, -1)], dim=1)[:, 1:]  # [B, T, C]
        is_last = torch.arange(1, T + 1, device=x.device) == lengths[:, None]  # [B, T]
        return left, torch.where(is_last[..., None], last, right)  # [B, T, C], [B, T, C]
