"""The compiled path equals the readable one, for generated documents and every option."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxocaps.errors import GraphError
from taxocaps.graph import document_graph, words_matrix
from taxocaps.graph.config import GraphConfig, HopLimits
from taxocaps.graph.document_graph import GraphOfWords
from taxocaps.graph.words_matrix import encode_documents

configs = st.builds(
    GraphConfig,
    window=st.integers(2, 5),
    sentence_bound=st.booleans(),
    distance=st.sampled_from(["hops", "count", "inverse-count"]),
    expansion=st.sampled_from(["bfs", "dfs", "bfs+dfs"]),
    radius=st.integers(0, 6),
    N=st.integers(1, 40),
    K=st.integers(1, 12),
    T=st.integers(1, 24),
    row_order=st.sampled_from(["ordered", "unordered"]),
)


@st.composite
def documents(draw, most_words=60):
    """A few documents over a small alphabet, so that words repeat and ranks tie, with sentence ends."""
    alphabet = draw(st.integers(1, 30))
    texts = draw(st.lists(st.lists(st.integers(0, alphabet - 1), max_size=most_words), max_size=4))
    ends = [sorted({*draw(st.sets(st.integers(1, len(text)))), len(text)}) if text else [] for text in texts]
    return texts, ends


def encode(texts, ends, config, threads=1):
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    tokens = np.array([word for text in texts for word in text], np.int32)
    sentence_ends = np.array([offsets[d] + end for d, of_document in enumerate(ends) for end in of_document], np.int64)
    words = int(tokens.max(initial=-1)) + 1
    # Ids that say which word it was; every third word is "unknown" (1) and must stay a node of its own.
    ids = np.array([1 if word % 3 == 2 else word + 2 for word in range(words)], np.int32)
    return encode_documents(tokens, offsets, ids, config, sentence_ends=sentence_ends, threads=threads), ids


@settings(max_examples=200, deadline=None)
@given(documents(), configs, st.integers(1, 3))
def test_compiled_rows_equal_readable_rows(generated, config, threads):
    check_equal(*generated, config, threads)


# More than 256 distinct words, so that the search takes several rounds of sources.
@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.integers(300, 600), st.integers(0, 99), configs.filter(lambda config: config.N > 5))
def test_longer_documents_equal_too(words, seed, config):
    generator = np.random.default_rng(seed)
    text = generator.permutation(np.concatenate([np.arange(words), generator.integers(0, words, words)])).tolist()
    check_equal([text], [sorted({*range(40, 2 * words, 40), 2 * words})], config, 1)


@pytest.mark.parametrize("runs", [2, 3])
def test_documents_beyond_the_limit_equal_too(monkeypatch, runs):
    for module in (document_graph, words_matrix):
        monkeypatch.setattr(module, "HOP_LIMITS", HopLimits(exact=300, runs=runs))
    generator = np.random.default_rng(runs)
    text = generator.permutation(np.concatenate([np.arange(800), generator.integers(0, 80, 800)])).tolist()
    check_equal([text[:200], text], [[200], [len(text)]], GraphConfig(), 1)


def test_a_few_runs_of_words_find_the_central_words_of_all(monkeypatch):
    generator = np.random.default_rng(0)
    ranks = np.minimum(generator.zipf(1.3, 6_000), 3_000)  # words as frequent as in a text
    graph = GraphOfWords([str(rank) for rank in ranks])
    exact, closeness = graph.central_words[:50], graph.closeness
    monkeypatch.setattr(document_graph, "HOP_LIMITS", HopLimits(exact=0, runs=2))
    found = GraphOfWords([str(rank) for rank in ranks])
    assert len({*exact} & {*found.central_words[:50]}) >= 45
    assert found.closeness[exact[0]] == pytest.approx(closeness[exact[0]], rel=0.1)


@pytest.mark.slow
def test_a_document_of_fifty_thousand_distinct_words_takes_a_moment():
    encode([list(range(100))], [[100]], GraphConfig())  # compiled before the clock starts
    begin = time.process_time()
    matrices, _ = encode([list(range(50_000))], [[50_000]], GraphConfig())
    assert len(matrices) == 1
    assert time.process_time() - begin < 6  # 22 s if it were exact; two on an idle machine


def check_equal(texts, ends, config, threads):
    matrices, ids = encode(texts, ends, config, threads)
    assert len(matrices) == len(texts)
    for number, (text, of_document) in enumerate(zip(texts, ends, strict=True)):
        rows = GraphOfWords([str(word) for word in text], of_document, config).rows()
        begin, end = matrices.offsets[number : number + 2]
        assert end - begin == len(rows)
        for row, place in zip(rows, range(begin, end), strict=True):
            filled = len(row.words)
            assert matrices.words[place, :filled].tolist() == [ids[int(word)] for word in row.words]
            assert matrices.blocks[place, :filled].tolist() == list(row.block_numbers)
            assert not matrices.words[place, filled:].any()
            assert not matrices.blocks[place, filled:].any()
            assert matrices.block_counts[place] == len(row.blocks)


def natural_text(words, generator):
    """Words drawn by Zipf's law from a vocabulary that grows as natural text does."""
    vocabulary = int(25 * words**0.53)
    weights = 1 / np.arange(1, vocabulary + 1)
    return generator.choice(vocabulary, size=words, p=weights / weights.sum()).tolist()


def test_threads_give_the_same_bytes():
    generator = np.random.default_rng(1)
    texts = [natural_text(int(length), generator) for length in generator.integers(0, 300, 50)]
    one, _ = encode(texts, [[]] * 50, GraphConfig(), threads=1)
    three, _ = encode(texts, [[]] * 50, GraphConfig(), threads=3)
    for name in ("words", "blocks", "block_counts", "offsets"):
        assert np.array_equal(getattr(one, name), getattr(three, name))


@pytest.mark.parametrize(
    ("text", "rows"), [([], 0), ([7], 1), ([7, 8], 2), ([7] * 500, 1)], ids=["none", "one", "two", "repeated"]
)
def test_tiny_documents(text, rows):
    matrices, ids = encode([text], [[]], GraphConfig(T=20))
    assert matrices.words.shape == (rows, 20)
    if text == [7] * 500:
        # Neighbouring occurrences share words of the text, so all of them merge into one block, cut at T.
        assert matrices.words[0].tolist() == [ids[7]] * 20
        assert matrices.blocks[0].tolist() == [1] * 20


def test_fifty_thousand_words():
    text = natural_text(50_000, np.random.default_rng(2))
    matrices, _ = encode([text], [[]], GraphConfig(N=100, T=20))
    assert matrices.words.shape == (100, 20)
    assert (matrices.block_counts > 0).all()


def test_too_many_words_for_dijkstra_names_the_option_and_the_document():
    with pytest.raises(
        GraphError, match=r"5,001 distinct words .* graph\.distance=count .*graph\.distance=hops"
    ) as caught:
        encode([[1, 2], list(range(5_001))], [[], []], GraphConfig(distance="count"))
    assert caught.value.document == 1


def test_batches_are_filled_up_with_zeros():
    texts = [[1, 2, 3], [], [4, 4, 5, 6, 7]]
    matrices, _ = encode(texts, [[]] * 3, GraphConfig(T=6))
    words, blocks, block_counts = matrices.arrays(np.array([2, 1, 0]))
    assert (words.shape, blocks.shape, block_counts.shape) == ((3, 4, 6), (3, 4, 6), (3, 4))
    assert not words[1].any()
    assert not block_counts[2, 3:].any()
    assert np.array_equal(words[2, :3], matrices.words[: matrices.offsets[1]])
    assert matrices.lengths.tolist() == [3, 0, 4]
    assert matrices.arrays(np.array([], np.int64))[0].shape == (0, 0, 6)
