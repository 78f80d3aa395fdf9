"""Deep graph-CNN over words-matrices (Peng et al., WWW 2018, "Recursively Regularized Deep Graph-CNN")."""

import itertools
from typing import Annotated, ClassVar, Literal

from torch import Tensor, nn
from torch.nn import functional

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.nn.heads import to_documents
from taxocaps.nn.words_matrix import PADDING, Sizes

__all__ = ["DGCNN", "DGCNNConfig"]

_Size = Annotated[int, Between(1, 1_000_000)]


class DGCNNConfig(Config):
    """The sizes of the network; three convolutions are DGCNN-3.

    Attributes:
        kind: The name of this network.
        filters: Kernels of each convolution: the first over a row, the others across rows.
        width: Rows that a kernel of the later convolutions reads.
        hidden: Sizes of the hidden dense layers.
        dropout: Share of the features of the hidden layers that are dropped in training.
    """

    section: ClassVar[str] = "network"

    kind: Literal["dgcnn"] = "dgcnn"
    filters: tuple[_Size, ...] = (64, 128, 256)
    width: _Size = 5
    hidden: tuple[_Size, ...] = (1024, 512)
    dropout: Annotated[float, Between(0, 0.95)] = 0.5

    def model_post_init(self, context: object, /) -> None:
        """Check the fields, and that there is a convolution."""
        if not self.filters:
            raise ConfigError("network.filters must name at least one layer; got none")


class DGCNN(nn.Module):
    """A convolution of each row, convolutions across rows, dense layers.

    Rows are the normalised subgraphs of a document's nodes, the most central node first
    (`graph.row_order=unordered`). The kernels of the first convolution cover a whole row of T words; those of the
    others cover `width` neighbouring rows. ReLU and the maximum of every two rows follow each convolution.

    Departure: the publication names neither all kernel sizes nor what stands for rows that a document lacks. The
    authors' programs have kernels of 5 rows (TensorFlow) or 3 (PyTorch), without padding at the ends, and the filters
    and hidden sizes of the defaults (PyTorch). Here a row that does not exist has 0 for all features of the first
    convolution. The local response normalisation of the TensorFlow program is left out, as in the PyTorch one.
    The recursive regularisation is `nn.regularizers.recursive_regularization` of `output.weight`.

    Shapes:
        words: [B, N', T]; blocks: as words, unused; counts: [B, N'], 0 for a row that does not exist, N' at most N;
        returns [B, L].
    """

    def __init__(self, config: DGCNNConfig, sizes: Sizes) -> None:
        """Make the layers; a matrix must have rows enough for all convolutions."""
        super().__init__()
        self.rows = sizes.N
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.D, padding_idx=PADDING)
        self.subgraph = nn.Linear(sizes.T * sizes.D, config.filters[0])
        self.convolutions = nn.ModuleList(
            nn.Conv1d(before, after, config.width) for before, after in itertools.pairwise(config.filters)
        )
        features = config.filters[-1] * _places_left(sizes.N, config)
        self.dense = nn.Sequential()
        for size in config.hidden:
            self.dense.extend([nn.Linear(features, size), nn.ReLU(), nn.Dropout(config.dropout)])
            features = size
        self.output = nn.Linear(features, sizes.labels)
        self.label_parameters = ("output.weight", "output.bias")
        """The names of the weights whose first axis is the labels."""

    def forward(self, words: Tensor, blocks: Tensor, counts: Tensor) -> Tensor:
        """Read a batch of documents; blocks are taken only to be called as other networks are."""
        x = self.features(self.row_features(words, counts))  # [B, F, W]
        logits: Tensor = self.output(self.dense(x.flatten(1)))  # [B, L]
        return logits

    def row_features(self, words: Tensor, counts: Tensor) -> Tensor:
        """What the first convolution makes of each row, by itself.

        Shapes:
            words: [B, N', T]; counts: [B, N']; returns [B, N, F], 0 for rows that do not exist.
        """
        is_real = functional.pad(counts > 0, (0, self.rows - counts.shape[1]))  # [B, N]
        vectors = self.embedding(words[counts > 0].long())  # [R, T, D]
        return to_documents(self.subgraph(vectors.flatten(1)).relu(), is_real)  # [B, N, F]

    def features(self, rows: Tensor) -> Tensor:
        """What the convolutions across rows make of them.

        Shapes:
            rows: [B, N, F]; returns [B, F', W].
        """
        x = functional.max_pool1d(rows.transpose(1, 2), 2)  # [B, F, N // 2]
        for convolution in self.convolutions:
            x = functional.max_pool1d(convolution(x).relu(), 2)  # [B, F', W]
        return x  # [B, F', W]


def _places_left(rows: int, config: DGCNNConfig) -> int:
    places = rows // 2
    for _ in config.filters[1:]:
        places = (places - config.width + 1) // 2
    if places < 1:
        layers = len(config.filters)
        raise ConfigError(
            f"graph.N={rows} rows are too few for {layers} convolutions with network.width={config.width}"
        )
    return places
