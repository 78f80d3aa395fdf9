"""Words between their left and right contexts, and the maximum over time: the recurrent CNN (Lai et al. 2015)."""

from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn

from taxocaps.config import Between, Config
from taxocaps.nn.blocks import Recurrence, SequenceSizes, is_real, masked_max, word_embedding

__all__ = ["RCNN", "RCNNConfig"]

_Size = Annotated[int, Between(1, 1_000_000)]


class RCNNConfig(Config):
    """The sizes of the network; the defaults are the published ones.

    Attributes:
        kind: The name of this network.
        context: Numbers in the context of a word, on each side.
        hidden: Numbers in the latent vector of a word.
        dropout: Share of the features before the last layer that are dropped in training.
    """

    section: ClassVar[str] = "network"

    kind: Literal["rcnn"] = "rcnn"
    context: _Size = 50
    hidden: _Size = 100
    dropout: Annotated[float, Between(0, 0.95)] = 0.0


class RCNN(nn.Module):
    """Each word with what stands before and after it; the word itself is in neither context.

    l_i = tanh(W_l l_{i-1} + W_sl e_{i-1}), r_i = tanh(W_r r_{i+1} + W_sr e_{i+1}), where l_1 and r_n are learned,
    y_i = tanh(W_2 [l_i; e_i; r_i] + b_2), and the logits are W_4 max_i y_i + b_4.

    Shapes:
        words: [B, T], 0 for padding; lengths: [B]; returns logits [B, L].
    """

    def __init__(self, config: RCNNConfig, sizes: SequenceSizes) -> None:
        """Make the layers."""
        super().__init__()
        self.embedding = word_embedding(sizes)
        self.contexts = Recurrence(sizes.D, config.context, directions=2, cell="rnn", bias=False)
        self.ends = nn.Parameter(torch.zeros(2, config.context))
        """The left context of the first word and the right context of the last, [2, C]."""
        self.latent = nn.Linear(sizes.D + 2 * config.context, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.hidden, sizes.labels)
        self.label_parameters = ("output.weight", "output.bias")

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The logit of each label."""
        x = self.embedding(words.long())  # [B, T, D]
        left, right = self._contexts(x, lengths)  # [B, T, C], [B, T, C]
        y = self.latent(torch.cat([left, x, right], dim=-1)).tanh()  # [B, T, H]
        logits: Tensor = self.output(self.dropout(masked_max(y, is_real(lengths, words.shape[1]))))  # [B, L]
        return logits

    def _contexts(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """What stands before and after each word."""
        B, T, _ = x.shape
        states, _ = self.contexts(x, lengths, self.ends)  # [B, T, 2C]
        # A state has read the word of its place: that of the word before is the left context, and so on.
        before, after = states.chunk(2, dim=-1)  # each [B, T, C]
        first, last = self.ends  # [C], [C]
        left = torch.cat([first.expand(B, 1, -1), before], dim=1)[:, :T]  # [B, T, C]
        right = torch.cat([after, torch.zeros_like(last).expand(B, 1, -1)], dim=1)[:, 1:]  # [B, T, C]
        is_last = torch.arange(1, T + 1, device=x.device) == lengths[:, None]  # [B, T]
        return left, torch.where(is_last[..., None], last, right)  # [B, T, C], [B, T, C]
