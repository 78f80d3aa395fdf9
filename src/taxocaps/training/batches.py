"""Batches of documents of like length, out of anything that can be cut into arrays."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

__all__ = ["Batch", "EncodedDocuments", "LengthBatches", "loader"]

_BATCHES_SORTED_TOGETHER = 50
"""Enough for batches of almost equal lengths, few enough to meet different documents in every epoch."""


class EncodedDocuments(Protocol):
    """Documents as arrays, such as a memory-mapped store of words-matrices."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How much work each document is, such as its number of rows; [documents]."""

    def arrays(self, documents: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """What a network takes, for some documents; each array is [B, ...]."""


class Batch(NamedTuple):
    """Some documents, ready for a network.

    Attributes:
        documents: [B] their numbers.
        inputs: What the network takes; each is [B, ...].
        targets: [B, L] 1 for a label that the document carries; without columns where labels are not known.
    """

    documents: Tensor
    inputs: tuple[Tensor, ...]
    targets: Tensor


class LengthBatches(Sampler[NDArray[np.int64]]):
    """The numbers of the documents of each batch: like lengths together, in an order that differs by epoch.

    The order is a function of seed and epoch alone, so that a run can go on where another one stopped. With several
    processes each takes its share of the batches, and all take equally many.
    """

    def __init__(
        self,
        lengths: NDArray[np.int64],
        batch_size: int,
        *,
        seed: int | None,
        rank: int = 0,
        processes: int = 1,
    ) -> None:
        """Prepare to batch documents of these lengths.

        Args:
            lengths: How much work each document is.
            batch_size: Documents of a batch; the last one may have fewer.
            seed: Of the order; None sorts by length, for scoring.
            rank: The number of this process.
            processes: How many there are.
        """
        self._lengths, self._batch_size, self._seed = lengths, batch_size, seed
        self._rank, self._processes = rank, processes
        self._epoch = 0

    def __len__(self) -> int:
        """The batches of this process."""
        return math.ceil(math.ceil(len(self._lengths) / self._batch_size) / self._processes)

    def set_epoch(self, epoch: int) -> None:
        """Take the order of another epoch; Lightning calls this."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        """The batches of this process, in the order of the epoch."""
        batches = self._shuffled() if self._seed is not None else self._sorted()
        # A process without its share would keep the others waiting: the first batches are taken twice.
        share = itertools.islice(itertools.cycle(batches), len(self) * self._processes)
        return itertools.islice(share, self._rank, None, self._processes)

    def _sorted(self) -> list[NDArray[np.int64]]:
        return _cut(np.argsort(-self._lengths, kind="stable"), self._batch_size)

    def _shuffled(self) -> list[NDArray[np.int64]]:
        generator = np.random.default_rng([self._seed or 0, self._epoch])
        order = generator.permutation(len(self._lengths))
        groups = _cut(order, self._batch_size * _BATCHES_SORTED_TOGETHER)
        batches = [
            batch
            for group in groups
            for batch in _cut(group[np.argsort(self._lengths[group], kind="stable")], self._batch_size)
        ]
        return [batches[place] for place in generator.permutation(len(batches))]


def loader(
    documents: EncodedDocuments,
    labels: Any,
    batch_size: int,
    *,
    seed: int | None = None,
    rank: int = 0,
    processes: int = 1,
) -> DataLoader[Batch]:
    """Batches of documents with their labels.

    Args:
        documents: The encoded documents.
        labels: CSR [documents, L] of bool, or None if they are not known.
        batch_size: Documents of a batch.
        seed: Of the order; None sorts by length, for scoring.
        rank: The number of this process.
        processes: How many there are.
    """
    sampler = LengthBatches(documents.lengths, batch_size, seed=seed, rank=rank, processes=processes)
    return DataLoader(_Batches(documents, labels), batch_size=None, sampler=sampler)


class _Batches(Dataset[Batch]):
    """Documents, looked up by the numbers of a whole batch."""

    def __init__(self, documents: EncodedDocuments, labels: Any) -> None:
        self._documents, self._labels = documents, labels

    def __getitem__(self, numbers: NDArray[np.int64]) -> Batch:
        targets = (
            np.zeros((len(numbers), 0), np.float32)
            if self._labels is None
            else self._labels[numbers].toarray().astype(np.float32)
        )
        return Batch(
            torch.from_numpy(numbers),
            tuple(map(torch.from_numpy, self._documents.arrays(numbers))),
            torch.from_numpy(targets),
        )


def _cut(numbers: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]
