import gzip
import lzma

import numpy as np
import pytest
from gensim.models import KeyedVectors

from taxocaps.errors import FileError, VectorsError
from taxocaps.text.vectors import load_vectors
from taxocaps.text.vocabulary import Vocabulary

WORDS = ["the", "été", "日本", "u.s.", "rare"]
VECTORS = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)


def glove(path):
    lines = (f"{word} {' '.join(map(str, row.tolist()))}\n" for word, row in zip(WORDS, VECTORS, strict=True))
    path.write_text("".join(lines), encoding="utf-8")


def fasttext(path):
    lines = (f"{word} {' '.join(map(str, row.tolist()))} \n" for word, row in zip(WORDS, VECTORS, strict=True))
    path.write_text("5 7\n" + "".join(lines), encoding="utf-8")


def word2vec(path, binary=False):
    keyed = KeyedVectors(7)
    keyed.add_vectors(WORDS, VECTORS)
    keyed.save_word2vec_format(path, binary=binary)


def original_binary(path):
    """As the first word2vec program writes it: a newline after every vector."""
    rows = (word.encode() + b" " + row.tobytes() + b"\n" for word, row in zip(WORDS, VECTORS, strict=True))
    path.write_bytes(b"5 7\n" + b"".join(rows))


def npz(path):
    np.savez(path, words=np.array(WORDS), vectors=VECTORS)


FORMATS = {
    "glove.txt": glove,
    "fasttext.vec": fasttext,
    "word2vec.txt": word2vec,
    "word2vec.bin": lambda path: word2vec(path, binary=True),
    "original.bin": original_binary,
    "vectors.npz": npz,
}


@pytest.mark.parametrize("pack", [None, "gz", "xz"])
@pytest.mark.parametrize("name", FORMATS)
def test_formats(tmp_path, name, pack):
    path = tmp_path / name
    FORMATS[name](path)
    if pack:
        content = path.read_bytes()
        path = tmp_path / f"{name}.{pack}"
        path.write_bytes({"gz": gzip.compress, "xz": lzma.compress}[pack](content))
    loaded = load_vectors(path)
    assert loaded.words == tuple(WORDS)
    assert loaded.vectors.dtype == np.float32
    np.testing.assert_array_equal(loaded.vectors, VECTORS)


@pytest.mark.parametrize("name", ["word2vec.txt", "word2vec.bin"])
def test_gensim_reads_the_same(tmp_path, name):
    path = tmp_path / name
    FORMATS[name](path)
    keyed = KeyedVectors.load_word2vec_format(path, binary=name.endswith("bin"))
    loaded = load_vectors(path)
    assert list(loaded.words) == keyed.index_to_key
    np.testing.assert_array_equal(loaded.vectors, keyed.vectors)


@pytest.mark.parametrize("name", FORMATS)
def test_only_the_words_that_are_wanted(tmp_path, name):
    path = tmp_path / name
    FORMATS[name](path)
    vocabulary = Vocabulary.from_counts({"u.s.": 5, "été": 1, "absent": 3})
    loaded = load_vectors(path, vocabulary)
    assert loaded.words == ("été", "u.s.")
    np.testing.assert_array_equal(loaded.vectors, VECTORS[[1, 3]])
    assert load_vectors(path, set()).vectors.shape == (0, 7)


def test_half_precision(tmp_path):
    np.savez(tmp_path / "half.npz", words=np.array(WORDS), vectors=VECTORS.astype(np.float16))
    loaded = load_vectors(tmp_path / "half.npz")
    assert loaded.vectors.dtype == np.float32
    np.testing.assert_allclose(loaded.vectors, VECTORS, atol=2e-3)


def test_more_rows_than_fit_into_one_block(tmp_path):
    words = [f"w{number}" for number in range(5_000)]
    vectors = np.random.default_rng(1).normal(size=(5_000, 100)).astype(np.float32)
    keyed = KeyedVectors(100)
    keyed.add_vectors(words, vectors)
    keyed.save_word2vec_format(tmp_path / "big.bin", binary=True)
    loaded = load_vectors(tmp_path / "big.bin")
    assert list(loaded.words) == words
    np.testing.assert_array_equal(loaded.vectors, vectors)


def test_words_with_spaces_and_words_twice(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text("a 1 2\n. . . 3 4\na 5 6\nat me@x.org 7 8\n\n")
    loaded = load_vectors(path)
    assert loaded.words == ("a", ". . .", "at me@x.org")
    assert loaded.vectors.tolist() == [[1, 2], [3, 4], [7, 8]]
    assert load_vectors(path, {". . .", "."}).words == (". . .",)


def test_words_that_are_not_utf8_are_passed_over(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"2 2\n\xff\xfe 1 2\nb 3 4\n")
    (tmp_path / "a.bin").write_bytes(b"2 1\n\xff\xfe \0\0\0\0b \0\0\0\0")
    assert load_vectors(tmp_path / "a.txt").words == ("b",)
    assert load_vectors(tmp_path / "a.bin").words == ("b",)


def test_non_breaking_space_is_part_of_a_word(tmp_path):
    (tmp_path / "a.vec").write_text("2 2\na\u00a0b 1 2\nc\u2028d 3 4\n", encoding="utf-8")
    assert load_vectors(tmp_path / "a.vec").words == ("a\u00a0b", "c\u2028d")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: not a file of word vectors"),
        ("word\n", "line 1: not a file of word vectors"),
        ("5 0\n", "line 1: not a file of word vectors"),
        ("a 1 2\nb 1\n", "line 2: expected a word and 2 numbers, found 1 after the word"),
        ("a 1 2\nb 1 2 3\n", "line 2: expected a word and 2 numbers, found 3 after the word"),
        ("a 1 2\nb\n", "line 2: expected a word and 2 numbers, found 0 after the word"),
        ("a 1 2\nb 1 x\n", "line 2: 'x' is not a number"),
        ("a\t1\t2\n", "line 1: not a file of word vectors"),
        ("3 2\na 1 2\nb 1 2\n", "the first line promises 3 words, the file has 2; is it complete?"),
        ("1 2\na 1 2\nb 1 2\n", "the first line promises 1 words, the file has 2; is it complete?"),
        ("a 1 nan\n", "the vector of 'a' has a value that is not a finite number"),
        ("a 1 1e999\n", "the vector of 'a' has a value that is not a finite number"),
    ],
)
def test_damaged_text(tmp_path, content, message):
    path = tmp_path / "bad.txt"
    path.write_text(content)
    with pytest.raises(VectorsError) as caught:
        load_vectors(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_ragged_lines_are_found_among_words_that_are_not_wanted(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("a 1 2\nb 1\nc 1 2\n")
    with pytest.raises(VectorsError, match="line 2"):
        load_vectors(path, {"c"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a binary word2vec file"),
        (b"hello\n", "not a binary word2vec file"),
        (b"1 0\na ", "not a binary word2vec file"),
        (b"2 1\na \0\0\0\0", "promises 2 words, the file ends after 1"),
        (b"1 1\na \0\0\0", "promises 1 words, the file ends after 0"),
        (b"1 1\na \0\0\0\0\nb \0\0\0\0", "promises 1 words, but more follow"),
        (b"1 1\n" + b"x" * 3_000_000, "promises 1 words, the file ends after 0"),
        ((793712314).to_bytes(4, "little") + b"\x0c\0\0\0", "a fastText model, which holds more than vectors"),
    ],
)
def test_damaged_binary(tmp_path, content, message):
    path = tmp_path / "bad.bin"
    path.write_bytes(content)
    with pytest.raises(VectorsError, match=message):
        load_vectors(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"words": np.array(["a"])}, "no arrays named words and vectors"),
        ({"words": np.array(["a"], object), "vectors": np.ones((1, 2))}, "words must be text, not objects"),
        ({"words": np.array([1]), "vectors": np.ones((1, 2))}, "words must be text"),
        ({"words": np.array(["a"]), "vectors": np.ones(2)}, "words must be text"),
        ({"words": np.array(["a"]), "vectors": np.ones((2, 2))}, "words must be text"),
        ({"words": np.array(["a"]), "vectors": np.ones((1, 2), int)}, "words must be text"),
        ({"words": np.array(["a"]), "vectors": np.array([[1, np.inf]])}, "the vector of 'a'"),
    ],
)
def test_damaged_npz(tmp_path, arrays, message):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(VectorsError, match=message):
        load_vectors(tmp_path / "bad.npz")


@pytest.mark.parametrize("content", [b"", b"text", b"PK\3\4 cut"])
def test_what_is_no_npz(tmp_path, content):
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(VectorsError, match=r"not an \.npz file"):
        load_vectors(tmp_path / "bad.npz")


@pytest.mark.parametrize("name", ["none.txt", "none.bin", "none.npz"])
def test_missing_file(tmp_path, name):
    with pytest.raises(FileError, match="no such file"):
        load_vectors(tmp_path / name)


def test_cut_archive(tmp_path):
    path = tmp_path / "glove.txt.gz"
    path.write_bytes(gzip.compress(b"a 1 2\n" * 1000)[:-10])
    with pytest.raises(FileError, match="cut off"):
        load_vectors(path)
