from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.errors import FileError, StoreError
from taxocaps.text import tokens as module
from taxocaps.text.scan_kernels import spread_words
from taxocaps.text.tokens import Tokens, gather

# Pieces that stand for no, one or several words, and for sentence ends.
WORDS_OF = {"0": (), "a": ("a",), "b": ("b",), "ab": ("a", "b"), "c.": ("c", ""), ".": ("",), "a.b": ("a", "", "b")}
DOCUMENTS = st.lists(st.lists(st.sampled_from(sorted(WORDS_OF)), max_size=8), max_size=6)


def reference(documents):
    """Words of each document and positions of sentence ends, by plain loops."""
    texts, ends, total = [], set(), 0
    for pieces in documents:
        words = []
        for word in (word for piece in pieces for word in WORDS_OF[piece]):
            if word:
                words.append(word)
            elif words:
                ends.add(total + len(words))
        total += len(words)
        ends |= {total} if words else set()
        texts.append(words)
    return texts, sorted(ends)


@given(DOCUMENTS)
def test_gather_equals_plain_loops(documents):
    chunk = gather(documents, WORDS_OF.__getitem__)
    texts, ends = reference(documents)
    everything = [word for text in texts for word in text]
    assert list(chunk.documents()) == texts
    assert len(chunk) == len(documents)
    assert chunk.sentence_ends.tolist() == ends
    assert chunk.words == tuple(dict.fromkeys(everything))
    assert [chunk.words[i] for i in chunk.ids] == everything
    assert dict(zip(chunk.words, chunk.counts().tolist(), strict=True)) == Counter(everything)
    assert chunk.ids.dtype == np.int32
    assert chunk.offsets.dtype == chunk.sentence_ends.dtype == np.int64


def test_each_distinct_piece_is_looked_up_once():
    asked = []
    gather([["a", "b", "a"], ["b"]], lambda piece: asked.append(piece) or (piece,))
    assert asked == ["a", "b"]


@given(DOCUMENTS)
def test_save_and_load(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("chunk") / "chunk.npz"
    chunk = gather(documents, WORDS_OF.__getitem__)
    chunk.save(path)
    again = Tokens.load(path)
    assert again.words == chunk.words
    for name in ("ids", "offsets", "sentence_ends"):
        np.testing.assert_array_equal(getattr(again, name), getattr(chunk, name), strict=True)


@pytest.mark.parametrize("words", [("é", "日本", "a b", "line\nbreak", "\ud800", "\0", "👍"), ()])
def test_any_word_survives_the_file(tmp_path, words):
    path = tmp_path / "chunk.npz"
    gather([words], lambda word: (word,)).save(path)
    assert list(Tokens.load(path).documents()) == [list(words)]
    assert list(tmp_path.iterdir()) == [path]


def test_missing_file(tmp_path):
    with pytest.raises(FileError, match=r"none\.npz: no such file"):
        Tokens.load(tmp_path / "none.npz")


@pytest.mark.parametrize("content", [b"", b"text", b"PK\3\4 cut", np.arange(3).tobytes()])
def test_foreign_file(tmp_path, content):
    path = tmp_path / "chunk.npz"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"chunk\.npz: not a file of tokens, or damaged"):
        Tokens.load(path)


def test_a_damaged_file_is_an_error_or_does_no_harm(tmp_path):
    path = tmp_path / "chunk.npz"
    gather([["a", "c."]] * 3, WORDS_OF.__getitem__).save(path)
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x21]) + content[place + 1 :])
        try:
            chunk = Tokens.load(path)
        except StoreError:
            continue
        assert list(chunk.documents()) == [["a", "c"]] * 3


def test_cut_file(tmp_path):
    path = tmp_path / "chunk.npz"
    gather([["a", "c."]] * 100, WORDS_OF.__getitem__).save(path)
    content = path.read_bytes()
    for size in range(0, len(content), 97):
        path.write_bytes(content[:size])
        with pytest.raises(StoreError):
            Tokens.load(path)


GOOD = {"words": ("a", "b"), "ids": [0, 1, 0], "offsets": [0, 2, 3], "sentence_ends": [1, 2, 3]}


@pytest.mark.parametrize(
    "change",
    [
        {"ids": [0, 2, 0]},
        {"ids": [0, -1, 0]},
        {"offsets": [0, 2, 4]},
        {"offsets": [1, 2, 3]},
        {"offsets": [0, 3, 2, 3]},
        {"offsets": []},
        {"sentence_ends": [1, 3]},
        {"sentence_ends": [2, 1, 3]},
        {"sentence_ends": [0, 2, 3]},
        {"sentence_ends": [2, 3, 4]},
        {"sentence_ends": []},
    ],
)
def test_arrays_that_do_not_fit_together(tmp_path, change):
    def save(fields):
        Tokens(
            fields["words"],
            np.array(fields["ids"], np.int32),
            np.array(fields["offsets"], np.int64),
            np.array(fields["sentence_ends"], np.int64),
        ).save(tmp_path / "chunk.npz")

    save(GOOD)
    assert list(Tokens.load(tmp_path / "chunk.npz").documents()) == [["a", "b"], ["a"]]
    save(GOOD | change)
    with pytest.raises(StoreError, match="do not fit together"):
        Tokens.load(tmp_path / "chunk.npz")


def test_wrong_kind_of_array(tmp_path):
    floats = np.zeros(0)
    Tokens((), floats, np.zeros(1, np.int64), np.zeros(0, np.int64)).save(tmp_path / "chunk.npz")
    with pytest.raises(StoreError, match="do not fit together"):
        Tokens.load(tmp_path / "chunk.npz")


def test_objects_are_not_unpickled(tmp_path):
    path = tmp_path / "chunk.npz"
    np.savez(path, letters=np.array([{}], dtype=object))
    with pytest.raises(StoreError, match="not a file of tokens"):
        Tokens.load(path)


@given(DOCUMENTS, st.data())
def test_selected_documents_keep_their_words_and_sentences(documents, data):
    tokens = gather(documents, WORDS_OF.__getitem__)
    indices = data.draw(st.lists(st.integers(0, len(documents) - 1), max_size=5)) if documents else []
    chosen = tokens.select(np.array(indices, np.int64))
    assert [chosen.document(index) for index in range(len(chosen))] == [tokens.document(index) for index in indices]
    ends = [tokens.document_sentence_ends(index) for index in indices]
    assert [chosen.document_sentence_ends(index) for index in range(len(chosen))] == ends
    assert ends == [reference([documents[index]])[1] for index in indices]


@given(DOCUMENTS)
def test_compiled_code_puts_words_together_as_plain_code_does(documents):
    numbers = {piece: number for number, piece in enumerate(WORDS_OF)}
    words = np.array([i % 3 for i, found in enumerate(WORDS_OF.values()) for _ in found], np.int32)  # 0 ends a sentence
    starts = np.cumsum([0, *map(len, WORDS_OF.values())])
    pieces = np.array([numbers[piece] for document in documents for piece in document], np.int32)
    bounds = np.cumsum([0, *map(len, documents)])
    plain, compiled = (spread(words, starts, pieces, bounds) for spread in (module._spread, spread_words))
    for one, other in zip(plain, compiled, strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()
