"""Bi-directional block self-attention network (Shen et al., ICLR 2018)."""

import math
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.config import Between, Config
from taxocaps.nn.blocks import SequenceSizes, is_real, word_embedding
from taxocaps.nn.heads import to_documents

__all__ = ["BiBloSAN", "BiBloSANConfig", "BlockSelfAttention", "MaskedSelfAttention", "Source2Token"]

_Size = Annotated[int, Between(1, 1_000_000)]

Direction = Literal["forward", "backward"]

_SCALE = 5.0
"""c, the greatest size of a logit of attention between two places."""


class BiBloSANConfig(Config):
    """The sizes of the network.

    Attributes:
        kind: The name of this network.
        units: Features of a place in each direction, d; 300 in the publication.
        block: Places of a block, r; the publication takes the cube root of twice the usual length.
        dropout: Share of features that are dropped in training.
    """

    section: ClassVar[str] = "network"

    kind: Literal["bi-blosan"] = "bi-blosan"
    units: _Size = 128
    block: _Size = 7
    dropout: Annotated[float, Between(0, 0.95)] = 0.25


class BiBloSAN(nn.Module):
    """Block self-attention that looks back and one that looks ahead, joined and pooled by source2token attention.

    x_d = ELU(W_d e + b_d) and u_d = mBloSA_d(x_d) for both directions d; s = source2token([u_forward; u_backward]).

    Departure: the length of blocks is an option, not made from the longest document of a batch, so that padding changes
    nothing. For the same reason blocks of padding are masked between blocks too, which the authors' program does not.

    Shapes:
        words: [B, T]; lengths: [B]; returns [B, L].
    """

    def __init__(self, config: BiBloSANConfig, sizes: SequenceSizes) -> None:
        """Make the layers."""
        super().__init__()
        units = config.units
        self.block = config.block
        self.embedding = word_embedding(sizes)
        self.dropout = nn.Dropout(config.dropout)
        self.inputs = nn.ModuleList(nn.Linear(sizes.D, units) for _ in range(2))
        self.attention = nn.ModuleList([BlockSelfAttention(units, "forward"), BlockSelfAttention(units, "backward")])
        self.pooling = Source2Token(2 * units)
        self.hidden = nn.Linear(2 * units, units)
        self.output = nn.Linear(units, sizes.labels)
        self.label_parameters = ("output.weight", "output.bias")
        """The names of the weights whose first axis is the labels."""

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Read a batch of documents."""
        words = functional.pad(words.long(), (0, -words.shape[1] % self.block))  # [B, M r]
        shape = (len(words), words.shape[1] // self.block, self.block)
        mask = is_real(lengths, words.shape[1]).reshape(shape)  # [B, M, r]
        blocks = mask[..., 0]  # [B, M]
        # Only blocks that have words are computed, R in all documents.
        e = self.dropout(self.embedding(words.reshape(shape)[blocks]))  # [R, r, D]
        both = [
            attention(functional.elu(linear(e)), mask[blocks], blocks)
            for linear, attention in zip(self.inputs, self.attention, strict=True)
        ]  # 2 of [R, r, d]
        u = to_documents(torch.cat(both, dim=2), blocks).flatten(1, 2)  # [B, M r, 2 d]
        s = self.pooling(u, mask.flatten(1))  # [B, 2 d]
        logits: Tensor = self.output(self.dropout(functional.elu(self.hidden(self.dropout(s)))))  # [B, L]
        return logits


class BlockSelfAttention(nn.Module):
    """Masked block self-attention, mBloSA: attention in blocks, between blocks, and a fusion of both (section 3.1).

    h = mSA(x) in each block, v = source2token(h) of each block, o = mSA(v) between blocks;
    G = sigmoid(W_g [o; v] + b_g) and e = G o + (1 - G) v;
    F = ELU(W_f [x; h; e] + b_f), G' = sigmoid(W_f' [x; h; e] + b_f') and u = G' F + (1 - G') x.

    Shapes:
        x: [R, r, d], the blocks that exist in all documents; mask: [R, r]; blocks: [B, M] which exist, R in all;
        returns [R, r, d].
    """

    def __init__(self, units: int, direction: Direction) -> None:
        """Make the three attentions and the two gates."""
        super().__init__()
        self.inside = MaskedSelfAttention(units, direction)
        self.summary = Source2Token(units)
        self.between = MaskedSelfAttention(units, direction)
        self.gate = nn.Linear(2 * units, units)
        self.fusion = nn.Linear(3 * units, 2 * units)

    def forward(self, x: Tensor, mask: Tensor, blocks: Tensor) -> Tensor:
        """Every place with its context in the block and in the document."""
        h = self.inside(x, mask)  # [R, r, d]
        v = to_documents(self.summary(h, mask), blocks)  # [B, M, d]
        o = self.between(v, blocks)  # [B, M, d]
        e = torch.lerp(v, o, self.gate(torch.cat([o, v], dim=2)).sigmoid())  # [B, M, d]
        context = e[blocks][:, None].expand_as(x)  # [R, r, d]
        new, gate = self.fusion(torch.cat([x, h, context], dim=2)).chunk(2, dim=2)  # [R, r, d], [R, r, d]
        return torch.lerp(x, functional.elu(new), gate.sigmoid())  # [R, r, d]


class MaskedSelfAttention(nn.Module):
    """Attention of each place j to the places i before it (or after it), feature by feature (section 2.3).

    f_ij = c tanh((W_1 x_i + W_2 x_j + b) / c), P_ij = softmax_i(f_ij) over real i < j (or i > j), s_j = sum_i P_ij x_i.

    Shapes:
        x: [R, T, d]; mask: [R, T]; returns [R, T, d], 0 where there is nothing to attend to.
    """

    def __init__(self, units: int, direction: Direction) -> None:
        """Make W_1, W_2 and b."""
        super().__init__()
        self.direction = direction
        self.seen = nn.Linear(units, units)
        self.seeing = nn.Linear(units, units, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """The context of each place."""
        j, i = torch.tril_indices(x.shape[1], x.shape[1], -1, device=x.device)  # [P], [P]: all pairs i < j
        if self.direction == "backward":
            i, j = j, i
        is_pair = (mask[:, i] & mask[:, j])[..., None]  # [R, P, 1]
        f = (self.seen(x) / _SCALE).index_select(1, i) + (self.seeing(x) / _SCALE).index_select(1, j)  # [R, P, d]
        # A logit is at most c: the softmax needs no greatest one to be taken off first.
        weights = (_SCALE * f.tanh()).exp() * is_pair  # [R, P, d]
        zero = torch.zeros_like(x)  # [R, T, d]
        total = zero.index_add(1, j, weights * x.index_select(1, i))  # [R, T, d]
        # Without anything to attend to the sum of weights is 0, and so is the total; every weight is above e^-c.
        return total / zero.index_add(1, j, weights).clamp(min=math.exp(-_SCALE) / 2)  # [R, T, d]


class Source2Token(nn.Module):
    """One vector for a sequence, with weights for each place and feature (section 2.2).

    f_i = W ELU(W_1 x_i + b_1) + b, P_i = softmax_i(f_i), s = sum_i P_i x_i.

    Shapes:
        x: [R, T, d]; mask: [R, T]; returns [R, d], 0 where nothing is real.
    """

    def __init__(self, units: int) -> None:
        """Make both layers; softmax would take a constant b out again, so that there is none."""
        super().__init__()
        self.first = nn.Linear(units, units)
        self.second = nn.Linear(units, units, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """The weighted mean."""
        f: Tensor = self.second(functional.elu(self.first(x)))  # [R, T, d]
        f = f.masked_fill(~mask[..., None], torch.finfo(x.dtype).min)  # [R, T, d]
        return (f.softmax(dim=1) * mask[..., None] * x).sum(dim=1)  # [R, d]
