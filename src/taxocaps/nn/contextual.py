"""Word vectors by context: a pre-trained encoder reads pieces of words in windows, and words take the means of theirs.

A network that can use them declares `reads_context`, makes its `context_layer` and adds what `WordContext` gives to its
own word vectors. A word has one vector in a document, the mean over all its occurrences, so that a words-matrix, which
knows only distinct words, and a sequence of words read the same.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from taxocaps.nn.network import Sizes

__all__ = ["ContextLayer", "PieceReader", "Special", "WordContext", "context_layer", "pool_words", "window_starts"]


@dataclass(frozen=True)
class Special:
    """What an encoder wants around pieces.

    Attributes:
        before: The pieces before a window, such as [CLS].
        after: Those behind it, such as [SEP].
        padding: The piece that fills up a batch.
        window: The largest number of pieces of a window, these included.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    padding: int
    window: int

    @property
    def inner(self) -> int:
        """The pieces of a text in a window."""
        return self.window - len(self.before) - len(self.after)


def window_starts(length: int, inner: int) -> list[int]:
    """Where the windows of a document begin; each overlaps the one before by a quarter, the last by more.

    Args:
        length: The pieces of the document.
        inner: The pieces of a window.

    >>> window_starts(10, 16), window_starts(20, 8)
    ([0], [0, 6, 12])
    """
    last = max(0, length - inner)
    return [*range(0, last, max(1, inner - inner // 4)), last]


class PieceReader(nn.Module):
    """A pre-trained encoder over pieces; each piece takes its vector from the window in which it is most central.

    Shapes:
        pieces: [B, P], -1 at padding; returns [B, P, E], 0 at padding.
    """

    def __init__(
        self, transformer: nn.Module, special: Special, *, learning_rate: float = 5e-5, decay: float = 0.9
    ) -> None:
        """Take an encoder.

        Args:
            transformer: Takes `input_ids` and `attention_mask`, and gives `last_hidden_state`.
            special: What it wants around pieces.
            learning_rate: Of its last layer.
            decay: Factor of the learning rate from a layer to the one below it.
        """
        super().__init__()
        self.transformer, self.special = transformer, special
        self._learning_rate, self._decay = learning_rate, decay

    def forward(self, pieces: Tensor) -> Tensor:
        """The vector of each piece."""
        lengths = (pieces >= 0).sum(dim=1)  # [B]
        starts = [window_starts(length, self.special.inner) for length in lengths.tolist()]  # of each document
        document = torch.tensor([index for index, found in enumerate(starts) for _ in found], device=pieces.device)
        begin = torch.tensor([start for found in starts for start in found], device=pieces.device)  # [W]
        hidden = self._read(*self._windows(pieces, lengths, document, begin))  # [W, S, E]
        window, offset = self._most_central(pieces.shape[1], document, begin)  # [B, P], [B, P]
        found = hidden[window, offset + len(self.special.before)]  # [B, P, E]
        return found * (pieces >= 0)[..., None]  # [B, P, E]

    def _read(self, ids: Tensor, mask: Tensor) -> Tensor:
        hidden: Tensor = self.transformer(input_ids=ids, attention_mask=mask).last_hidden_state  # [W, S, E]
        return hidden

    def _windows(self, pieces: Tensor, lengths: Tensor, document: Tensor, begin: Tensor) -> tuple[Tensor, Tensor]:
        """The pieces of each window with what stands around them, and the mask; [W, S] each."""
        before, after, inner = self.special.before, self.special.after, self.special.inner
        width = min(inner, pieces.shape[1])
        positions = begin[:, None] + torch.arange(width, device=pieces.device)  # [W, width]
        sizes = (lengths[document] - begin).clamp(max=inner)  # [W]
        ids = pieces.new_full((len(begin), len(before) + width + len(after)), self.special.padding)  # [W, S]
        inside = pieces[document[:, None], positions.clamp(max=pieces.shape[1] - 1)]  # [W, width]
        ids[:, len(before) : len(before) + width] = inside.where(inside >= 0, self.special.padding)
        ids[:, : len(before)] = torch.tensor(before, dtype=ids.dtype, device=ids.device)
        for step, piece in enumerate(after):  # right behind the last piece, wherever that is
            ids[torch.arange(len(ids), device=ids.device), len(before) + sizes + step] = piece
        ends = len(before) + sizes + len(after)  # [W]
        mask = torch.arange(ids.shape[1], device=ids.device) < ends[:, None]  # [W, S]
        return ids.long(), mask.long()  # [W, S], [W, S]

    def _most_central(self, width: int, document: Tensor, begin: Tensor) -> tuple[Tensor, Tensor]:
        """For each piece the window of its document whose centre is nearest, and where in it the piece stands."""
        positions = torch.arange(width, device=begin.device)  # [P]
        doubled = 2 * positions + 1 - self.special.inner  # [P], as far as from begin to centre, twice
        windows = torch.empty(int(document.max()) + 1, width, dtype=torch.long, device=begin.device)  # [B, P]
        for index, row in enumerate(windows):
            own = (document == index).nonzero()[:, 0]  # [w], ascending like their beginnings
            after = torch.searchsorted(2 * begin[own], doubled).clamp(max=len(own) - 1)  # [P], the first not before it
            before = (after - 1).clamp(min=0)  # [P]
            is_nearer = doubled - 2 * begin[own[before]] <= (2 * begin[own[after]] - doubled).abs()  # [P]
            row.copy_(own[torch.where(is_nearer, before, after)])
        # Where a shorter document has ended, there is no such place in the window, and none is needed.
        offsets = (positions - begin[windows]).clamp(0, min(self.special.inner, width) - 1)  # [B, P]
        return windows, offsets

    def rate_groups(self) -> list[dict[str, Any]]:
        """The parameters by layer: the last one has the learning rate, each one below `decay` times that above it."""
        depths = _depths(self.transformer)
        groups: dict[int, list[nn.Parameter]] = {}
        for name, parameter in self.transformer.named_parameters():
            groups.setdefault(depths[name], []).append(parameter)
        rates = {depth: self._learning_rate * self._decay**depth for depth in sorted(groups)}
        return [{"params": groups[depth], "lr": rate} for depth, rate in rates.items()]


def _depths(transformer: nn.Module) -> dict[str, int]:
    """How far below the last layer each parameter is; what comes before the first layer is one below that."""
    lists = [(name, part) for name, part in transformer.named_modules() if isinstance(part, nn.ModuleList)]
    prefix, layers = max(lists, key=lambda found: len(found[1]), default=("", nn.ModuleList()))
    depths: dict[str, int] = {}
    depth = len(layers)
    for name, _ in transformer.named_parameters():
        inside = name.removeprefix(f"{prefix}.") if prefix else ""
        if inside and inside != name:
            depth = len(layers) - 1 - int(inside.partition(".")[0])
        elif depths and depth < len(layers):
            depth = 0  # behind the layers, such as a last normalization
        depths[name] = depth
    return depths


def pool_words(vectors: Tensor, slots: Tensor) -> Tensor:
    """The means of the vectors of each slot; slot 0 stands for no word and is 0.

    Shapes:
        vectors: [B, X, E]; slots: [B, X]; returns [B, U, E], U being one more than the greatest slot.
    """
    B, X, E = vectors.shape
    U = int(slots.max()) + 1 if slots.numel() else 1
    rows = (slots + U * torch.arange(B, device=slots.device)[:, None]).flatten()  # [B X]
    sums = vectors.new_zeros(B * U, E).index_add(0, rows, vectors.reshape(B * X, E))  # [B U, E]
    counts = torch.bincount(rows, minlength=B * U).clamp(min=1)  # [B U]
    means = (sums / counts[:, None]).view(B, U, E)  # [B, U, E]
    return torch.cat([torch.zeros_like(means[:, :1]), means[:, 1:]], dim=1)  # [B, U, E]


class WordContext:
    """The contextual vectors of the words of a batch.

    Attributes:
        vectors: [B, U, D], that of slot 0, which stands for no vector, is 0.
        slots: The slot of every word that the network reads, of the shape of its word ids.
    """

    def __init__(self, vectors: Tensor, slots: Tensor) -> None:
        """Keep both."""
        self.vectors, self.slots = vectors, slots

    def at(self, document: Tensor, slots: Tensor) -> Tensor:
        """The vectors of some slots of some documents.

        Shapes:
            document, slots: [...]; returns [..., D].
        """
        return self.vectors[document, slots]  # [..., D]

    def everywhere(self) -> Tensor:
        """The vectors of all words that the network reads, [B, ..., D]."""
        document = torch.arange(len(self.slots), device=self.slots.device)  # [B]
        return self.at(document.view(-1, *[1] * (self.slots.dim() - 1)), self.slots)  # [B, ..., D]


class ContextLayer(nn.Module):
    """From what an encoder says of pieces or words to additions to word vectors.

    Shapes:
        slots: [B, ...] of the words that the network reads; of: [B, X] the slots of what follows; given: [B, X, E]
        vectors, or [B, X] pieces if there is a `reader`; returns a context with vectors [B, U, D].
    """

    def __init__(self, inputs: int, D: int) -> None:
        """Make the projection from `inputs` features, E, to those of word vectors."""
        super().__init__()
        self.normalize = nn.LayerNorm(inputs, elementwise_affine=False)
        self.project = nn.Linear(inputs, D, bias=False)
        self.reader: PieceReader | None = None

    def forward(self, slots: Tensor, of: Tensor, given: Tensor) -> WordContext:
        """The contextual vectors of a batch."""
        vectors = given.float() if self.reader is None else self.reader(given)  # [B, X, E]
        pooled = pool_words(vectors, of.long())  # [B, U, E]
        # 0 stays 0: without words there is nothing to normalize, and the projection adds nothing.
        return WordContext(self.project(self.normalize(pooled)), slots.long())  # [B, U, D]

    def rate_groups(self) -> list[dict[str, Any]]:
        """The parameters of the encoder inside, if there is one, with their learning rates."""
        return self.reader.rate_groups() if self.reader is not None else []


def context_layer(sizes: Sizes) -> ContextLayer | None:
    """The layer for contextual vectors, if the encodings have any."""
    inputs = sizes.others.get("context", 0)
    return ContextLayer(inputs, sizes.D) if inputs else None
