"""Bi-directional block self-attention network (Shen et al., ICLR 2018)."""

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.config import Config
from taxocaps.nn.layers import Direction, MaskedSelfAttention, dense_layer, sequence_mask, to_documents
from taxocaps.nn.network import DropoutRate, LayerSize, Network, Sizes, word_embedding

__all__ = ["BiBloSAN", "BiBloSANConfig", "BlockSelfAttention", "Source2Token"]


class BiBloSANConfig(Config):
    """Options of the block self-attention network.

    Attributes:
        kind: The name of this network.
        units: Hidden size of each direction, d; 300 in the publication.
        block: Length of a block, r; the publication takes the cube root of twice the usual length.
        dropout: Dropout rate of word vectors and hidden layers.
    """

    section: ClassVar[str] = "network"

    kind: Literal["bi-blosan"] = "bi-blosan"
    units: LayerSize = 128
    block: LayerSize = 7
    dropout: DropoutRate = 0.25


class BiBloSAN(Network):
    """Forward and backward block self-attention, concatenated and pooled by source2token attention.

    x_d = ELU(W_d e + b_d) and u_d = mBloSA_d(x_d) for both directions d; s = source2token([u_forward; u_backward]).

    Departure: the length of blocks is an option, not computed from the longest document of a batch, so that padding
    changes nothing. For the same reason attention between blocks masks blocks of padding, unlike the authors' program.

    Shapes:
        words: [B, T]; lengths: [B]; returns [B, L].
    """

    Config = BiBloSANConfig
    reads = ("tokens",)
    label_parameters = ("output.weight", "output.bias")

    def __init__(self, config: BiBloSANConfig, sizes: Sizes) -> None:
        """Make the layers."""
        super().__init__()
        hidden_size = config.units
        self.block = config.block
        self.embedding = word_embedding(sizes)
        self.dropout = nn.Dropout(config.dropout)
        self.inputs = nn.ModuleList(dense_layer(sizes.D, hidden_size, "relu") for _ in range(2))
        self.attention = nn.ModuleList(
            [BlockSelfAttention(hidden_size, "forward"), BlockSelfAttention(hidden_size, "backward")]
        )
        self.pooling = Source2Token(2 * hidden_size)
        self.hidden = dense_layer(2 * hidden_size, hidden_size, "relu")
        self.output = dense_layer(hidden_size, sizes.labels)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The logit of each label."""
        words = functional.pad(words.long(), (0, -words.shape[1] % self.block))  # [B, M r]
        shape = (len(words), words.shape[1] // self.block, self.block)
        mask = sequence_mask(lengths, words.shape[1]).reshape(shape)  # [B, M, r]
        blocks = mask[..., 0]  # [B, M]
        # Only blocks that have words are computed, R in all documents together.
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
    """Masked block self-attention, mBloSA: attention within blocks, between blocks, and their fusion (section 3.1).

    h = mSA(x) in each block, v = source2token(h) of each block, o = mSA(v) between blocks;
    G = sigmoid(W_g [o; v] + b_g) and e = G o + (1 - G) v;
    F = ELU(W_f [x; h; e] + b_f), G' = sigmoid(W_f' [x; h; e] + b_f') and u = G' F + (1 - G') x.

    Shapes:
        x: [R, r, d], the blocks of all documents; mask: [R, r]; blocks: [B, M], the mask of blocks, R of them True;
        returns [R, r, d].
    """

    def __init__(self, size: int, direction: Direction) -> None:
        """Make the three attention layers and the two gates."""
        super().__init__()
        self.within = MaskedSelfAttention(size, direction)
        self.summary = Source2Token(size)
        self.between = MaskedSelfAttention(size, direction)
        self.gate = dense_layer(2 * size, size)
        self.fusion = dense_layer(3 * size, 2 * size)

    def forward(self, x: Tensor, mask: Tensor, blocks: Tensor) -> Tensor:
        """Every position with its context in the block and in the document."""
        h = self.within(x, mask)  # [R, r, d]
        v = to_documents(self.summary(h, mask), blocks)  # [B, M, d]
        o = self.between(v, blocks)  # [B, M, d]
        e = torch.lerp(v, o, self.gate(torch.cat([o, v], dim=2)).sigmoid())  # [B, M, d]
        context = e[blocks][:, None].expand_as(x)  # [R, r, d]
        new, gate = self.fusion(torch.cat([x, h, context], dim=2)).chunk(2, dim=2)  # [R, r, d], [R, r, d]
        return torch.lerp(x, functional.elu(new), gate.sigmoid())  # [R, r, d]


class Source2Token(nn.Module):
    """One vector for a sequence, with a weight for each position and feature (section 2.2).

    f_i = W ELU(W_1 x_i + b_1) + b, P_i = softmax_i(f_i), s = sum_i P_i x_i.

    Shapes:
        x: [R, T, d]; mask: [R, T]; returns [R, d], 0 for a sequence of padding only.
    """

    def __init__(self, size: int) -> None:
        """Make both layers; the constant b cancels in the softmax and is left out."""
        super().__init__()
        self.first = dense_layer(size, size, "relu")
        self.second = dense_layer(size, size, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """The weighted mean."""
        f: Tensor = self.second(functional.elu(self.first(x)))  # [R, T, d]
        f = f.masked_fill(~mask[..., None], torch.finfo(x.dtype).min)  # [R, T, d]
        return (f.softmax(dim=1) * mask[..., None] * x).sum(dim=1)  # [R, d]
