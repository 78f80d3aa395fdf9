"""Primary capsules over rows, and label capsules over primary ones (paper section 3.2)."""

from typing import Literal

import torch
from torch import Tensor, nn

from taxocaps.nn.routing import route
from taxocaps.nn.squash import squash

__all__ = ["LabelCapsules", "PrimaryCapsules", "Sharing"]

Sharing = Literal["none", "channel", "label"]


class PrimaryCapsules(nn.Module):
    """M capsules of size m out of each row: a convolution over the whole remaining width, then squash.

    Squash makes small vectors smaller still, so that features of the wrong size starve everything above; with
    `normalize` each row's are brought to size 1 first.

    Shapes:
        x: [R, W, F]; returns [R, M, m].
    """

    def __init__(self, width: int, features: int, channels: int, size: int, *, normalize: bool = False) -> None:
        """Make `channels` capsules of `size` numbers for rows of `width` places with `features` numbers each."""
        super().__init__()
        self.channels, self.size = channels, size
        self.norm = nn.LayerNorm(width * features) if normalize else nn.Identity()
        self.linear = nn.Linear(width * features, channels * size)

    def forward(self, x: Tensor) -> Tensor:
        """The capsules of every row."""
        return self.capsules(self.features(x))  # [R, M, m]

    def features(self, x: Tensor) -> Tensor:
        """All features of every row, normalised if they are to be: [R, W F]."""
        features: Tensor = self.norm(x.flatten(1))  # [R, W F]
        return features

    def capsules(self, features: Tensor) -> Tensor:
        """The capsules of rows with these features: [R, M, m]."""
        return squash(self.linear(features).view(-1, self.channels, self.size))  # [R, M, m]


class LabelCapsules(nn.Module):
    """One capsule per label, fed by dynamic routing; its length is the label's score ("DigitCaps" in the paper).

    The paper's W_ij, one matrix per capsule and label, is `sharing = "none"`. By default matrices are shared over the
    rows ("channel"); with "label" there is one matrix per label. `compress` first mixes the N x M capsules into C.

    Departure: the paper's 337 million weights for RCV1, and 52 billion for EUR-Lex, fit no machine it names.

    Shapes:
        u: [B, N, M, m]; returns [B, L, n].
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        labels: int,
        size: int,
        *,
        iterations: int = 3,
        sharing: Sharing = "channel",
        compress: int | None = None,
        gain: float | None = None,
    ) -> None:
        """Make the capsules of `labels`, each of `size` numbers.

        Args:
            shape: N, M and m: rows, channels and size of the capsules below.
            labels: Number of labels, L.
            size: Numbers in a label's capsule, n.
            iterations: Iterations of routing.
            sharing: What shares a weight matrix.
            compress: The number of capsules, C, that the others are mixed into.
            gain: The start value of a learned factor before the last squash; None for no such factor.
        """
        super().__init__()
        rows, channels, inner = shape
        self.iterations, self.sharing, self.channels = iterations, sharing, channels
        self.mix: nn.Parameter | None = None
        if compress is not None:
            self.mix = nn.Parameter(torch.randn(rows, channels, compress) * (rows * channels) ** -0.5)
            rows, channels = 1, compress
        groups = {"none": rows * channels, "channel": channels, "label": 1}[sharing]
        self.weight = nn.Parameter(torch.randn(labels, size, groups, inner) * inner**-0.5)
        self.gain = None if gain is None else nn.Parameter(torch.tensor(float(gain)))

    def forward(self, u: Tensor) -> Tensor:
        """The label capsules of every document."""
        if self.mix is not None:
            u = torch.einsum("brcm,rck->bkm", u, self.mix[: u.shape[1]])[:, None]  # [B, 1, C, m]
        return route(self._grouped(u), self._weight(u.shape[1]), self.iterations, self.gain)  # [B, L, n]

    def _grouped(self, u: Tensor) -> Tensor:
        """The capsules by what shares a matrix: [B, G, R, m]."""
        if self.sharing == "channel":
            return u.transpose(1, 2).contiguous()  # [B, M, N, m]
        return u.flatten(1, 2).unsqueeze(1 if self.sharing == "label" else 2)  # [B, 1, NM, m] or [B, NM, 1, m]

    def _weight(self, rows: int) -> Tensor:
        """The matrices of the rows that the batch has: [L, n, G, m]."""
        if self.sharing != "none" or self.mix is not None:
            return self.weight
        return self.weight[:, :, : rows * self.channels]
