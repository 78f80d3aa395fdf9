"""Texts to words-matrices: the encoder equals the readable graph word for word."""

import numpy as np
import pytest

from taxocaps.datasets import toy
from taxocaps.encoding.words_matrix import MatrixDocuments, WordsMatrixEncoder, encode_chunk
from taxocaps.errors import GraphError
from taxocaps.graph.config import GraphConfig
from taxocaps.graph.document_graph import GraphOfWords
from taxocaps.graph.store import open_store
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


def test_documents_for_training_are_rows_and_padded_arrays():
    matrices = encoder()([*TEXTS[:3], "", TEXTS[3]])
    documents = MatrixDocuments(matrices)
    assert documents.lengths.tolist() == [
        len(matrices.words[start:end]) for start, end in zip(matrices.offsets[:-1], matrices.offsets[1:], strict=True)
    ]
    assert documents.lengths[3] == 0
    words, blocks, counts = documents.arrays(np.array([4, 3, 0]))
    rows = max(documents.lengths[[4, 0]])
    assert (words.shape, blocks.shape, counts.shape) == ((3, rows, 20), (3, rows, 20), (3, rows))
    for place, number in enumerate((4, 3, 0)):
        start, end = matrices.offsets[number : number + 2]
        length = end - start
        for dense, ragged in ((words, matrices.words), (blocks, matrices.blocks), (counts, matrices.block_counts)):
            assert np.array_equal(dense[place, :length], ragged[start:end])
            assert not dense[place, length:].any()


def test_stored_documents_equal_encoded_ones(tmp_path):
    encode, told = encoder(), []
    chunks = [encode.pipeline.chunk(TEXTS[:5]), encode.pipeline.chunk(["", *TEXTS[5:]])]
    stored = encode.store(chunks, tmp_path / "new" / "store", lambda *words: told.append(words), "storing")
    wanted = encode([*TEXTS[:5], "", *TEXTS[5:]])
    for name in ("words", "blocks", "block_counts", "offsets"):
        assert np.array_equal(getattr(stored.matrices, name), getattr(wanted, name)), name
    assert told == [("storing", 0, 13), ("storing", 5, 13), ("storing", 13, 13)]
    # It is a store like any other, and tells what it was made with.
    hashes = {"vocabulary": encode.vocabulary.fingerprint, "text": encode.pipeline.fingerprint}
    store = open_store(tmp_path / "new" / "store", expected=hashes)
    assert store.manifest["config"]["graph"]["sentence_bound"] is True
    assert len(store) == 13


def test_storing_again_replaces_what_was_there(tmp_path):
    encode = encoder()
    encode.store([encode.pipeline.chunk(TEXTS)], tmp_path)
    assert len(encode.store([encode.pipeline.chunk(TEXTS[:2])], tmp_path).matrices) == 2
    assert len(encode.store([], tmp_path).matrices) == 0


def test_a_document_that_cannot_be_stored_is_named_by_its_place(tmp_path):
    encode = encoder(GraphConfig(distance="count"))
    many = " ".join(f"w{number}" for number in range(5_001))
    chunks = [encode.pipeline.chunk(TEXTS), encode.pipeline.chunk(["short", many])]
    with pytest.raises(GraphError, match=r"^document 14: ") as caught:
        encode.store(chunks, tmp_path)
    assert "\n" not in str(caught.value)


def test_chunks_are_encoded_like_texts():
    encode = encoder()
    found = encode_chunk(encode.pipeline.chunk(TEXTS), encode.vocabulary, encode.graph, threads=2)
    assert np.array_equal(found.words, encode(TEXTS).words)
