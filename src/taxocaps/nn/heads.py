"""The two ends of the network: dense layers, or capsules with routing."""

import itertools
import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.nn.capsules import LabelCapsules, PrimaryCapsules

__all__ = ["CapsuleHead", "DenseHead", "to_documents"]

_USUAL_ROWS = 40
"""The rows of a document whose capsules stay as they are when others are divided by their number."""

_RARE = 0.1
"""The score of every label before a dense head has learned anything."""


def to_documents(rows: Tensor, is_real: Tensor) -> Tensor:
    """Put the features of real rows back into their documents; rows that do not exist become 0.

    Shapes:
        rows: [R, ...]; is_real: [B, N] of bool with R true entries; returns [B, N, ...].
    """
    documents = rows.new_zeros(*is_real.shape, *rows.shape[1:])  # [B, N, ...]
    return documents.masked_scatter(is_real.view(*is_real.shape, *[1] * (rows.dim() - 1)), rows)  # [B, N, ...]


class CapsuleHead(nn.Module):
    """Primary capsules of every row, routed to one capsule per label; gives the lengths of those, from 0 to 1.

    Routing adds up what all rows say, so that long documents have longer label capsules than short ones, and a row of
    words that tell nothing counts as much as any other. With "mean" the capsules of a document are divided by its
    number of rows first. With "weighted" rows have weights, w = softplus(a . x + b), learned, and 1 at the start;
    capsules are multiplied by them and divided by their sum.

    Departure: the paper has "sum"; the others are options.

    Shapes:
        x: [R, W, F]; is_real: [B, N]; returns [B, L].
    """

    def __init__(
        self, primary: PrimaryCapsules, labels: LabelCapsules, pooling: Literal["sum", "mean", "weighted"] = "sum"
    ) -> None:
        """Join both kinds of capsules."""
        super().__init__()
        self.pooling = pooling
        self.primary, self.labels = primary, labels
        self.label_parameters = ("labels.weight",)
        if pooling == "weighted":
            self.weigh = nn.Linear(primary.linear.in_features, 1)
            nn.init.zeros_(self.weigh.weight)
            nn.init.constant_(self.weigh.bias, math.log(math.e - 1))  # softplus of this is 1

    def forward(self, x: Tensor, is_real: Tensor) -> Tensor:
        """The length of each label's capsule."""
        features = self.primary.features(x)  # [R, W F]
        u = to_documents(self.primary.capsules(features), is_real)  # [B, N, M, m]
        if self.pooling != "sum":
            u = u * self._shares(features, is_real)[..., None, None]  # [B, N, M, m]
        # The square root of 0 has no gradient; a tiny square stands in for it.
        v: Tensor = self.labels(u)  # [B, L, n]
        return (v.square().sum(dim=-1) + 1e-12).sqrt()  # [B, L]

    def _shares(self, features: Tensor, is_real: Tensor) -> Tensor:
        """The share of each row in its document; all shares together are the usual number of rows. [B, N]."""
        weights = is_real.to(features.dtype)  # [B, N]
        if self.pooling == "weighted":
            weights = to_documents(functional.softplus(self.weigh(features)).squeeze(1), is_real)  # [B, N]
        return weights * (_USUAL_ROWS / weights.sum(dim=1, keepdim=True).clamp(min=1e-6))  # [B, N]


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
        output = nn.Linear(sizes[-1], labels)
        # A document has few of all labels: from 0.5 each, the margin loss would first push all of them down to where
        # the sigmoid is flat, those that it has along with the others.
        nn.init.constant_(output.bias, math.log(_RARE / (1 - _RARE)))
        self.layers = nn.Sequential(*layers, output)
        self.label_parameters = (f"layers.{len(layers)}.weight", f"layers.{len(layers)}.bias")

    def forward(self, x: Tensor, is_real: Tensor) -> Tensor:
        """The logit of each label."""
        rows = self.convolution(x.flatten(1)).relu()  # [R, filters]
        documents = to_documents(rows, is_real)  # [B, rows of the batch, filters]
        padding = documents.new_zeros(len(documents), self.rows - documents.shape[1], documents.shape[2])
        logits: Tensor = self.layers(torch.cat([documents, padding], dim=1).flatten(1))  # [B, L]
        return logits
