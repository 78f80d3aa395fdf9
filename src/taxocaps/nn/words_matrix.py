"""The network over words-matrices: word vectors, row layers, a head (paper section 3)."""

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal, cast

import torch
from torch import Tensor, nn

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.nn.capsules import LabelCapsules, PrimaryCapsules
from taxocaps.nn.contextual import WordContext, context_layer
from taxocaps.nn.estimate import training_memory
from taxocaps.nn.heads import CapsuleHead, DenseHead
from taxocaps.nn.layers import distinct_ids
from taxocaps.nn.network import (
    PADDING,
    UNKNOWN,
    DropoutRate,
    Estimate,
    LayerSize,
    Network,
    Sizes,
    shapes_only,
    word_embedding,
)
from taxocaps.nn.rows import WINDOW, AttentionalLSTM, BlockAttention, RowConvolution, RowLayer, RowSelfAttention

__all__ = ["WordsMatrixConfig", "WordsMatrixNetwork"]


class WordsMatrixConfig(Config):
    """Options of the network over words-matrices; the defaults are the best found so far (`docs/quality.md`).

    Attributes:
        kind: The name of this network.
        recurrent: What follows each convolution: nothing, an LSTM, or self-attention.
        attention: Whether the inputs of the LSTMs, or of self-attention, are weighted by block.
        head: Capsules with dynamic routing, or dense layers.
        filters: Filters of each convolution, one number per layer.
        widths: Words in a window of the convolutions, odd numbers from 3; each width has an equal share of the filters.
        windows: Whether the features of a convolution are kept beside those of what follows it.
        units: Hidden size of each LSTM, or of self-attention.
        stride: Stride of the convolutions along a row.
        channels: Primary capsules of a row, M.
        capsule_size: Size of a primary capsule, m.
        label_capsule_size: Size of a label's capsule, n.
        iterations: Routing iterations; with 1 all couplings are equal.
        sharing: Which capsules share a weight matrix: none, those of a channel, or all.
        compress: The number of capsules that the primary ones are mixed into before routing; null for no mixing.
        gain: Initial value of a learned factor before the last squash; null for none.
        hidden: Sizes of the hidden layers of a dense head.
        head_filters: Filters of the third convolution, before a dense head.
        head_pooling: What a dense head reads of all rows together, beside each row: nothing, their mean or maximum.
        normalization: Layer normalization of the features of a row before the primary capsules.
        pooling: Whether routing takes the sum, the mean, or a mean with learned weights over the rows of a document.
        start: What the capsules of labels begin with: random weights, or the rows of a text that is the label's names,
            which helps where documents are few.
        dropout: Dropout rate of word vectors; a word is dropped at all its positions in a document.
        word_dropout: Share of the words of a document that become unknown words in training.
    """

    section: ClassVar[str] = "network"

    kind: Literal["words-matrix"] = "words-matrix"
    recurrent: Literal["none", "lstm", "self-attention"] = "lstm"
    attention: Literal["none", "blocks"] = "blocks"
    head: Literal["dense", "capsule"] = "capsule"
    filters: tuple[LayerSize, ...] = (96,)
    widths: tuple[Annotated[int, Between(WINDOW, 99)], ...] = (WINDOW,)
    windows: Literal["dropped", "kept"] = "dropped"
    units: LayerSize = 96
    stride: Annotated[int, Between(1, 3)] = 2
    channels: LayerSize = 64
    capsule_size: LayerSize = 8
    label_capsule_size: LayerSize = 8
    iterations: Annotated[int, Between(1, 100)] = 1
    sharing: Literal["none", "channel", "label"] = "channel"
    compress: LayerSize | None = None
    gain: Annotated[float, Between(1e-6, 1e6)] | None = 0.5
    hidden: tuple[LayerSize, ...] = (1024, 512)
    head_filters: LayerSize = 128
    head_pooling: Literal["none", "mean", "max"] = "none"
    normalization: Literal["none", "layer"] = "layer"
    pooling: Literal["sum", "mean", "weighted"] = "weighted"
    start: Literal["random", "names"] = "random"
    dropout: DropoutRate = 0.1
    word_dropout: DropoutRate = 0.0

    def model_post_init(self, context: object, /) -> None:
        """Check that attention has something to weigh, and that there are convolutions, which can be centred."""
        if self.attention == "blocks" and self.recurrent == "none":
            raise ConfigError("network.attention=blocks needs network.recurrent=lstm or self-attention; got none")
        if not self.filters:
            raise ConfigError("network.filters must name at least one layer; got none")
        if not self.widths or any(width % 2 == 0 for width in self.widths):
            raise ConfigError(f"network.widths must be odd numbers, at least one; got {list(self.widths)}")
        if self.start == "names" and (self.head, self.sharing, self.compress) != ("capsule", "channel", None):
            raise ConfigError("network.start=names needs network.head=capsule, sharing=channel and compress=null")
        if min(self.filters) < len(self.widths):
            raise ConfigError(f"network.filters={list(self.filters)} are too few for {len(self.widths)} widths")


class WordsMatrixNetwork(Network):
    """From words-matrices to one value per label: the length of its capsule, or its logit with a dense head.

    Only rows that exist are computed.

    Shapes:
        words, blocks: [B, N', T]; block_counts: [B, N'], 0 for a row that does not exist, N' at most N; given: see
        `ContextLayer`; returns [B, L].
    """

    Config = WordsMatrixConfig
    reads = ("words-matrix",)
    reads_context = True

    def __init__(self, config: WordsMatrixConfig, sizes: Sizes) -> None:
        """Make the layers.

        Raises:
            ConfigError: If a row is too short for the convolutions.
        """
        super().__init__()
        self.embedding = word_embedding(sizes)
        self.context = context_layer(sizes)
        self.dropout, self.word_dropout = nn.Dropout(config.dropout), config.word_dropout
        self.layers = nn.ModuleList()
        features, width = sizes.D, sizes.T
        for filters in config.filters:
            width = _narrowed(width, config.stride, sizes.T, len(config.filters))
            layer = _row_layer(config, features, filters, sizes)
            features = layer.features
            self.layers.append(layer)
        head = _HEADS[config.head](config, sizes, width, features)
        self.head = head
        self.output_type = "logits" if config.head == "dense" else "scores"
        self.label_parameters = tuple(f"head.{name}" for name in head.label_parameters)

    @classmethod
    def estimate(cls, config: WordsMatrixConfig, sizes: Sizes, batch_size: int) -> Estimate:
        """What training with Adam will take on documents that have all N rows."""
        with shapes_only():
            network = cls(config, sizes)
        parameters = sum(parameter.numel() for parameter in network.parameters())
        return Estimate(parameters, training_memory(config, sizes, batch_size, parameters), _savings(config))

    def forward(self, words: Tensor, blocks: Tensor, block_counts: Tensor, *given: Tensor) -> Tensor:
        """The value of each label."""
        values: Tensor = self.head(*self._read_rows(words, blocks, block_counts, *given))  # [B, L]
        return values

    def capsule_sums(self, words: Tensor, blocks: Tensor, block_counts: Tensor, *given: Tensor) -> Tensor:
        """The sums of the capsules of each document, from which `start_labels` makes those of labels; [B, M, m]."""
        return self._capsules.sums(*self._read_rows(words, blocks, block_counts, *given))  # [B, M, m]

    def start_labels(self, sums: Tensor) -> None:
        """Let the capsule of each label begin with what a text says that describes it, such as its names.

        Args:
            sums: The capsule sums of these texts, [L, M, m].
        """
        self._capsules.labels.turn_to(sums)

    @property
    def _capsules(self) -> CapsuleHead:
        """The head, where the configuration allows for no other."""
        return cast("CapsuleHead", self.head)

    def _read_rows(self, words: Tensor, blocks: Tensor, block_counts: Tensor, *given: Tensor) -> tuple[Tensor, Tensor]:
        """The features of the rows that exist, [R, W, F], and which these are, [B, N']."""
        mask = block_counts > 0  # [B, N']
        document, rank = mask.nonzero(as_tuple=True)  # [R], [R]
        block_counts = block_counts[mask].long()  # [R]
        blocks = blocks[mask].long()  # [R, T]
        positions: Tensor | None
        if self.context is None:
            x, positions = self._distinct(words[mask].long(), document)  # [U, D], [R, T]
        else:
            context = self.context(*given)
            x, positions = self._distinct_in_context(words[mask].long(), document, mask, context)  # [U, D], [R, T]
        for layer in self.layers:
            x, blocks = layer(x, blocks, rank, block_counts, positions)  # [R, W, F], [R, W]
            positions = None
        return x, mask  # [R, W, F], [B, N']

    def _distinct(self, words: Tensor, document: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors of the distinct words of each document, and the index among them of every word of every row.

        Dropout drops a word at all its positions in the document: a word stands in many rows, and could otherwise be
        read from another one.

        Shapes:
            words: [R, T]; document: [R]; returns [U, D] and [R, T].
        """
        size = self.embedding.num_embeddings
        if not self.training:  # nothing is dropped, and a word is the same in all documents
            ids, positions = distinct_ids(words, size)  # [U], [R, T]
            return self.embedding(ids), positions  # [U, D], [R, T]
        pairs, positions = torch.unique(words + document[:, None] * size, return_inverse=True)  # [U], [R, T]
        ids = pairs % size  # [U]
        ids = ids.masked_fill(self._dropped(ids), UNKNOWN)  # [U]
        return self.dropout(self.embedding(ids)), positions  # [U, D], [R, T]

    def _distinct_in_context(
        self, words: Tensor, document: Tensor, mask: Tensor, context: WordContext
    ) -> tuple[Tensor, Tensor]:
        """The same with contextual vectors, by which unknown words differ, too; a dropped word loses both vectors.

        Shapes:
            words: [R, T]; document: [R]; mask: [B, N']; returns [U, D] and [R, T].
        """
        size, count = self.embedding.num_embeddings, context.vectors.shape[1]
        keys = (document[:, None] * count + context.slots[mask]) * size + words  # [R, T]
        triples, positions = torch.unique(keys, return_inverse=True)  # [U], [R, T]
        ids, slots = triples % size, triples // size % count  # [U], [U]
        is_dropped = self._dropped(ids)  # [U]
        ids, slots = ids.masked_fill(is_dropped, UNKNOWN), slots.masked_fill(is_dropped, 0)  # [U], [U]
        x = self.embedding(ids) + context.at(triples // (size * count), slots)  # [U, D]
        return self.dropout(x), positions  # [U, D], [R, T]

    def _dropped(self, ids: Tensor) -> Tensor:
        """Which words become unknown ones in this step; [U]."""
        if not self.training or not self.word_dropout:
            return torch.zeros_like(ids, dtype=torch.bool)  # [U]
        return (torch.rand_like(ids, dtype=torch.float) < self.word_dropout) & (ids != PADDING)  # [U]


def _narrowed(width: int, stride: int, T: int, layers: int) -> int:
    if width < WINDOW:
        raise ConfigError(f"rows of graph.T={T} words are too short for {layers} convolutions of stride {stride}")
    return (width - WINDOW) // stride + 1


def _row_layer(config: WordsMatrixConfig, inputs: int, filters: int, sizes: Sizes) -> RowLayer:
    shares = [len(range(first, filters, len(config.widths))) for first in range(len(config.widths))]
    convolutions = [
        RowConvolution(inputs, share, config.stride, width) for share, width in zip(shares, config.widths, strict=True)
    ]
    context = _CONTEXTS[config.recurrent](filters, config.units) if config.recurrent in _CONTEXTS else None
    attention = BlockAttention(sizes.N, sizes.T) if config.attention == "blocks" else None
    return RowLayer(convolutions, context, attention, keeps_windows=config.windows == "kept")


_CONTEXTS: dict[str, type[AttentionalLSTM] | type[RowSelfAttention]] = {
    "lstm": AttentionalLSTM,
    "self-attention": RowSelfAttention,
}


def _capsule_head(config: WordsMatrixConfig, sizes: Sizes, width: int, features: int) -> CapsuleHead:
    return CapsuleHead(
        PrimaryCapsules(
            width, features, config.channels, config.capsule_size, normalize=config.normalization == "layer"
        ),
        LabelCapsules(
            (sizes.N, config.channels, config.capsule_size),
            sizes.labels,
            config.label_capsule_size,
            iterations=config.iterations,
            sharing=config.sharing,
            compress=config.compress,
            gain=config.gain,
        ),
        config.pooling,
    )


def _dense_head(config: WordsMatrixConfig, sizes: Sizes, width: int, features: int) -> DenseHead:
    return DenseHead(width, features, sizes.N, config.head_filters, config.hidden, sizes.labels, config.head_pooling)


_HEADS: dict[str, Callable[[WordsMatrixConfig, Sizes, int, int], CapsuleHead | DenseHead]] = {
    "capsule": _capsule_head,
    "dense": _dense_head,
}


def _savings(config: WordsMatrixConfig) -> tuple[str, ...]:
    """Options that take less memory, the one that costs least quality first."""
    if config.head != "capsule":
        return ()
    sharing = ["network.sharing=label"] if config.sharing != "label" else []
    return (*sharing, *(["network.compress=128"] if config.compress is None else []))
