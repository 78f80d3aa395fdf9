"""Documents are tokenised once and travel as one object, whole or in part."""

from pathlib import Path

import numpy as np
import pytest

from taxocaps.corpus.document import Document
from taxocaps.encoding.documents import DocumentEncoder, chunks, plain_text
from taxocaps.text.pipeline import TextConfig


def test_an_encoded_document_has_words_and_all_encodings(encoder, documents):
    encoded = encoder.encode(documents)
    assert len(encoded) == len(documents)
    assert set(encoded.encodings) == {"words-matrix", "tokens", "sentences"}
    assert encoded.lengths.tolist() == [len(words) for words in encoded.tokens.documents()]
    assert encoded.tokens.spans is None
    assert encoder.encode(documents[:1], spans=True).tokens.spans.shape == (encoded.lengths[0], 2)


@pytest.mark.parametrize("name", ["words-matrix", "tokens", "sentences"])
def test_a_selection_has_the_arrays_of_its_documents(encoder, documents, name):
    encoded = encoder.encode(documents)
    part = encoded.select(np.array([5, 2, 7])).select(np.array([2, 0]))
    assert len(part) == 2
    found, wanted = part.encoding(name), encoded.encoding(name)
    assert found.lengths.tolist() == wanted.lengths[[7, 5]].tolist()
    for ours, theirs in zip(found.arrays(np.array([0, 1])), wanted.arrays(np.array([7, 5])), strict=True):
        assert np.array_equal(ours, theirs)
    assert part.lengths.tolist() == encoded.lengths[[7, 5]].tolist()
    words = [words for tokens in part.token_chunks(1) for words in tokens.documents()]
    assert words == [encoded.tokens.document(7), encoded.tokens.document(5)]


def test_a_stream_is_cut_by_documents_and_by_characters(encoder):
    texts = [Document("cat"), Document("dog"), Document(tokens=("mouse",))]
    assert [len(encoded) for encoded in encoder.stream(texts, 2)] == [2, 1]
    long = [Document("x" * 3_000_000) for _ in range(3)]
    assert [len(chunk) for chunk in chunks(long)] == [2, 1]


def test_each_document_is_tokenised_once(tmp_path, monkeypatch):
    Path(tmp_path / "counting.py").write_text(
        "texts = []\ndef words(text):\n    texts.append(text)\n    return text.split()\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    encoder = DocumentEncoder(TextConfig(tokenizer="counting:words"), {})
    import counting

    encoder.encode([Document("a b"), Document("c")], spans=True)
    list(encoder.stream([Document("d")]))
    assert counting.texts == ["a b", "c", "d"]


def test_the_options_say_how_documents_are_read(encoder):
    assert set(encoder.options) == {"text", "graph", "tokens", "sentences"}
    assert encoder.options["sentences"]["length"] == 5


def test_plain_text():
    assert plain_text(Document("a  b")) == "a  b"
    assert plain_text(Document(tokens=("a", "b"))) == "a b"
