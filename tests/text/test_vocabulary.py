from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.errors import ConfigError, FileError, StoreError
from taxocaps.text.tokens import gather
from taxocaps.text.vocabulary import Vocabulary, VocabularyConfig, WordCounter

WORDS = st.text(min_size=1, max_size=6) | st.sampled_from(
    ["\t", "\\t", "\\", "\ud800", "\ufeff", "a\nb", "é", "\u2028", "#"]
)
COUNTS = st.dictionaries(WORDS, st.integers(1, 5), max_size=20)


def test_order_and_numbers():
    vocabulary = Vocabulary.from_counts({"b": 2, "c": 9, "a": 2})
    assert vocabulary.words == ("c", "a", "b")
    assert vocabulary.counts == (9, 2, 2)
    assert len(vocabulary) == 5
    ids = vocabulary.ids(["a", "nowhere", "c"])
    assert ids.tolist() == [3, Vocabulary.UNKNOWN, 2]
    assert ids.dtype == np.int32
    assert "a" in vocabulary
    assert "nowhere" not in vocabulary


@given(COUNTS, st.integers(1, 4), st.none() | st.integers(1, 5))
def test_from_counts_equals_sorting_by_hand(counts, min_count, max_size):
    vocabulary = Vocabulary.from_counts(counts, VocabularyConfig(min_count=min_count, max_size=max_size))
    expected = sorted((word for word in counts if counts[word] >= min_count), key=lambda word: (-counts[word], word))
    expected = expected if max_size is None else expected[:max_size]
    assert list(vocabulary.words) == expected
    assert [vocabulary.word(number) for number in vocabulary.ids(expected)] == expected


def test_the_order_of_counts_does_not_matter():
    one, two = {"a": 1, "b": 1, "c": 2}, {"c": 2, "b": 1, "a": 1}
    assert Vocabulary.from_counts(one).words == Vocabulary.from_counts(two).words


@pytest.mark.parametrize("number", [-1, 0, 1, 4])
def test_numbers_without_a_word(number):
    with pytest.raises(IndexError, match=f"no word has the id {number}; words have 2 to 3"):
        Vocabulary.from_counts({"a": 1, "b": 1}).word(number)


def test_no_words():
    vocabulary = Vocabulary.from_counts({})
    assert len(vocabulary) == 2
    assert vocabulary.ids(["a"]).tolist() == [1]
    assert vocabulary.ids([]).shape == (0,)


@given(COUNTS)
def test_save_and_load(tmp_path_factory, counts):
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.tsv"
    vocabulary = Vocabulary.from_counts(counts)
    vocabulary.save(path)
    again = Vocabulary.load(path)
    assert (again.words, again.counts, again.fingerprint) == (
        vocabulary.words,
        vocabulary.counts,
        vocabulary.fingerprint,
    )


def test_the_file_is_plain(tmp_path):
    Vocabulary.from_counts({"été": 3, "a": 12}).save(tmp_path / "vocabulary.tsv")
    assert (tmp_path / "vocabulary.tsv").read_bytes() == "a\t12\nété\t3\n".encode()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a\t3\nb\n", 2),
        (b"a\t3\nb\tx\n", 2),
        (b"a\t0\n", 1),
        (b"a\t-1\n", 1),
        (b"\t3\n", 1),
        (b"a\t3\n\n", 2),
        (b"a\t3\t4\n", 1),
        (b"a\t3\nb\t4\n", 2),
        (b"b\t3\na\t3\n", 2),
        (b"a\t3\nc\t2\na\t2\n", 3),
        (b"a\t3\nb\t2\nb\t2\n", 3),
        (b"a\t3\n\xff\t2\n", 2),
        ("a\t٣\n".encode(), 1),
    ],
)
def test_damaged_file(tmp_path, content, line):
    path = tmp_path / "vocabulary.tsv"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=rf"vocabulary\.tsv, line {line}: the vocabulary is damaged"):
        Vocabulary.load(path)


def test_a_word_twice_with_different_counts(tmp_path):
    path = tmp_path / "vocabulary.tsv"
    path.write_text("a\t3\na\t2\n")
    with pytest.raises(StoreError, match="line 2"):
        Vocabulary.load(path)


def test_missing_file(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        Vocabulary.load(tmp_path / "vocabulary.tsv")


def test_fingerprint_tells_numbers_apart_and_nothing_else():
    assert Vocabulary.from_counts({"a": 2, "b": 1}).fingerprint == Vocabulary.from_counts({"a": 9, "b": 1}).fingerprint
    assert Vocabulary.from_counts({"a": 2, "b": 1}).fingerprint != Vocabulary.from_counts({"a": 1, "b": 2}).fingerprint
    assert (
        Vocabulary.from_counts({"a\n": 2, "b": 1}).fingerprint != Vocabulary.from_counts({"a": 2, "\nb": 1}).fingerprint
    )


@pytest.mark.parametrize("options", [{"min_count": 0}, {"max_size": 0}, {"max_size": "big"}])
def test_configuration(options):
    with pytest.raises(ConfigError, match=r"vocabulary\.m"):
        VocabularyConfig(**options)


def chunk(*documents):
    return gather([text.split() for text in documents], lambda word: (word,))


@given(st.lists(st.lists(st.sampled_from("abcdef")), max_size=6))
def test_counter_equals_the_standard_library(documents):
    counter = WordCounter()
    for words in documents:
        counter.add(chunk(" ".join(words), "a b"))
    assert counter.counts == Counter(word for words in documents for word in [*words, "a", "b"])
    assert counter.exact


def test_counter_forgets_the_rare():
    counter = WordCounter(limit=3)
    counter.add(chunk("a a b b c"))
    assert counter.exact
    counter.add(chunk("d"))
    assert counter.counts == {"a": 2, "b": 2}
    assert not counter.exact


def test_counter_forgets_more_when_it_must():
    counter = WordCounter(limit=3)
    counter.add(chunk("a a b b c c d d e e e"))
    assert counter.counts == {"e": 3}


def test_the_same_tuple_of_words_is_looked_up_once():
    vocabulary, words = Vocabulary(["a", "b"], [2, 1]), ("b", "z")
    assert vocabulary.ids(words) is vocabulary.ids(words)
    assert vocabulary.ids(("z", "a")).tolist() == [1, 2]
    assert vocabulary.ids(words).tolist() == [3, 1]
    assert vocabulary.ids(word for word in words).tolist() == [3, 1]
