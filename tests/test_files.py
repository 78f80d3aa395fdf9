"""Files are read with errors that name file and line, and written whole or not at all."""

import gzip

import pytest

from taxocaps.errors import FileError
from taxocaps.files import COMPRESSIONS, atomic_path, atomic_text, format_suffix, is_decodable, read_lines, read_text


@pytest.mark.parametrize("suffix", ["", *COMPRESSIONS])
def test_text_comes_back(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    with atomic_text(path) as file:
        file.write("été\nzwei\r\n\u2028drei")
    assert list(read_lines(path)) == [(1, "été"), (2, "zwei"), (3, "\u2028drei")]
    assert read_text(path) == "été\nzwei\n\u2028drei\n"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_cut_off_file_is_an_error(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    with atomic_text(path) as file:
        file.writelines(f"line {number} {hash(str(number))}\n" for number in range(5_000))
    path.write_bytes(path.read_bytes()[:-2_000])
    with pytest.raises(FileError, match=r"a\.txt.*: the compressed file is cut off"):
        list(read_lines(path))


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_a_file_of_another_kind_is_an_error(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"plain text, not compressed at all")
    with pytest.raises(FileError, match=r"a\..*: cannot be read: "):
        list(read_lines(path))


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(FileError, match="no such file; check the path"):
        list(read_lines(tmp_path / "missing"))
    with pytest.raises(FileError, match="is a directory; give a file"):
        list(read_lines(tmp_path))


def test_undecodable_bytes_name_their_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\nbad \xe9\ngood\n")
    with pytest.raises(FileError, match=r"a\.txt, line 2: not valid UTF-8; .*--encoding latin-1"):
        list(read_lines(path))
    assert [is_decodable(line) for _, line in read_lines(path, strict=False)] == [True, False, True]
    assert list(read_lines(path, "latin-1"))[1] == (2, "bad é")
    with pytest.raises(FileError, match="unknown encoding 'klingon'"):
        list(read_lines(path, "klingon"))


def test_byte_order_marks_and_utf16(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("été\n".encode("utf-8-sig"))
    assert list(read_lines(path)) == [(1, "été")]
    path.write_bytes("été\nb\n".encode("utf-16"))
    assert list(read_lines(path, "utf-16")) == [(1, "été"), (2, "b")]
    path.write_bytes("été\nb\n".encode("utf-16")[:-1])
    with pytest.raises(FileError, match="not valid UTF-16"):
        list(read_lines(path, "utf-16"))


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_text(path) as file:
        file.write("new")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_atomic_path_makes_parents(tmp_path):
    path = tmp_path / "x" / "y" / "a.gz"
    with atomic_path(path) as part:
        part.write_bytes(gzip.compress(b"hello"))
    assert read_text(path) == "hello\n"


def test_format_suffix(tmp_path):
    assert [format_suffix(tmp_path / name) for name in ("a.JSONL", "a.csv.zst", "a.gz", "a")] == [
        ".jsonl",
        ".csv",
        "",
        "",
    ]
