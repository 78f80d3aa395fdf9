"""Capsules over n-grams, routed with existence, leak and orphan: Capsule-A and Capsule-B (Zhao et al. 2018)."""

from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.nn.blocks import NgramConvolution, SequenceSizes, is_real, word_embedding
from taxocaps.nn.heads import to_documents
from taxocaps.nn.squash import squash

__all__ = ["CapsuleText", "CapsuleTextConfig", "leaky_route"]

_Size = Annotated[int, Between(1, 1_000_000)]

_CHUNK_ELEMENTS = 16_000_000
"""Routing logits of the documents that are routed at a time: 64 MB, several times that while gradients are found."""

_USUAL_PLACES = 16
"""The places of a document, all in agreement, that give a label capsule of medium length at the start."""


class CapsuleTextConfig(Config):
    """The sizes of the network; the defaults are the published ones.

    Attributes:
        kind: The name of this network.
        branches: Words in a window, one number for each branch; (3,) is Capsule-A, (3, 4, 5) is Capsule-B.
        filters: Kernels of a branch's convolution over words.
        stride: Words from window to window.
        channels: Capsules of a place, in both layers of them.
        capsule_size: Numbers in every capsule, d.
        places: Places that a convolutional capsule looks at.
        iterations: Iterations of routing.
    """

    section: ClassVar[str] = "network"

    kind: Literal["capsule-text"] = "capsule-text"
    branches: tuple[Annotated[int, Between(1, 1000)], ...] = (3,)
    filters: _Size = 32
    stride: Annotated[int, Between(1, 1000)] = 2
    channels: _Size = 16
    capsule_size: _Size = 16
    places: Annotated[int, Between(1, 1000)] = 3
    iterations: Annotated[int, Between(1, 100)] = 3

    def model_post_init(self, context: object, /) -> None:
        """Check the fields, and that there is a branch."""
        if not self.branches:
            raise ConfigError("network.branches must name at least one branch; got none")


class CapsuleText(nn.Module):
    """Label capsules, the mean of those of all branches: v_j = mean_k v_kj; the score is |v_j|, 0 to 1, not a logit.

    Departure: the publication has one matrix W_j per label for all capsules below, or one for each of them, which ties
    the network to one length of documents. Here label capsules have one for each channel, shared over places;
    convolutional capsules have the published shared one. Predictions have no bias, as in the authors' code.

    Shapes:
        words: [B, T], 0 for padding; lengths: [B]; returns capsule lengths [B, L].
    """

    def __init__(self, config: CapsuleTextConfig, sizes: SequenceSizes) -> None:
        """Make the layers."""
        super().__init__()
        self.embedding = word_embedding(sizes)
        self.branches = nn.ModuleList(_Branch(config, width, sizes) for width in config.branches)
        self.gives_logits = False
        self.label_parameters = tuple(f"branches.{number}.labels" for number in range(len(config.branches)))

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The length of each label's capsule."""
        x = self.embedding(words.long())  # [B, T, D]
        v = torch.stack([branch(x, lengths) for branch in self.branches]).mean(dim=0)  # [B, L, d]
        return _length(v)  # [B, L]


class _Branch(nn.Module):
    """N-grams, primary capsules p = squash(W relu(norm(n-gram)) + b), convolutional capsules, label capsules.

    Departure: the features of n-grams are normalised. Squash makes short vectors shorter, and amended routing again:
    out of word vectors not as long as the published ones nothing would reach the labels, and nothing be learned.

    Departure: the publication leaves open what the orphan, the capsule of what belongs to no label, is trained for.
    Here it has no target, and learns what to draw off through the couplings.

    Shapes:
        x: [B, T, D]; lengths: [B]; returns [B, L, d].
    """

    def __init__(self, config: CapsuleTextConfig, width: int, sizes: SequenceSizes) -> None:
        super().__init__()
        channels, size = config.channels, config.capsule_size
        self.places, self.size, self.iterations = config.places, size, config.iterations
        self.ngrams = NgramConvolution(sizes.D, config.filters, width, config.stride)
        self.norm = nn.LayerNorm(config.filters)
        self.primary = nn.Linear(config.filters, channels * size)
        # Couplings begin at one over the parents, leak and orphan among them. Matrices make up for that: capsules would
        # start at a length of 0 otherwise, where squash lets no gradient through.
        scale = size**-0.5 * (channels + 1) / config.places
        self.convolutional = nn.Parameter(torch.randn(channels, size, 1, size) * scale)
        scale = size**-0.5 * (sizes.labels + 2) / (_USUAL_PLACES * channels)
        self.labels = nn.Parameter(torch.randn(sizes.labels, size, channels, size) * scale)
        self.orphan = nn.Parameter(torch.randn(1, size, channels, size) * scale)
        nn.init.kaiming_normal_(self.ngrams.convolution.weight, nonlinearity="relu")
        nn.init.kaiming_normal_(self.primary.weight, nonlinearity="linear")

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The label capsules of every document."""
        windows, mask = self.ngrams(x, lengths)  # [B, P, F], [B, P]
        windows = self.norm(windows).relu()  # [B, P, F]
        u = squash(self.primary(windows).unflatten(-1, (-1, self.size)))  # [B, P, M, d]
        u = self._convolved(u * mask[..., None, None].to(u.dtype), mask.sum(dim=1))  # [B, P', M, d]
        weight = torch.cat([self.labels, self.orphan])  # [L + 1, d, M, d]
        return leaky_route(u.transpose(1, 2), weight, self.iterations)[:, :-1]  # [B, L, d]

    def _convolved(self, u: Tensor, counts: Tensor) -> Tensor:
        """Capsules of several neighbouring places each; 0 where a document has none.

        Shapes:
            u: [B, P, M, d]; counts: [B]; returns [B, P', M, d].
        """
        u = functional.pad(u, (0, 0, 0, 0, 0, max(0, self.places - u.shape[1])))  # [B, max(P, places), M, d]
        patches = u.unfold(1, self.places, 1).permute(0, 1, 4, 2, 3).flatten(2, 3)  # [B, P', places M, d]
        mask = is_real((counts - self.places + 1).clamp(min=1), patches.shape[1])  # [B, P']
        parents = leaky_route(patches[mask][:, None], self.convolutional, self.iterations)  # [R, M, d]
        return to_documents(parents, mask)  # [B, P', M, d]


def leaky_route(u: Tensor, weight: Tensor, iterations: int, chunk: int | None = None) -> Tensor:
    """Route capsules as amended by the publication (algorithm 1): a capsule counts as much as it is there.

    c_ij = |u_i| leaky-softmax_j(b_ij), v_j = squash(sum_i c_ij W_gj u_i), and b_ij grows by v_j . W_gj u_i, where g is
    the group of capsule i. A leaky softmax has one more logit, always 0, whose share goes nowhere. Predictions are
    never stored: see `nn/routing.py`, from which this differs in that couplings have gradients.

    Args:
        u: The capsules, in groups that share matrices; one of 0 is not there.
        weight: The matrices W, one per parent and group.
        iterations: At least 1.
        chunk: Documents routed at a time; by default as many as fit into 64 MB.

    Shapes:
        u: [B, G, R, m]; weight: [L, n, G, m]; returns [B, L, n].
    """
    chunk = chunk or max(1, _CHUNK_ELEMENTS // max(1, u[:1, ..., 0].numel() * len(weight)))
    if len(u) <= chunk:
        return _routed(u, weight, iterations)  # [B, L, n]
    # What a chunk needs for its gradients is found again when they are: logits of all documents would not fit.
    parts = [checkpoint(_routed, part, weight, iterations, use_reentrant=False) for part in torch.split(u, chunk)]
    return torch.cat(parts)  # [B, L, n]


def _routed(u: Tensor, weight: Tensor, iterations: int) -> Tensor:
    """All documents at once."""
    # The leak is a parent whose matrices are 0: nothing agrees with it, and its logit stays 0.
    weight = functional.pad(weight, (0, 0, 0, 0, 0, 0, 0, 1))  # [L + 1, n, G, m]
    present = u * _length(u)[..., None]  # [B, G, R, m]
    z = present.sum(dim=2, keepdim=True) / len(weight)  # [B, G, 1, m], as logits begin at 0
    v = squash(torch.einsum("bglm,lngm->bln", z.expand(-1, -1, len(weight), -1), weight))  # [B, L + 1, n]
    total = v  # [B, L + 1, n]
    for _ in range(iterations - 1):
        logits = u @ torch.einsum("bln,lngm->bgml", total, weight)  # [B, G, R, L + 1]
        z = logits.softmax(dim=-1).transpose(2, 3) @ present  # [B, G, L + 1, m]
        v = squash(torch.einsum("bglm,lngm->bln", z, weight))  # [B, L + 1, n]
        total = total + v  # [B, L + 1, n]
    return v[:, :-1]  # [B, L, n]


def _length(u: Tensor) -> Tensor:
    """The length of vectors; a tiny square stands in for 0, whose root has no gradient."""
    return (u.square().sum(dim=-1) + 1e-12).sqrt()  # [...]
