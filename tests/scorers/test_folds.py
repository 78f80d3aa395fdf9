"""Folds: groups stay together, labels are spread, and near copies of a document are found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from taxocaps.encoding.documents import EncodedDocuments
from taxocaps.scorers.folds import assign_folds, near_copies
from taxocaps.text.tokens import gather


def alone(count):
    """Each document a group of its own."""
    return np.arange(count)


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 8), st.integers(0, 10**6))
def test_groups_stay_together_and_folds_are_of_like_size(documents, most, count, seed):
    generator = np.random.default_rng(seed)
    labels, groups = csr_array(generator.random((documents, 5)) < 0.3), generator.integers(0, most, documents)
    folds = assign_folds(labels, groups, count, seed)
    assert (folds.dtype, folds.shape) == (np.int64, (documents,))
    pairs = set(zip(groups.tolist(), folds.tolist(), strict=True))
    assert len(pairs) == len(set(groups.tolist()))  # one fold for each group
    sizes = np.bincount([fold for _, fold in pairs], minlength=count)
    assert len(sizes) == count
    assert sizes.max() - sizes.min() <= 1


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(2, 10), st.integers(0, 10**6))
def test_the_documents_of_each_label_are_spread_over_all_folds(frequencies, count, seed):
    columns = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(frequencies)), frequencies))
    labels = csr_array(columns[:, None] == np.arange(len(frequencies)))
    folds = assign_folds(labels, alone(len(columns)), count, seed)
    for column in range(len(frequencies)):
        sizes = np.bincount(folds[columns == column], minlength=count)
        assert sizes.max() - sizes.min() <= 1


def test_the_rarest_label_of_a_document_decides():
    # All documents carry a frequent label; five of them also carry a rare one, and each fold gets one of these.
    labels = np.zeros((50, 2), bool)
    labels[:, 0] = True
    labels[::10, 1] = True
    for seed in range(20):
        folds = assign_folds(csr_array(labels), alone(50), 5, seed)
        assert sorted(folds[::10]) == [0, 1, 2, 3, 4]
        assert np.bincount(folds).tolist() == [10] * 5


def test_documents_without_labels_are_spread_too():
    folds = assign_folds(csr_array((20, 3), dtype=bool), alone(20), 4)
    assert np.bincount(folds).tolist() == [5] * 4


def test_the_seed_decides():
    labels = csr_array(np.random.default_rng(0).random((60, 4)) < 0.3)
    first, again, other = (assign_folds(labels, alone(60), 5, seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_names_of_groups_do_not_matter():
    labels = csr_array(np.random.default_rng(0).random((6, 4)) < 0.3)
    one, other = (assign_folds(labels, np.array(groups), 3) for groups in ([0, 1, 1, 2, 0, 3], [5, 7, 7, 90, 5, 99]))
    assert np.array_equal(one, other)


def encoded(documents):
    return EncodedDocuments([], gather(documents, lambda word: (word,)), {})


def written(count, seed=0, words=50):
    """Documents with words of a few hundred."""
    generator = np.random.default_rng(seed)
    return [[f"w{word}" for word in generator.integers(0, 300, words)] for _ in range(count)]


def with_one_word_changed(document, seed):
    place = np.random.default_rng(seed).integers(len(document))
    return [*document[:place], "changed", *document[place + 1 :]]


@pytest.mark.parametrize("seed", range(3))
def test_documents_with_one_word_in_fifty_changed_are_near_copies(seed):
    documents = written(200, seed)
    copies = [with_one_word_changed(document, index) for index, document in enumerate(documents)]
    groups = near_copies(encoded([*documents, *copies]), seed)
    assert groups.dtype == np.int64
    assert (groups[:200] == groups[200:]).mean() > 0.95


def test_documents_of_the_same_words_in_another_order_are_no_near_copies():
    documents = written(100)
    shuffled = [list(np.random.default_rng(0).permutation(document)) for document in documents]
    groups = near_copies(encoded([*documents, *shuffled]))
    assert len(set(groups.tolist())) == 200


def test_different_documents_are_groups_of_their_own():
    assert len(set(near_copies(encoded(written(500))).tolist())) == 500


def test_a_common_beginning_does_not_make_near_copies():
    beginning = written(1, seed=1, words=10)[0]
    documents = [[*beginning, *document] for document in written(100, words=90)]
    assert len(set(near_copies(encoded(documents)).tolist())) == 100


def test_a_copy_is_found_far_away():
    documents = written(1_500)
    groups = near_copies(encoded([*documents, *documents[::-1]]))
    assert np.array_equal(groups[:1_500], groups[:1_499:-1])
    assert len(set(groups.tolist())) == 1_500


def test_only_the_documents_meant_are_grouped():
    documents = written(4)
    some = encoded([*documents, *documents]).select(np.array([5, 0, 1, 4]))
    first, second, third, fourth = near_copies(some).tolist()
    assert first == third != second == fourth


def test_a_chain_of_near_copies_is_one_group():
    chain = [written(1, words=200)[0]]
    for number in range(30):
        chain.append([*chain[-1][2:], f"new-{number}", f"newer-{number}"])
    assert len(set(near_copies(encoded(chain)).tolist())) == 1
    ends = near_copies(encoded([chain[0], written(1, seed=9, words=200)[0]]))
    assert len(set(ends.tolist())) == 2


@pytest.mark.parametrize("place", [0, 1, 2])
def test_documents_without_words_are_copies_of_each_other_only(place):
    documents = written(2)
    documents.insert(place, [])
    groups = near_copies(encoded([[], *documents, []])).tolist()
    assert groups[0] == groups[1 + place] == groups[-1]
    assert len(set(groups)) == 3


def test_very_short_documents():
    groups = near_copies(encoded([["one"], ["other"], ["one"], ["other", "one"]])).tolist()
    assert groups[0] == groups[2] != groups[1]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_nothing_but_empty_documents(count):
    assert near_copies(encoded([[]] * count)).tolist() == [0] * count


def test_groups_are_the_same_by_the_same_seed():
    documents = written(50)
    half = [[*document[:40], *other[:10]] for document, other in zip(documents, documents[::-1], strict=True)]
    found = [near_copies(encoded([*documents, *half]), seed) for seed in (0, 0, *range(1, 6))]
    assert np.array_equal(found[0], found[1])
    assert any(not np.array_equal(found[0], other) for other in found[2:])
