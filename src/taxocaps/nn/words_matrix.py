"""The network over words-matrices: word vectors, two row layers, a head (paper section 3)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.nn.attention import BlockAttention
from taxocaps.nn.capsules import LabelCapsules, PrimaryCapsules
from taxocaps.nn.heads import CapsuleHead, DenseHead
from taxocaps.nn.recurrence import AttentionalLSTM
from taxocaps.nn.row_layer import RowLayer
from taxocaps.nn.windows import WINDOW

__all__ = ["NetworkConfig", "Sizes", "WordsMatrixNetwork"]

PADDING, UNKNOWN = 0, 1
"""Word ids with a meaning of their own; all others are words."""

_Size = Annotated[int, Between(1, 1_000_000)]


class NetworkConfig(Config):
    """The axes and sizes of the network; the defaults are the best found so far (`docs/quality.md`).

    Attributes:
        kind: A network over words-matrices.
        recurrent: Whether an LSTM follows each convolution.
        attention: Whether its inputs are weighted by block.
        head: Capsules with dynamic routing, or dense layers.
        filters: Kernels of each convolution, one number a layer.
        units: Cells of each LSTM.
        stride: Step of the convolutions along a row.
        channels: Primary capsules of a row, M.
        capsule_size: Numbers in a primary capsule, m.
        label_capsule_size: Numbers in a label's capsule, n.
        iterations: Iterations of routing; with 1 every capsule counts the same for all labels.
        sharing: What shares a weight matrix between capsules and labels.
        compress: Capsules that all primary ones are mixed into before routing; null for no mixing.
        gain: The start value of a learned factor before the last squash; null for none.
        hidden: Sizes of the hidden layers of a dense head.
        head_filters: Filters of the third convolution, before a dense head.
        normalization: Whether the features of a row are normalised before the primary capsules.
        pooling: Whether routing adds up what all rows say, or takes their mean, plain or with learned weights of rows.
        dropout: Share of the features of a document's words that are dropped in training.
        word_dropout: Share of a document's words that training takes for unknown ones.
    """

    section: ClassVar[str] = "network"

    kind: Literal["words-matrix"] = "words-matrix"
    recurrent: Literal["none", "lstm"] = "lstm"
    attention: Literal["none", "blocks"] = "blocks"
    head: Literal["dense", "capsule"] = "capsule"
    filters: tuple[_Size, ...] = (96,)
    units: _Size = 96
    stride: Annotated[int, Between(1, 3)] = 2
    channels: _Size = 64
    capsule_size: _Size = 8
    label_capsule_size: _Size = 8
    iterations: Annotated[int, Between(1, 100)] = 1
    sharing: Literal["none", "channel", "label"] = "channel"
    compress: _Size | None = None
    gain: Annotated[float, Between(1e-6, 1e6)] | None = 0.5
    hidden: tuple[_Size, ...] = (1024, 512)
    head_filters: _Size = 128
    normalization: Literal["none", "layer"] = "layer"
    pooling: Literal["sum", "mean", "weighted"] = "weighted"
    dropout: Annotated[float, Between(0, 0.95)] = 0.4
    word_dropout: Annotated[float, Between(0, 0.95)] = 0.2

    def model_post_init(self, context: object, /) -> None:
        """Check the fields, and that there is an LSTM for attention to weigh."""
        if self.attention == "blocks" and self.recurrent == "none":
            raise ConfigError("network.attention=blocks weighs the inputs of an LSTM; set network.recurrent=lstm")
        if not self.filters:
            raise ConfigError("network.filters must name at least one layer; got none")


@dataclass(frozen=True)
class Sizes:
    """What the data decide: the vocabulary, the size D of a word vector, rows N and words T of a matrix, labels L."""

    vocabulary: int
    D: int
    N: int
    T: int
    labels: int


class WordsMatrixNetwork(nn.Module):
    """From words-matrices to one number per label: the length of its capsule, or its logit for a dense head.

    Only rows that exist go through convolution and recurrence; the others cost nothing and change nothing.

    Shapes:
        words, blocks: [B, N', T]; counts: [B, N'] blocks of each row, 0 for a row that does not exist, N' at most N;
        returns [B, L].
    """

    def __init__(self, config: NetworkConfig, sizes: Sizes) -> None:
        """Make the layers; a row must be long enough for all convolutions."""
        super().__init__()
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.D, padding_idx=PADDING)
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
        self.gives_logits = config.head == "dense"
        self.label_parameters = tuple(f"head.{name}" for name in head.label_parameters)
        """The names of the weights whose first axis is the labels."""

    def forward(self, words: Tensor, blocks: Tensor, counts: Tensor) -> Tensor:
        """Read a batch of documents."""
        is_real = counts > 0  # [B, N']
        document, rank = is_real.nonzero(as_tuple=True)  # [R], [R]
        counts = counts[is_real].long()  # [R]
        blocks = blocks[is_real].long()  # [R, T]
        place: Tensor | None
        x, place = self._distinct(words[is_real].long(), document)  # [U, D], [R, T]
        for layer in self.layers:
            x, blocks = layer(x, blocks, rank, counts, place)  # [R, W, F], [R, W]
            place = None
        scores: Tensor = self.head(x, is_real)  # [B, L]
        return scores

    def _distinct(self, words: Tensor, document: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors of the distinct words of each document, and which of them stands where.

        What dropout takes from a word it takes at all of the word's places in the document: a word stands in many rows,
        and would otherwise be read from the next.

        Shapes:
            words: [R, T]; document: [R]; returns [U, D] and [R, T].
        """
        size = self.embedding.num_embeddings
        pairs, place = torch.unique(words + document[:, None] * size, return_inverse=True)  # [U], [R, T]
        pairs = pairs % size  # [U]
        if self.training and self.word_dropout:
            is_dropped = (torch.rand_like(pairs, dtype=torch.float) < self.word_dropout) & (pairs != PADDING)  # [U]
            pairs = pairs.masked_fill(is_dropped, UNKNOWN)  # [U]
        return self.dropout(self.embedding(pairs)), place  # [U, D], [R, T]


def _narrowed(width: int, stride: int, T: int, layers: int) -> int:
    if width < WINDOW:
        raise ConfigError(f"rows of graph.T={T} words are too short for {layers} convolutions of stride {stride}")
    return (width - WINDOW) // stride + 1


def _row_layer(config: NetworkConfig, inputs: int, filters: int, sizes: Sizes) -> RowLayer:
    recurrence = AttentionalLSTM(filters, config.units) if config.recurrent == "lstm" else None
    attention = BlockAttention(sizes.N, sizes.T) if config.attention == "blocks" else None
    return RowLayer(inputs, filters, config.stride, recurrence, attention)


def _capsule_head(config: NetworkConfig, sizes: Sizes, width: int, features: int) -> CapsuleHead:
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


def _dense_head(config: NetworkConfig, sizes: Sizes, width: int, features: int) -> DenseHead:
    return DenseHead(width, features, sizes.N, config.head_filters, config.hidden, sizes.labels)


_HEADS: dict[str, Callable[[NetworkConfig, Sizes, int, int], CapsuleHead | DenseHead]] = {
    "capsule": _capsule_head,
    "dense": _dense_head,
}
