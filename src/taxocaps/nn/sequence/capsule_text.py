"""Capsules over n-grams, routed with existence, leak and orphan: Capsule-A and Capsule-B (Zhao et al. 2018)."""

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from taxocaps.config import Between, Config
from taxocaps.errors import ConfigError
from taxocaps.nn.capsules import capsule_lengths, route, squash
from taxocaps.nn.layers import NgramConvolution, distinct_ids, normal_weights, sequence_mask, to_documents
from taxocaps.nn.network import LayerSize, Network, Sizes, word_embedding

__all__ = ["CapsuleText", "CapsuleTextConfig", "leaky_route"]

_CHUNK_ELEMENTS = 16_000_000
"""Routing logits in memory at a time: 64 MB, and several times that in the backward pass."""

_USUAL_POSITIONS = 16
"""Label capsules start with a medium length for documents with this many positions in agreement."""


class CapsuleTextConfig(Config):
    """Options of the capsule network over n-grams; the defaults are the published ones.

    Attributes:
        kind: The name of this network.
        branches: Words in a window, one number per branch; (3,) is Capsule-A, (3, 4, 5) is Capsule-B.
        filters: Filters of the convolution of a branch.
        stride: Stride of the convolutions.
        channels: Capsules of a position, in both capsule layers.
        capsule_size: Size of every capsule, d.
        places: Positions in a window of the convolutional capsules.
        iterations: Routing iterations.
        routing: `leaky`, as published: a capsule counts by its length, and a part of it may go nowhere; or `plain`
            dynamic routing, as in the authors' code.
        sharing: Whether each channel has its own matrix of a label, or one serves all, as in the authors' code.
    """

    section: ClassVar[str] = "network"

    kind: Literal["capsule-text"] = "capsule-text"
    branches: tuple[Annotated[int, Between(1, 1000)], ...] = (3,)
    filters: LayerSize = 32
    stride: Annotated[int, Between(1, 1000)] = 2
    channels: LayerSize = 16
    capsule_size: LayerSize = 16
    places: Annotated[int, Between(1, 1000)] = 3
    iterations: Annotated[int, Between(1, 100)] = 3
    routing: Literal["leaky", "plain"] = "leaky"
    sharing: Literal["channel", "all"] = "channel"

    def model_post_init(self, context: object, /) -> None:
        """Check that there is a branch."""
        if not self.branches:
            raise ConfigError("network.branches must name at least one branch; got none")


class CapsuleText(Network):
    """Label capsules, averaged over all branches: v_j = mean_k v_kj; the score is the length |v_j|, from 0 to 1.

    Departure: the publication has one matrix W_j per label for all capsules below, or one for each of them, which
    requires documents of one length. Here label capsules have one for each channel, shared over positions, unless
    `network.sharing` is "all"; convolutional capsules have the published shared one. Predictions have no bias, as in
    the authors' code, which also shortens vectors less, to |s|^2 / (1/2 + |s|^2), and trains the orphan as a label that
    no document has.

    Shapes:
        words: [B, T], 0 at padding; lengths: [B]; returns capsule lengths [B, L].
    """

    Config = CapsuleTextConfig
    reads = ("tokens",)
    output_type = "scores"

    def __init__(self, config: CapsuleTextConfig, sizes: Sizes) -> None:
        """Make the layers."""
        super().__init__()
        self.embedding = word_embedding(sizes)
        self.branches = nn.ModuleList(_Branch(config, width, sizes) for width in config.branches)
        self.label_parameters = tuple(f"branches.{branch}.labels" for branch in range(len(config.branches)))

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The length of each label's capsule."""
        ids, positions = distinct_ids(words.long(), self.embedding.num_embeddings)  # [U], [B, T]
        x = self.embedding(ids)  # [U, D]
        v = torch.stack([branch(x, lengths, positions) for branch in self.branches]).mean(dim=0)  # [B, L, d]
        return capsule_lengths(v)  # [B, L]


class _Branch(nn.Module):
    """N-grams, primary capsules p = squash(W relu(norm(n-gram)) + b), convolutional capsules, label capsules.

    Departure: the features of n-grams are normalized. Squash makes short vectors shorter, and so does amended routing:
    with word vectors shorter than the published ones, label capsules would be close to 0, and nothing would be learned.

    Departure: the publication does not say what the orphan, the capsule of what belongs to no label, is trained for.
    Here it has no target, and is learned through the couplings.

    Shapes:
        x: [U, D]; lengths: [B]; positions: [B, T]; returns [B, L, d].
    """

    route: Callable[[Tensor, Tensor, int], Tensor]

    def __init__(self, config: CapsuleTextConfig, width: int, sizes: Sizes) -> None:
        super().__init__()
        channels, size = config.channels, config.capsule_size
        self.window, self.size, self.iterations = config.places, size, config.iterations
        self.route = _ROUTINGS[config.routing]
        groups = {"channel": channels, "all": 1}[config.sharing]
        self.ngrams = NgramConvolution(sizes.D, config.filters, width, config.stride)
        self.norm = nn.LayerNorm(config.filters)
        self.primary = nn.Linear(config.filters, channels * size)
        # Couplings start at one over the number of parents, leak and orphan included. The scale of the matrices
        # compensates for that: capsules would otherwise start at a length of 0, where squash has no gradient.
        scale = size**-0.5 * (channels + 1) / config.places
        self.convolutional = normal_weights(channels, size, 1, size, scale=scale)
        scale = size**-0.5 * (sizes.labels + 2) / (_USUAL_POSITIONS * channels)
        self.labels = normal_weights(sizes.labels, size, groups, size, scale=scale)
        self.orphan = normal_weights(1, size, groups, size, scale=scale)
        nn.init.kaiming_normal_(self.primary.weight, nonlinearity="linear")

    def forward(self, x: Tensor, lengths: Tensor, positions: Tensor) -> Tensor:
        """The label capsules of every document."""
        windows, mask = self.ngrams(x, lengths, positions)  # [B, P, F], [B, P]
        windows = self.norm(windows).relu()  # [B, P, F]
        u = squash(self.primary(windows).unflatten(-1, (-1, self.size)))  # [B, P, M, d]
        u = self._convolved(u * mask[..., None, None].to(u.dtype), mask.sum(dim=1))  # [B, P', M, d]
        weight = torch.cat([self.labels, self.orphan])  # [L + 1, d, G, d], G of M channels or 1
        u = u.transpose(1, 2).reshape(len(u), weight.shape[2], -1, self.size)  # [B, G, R, d]
        return self.route(u, weight, self.iterations)[:, :-1]  # [B, L, d]

    def _convolved(self, u: Tensor, counts: Tensor) -> Tensor:
        """The convolutional capsules, each over a window of neighbouring positions; 0 at padding.

        Shapes:
            u: [B, P, M, d]; counts: [B]; returns [B, P', M, d].
        """
        u = functional.pad(u, (0, 0, 0, 0, 0, max(0, self.window - u.shape[1])))  # [B, max(P, window), M, d]
        patches = u.unfold(1, self.window, 1).permute(0, 1, 4, 2, 3).flatten(2, 3)  # [B, P', window M, d]
        mask = sequence_mask((counts - self.window + 1).clamp(min=1), patches.shape[1])  # [B, P']
        parents = self.route(patches[mask][:, None], self.convolutional, self.iterations)  # [R, M, d]
        return to_documents(parents, mask)  # [B, P', M, d]


def leaky_route(u: Tensor, weight: Tensor, iterations: int, chunk: int | None = None) -> Tensor:
    """Route capsules as amended by the publication (algorithm 1): a capsule counts by its length.

    c_ij = |u_i| leaky-softmax_j(b_ij), v_j = squash(sum_i c_ij W_gj u_i), and b_ij grows by v_j . W_gj u_i, where g is
    the group of capsule i. A leaky softmax has one more logit, always 0, whose share goes nowhere. Predictions are
    never stored: see `nn/capsules.py`, from which this differs in that couplings have gradients.

    Args:
        u: The capsules, in groups that share matrices; 0 at padding.
        weight: The matrices W, one per parent and group.
        iterations: At least 1.
        chunk: Documents routed at a time; by default as many as fit into 64 MB.

    Shapes:
        u: [B, G, R, m]; weight: [L, n, G, m]; returns [B, L, n].
    """
    chunk = chunk or max(1, _CHUNK_ELEMENTS // max(1, u[:1, ..., 0].numel() * len(weight)))
    if len(u) <= chunk:
        return _routed(u, weight, iterations)  # [B, L, n]
    # Chunks are recomputed in the backward pass: the logits of all documents would not fit into memory.
    parts = [checkpoint(_routed, part, weight, iterations, use_reentrant=False) for part in torch.split(u, chunk)]
    return torch.cat(parts)  # [B, L, n]


def _routed(u: Tensor, weight: Tensor, iterations: int) -> Tensor:
    """All documents at once."""
    # The leak is a parent whose matrices are 0: nothing agrees with it, and its logit stays 0.
    weight = functional.pad(weight, (0, 0, 0, 0, 0, 0, 0, 1))  # [L + 1, n, G, m]
    present = u * capsule_lengths(u)[..., None]  # [B, G, R, m]
    z = present.sum(dim=2, keepdim=True) / len(weight)  # [B, G, 1, m], as logits begin at 0
    v = squash(torch.einsum("bglm,lngm->bln", z.expand(-1, -1, len(weight), -1), weight))  # [B, L + 1, n]
    total = v  # [B, L + 1, n]
    for _ in range(iterations - 1):
        # Capsules come last: over the few parents of each, softmax is several times slower in the last dimension.
        logits = torch.einsum("bln,lngm->bglm", total, weight) @ u.mT  # [B, G, L + 1, R]
        z = logits.softmax(dim=2) @ present  # [B, G, L + 1, m]
        v = squash(torch.einsum("bglm,lngm->bln", z, weight))  # [B, L + 1, n]
        total = total + v  # [B, L + 1, n]
    return v[:, :-1]  # [B, L, n]


_ROUTINGS: Mapping[str, Callable[[Tensor, Tensor, int], Tensor]] = {"leaky": leaky_route, "plain": route}
