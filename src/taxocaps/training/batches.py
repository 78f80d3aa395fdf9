"""Batches of documents of similar length, for training and scoring; without Lightning: prediction starts fast.

Memory: the lengths and the order of all documents, a few numbers per document, and the arrays of one batch.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

__all__ = ["Batch", "Inputs", "LengthBatches", "loader", "score_documents"]

_BATCHES_SORTED_TOGETHER = 50
"""Enough for batches of almost equal lengths, few enough for other batches in every epoch."""


class Inputs(Protocol):
    """Documents as arrays, such as a memory-mapped store of words-matrices."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each document, such as its number of rows or words; [documents]."""

    def arrays(self, documents: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """The inputs of a network for the documents of these indices; each array is [B, ...]."""


class Batch(NamedTuple):
    """Some documents, ready for a network.

    Attributes:
        indices: [B] the indices of the documents.
        inputs: The inputs of the network; each is [B, ...].
        targets: [B, L] 1 for the labels of a document; without columns if labels are not known.
    """

    indices: Tensor
    inputs: tuple[Tensor, ...]
    targets: Tensor


class LengthBatches(Sampler[NDArray[np.int64]]):
    """The indices of the documents of each batch: similar lengths together, in another order in every epoch.

    The order depends on seed and epoch alone, so that training can be resumed. With several processes each takes its
    share of the batches, and all take equally many.
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
        """Prepare the batches.

        Args:
            lengths: The length of each document.
            batch_size: Documents of a batch; the last one may have fewer.
            seed: Random seed of the order; None sorts by length, for scoring.
            rank: The rank of this process.
            processes: The number of processes.
        """
        self._lengths, self._batch_size, self._seed = lengths, batch_size, seed
        self._rank, self._processes = rank, processes
        self._epoch = 0

    def __len__(self) -> int:
        """The number of batches of this process."""
        return math.ceil(math.ceil(len(self._lengths) / self._batch_size) / self._processes)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, on which the order depends; called by Lightning."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        """The batches of this process, in the order of the epoch."""
        batches = self._shuffled() if self._seed is not None else self._sorted()
        # All processes need equally many batches, or the others would wait: the first ones are taken twice.
        share = itertools.islice(itertools.cycle(batches), len(self) * self._processes)
        return itertools.islice(share, self._rank, None, self._processes)

    def _sorted(self) -> list[NDArray[np.int64]]:
        return _split(np.argsort(-self._lengths, kind="stable"), self._batch_size)

    def _shuffled(self) -> list[NDArray[np.int64]]:
        generator = np.random.default_rng([self._seed or 0, self._epoch])
        order = generator.permutation(len(self._lengths))
        groups = _split(order, self._batch_size * _BATCHES_SORTED_TOGETHER)
        batches = [
            batch
            for group in groups
            for batch in _split(group[np.argsort(self._lengths[group], kind="stable")], self._batch_size)
        ]
        return [batches[index] for index in generator.permutation(len(batches))]


def loader(
    inputs: Inputs,
    labels: csr_array | None,
    batch_size: int,
    *,
    seed: int | None = None,
    rank: int = 0,
    processes: int = 1,
) -> DataLoader[Batch]:
    """Batches of documents with their labels.

    Args:
        inputs: The encoded documents.
        labels: CSR [documents, L] of bool, or None if they are not known.
        batch_size: Documents of a batch.
        seed: Random seed of the order; None sorts by length, for scoring.
        rank: The rank of this process.
        processes: The number of processes.
    """
    sampler = LengthBatches(inputs.lengths, batch_size, seed=seed, rank=rank, processes=processes)
    # A generator of its own: a loader draws a number when it begins, and dropout must not depend on when that is.
    return DataLoader(_Batches(inputs, labels), batch_size=None, sampler=sampler, generator=torch.Generator())


def score_documents(
    objective: Any, inputs: Inputs, labels: int, *, batch_size: int = 64, device: str = "cpu"
) -> NDArray[np.float32]:
    """The scores of documents by a trained objective.

    Args:
        objective: A trained network with its loss; see `training.module.Objective`.
        inputs: The encoded documents.
        labels: The number of labels, L.
        batch_size: Documents of a batch; does not change the scores.
        device: The device to compute on.

    Returns:
        float32 [documents, L], from 0 to 1.
    """
    scores = np.zeros((len(inputs.lengths), labels), np.float32)
    objective.to(device).eval()
    with torch.inference_mode():
        for batch in loader(inputs, None, batch_size):
            moved = batch._replace(inputs=tuple(tensor.to(device) for tensor in batch.inputs))
            scores[batch.indices.numpy()] = objective.scores(moved).cpu().numpy()
    return scores


class _Batches(Dataset[Batch]):
    """Documents by the indices of a whole batch; only their own arrays and rows of labels are read."""

    def __init__(self, inputs: Inputs, labels: csr_array | None) -> None:
        self._inputs, self._labels = inputs, labels

    def __getitem__(self, indices: NDArray[np.int64]) -> Batch:
        targets = (
            np.zeros((len(indices), 0), np.float32)
            if self._labels is None
            else self._labels[indices].toarray().astype(np.float32)
        )
        return Batch(
            torch.from_numpy(indices),
            tuple(map(torch.from_numpy, self._inputs.arrays(indices))),
            torch.from_numpy(targets),
        )


def _split(indices: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    return [indices[start : start + size] for start in range(0, len(indices), size)]
