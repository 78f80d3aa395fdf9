"""Batches: every document once, like lengths together, an order that seed and epoch decide."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from taxocaps.training.batches import LengthBatches, loader

corpora = st.lists(st.integers(0, 30), max_size=80).map(lambda lengths: np.array(lengths, np.int64))
sizes = st.integers(1, 9)
seeds = st.none() | st.integers(0, 5)


def batches(lengths, size, seed, epoch=0, **share):
    sampler = LengthBatches(lengths, size, seed=seed, **share)
    sampler.set_epoch(epoch)
    found = [batch.tolist() for batch in sampler]
    assert len(found) == len(sampler)
    return found


def spread(lengths, found):
    """The mean over batches of the longest document's length less that of the shortest."""
    return np.mean([lengths[batch].max() - lengths[batch].min() for batch in found])


class Rows:
    """Documents as numbers of rows, of one word each; notes which documents it is asked for."""

    def __init__(self, rows):
        self.lengths = np.array(rows, np.int64)
        self.asked = []

    def arrays(self, documents):
        self.asked.append(documents.tolist())
        mask = np.arange(self.lengths[documents].max(initial=0)) < self.lengths[documents][:, None]
        return (mask * (documents[:, None] + 1)).astype(np.int32), mask.astype(np.int8)


@given(corpora, sizes, seeds, st.integers(0, 3))
def test_every_document_comes_once_in_an_epoch(lengths, size, seed, epoch):
    found = batches(lengths, size, seed, epoch)
    assert sorted(number for batch in found for number in batch) == list(range(len(lengths)))
    # All batches are full but one, which has the rest.
    assert sorted(map(len, found), reverse=True)[:-1] == [size] * (len(found) - 1)


@given(corpora, sizes, st.integers(0, 5), st.integers(0, 3))
def test_like_lengths_stand_together(lengths, size, seed, epoch):
    # 80 documents in batches of 2 or more are fewer than 50 batches, which are sorted together.
    found = batches(lengths, max(size, 2), seed, epoch)
    ranges = sorted((lengths[batch].min(), lengths[batch].max()) for batch in found)
    assert all(longest <= shortest for (_, longest), (shortest, _) in itertools.pairwise(ranges))


def test_like_lengths_stand_together_in_a_large_corpus():
    lengths = np.random.default_rng(0).integers(1, 101, 5_000)
    found = batches(lengths, 10, seed=0)
    assert sorted(number for batch in found for number in batch) == list(range(5_000))
    by_chance = np.random.default_rng(1).permutation(5_000).reshape(-1, 10)
    assert spread(lengths, found) < spread(lengths, by_chance) / 20
    # Lengths do not rise over the epoch: that would be a curriculum.
    means = [lengths[batch].mean() for batch in found]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.2


def test_the_order_is_decided_by_seed_and_epoch():
    lengths = np.random.default_rng(0).integers(1, 9, 100)
    assert batches(lengths, 5, seed=3, epoch=2) == batches(lengths, 5, seed=3, epoch=2)
    orders = [batches(lengths, 5, seed, epoch) for seed in (0, 1, 3) for epoch in range(3)]
    assert all(orders[i] != orders[j] for i in range(9) for j in range(i))


def test_an_epoch_does_not_depend_on_those_before_it():
    lengths = np.random.default_rng(0).integers(1, 9, 100)
    sampler = LengthBatches(lengths, 5, seed=3)
    for epoch in range(4):
        sampler.set_epoch(epoch)
        walked = [batch.tolist() for batch in sampler]
    assert walked == batches(lengths, 5, seed=3, epoch=3)


def test_documents_meet_others_in_every_epoch():
    lengths = np.full(200, 7)
    together = [{frozenset(batch) for batch in batches(lengths, 4, seed=0, epoch=epoch)} for epoch in range(2)]
    assert len(together[0] & together[1]) < 5


@given(corpora, sizes)
def test_without_a_seed_the_longest_come_first(lengths, size):
    order = [number for batch in batches(lengths, size, seed=None) for number in batch]
    assert order == sorted(range(len(lengths)), key=lambda number: (-lengths[number], number))


@given(corpora, sizes, seeds, st.integers(1, 5))
def test_processes_share_the_batches_and_take_equally_many(lengths, size, seed, processes):
    whole = batches(lengths, size, seed, epoch=1)
    shares = [batches(lengths, size, seed, epoch=1, rank=rank, processes=processes) for rank in range(processes)]
    assert {len(share) for share in shares} == {math.ceil(len(whole) / processes)}
    dealt = [share[turn] for turn in range(len(shares[0])) for share in shares]
    assert dealt[: len(whole)] == whole
    # What is left over is taken from the beginning again.
    assert dealt[len(whole) :] == (whole * processes)[: len(dealt) - len(whole)]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), sizes, seeds)
def test_batches_have_the_arrays_and_labels_of_their_documents(rows, size, seed):
    inputs = Rows(rows)
    labels = csr_array(random_array((len(rows), 6), density=0.3, rng=np.random.default_rng(0)) > 0)
    seen = []
    for batch in loader(inputs, labels, size, seed=seed):
        indices = batch.indices.tolist()
        assert inputs.asked[-1] == indices  # nothing but its own documents
        for found, wanted in zip(batch.inputs, inputs.arrays(batch.indices.numpy()), strict=True):
            assert found.numpy().dtype == wanted.dtype
            assert np.array_equal(found.numpy(), wanted)
        assert batch.targets.dtype == torch.float32
        assert np.array_equal(batch.targets.numpy(), labels.toarray()[indices])
        seen += indices
    assert sorted(seen) == list(range(len(rows)))


def test_without_labels_targets_have_no_columns():
    (batch,) = loader(Rows([2, 1]), None, 8)
    assert batch.targets.shape == (2, 0)
    assert batch.indices.tolist() == [0, 1]


@pytest.mark.parametrize("seed", [None, 0])
def test_no_documents_no_batches(seed):
    assert list(loader(Rows([]), None, 8, seed=seed)) == []


def test_a_loader_takes_its_share():
    inputs = Rows([1] * 10)
    shares = [
        [batch.indices.tolist() for batch in loader(inputs, None, 2, seed=0, rank=rank, processes=2)]
        for rank in range(2)
    ]
    assert [len(share) for share in shares] == [3, 3]
    assert {number for share in shares for batch in share for number in batch} == set(range(10))
