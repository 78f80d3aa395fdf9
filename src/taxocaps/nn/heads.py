"""The two ends of the network: dense layers, or capsules with routing."""

import itertools

import torch
from torch import Tensor, nn

from taxocaps.nn.capsules import LabelCapsules, PrimaryCapsules

__all__ = ["CapsuleHead", "DenseHead", "to_documents"]

_USUAL_ROWS = 40
"""The rows of a document whose capsules stay as they are when others are divided by their number."""


def to_documents(rows: Tensor, is_real: Tensor) -> Tensor:
    """Put the features of real rows back into their documents; rows that do not exist become 0.

    Shapes:
        rows: [R, ...]; is_real: [B, N] of bool with R true entries; returns [B, N, ...].
    """
    documents = rows.new_zeros(*is_real.shape, *rows.shape[1:])  # [B, N, ...]
    return documents.masked_scatter(is_real.view(*is_real.shape, *[1] * (rows.dim() - 1)), rows)  # [B, N, ...]


class CapsuleHead(nn.Module):
    """Primary capsules of every row, routed to one capsule per label; gives the lengths of those, from 0 to 1.

    Routing adds up what all rows say, so that long documents have longer label capsules than short ones; with `mean`
    the capsules of a document are divided by its number of rows first.

    Shapes:
        x: [R, W, F]; is_real: [B, N]; returns [B, L].
    """

    def __init__(self, primary: PrimaryCapsules, labels: LabelCapsules, *, mean: bool = False) -> None:
        """Join both kinds of capsules."""
        super().__init__()
        self.mean = mean
        self.primary, self.labels = primary, labels
        self.label_parameters = ("labels.weight",)

    def forward(self, x: Tensor, is_real: Tensor) -> Tensor:
        """The length of each label's capsule."""
        u = to_documents(self.primary(x), is_real)  # [B, N, M, m]
        if self.mean:
            rows = is_real.sum(dim=1).clamp(min=1)  # [B]
            u = u * (_USUAL_ROWS / rows).to(u.dtype)[:, None, None, None]  # [B, N, M, m]
        # The square root of 0 has no gradient; a tiny square stands in for it.
        v: Tensor = self.labels(u)  # [B, L, n]
        return (v.square().sum(dim=-1) + 1e-12).sqrt()  # [B, L]


class DenseHead(nn.Module):
    """A third convolution over the whole remaining width, then fully connected layers; gives logits.

    Shapes:
        x: [R, W, F]; is_real: [B, N]; returns [B, L].
    """

    def __init__(
        self, width: int, features: int, rows: int, filters: int, hidden: tuple[int, ...], labels: int
    ) -> None:
        """Make the layers.

        Args:
            width: Places of a row that are left.
            features: Features of a place.
            rows: Rows of a words-matrix, N.
            filters: Filters of the third convolution.
            hidden: Sizes of the hidden layers.
            labels: Number of labels, L.
        """
        super().__init__()
        self.rows = rows
        self.convolution = nn.Linear(width * features, filters)
        sizes = (rows * filters, *hidden)
        layers = [
            layer for before, after in itertools.pairwise(sizes) for layer in (nn.Linear(before, after), nn.ReLU())
        ]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-1], labels))
        self.label_parameters = (f"layers.{len(layers)}.weight", f"layers.{len(layers)}.bias")

    def forward(self, x: Tensor, is_real: Tensor) -> Tensor:
        """The logit of each label."""
        rows = self.convolution(x.flatten(1)).relu()  # [R, filters]
        documents = to_documents(rows, is_real)  # [B, rows of the batch, filters]
        padding = documents.new_zeros(len(documents), self.rows - documents.shape[1], documents.shape[2])
        logits: Tensor = self.layers(torch.cat([documents, padding], dim=1).flatten(1))  # [B, L]
        return logits
