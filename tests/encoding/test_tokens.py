"""Sequences of ids, compared with plain loops over the words of each document."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.encoding.characters import CharacterPipeline
from taxocaps.encoding.tokens import SentenceEncoder, TokenEncoder, TokensConfig
from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.text.vocabulary import Vocabulary

PIPELINE = TextPipeline(TextConfig(stop_words="none"))
VOCABULARY = Vocabulary(list("abcdefg"), [1] * 7)
texts = st.lists(
    st.lists(st.lists(st.sampled_from("abcdefgxyz"), min_size=1, max_size=9), max_size=5).map(
        lambda sentences: " ".join(" ".join(words) + "." for words in sentences)
    ),
    min_size=1,
    max_size=6,
)


def words_of(text, length):
    return VOCABULARY.ids(PIPELINE(text).words)[:length].tolist()


def sentences_of(text, config):
    found = PIPELINE(text)
    ids, start, sentences = VOCABULARY.ids(found.words).tolist(), 0, []
    for end in found.sentence_ends:
        size = config.sentence_length
        sentences += [ids[place : min(place + size, end)] for place in range(start, end, size)]
        start = end
    return sentences[: config.sentences]


@given(texts, st.integers(1, 12))
def test_tokens_are_the_first_words_of_each_document(documents, length):
    encoder = TokenEncoder(PIPELINE, VOCABULARY, TokensConfig(length=length))
    encoded = encoder.read(documents)
    order = np.arange(len(documents))[::-1]
    ids, lengths = encoded.arrays(order)
    wanted = [words_of(documents[number], length) for number in order]
    assert lengths.tolist() == [len(words) for words in wanted]
    for row, words in zip(ids.tolist(), wanted, strict=True):
        assert row == words + [0] * (len(row) - len(words))
    assert ids.shape[1] == max(1, *map(len, wanted))


@given(texts, st.integers(1, 4), st.integers(1, 5))
def test_sentences_are_those_of_the_pipeline_long_ones_in_pieces(documents, sentences, sentence_length):
    config = TokensConfig(sentences=sentences, sentence_length=sentence_length)
    encoded = SentenceEncoder(PIPELINE, VOCABULARY, config).read(documents)
    order = np.arange(len(documents))[::-1]
    ids, sizes = encoded.arrays(order)
    wanted = [sentences_of(documents[number], config) for number in order]
    assert encoded.lengths[order].tolist() == [len(document) for document in wanted]
    for rows, lengths, document in zip(ids.tolist(), sizes.tolist(), wanted, strict=True):
        assert [row[:length] for row, length in zip(rows, lengths, strict=True) if length] == document
        assert not any(any(row[length:]) for row, length in zip(rows, lengths, strict=True))


@pytest.mark.parametrize("kind", [TokenEncoder, SentenceEncoder])
def test_stored_documents_equal_those_that_are_read(kind, tmp_path):
    encoder = kind(PIPELINE, VOCABULARY)
    documents = ["a b. c", "", "d e f. g. a", "b"]
    chunks = [PIPELINE.chunk(documents[:2]), PIPELINE.chunk([]), PIPELINE.chunk(documents[2:])]
    stored, read = encoder.store(chunks, tmp_path), encoder.read(documents)
    assert np.array_equal(stored.lengths, read.lengths)
    for ours, theirs in zip(stored.arrays(np.arange(4)), read.arrays(np.arange(4)), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("kind", [TokenEncoder, SentenceEncoder])
def test_documents_without_words(kind):
    encoded = kind(PIPELINE, VOCABULARY).read(["", "..."])
    assert encoded.lengths.tolist() == [0, 0]
    ids, lengths = encoded.arrays(np.arange(2))
    assert not ids.any()
    assert not lengths.any()
    assert len(kind(PIPELINE, VOCABULARY).store([], None).lengths) == 0


def test_characters_are_tokens_like_words():
    encoder = TokenEncoder(CharacterPipeline(), VOCABULARY)
    ids, lengths = encoder.read(["ab", "a b"]).arrays(np.arange(2))
    assert ids.tolist() == [[2, 3, 0], [2, 1, 3]]
    assert lengths.tolist() == [2, 3]
