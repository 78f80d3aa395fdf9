"""The network over words-matrices: word vectors, two row layers, a head (paper section 3)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from torch import Tensor, nn

from taxocaps.errors import ConfigError
from taxocaps.nn.attention import BlockAttention
from taxocaps.nn.capsules import LabelCapsules, PrimaryCapsules
from taxocaps.nn.heads import CapsuleHead, DenseHead
from taxocaps.nn.recurrence import AttentionalLSTM
from taxocaps.nn.row_layer import RowLayer
from taxocaps.nn.windows import WINDOW
from taxocaps.settings import Between, Settings

__all__ = ["NetworkConfig", "Sizes", "WordsMatrixNetwork"]

_Size = Annotated[int, Between(1, 1_000_000)]


@dataclass(frozen=True)
class NetworkConfig(Settings):
    """The axes and sizes of the network; the defaults are the paper's for RCV1.

    Attributes:
        recurrent: Whether an LSTM follows each convolution.
        attention: Whether its inputs are weighted by block.
        head: Capsules with dynamic routing, or dense layers.
        filters: Kernels of each convolution, one number a layer.
        units: Cells of each LSTM.
        stride: Step of the convolutions along a row.
        channels: Primary capsules of a row, M.
        capsule_size: Numbers in a primary capsule, m.
        label_capsule_size: Numbers in a label's capsule, n.
        iterations: Iterations of routing.
        sharing: What shares a weight matrix between capsules and labels.
        compress: Capsules that all primary ones are mixed into before routing; null for no mixing.
        gain: The start value of a learned factor before the last squash; null for none.
        hidden: Sizes of the hidden layers of a dense head.
        head_filters: Filters of the third convolution, before a dense head.
        dropout: Share of word features dropped in training.
    """

    section: ClassVar[str] = "network"

    recurrent: Literal["none", "lstm"] = "lstm"
    attention: Literal["none", "blocks"] = "blocks"
    head: Literal["dense", "capsule"] = "capsule"
    filters: tuple[_Size, ...] = (64, 128)
    units: _Size = 128
    stride: Annotated[int, Between(1, 3)] = 2
    channels: _Size = 64
    capsule_size: _Size = 16
    label_capsule_size: _Size = 32
    iterations: Annotated[int, Between(1, 100)] = 3
    sharing: Literal["none", "channel", "label"] = "channel"
    compress: _Size | None = None
    gain: Annotated[float, Between(1e-6, 1e6)] | None = None
    hidden: tuple[_Size, ...] = (1024, 512)
    head_filters: _Size = 128
    dropout: Annotated[float, Between(0, 0.95)] = 0.0

    def __post_init__(self) -> None:
        """Check the fields, and that there is an LSTM for attention to weigh."""
        super().__post_init__()
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
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.D, padding_idx=0)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList()
        features, width = sizes.D, sizes.T
        for filters in config.filters:
            width = _narrowed(width, config.stride, sizes.T, len(config.filters))
            layer = _row_layer(config, features, filters, sizes)
            features = layer.features
            self.layers.append(layer)
        head = _HEADS[config.head](config, sizes, width, features)
        self.head = head
        self.label_parameters = tuple(f"head.{name}" for name in head.label_parameters)
        """The names of the weights whose first axis is the labels."""

    def forward(self, words: Tensor, blocks: Tensor, counts: Tensor) -> Tensor:
        """Read a batch of documents."""
        is_real = counts > 0  # [B, N']
        rank = is_real.nonzero()[:, 1]  # [R]
        counts = counts[is_real].long()  # [R]
        places = blocks[is_real].long()  # [R, T]
        x = self.dropout(self.embedding(words[is_real]))  # [R, T, D]
        for layer in self.layers:
            x, places = layer(x, places, rank, counts)  # [R, W, F], [R, W]
        scores: Tensor = self.head(x, is_real)  # [B, L]
        return scores


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
        PrimaryCapsules(width, features, config.channels, config.capsule_size),
        LabelCapsules(
            (sizes.N, config.channels, config.capsule_size),
            sizes.labels,
            config.label_capsule_size,
            iterations=config.iterations,
            sharing=config.sharing,
            compress=config.compress,
            gain=config.gain,
        ),
    )


def _dense_head(config: NetworkConfig, sizes: Sizes, width: int, features: int) -> DenseHead:
    return DenseHead(width, features, sizes.N, config.head_filters, config.hidden, sizes.labels)


_HEADS: dict[str, Callable[[NetworkConfig, Sizes, int, int], CapsuleHead | DenseHead]] = {
    "capsule": _capsule_head,
    "dense": _dense_head,
}
