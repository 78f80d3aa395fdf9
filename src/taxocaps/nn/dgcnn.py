"""Deep graph-CNN over words-matrices (Peng et al., WWW 2018, "Recursively Regularized Deep Graph-CNN")."""

import itertools
from typing import ClassVar, Literal

from torch import Tensor, nn
from torch.nn import functional

from taxocaps.config import Config
from taxocaps.errors import ConfigError
from taxocaps.nn.layers import convolution, dense_layer, to_documents
from taxocaps.nn.network import DropoutRate, LayerSize, Network, Sizes, word_embedding

__all__ = ["DGCNN", "DGCNNConfig"]


class DGCNNConfig(Config):
    """Options of the deep graph-CNN; with three convolutions it is DGCNN-3.

    Attributes:
        kind: The name of this network.
        filters: Filters of each convolution: the first over a row, the others across rows.
        width: Rows in a window of the later convolutions.
        hidden: Sizes of the hidden dense layers.
        dropout: Dropout rate of the hidden layers.
    """

    section: ClassVar[str] = "network"

    kind: Literal["dgcnn"] = "dgcnn"
    filters: tuple[LayerSize, ...] = (64, 128, 256)
    width: LayerSize = 5
    hidden: tuple[LayerSize, ...] = (1024, 512)
    dropout: DropoutRate = 0.5

    def model_post_init(self, context: object, /) -> None:
        """Check that there is a convolution."""
        if not self.filters:
            raise ConfigError("network.filters must name at least one layer; got none")


class DGCNN(Network):
    """A convolution of each row, convolutions across rows, dense layers.

    Rows are the normalised subgraphs of a document's nodes, the most central node first
    (`graph.row_order=unordered`). The kernels of the first convolution cover a whole row of T words; those of the
    others cover `width` neighbouring rows. ReLU and max pooling over every two rows follow each convolution.

    Departure: the publication gives neither all kernel sizes nor the features of rows that a document does not have.
    The authors' programs have kernels of 5 rows (TensorFlow) or 3 (PyTorch), without padding at the ends, and the
    filters and hidden sizes of the defaults (PyTorch). Here a row that does not exist has 0 for all features of the
    first convolution. The local response normalization of the TensorFlow program is left out, as in the PyTorch one.
    The recursive regularization is `nn.losses.recursive_regularization` of `output.weight`.

    Shapes:
        words: [B, N', T]; blocks: as words, unused; block_counts: [B, N'], 0 for a row that does not exist, N' at most
        N; returns [B, L].
    """

    Config = DGCNNConfig
    reads = ("words-matrix",)
    label_parameters = ("output.weight", "output.bias")

    def __init__(self, config: DGCNNConfig, sizes: Sizes) -> None:
        """Make the layers.

        Raises:
            ConfigError: If a words-matrix has too few rows for the convolutions.
        """
        super().__init__()
        self.rows = sizes.N
        self.embedding = word_embedding(sizes)
        self.subgraph = dense_layer(sizes.T * sizes.D, config.filters[0], "relu")
        self.convolutions = nn.ModuleList(
            convolution(before, after, config.width) for before, after in itertools.pairwise(config.filters)
        )
        features = config.filters[-1] * _windows_left(sizes.N, config)
        self.dense = nn.Sequential()
        for size in config.hidden:
            self.dense.extend([dense_layer(features, size, "relu"), nn.ReLU(), nn.Dropout(config.dropout)])
            features = size
        self.output = dense_layer(features, sizes.labels)

    def forward(self, words: Tensor, blocks: Tensor, block_counts: Tensor) -> Tensor:
        """The logit of each label."""
        x = self.features(self.row_features(words, block_counts))  # [B, F, W]
        logits: Tensor = self.output(self.dense(x.flatten(1)))  # [B, L]
        return logits

    def row_features(self, words: Tensor, block_counts: Tensor) -> Tensor:
        """The features of each row after the first convolution.

        Shapes:
            words: [B, N', T]; block_counts: [B, N']; returns [B, N, F], 0 for rows that do not exist.
        """
        mask = block_counts > 0  # [B, N']
        vectors = self.embedding(words[mask].long())  # [R, T, D]
        mask = functional.pad(mask, (0, self.rows - mask.shape[1]))  # [B, N]
        return to_documents(self.subgraph(vectors.flatten(1)).relu(), mask)  # [B, N, F]

    def features(self, rows: Tensor) -> Tensor:
        """The features of the rows after the convolutions across rows.

        Shapes:
            rows: [B, N, F]; returns [B, F', W].
        """
        x = functional.max_pool1d(rows.transpose(1, 2), 2)  # [B, F, N // 2]
        for layer in self.convolutions:
            x = functional.max_pool1d(layer(x).relu(), 2)  # [B, F', W]
        return x  # [B, F', W]


def _windows_left(rows: int, config: DGCNNConfig) -> int:
    windows = rows // 2
    for _ in config.filters[1:]:
        windows = (windows - config.width + 1) // 2
    if windows < 1:
        layers = len(config.filters)
        raise ConfigError(
            f"graph.N={rows} rows are too few for {layers} convolutions with network.width={config.width}"
        )
    return windows
