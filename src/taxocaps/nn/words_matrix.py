"""The network over words-matrices: word vectors, two row layers, a head (paper section 3)."""

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.nn.capsules import LabelCapsules, PrimaryCapsules
from taxocaps.nn.estimate import training_memory
from taxocaps.nn.heads import CapsuleHead, DenseHead
from taxocaps.nn.network import PADDING, UNKNOWN, DropoutRate, Estimate, LayerSize, Network, Sizes, word_embedding
from taxocaps.nn.rows import WINDOW, AttentionalLSTM, BlockAttention, RowLayer

__all__ = ["WordsMatrixConfig", "WordsMatrixNetwork"]


class WordsMatrixConfig(Config):
    """Options of the network over words-matrices; the defaults are the best found so far (`docs/quality.md`).

    Attributes:
        kind: The name of this network.
        recurrent: Whether an LSTM follows each convolution.
        attention: Whether the inputs of the LSTMs are weighted by block.
        head: Capsules with dynamic routing, or dense layers.
        filters: Filters of each convolution, one number per layer.
        units: Hidden size of each LSTM.
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
        normalization: Layer normalization of the features of a row before the primary capsules.
        pooling: Whether routing takes the sum, the mean, or a mean with learned weights over the rows of a document.
        dropout: Dropout rate of word vectors; a word is dropped at all its positions in a document.
        word_dropout: Share of the words of a document that become unknown words in training.
    """

    section: ClassVar[str] = "network"

    kind: Literal["words-matrix"] = "words-matrix"
    recurrent: Literal["none", "lstm"] = "lstm"
    attention: Literal["none", "blocks"] = "blocks"
    head: Literal["dense", "capsule"] = "capsule"
    filters: tuple[LayerSize, ...] = (96,)
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
    normalization: Literal["none", "layer"] = "layer"
    pooling: Literal["sum", "mean", "weighted"] = "weighted"
    dropout: DropoutRate = 0.4
    word_dropout: DropoutRate = 0.2

    def model_post_init(self, context: object, /) -> None:
        """Check that there is an LSTM for attention, and at least one layer."""
        if self.attention == "blocks" and self.recurrent == "none":
            raise ConfigError("network.attention=blocks needs an LSTM; set network.recurrent=lstm")
        if not self.filters:
            raise ConfigError("network.filters must name at least one layer; got none")


class WordsMatrixNetwork(Network):
    """From words-matrices to one value per label: the length of its capsule, or its logit with a dense head.

    Only rows that exist are computed.

    Shapes:
        words, blocks: [B, N', T]; block_counts: [B, N'], 0 for a row that does not exist, N' at most N; returns [B, L].
    """

    Config = WordsMatrixConfig
    reads = ("words-matrix",)

    def __init__(self, config: WordsMatrixConfig, sizes: Sizes) -> None:
        """Make the layers.

        Raises:
            ConfigError: If a row is too short for the convolutions.
        """
        super().__init__()
        self.embedding = word_embedding(sizes)
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
        with torch.device("meta"):  # shapes without memory
            network = cls(config, sizes)
        parameters = sum(parameter.numel() for parameter in network.parameters())
        return Estimate(parameters, training_memory(config, sizes, batch_size, parameters), _savings(config))

    def forward(self, words: Tensor, blocks: Tensor, block_counts: Tensor) -> Tensor:
        """The value of each label."""
        mask = block_counts > 0  # [B, N']
        document, rank = mask.nonzero(as_tuple=True)  # [R], [R]
        block_counts = block_counts[mask].long()  # [R]
        blocks = blocks[mask].long()  # [R, T]
        positions: Tensor | None
        x, positions = self._distinct(words[mask].long(), document)  # [U, D], [R, T]
        for layer in self.layers:
            x, blocks = layer(x, blocks, rank, block_counts, positions)  # [R, W, F], [R, W]
            positions = None
        values: Tensor = self.head(x, mask)  # [B, L]
        return values

    def _distinct(self, words: Tensor, document: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors of the distinct words of each document, and the index among them of every word of every row.

        Dropout drops a word at all its positions in the document: a word stands in many rows, and could otherwise be
        read from another one.

        Shapes:
            words: [R, T]; document: [R]; returns [U, D] and [R, T].
        """
        size = self.embedding.num_embeddings
        pairs, positions = torch.unique(words + document[:, None] * size, return_inverse=True)  # [U], [R, T]
        ids = pairs % size  # [U]
        if self.training and self.word_dropout:
            is_dropped = (torch.rand_like(ids, dtype=torch.float) < self.word_dropout) & (ids != PADDING)  # [U]
            ids = ids.masked_fill(is_dropped, UNKNOWN)  # [U]
        return self.dropout(self.embedding(ids)), positions  # [U, D], [R, T]


def _narrowed(width: int, stride: int, T: int, layers: int) -> int:
    if width < WINDOW:
        raise ConfigError(f"rows of graph.T={T} words are too short for {layers} convolutions of stride {stride}")
    return (width - WINDOW) // stride + 1


def _row_layer(config: WordsMatrixConfig, inputs: int, filters: int, sizes: Sizes) -> RowLayer:
    recurrence = AttentionalLSTM(filters, config.units) if config.recurrent == "lstm" else None
    attention = BlockAttention(sizes.N, sizes.T) if config.attention == "blocks" else None
    return RowLayer(inputs, filters, config.stride, recurrence, attention)


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
    return DenseHead(width, features, sizes.N, config.head_filters, config.hidden, sizes.labels)


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
