"""What networks read, compared with plain loops over the words of each document and with the readable graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.encoding.encoders import (
    ENCODERS,
    SentenceEncoder,
    SentencesConfig,
    TokenEncoder,
    TokensConfig,
    WordsMatrixEncoder,
)
from taxocaps.encoding.words import vocabulary_ids
from taxocaps.graph.config import GraphConfig
from taxocaps.graph.document_graph import GraphOfWords
from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.text.vocabulary import Vocabulary

PIPELINE = TextPipeline(TextConfig(stop_words="none"))
VOCABULARY = Vocabulary(list("abcdefg"), [1] * 7)
TEXTS = st.lists(
    st.lists(st.lists(st.sampled_from("abcdefgxyz"), min_size=1, max_size=9), max_size=5).map(
        lambda sentences: " ".join(" ".join(words) + "." for words in sentences)
    ),
    min_size=1,
    max_size=6,
)


def words_of(text):
    return VOCABULARY.ids(PIPELINE.tokenize([text]).document(0)).tolist()


def sentences_of(text, config):
    tokens = PIPELINE.tokenize([text])
    ids, start, sentences = words_of(text), 0, []
    for end in tokens.document_sentence_ends(0):
        sentences += [ids[first : min(first + config.length, end)] for first in range(start, end, config.length)]
        start = end
    return sentences[: config.count]


def tokenize(encoder, documents):
    """The words of documents, with their raw tokens for an encoder that reads these."""
    raw = PIPELINE.raw.tokenize(documents)
    return PIPELINE.reread(raw, keep_raw=True) if encoder.reads_raw else PIPELINE.tokenize(documents)


def encode(encoder, documents):
    """The encoding, and its arrays in reverse order with ids of the vocabulary."""
    tokens = tokenize(encoder, documents)
    encoding = encoder.encode(tokens)
    ids, *others = encoding.arrays(np.arange(len(documents))[::-1])
    return encoding, vocabulary_ids(tokens.words, VOCABULARY)[ids], *others


@pytest.fixture(params=list(ENCODERS))
def any_encoder(request, tiny_encoder):
    """An encoder of each kind, with its usual options."""
    kind = ENCODERS[request.param]
    return kind(kind.Config(folder=str(tiny_encoder)) if kind.reads_raw else kind.Config())


@given(TEXTS, st.integers(1, 12))
def test_tokens_are_the_first_words_of_each_document(documents, length):
    encoding, ids, lengths = encode(TokenEncoder(TokensConfig(length=length)), documents)
    wanted = [words_of(text)[:length] for text in documents][::-1]
    assert lengths.tolist() == encoding.lengths.tolist()[::-1] == [len(words) for words in wanted]
    for row, words in zip(ids.tolist(), wanted, strict=True):
        assert row == words + [0] * (len(row) - len(words))
    assert ids.shape[1] == max(1, *map(len, wanted))


@given(TEXTS, st.integers(1, 4), st.integers(1, 5))
def test_sentences_are_those_of_the_text_long_ones_in_pieces(documents, count, length):
    config = SentencesConfig(count=count, length=length)
    encoding, ids, sizes = encode(SentenceEncoder(config), documents)
    wanted = [sentences_of(text, config) for text in documents][::-1]
    assert encoding.lengths.tolist()[::-1] == [len(document) for document in wanted]
    for rows, lengths, document in zip(ids.tolist(), sizes.tolist(), wanted, strict=True):
        assert [row[:size] for row, size in zip(rows, lengths, strict=True) if size] == document
        assert not any(any(row[size:]) for row, size in zip(rows, lengths, strict=True))


def test_documents_without_words(any_encoder):
    encoding, ids, *others = encode(any_encoder, ["", "..."])
    assert encoding.lengths.tolist() == [0, 0]
    assert not ids.any()
    assert not any((array > 0).any() for array in others)
    assert len(any_encoder.encode(tokenize(any_encoder, [])).lengths) == 0


def test_ids_may_be_those_of_a_vocabulary_from_the_start(any_encoder):
    tokens = tokenize(any_encoder, ["a b. c x", "d"])
    (ids, *_), (mapped, *_) = (
        one.arrays(np.arange(2))
        for one in (any_encoder.encode(tokens), any_encoder.encode(tokens, VOCABULARY.ids(tokens.words)))
    )
    found = vocabulary_ids(tokens.words, VOCABULARY)[ids]
    if any_encoder.is_slow:  # the distinct words of a document, in the order of their ids
        found, mapped = np.sort(found), np.sort(mapped)
    assert np.array_equal(found, mapped)


def test_rows_hold_the_words_of_the_readable_graph(documents):
    config = GraphConfig(sentence_bound=True, T=20, radius=5)
    pipeline = TextPipeline()
    tokens = pipeline.tokenize([document.text for document in documents])
    matrices = WordsMatrixEncoder(config, threads=2).encode(tokens)
    for index in range(len(documents)):
        rows = GraphOfWords(tokens.document(index), tokens.document_sentence_ends(index), config).rows()
        begin, end = matrices.offsets[index : index + 2]
        found = [[tokens.words[id - 2] for id in row if id] for row in matrices.words[begin:end].tolist()]
        assert found == [list(row.words) for row in rows]


def test_unknown_words_stay_different_nodes():
    tokens = PIPELINE.tokenize(["alpha beta gamma delta"])
    unknown = np.full(4, Vocabulary.UNKNOWN, np.int32)
    matrices = WordsMatrixEncoder(GraphConfig()).encode(tokens, unknown)
    # Four different words, none in the vocabulary: four rows, not one false hub.
    assert len(matrices.words) == 4
    assert set(np.unique(matrices.words)) == {0, Vocabulary.UNKNOWN}


def test_a_network_must_know_the_rows_and_their_length():
    assert WordsMatrixEncoder(GraphConfig(N=9, T=5)).shape == {"N": 9, "T": 5}
    assert TokenEncoder(TokensConfig()).shape == {}
