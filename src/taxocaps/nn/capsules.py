"""Capsules: squash, dynamic routing, primary capsules of rows and label capsules (paper section 3.2).

Routing never stores the prediction vectors (paper, equations 6 and 7). Capsules come in G groups of R; all capsules of
a group share one weight matrix per label. The prediction of capsule r of group g for label j is W_gj u_gr. Its weighted
sum needs only the weighted sum of the capsules,

    s_j = sum_g W_gj z_gj,   z_gj = sum_r c_grj u_gr,

and its agreement with an output is linear in that output, so that the routing logits after some iterations are

    b_grj = u_gr . W_gj^T V_j,   V_j = the sum of the outputs so far.

Only V is kept. Where the logits of all labels would not fit into memory, they are recomputed for a chunk of labels at a
time, in two passes: one for the sum of exponentials over all labels, one for couplings and outputs. Couplings are
constants in the backward pass, and gradients flow through the last iteration only.
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from taxocaps.nn.layers import normal_weights

__all__ = ["LabelCapsules", "PrimaryCapsules", "Sharing", "capsule_lengths", "route", "squash"]

Sharing = Literal["none", "channel", "label"]

_TINY = 1e-12
"""Added to squared lengths: the square root of 0 has no gradient."""

_CHUNK_ELEMENTS = 32_000_000
"""Routing logits, or weights, in memory at a time: 128 MB."""

_CHUNK_ROWS = 256
"""Rows whose capsules are made and added up at a time, without a GPU."""

_BLOCK_ELEMENTS = (1_000_000, _CHUNK_ELEMENTS)
"""Routing logits made at a time, without and with a GPU: softmax and products find 4 MB in the cache of a processor."""


def squash(s: Tensor) -> Tensor:
    """Shrink vectors to a length below 1, short ones to almost nothing: v = |s|^2 / (1 + |s|^2) * s / |s|.

    Written as s * |s| / (1 + |s|^2), with a length that is never quite 0: value and gradient are finite everywhere.

    Shapes:
        s: [..., n]; returns [..., n].
    """
    square = s.square().sum(dim=-1, keepdim=True)  # [..., 1]
    return s * ((square + _TINY).sqrt() / (1 + square))  # [..., n]


def capsule_lengths(v: Tensor) -> Tensor:
    """The lengths of capsules, the scores of labels; never quite 0.

    Shapes:
        v: [..., n]; returns [...].
    """
    return (v.square().sum(dim=-1) + _TINY).sqrt()  # [...]


class PrimaryCapsules(nn.Module):
    """M capsules of size m from each row: a convolution over the whole remaining width, then squash.

    Squash makes short vectors even shorter, so that small features would hardly reach the labels; `normalize` applies
    layer normalization to the features of each row first.

    Shapes:
        x: [R, W, F]; returns [R, M, m].
    """

    def __init__(self, width: int, features: int, channels: int, size: int, *, normalize: bool = False) -> None:
        """Make `channels` capsules of `size` for rows of `width` windows with `features` features each."""
        super().__init__()
        self.channels, self.size = channels, size
        self.norm = nn.LayerNorm(width * features) if normalize else nn.Identity()
        self.linear = nn.Linear(width * features, channels * size)

    def forward(self, x: Tensor) -> Tensor:
        """The capsules of every row."""
        return self.capsules(self.features(x))  # [R, M, m]

    def features(self, x: Tensor) -> Tensor:
        """All features of every row, normalized if `normalize` is set: [R, W F]."""
        features: Tensor = self.norm(x.flatten(1))  # [R, W F]
        return features

    def capsules(self, features: Tensor) -> Tensor:
        """The capsules of rows from their features: [R, M, m]."""
        return squash(self.linear(features).view(-1, self.channels, self.size))  # [R, M, m]

    def sums(self, features: Tensor, weights: Tensor, document: Tensor, documents: int) -> Tensor:
        """The capsules of each document's rows, weighted and added up; float32, for prediction without a GPU.

        The numbers of a capsule lie apart here, and those of neighbouring capsules together, so that all but the
        product of matrices is one compiled pass. Some rows at a time fit into the cache.

        Args:
            features: The features of all rows.
            weights: The weight of each row.
            document: The document of each row.
            documents: The number of documents, B.

        Shapes:
            features: [R, W F]; weights, document: [R]; returns [B, M, m].
        """
        from taxocaps.nn.kernels import add_squashed  # numba takes a moment to load

        M, m = self.channels, self.size
        kernels = self.linear.weight.detach().view(M, m, -1).transpose(0, 1).flatten(0, 1)  # [m M, W F]
        bias = self.linear.bias.detach().view(M, m).T.flatten()  # [m M]
        sums = features.new_zeros(documents, m, M)  # [B, m, M]
        for start in range(0, len(features), _CHUNK_ROWS):
            rows = slice(start, start + _CHUNK_ROWS)
            s = functional.linear(features[rows], kernels, bias).view(-1, m, M)  # [r, m, M]
            given = (tensor.numpy() for tensor in (s, weights[rows], document[rows]))
            add_squashed(*given, np.float32(_TINY), sums.numpy())
        return sums.transpose(1, 2)  # [B, M, m]


class LabelCapsules(nn.Module):
    """One capsule per label, the result of dynamic routing; its length is the label's score ("DigitCaps" in the paper).

    The paper's W_ij, one matrix per capsule and label, is `sharing = "none"`. By default matrices are shared over the
    rows ("channel"); with "label" there is one matrix per label. `compress` first mixes the N x M capsules into C.

    Departure: the paper's 337 million weights for RCV1 and 52 billion for EUR-Lex do not fit on the machines it names.

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
        """Make one capsule per label.

        Args:
            shape: N, M and m: rows, channels and size of the primary capsules.
            labels: Number of labels, L.
            size: Size of a label's capsule, n.
            iterations: Routing iterations.
            sharing: Which capsules share a weight matrix.
            compress: The number of capsules, C, that the primary ones are mixed into; None for no mixing.
            gain: Initial value of a learned factor before the last squash; None for no such factor.
        """
        super().__init__()
        rows, channels, inner = shape
        self.iterations, self.sharing, self.channels = iterations, sharing, channels
        self.mix: nn.Parameter | None = None
        if compress is not None:
            self.mix = normal_weights(rows, channels, compress, scale=(rows * channels) ** -0.5)
            rows, channels = 1, compress
        groups = {"none": rows * channels, "channel": channels, "label": 1}[sharing]
        self.weight = normal_weights(labels, size, groups, inner, scale=inner**-0.5)
        self.gain = None if gain is None else nn.Parameter(torch.tensor(float(gain)))

    def forward(self, u: Tensor) -> Tensor:
        """The label capsules of every document."""
        if self.mix is not None:
            u = torch.einsum("brcm,rck->bkm", u, self.mix[: u.shape[1]])[:, None]  # [B, 1, C, m]
        return route(self._grouped(u), self._weight(u.shape[1]), self.iterations, self.gain)  # [B, L, n]

    @property
    def needs_only_sums(self) -> bool:
        """Whether all capsules of a channel count the same, so that their sum is enough, see `of_sums`."""
        return self.iterations == 1 and self.sharing == "channel" and self.mix is None

    def of_sums(self, z: Tensor) -> Tensor:
        """The label capsules of every document, of the sums of its capsules.

        Shapes:
            z: [B, M, m]; returns [B, L, n].
        """
        return _squashed(_even(z, self.weight), self.gain)  # [B, L, n]

    def turn_to(self, z: Tensor) -> None:
        """Let the capsule of each label begin long where capsules are like those given for the label.

        What all of them have in common would favour some labels in all documents, and is taken away. The first row of
        the matrices of a label becomes what is left, as long as a random row is; where nothing is left, it stays.

        Shapes:
            z: [L, M, m], sums of capsules as `of_sums` takes them.
        """
        flat = z.flatten(1)  # [L, M m]
        common = functional.normalize(flat.mean(dim=0), dim=0)  # [M m]
        towards = flat - flat.mean(dim=0)  # [L, M m]
        towards = towards - (towards @ common)[:, None] * common  # [L, M m]
        lengths = towards.norm(dim=1, keepdim=True)  # [L, 1]
        found = lengths[:, 0] > _TINY**0.5 * flat.norm(dim=1).amax()  # [L]
        first = towards[found] / lengths[found] * z.shape[1] ** 0.5  # [l, M m]
        with torch.no_grad():
            self.weight[found, 0] = first.view(-1, *z.shape[1:])

    def _grouped(self, u: Tensor) -> Tensor:
        """The capsules in groups that share a matrix: [B, G, R, m]."""
        if self.sharing == "channel":
            return u.transpose(1, 2).contiguous()  # [B, M, N, m]
        return u.flatten(1, 2).unsqueeze(1 if self.sharing == "label" else 2)  # [B, 1, NM, m] or [B, NM, 1, m]

    def _weight(self, rows: int) -> Tensor:
        """The matrices for the rows of the batch: [L, n, G, m]."""
        if self.sharing != "none" or self.mix is not None:
            return self.weight
        return self.weight[:, :, : rows * self.channels]


def route(u: Tensor, weight: Tensor, iterations: int, gain: Tensor | None = None, chunk: int | None = None) -> Tensor:
    """Route capsules to labels.

    Args:
        u: The capsules.
        weight: The matrices W, one per label and group.
        iterations: At least 1; with 1 all couplings are 1 / L.
        gain: A factor on s before the last squash.
        chunk: Labels computed at a time; by default as many as fit into 128 MB.

    Returns:
        The output capsules; their lengths are the scores of the labels.

    Shapes:
        u: [B, G, R, m]; weight: [L, n, G, m]; gain: []; returns [B, L, n].
    """
    chunk = chunk or max(1, _CHUNK_ELEMENTS // max(u[..., 0].numel(), weight[0].numel(), 1))
    if iterations == 1:
        return _squashed(_even(u.sum(dim=2), weight), gain)  # [B, L, n]
    with torch.no_grad():
        V = _squashed(_even(u.sum(dim=2), weight), gain)  # [B, L, n]
        for _ in range(iterations - 2):
            V = V + _squashed(_routed_sum(u, weight, V, chunk), gain)  # [B, L, n]
    return _squashed(_routed_sum(u, weight, V, chunk), gain)  # [B, L, n]


def _even(z: Tensor, weight: Tensor) -> Tensor:
    """s_j with uniform couplings, of the sums of all groups, [B, G, m]."""
    products = (z / len(weight)).flatten(1) @ weight.flatten(2).flatten(0, 1).T  # [B, L n]
    return products.view(len(z), *weight.shape[:2])  # [B, L, n]


def _squashed(s: Tensor, gain: Tensor | None) -> Tensor:
    return squash(s if gain is None else s * gain)


def _routed_sum(u: Tensor, weight: Tensor, V: Tensor, chunk: int) -> Tensor:
    s: Tensor = _RoutedSum.apply(u, weight, V, chunk)  # type: ignore[no-untyped-call]
    return s  # [B, L, n]


class _RoutedSum(torch.autograd.Function):
    """s_j for couplings that follow from V, as a function of u and W; couplings are recomputed in the backward pass."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, weight: Tensor, V: Tensor, chunk: int) -> Tensor:
        s = torch.empty_like(V)  # [B, L, n]
        rows = _pairs(u)  # [B G, R, m]
        for labels, couplings in _couplings(u, weight, V, chunk):
            z = u.new_empty(len(rows), len(weight[labels]), u.shape[3])  # [B G, l, m]
            for some, coupling in couplings:  # [p, R, l]
                torch.bmm(coupling.mT, rows[some], out=z[some])
            s[:, labels] = _to_labels(z.view(*u.shape[:2], *z.shape[1:]), weight[labels])  # [B, l, n]
        ctx.save_for_backward(u, weight, V)
        ctx.chunk = chunk
        return s

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        u, weight, V = ctx.saved_tensors
        rows = _pairs(u)  # [B G, R, m]
        grad_rows, grad_weight = torch.zeros_like(rows), torch.empty_like(weight)
        for labels, couplings in _couplings(u, weight, V, ctx.chunk):
            grad_z = _pairs(_to_capsules(grad[:, labels], weight[labels]))  # [B G, l, m]
            z = torch.empty_like(grad_z)  # [B G, l, m]
            for some, coupling in couplings:  # [p, R, l]
                grad_rows[some].baddbmm_(coupling, grad_z[some])
                torch.bmm(coupling.mT, rows[some], out=z[some])
            outer = grad[:, labels].permute(1, 2, 0) @ _by_label(z.view(*u.shape[:2], *z.shape[1:]))  # [l, n, G m]
            grad_weight[labels] = outer.view_as(weight[labels])  # [l, n, G, m]
        return grad_rows.view(u.shape), grad_weight, None, None


def _couplings(
    u: Tensor, weight: Tensor, V: Tensor, chunk: int
) -> Iterator[tuple[slice, Iterator[tuple[slice, Tensor]]]]:
    """The couplings of one chunk of labels after another, each [p, R, l] for some pairs of document and group.

    Over all labels they sum to 1 for every capsule. They are there until the next ones are made.
    """
    chunks = [slice(start, start + chunk) for start in range(0, weight.shape[0], chunk)]
    if len(chunks) == 1:
        logits = _logits(u, weight, V)
        yield chunks[0], ((some, torch.softmax(found, dim=-1, out=found)) for some, found in logits)
        return
    totals = [
        torch.cat([logits.logsumexp(dim=-1) for _, logits in _logits(u, weight[labels], V[:, labels])])
        for labels in chunks
    ]  # each [B G, R]
    log_total = torch.stack(totals, dim=-1).logsumexp(dim=-1, keepdim=True)  # [B G, R, 1]
    for labels in chunks:
        of_chunk = _logits(u, weight[labels], V[:, labels])
        yield labels, ((some, logits.sub_(log_total[some]).exp_()) for some, logits in of_chunk)


def _logits(u: Tensor, weight: Tensor, V: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """The routing logits of a few pairs of document and group at a time, [p, R, l], in the same place every time."""
    rows, target = _pairs(u), _pairs(_to_capsules(V, weight).mT)  # [B G, R, m], [B G, m, l]
    each = max(1, rows.shape[1] * len(weight))
    size = max(1, min(len(rows), _BLOCK_ELEMENTS[u.is_cuda] // each))
    place = u.new_empty(size, rows.shape[1], len(weight))  # [P, R, l]: new memory would take as long as the products
    for start in range(0, len(rows), size):
        some = slice(start, min(start + size, len(rows)))
        yield some, torch.bmm(rows[some], target[some], out=place[: some.stop - start])  # [p, R, l]


def _pairs(x: Tensor) -> Tensor:
    """Documents and groups on one axis: [B, G, ...] to [B G, ...]."""
    return x.flatten(0, 1)


# One product per label, over all groups at once: the weights, by far the largest tensor, are never copied.


def _to_capsules(v: Tensor, weight: Tensor) -> Tensor:
    """W_gj^T v_j for every group and label: [B, l, n] to [B, G, l, m]."""
    product = v.transpose(0, 1) @ weight.flatten(2)  # [l, B, G m]
    return product.view(*product.shape[:2], *weight.shape[2:]).permute(1, 2, 0, 3)  # [B, G, l, m]


def _to_labels(z: Tensor, weight: Tensor) -> Tensor:
    """sum_g W_gj z_gj for every label: [B, G, l, m] to [B, l, n]."""
    return (_by_label(z) @ weight.flatten(2).transpose(1, 2)).transpose(0, 1)  # [B, l, n]


def _by_label(z: Tensor) -> Tensor:
    return z.permute(2, 0, 1, 3).flatten(2)  # [l, B, G m]
