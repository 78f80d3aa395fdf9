"""Texts to words-matrices: the encoder equals the readable graph word for word."""

import numpy as np

from taxocaps.datasets import toy
from taxocaps.encoding.words_matrix import WordsMatrixEncoder
from taxocaps.graph.config import GraphConfig
from taxocaps.graph.document_graph import GraphOfWords
from taxocaps.text.pipeline import TextConfig, TextPipeline
from taxocaps.text.vocabulary import Vocabulary

TEXTS = [document.text for _, document in toy.load().documents()]


def encoder(config=None, keep=lambda word: True):
    pipeline = TextPipeline(TextConfig())
    words = {word for text in TEXTS for word in pipeline(text).words if keep(word)}
    vocabulary = Vocabulary.from_counts(dict.fromkeys(words, 1))
    return WordsMatrixEncoder(pipeline, vocabulary, config or GraphConfig(sentence_bound=True))


def test_rows_hold_the_words_of_the_readable_graph():
    encode = encoder()
    matrices = encode(TEXTS)
    assert len(matrices) == len(TEXTS) > 0
    for number, text in enumerate(TEXTS):
        tokenized = encode.pipeline(text)
        rows = GraphOfWords(tokenized.words, tokenized.sentence_ends, encode.graph).rows()
        begin, end = matrices.offsets[number : number + 2]
        found = [[encode.vocabulary.word(i) for i in row if i] for row in matrices.words[begin:end]]
        assert found == [list(row.words) for row in rows]


def test_unknown_words_stay_different_nodes():
    known = encoder(keep=lambda word: False)
    matrices = known(["alpha beta gamma delta"])
    # Four different words, none in the vocabulary: four rows, not one false hub.
    assert len(matrices.words) == 4
    assert set(np.unique(matrices.words)) == {0, Vocabulary.UNKNOWN}


def test_ready_tokens_pass_through():
    encode = encoder()
    word = encode.vocabulary.word(2)
    assert encode([[word, "The", word]]).words[0, :3].tolist() == [2, Vocabulary.UNKNOWN, 2]
