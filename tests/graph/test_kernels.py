"""Single kernels against independent references: scipy for distances, sets and loops for the rest."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from taxocaps.graph import kernels


def random_text(words, alphabet, seed):
    return np.random.default_rng(seed).integers(0, alphabet, words).astype(np.int32)


def built(tokens, window=3):
    local = np.empty_like(tokens)
    words = np.empty_like(tokens)
    n = kernels._local_words(tokens, np.full(tokens.max() + 1, -1, np.int32), local, words)
    return local, n, kernels._skeleton(local, np.zeros(len(tokens), np.int32), n, window)


def test_local_numbers_follow_first_appearance_and_leave_the_scratch_clean():
    scratch = np.full(9, -1, np.int32)
    local, words = np.empty(5, np.int32), np.empty(5, np.int32)
    n = kernels._local_words(np.array([7, 3, 7, 8, 3], np.int32), scratch, local, words)
    assert (n, local.tolist(), words[:n].tolist()) == (3, [0, 1, 0, 2, 1], [7, 3, 8])
    assert (scratch == -1).all()


@pytest.mark.parametrize("window", [2, 3, 6])
def test_skeleton_counts_both_directions(window):
    tokens = random_text(200, 30, seed=window)
    local, n, (starts, neighbours, counts) = built(tokens, window)
    dense = np.zeros((n, n), int)
    for i in range(len(local)):
        for j in range(i + 1, min(i + window, len(local))):
            if local[i] != local[j]:
                dense[local[i], local[j]] += 1
                dense[local[j], local[i]] += 1
    found = csr_array((counts, neighbours.astype(np.int64), starts), shape=(n, n)).toarray()
    assert np.array_equal(found, dense)


# More than 256 words need several rounds of sources; all words different make a chain with a wide diameter.
@pytest.mark.parametrize(("words", "alphabet"), [(30, 8), (2_000, 300), (3_000, 900), (700, 10**6)])
def test_hop_sums_equal_scipy(words, alphabet):
    tokens = random_text(words, alphabet, seed=words)
    _, n, (starts, neighbours, counts) = built(tokens)
    sums, reached = np.zeros(n), np.zeros(n, np.int64)
    kernels._hop_sums(starts, neighbours, np.arange(0, n, 256), sums, reached)
    graph = csr_array((counts, neighbours.astype(np.int64), starts), shape=(n, n))
    distances = shortest_path(graph, unweighted=True)
    assert np.array_equal(sums, distances.sum(axis=1))
    assert (reached == n - 1).all()


@pytest.mark.parametrize("invert", [False, True])
def test_dijkstra_sums_equal_scipy(invert):
    tokens = random_text(900, 150, seed=1)
    _, n, (starts, neighbours, counts) = built(tokens)
    lengths = 1.0 / counts if invert else counts.astype(float)
    sums, reached = np.zeros(n), np.zeros(n, np.int64)
    kernels._dijkstra_sums(starts, neighbours, lengths, sums, reached)
    distances = shortest_path(csr_array((lengths, neighbours.astype(np.int64), starts), shape=(n, n)), method="D")
    assert sums == pytest.approx(distances.sum(axis=1), abs=1e-8)
    assert (reached == n - 1).all()


def test_distinct_words_are_counted_per_document():
    tokens = np.array([1, 1, 2, 0, 1, 2], np.int32)
    assert kernels.count_words(tokens, np.array([0, 3, 3, 6]), 3).tolist() == [2, 0, 3]
