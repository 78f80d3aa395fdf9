"""The two heads of the network over words-matrices: capsules with routing, or dense layers."""

import itertools
import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from taxocaps.nn.capsules import LabelCapsules, PrimaryCapsules, capsule_lengths
from taxocaps.nn.layers import dense_layer, masked_max, masked_mean, to_documents

__all__ = ["CapsuleHead", "DenseHead"]

_USUAL_ROWS = 40
"""With `pooling` "mean" and "weighted" a document counts as if it had this many rows."""


class CapsuleHead(nn.Module):
    """Primary capsules of every row, routed to one capsule per label; returns the lengths of these, from 0 to 1.

    Routing sums over all rows, so that long documents have longer label capsules than short ones, and all rows count
    the same. With "mean" the capsules of a document are divided by its number of rows first. With "weighted" rows have
    learned weights w = softplus(a . x + b), initially 1; capsules are multiplied by them and divided by their sum.

    Departure: the paper has "sum"; the others are options.

    Shapes:
        x: [R, W, F]; mask: [B, N], True for rows that exist; returns [B, L].
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
            self.row_weight = nn.Linear(primary.linear.in_features, 1)
            nn.init.zeros_(self.row_weight.weight)
            nn.init.constant_(self.row_weight.bias, math.log(math.e - 1))  # softplus of this is 1

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """The length of each label's capsule."""
        features = self.primary.features(x)  # [R, W F]
        is_usual = x.is_cpu and x.dtype == torch.float32
        if is_usual and self.labels.needs_only_sums and not torch.is_grad_enabled():
            return capsule_lengths(self.labels.of_sums(self._sums(features, mask)))  # [B, L]
        u = to_documents(self.primary.capsules(features), mask)  # [B, N, M, m]
        if self.pooling != "sum":
            u = u * self._row_weights(features, mask)[..., None, None]  # [B, N, M, m]
        return capsule_lengths(self.labels(u))  # [B, L]

    @torch.no_grad()
    def sums(self, x: Tensor, mask: Tensor) -> Tensor:
        """The weighted sum of the capsules of each channel over all rows of a document, without a GPU; [B, M, m]."""
        return self._sums(self.primary.features(x), mask)  # [B, M, m]

    def _sums(self, features: Tensor, mask: Tensor) -> Tensor:
        """The weighted sum over all rows of a document, for each channel: [B, M, m]."""
        weights = mask.to(features.dtype) if self.pooling == "sum" else self._row_weights(features, mask)  # [B, N]
        document = mask.nonzero()[:, 0]  # [R]
        return self.primary.sums(features, weights[mask], document, len(mask))  # [B, M, m]

    def _row_weights(self, features: Tensor, mask: Tensor) -> Tensor:
        """The weight of each row in its document, [B, N]; the weights of a document sum to `_USUAL_ROWS`."""
        weights = mask.to(features.dtype)  # [B, N]
        if self.pooling == "weighted":
            weights = to_documents(functional.softplus(self.row_weight(features)).squeeze(1), mask)  # [B, N]
        return weights * (_USUAL_ROWS / weights.sum(dim=1, keepdim=True).clamp(min=1e-6))  # [B, N]


class DenseHead(nn.Module):
    """A third convolution over the whole remaining width, then fully connected layers; returns logits.

    The fully connected layers read the features of every row at its position in the document. With `pooling` they read
    the mean or the maximum over all rows, too: what a word says then does not have to be learned at every position.

    Departure: the paper has no pooling beside the rows; it is an option.

    Shapes:
        x: [R, W, F]; mask: [B, N], True for rows that exist; returns [B, L].
    """

    def __init__(
        self,
        width: int,
        features: int,
        rows: int,
        filters: int,
        hidden: tuple[int, ...],
        labels: int,
        pooling: Literal["none", "mean", "max"] = "none",
    ) -> None:
        """Make the layers.

        Args:
            width: Windows of a row.
            features: Features of a window.
            rows: Rows of a words-matrix, N.
            filters: Filters of the third convolution.
            hidden: Sizes of the hidden layers.
            labels: Number of labels, L.
            pooling: What is read of all rows together, beside each row.
        """
        super().__init__()
        self.rows, self.pooling = rows, pooling
        self.convolution = dense_layer(width * features, filters, "relu")
        sizes = ((rows + (pooling != "none")) * filters, *hidden)
        layers = [
            layer
            for before, after in itertools.pairwise(sizes)
            for layer in (dense_layer(before, after, "relu"), nn.ReLU())
        ]
        self.layers = nn.Sequential(*layers, dense_layer(sizes[-1], labels))
        self.label_parameters = (f"layers.{len(layers)}.weight", f"layers.{len(layers)}.bias")

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """The logit of each label."""
        rows = self.convolution(x.flatten(1)).relu()  # [R, filters]
        documents = to_documents(rows, mask)  # [B, rows of the batch, filters]
        padding = documents.new_zeros(len(documents), self.rows - documents.shape[1], documents.shape[2])
        features = torch.cat([documents, padding], dim=1).flatten(1)  # [B, rows filters]
        if self.pooling != "none":
            pool = {"mean": masked_mean, "max": masked_max}[self.pooling]
            features = torch.cat([features, pool(documents, mask)], dim=1)  # [B, (rows + 1) filters]
        logits: Tensor = self.layers(features)  # [B, L]
        return logits
