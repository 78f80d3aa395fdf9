"""Files are read with errors that name file and line, and written whole or not at all."""

import gzip
import io
import os
import threading
from pathlib import Path

import pytest

from taxocaps.errors import FileError, WriteError
from taxocaps.files import (
    COMPRESSIONS,
    atomic_folder,
    atomic_path,
    atomic_text,
    format_suffix,
    is_decodable,
    read_lines,
    read_text,
    refuse_same_file,
)


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


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with atomic_text(tmp_path / "link.txt") as file:
        file.write("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_pipe_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    received = []
    reader = threading.Thread(target=lambda: received.append((tmp_path / "pipe").read_text()))
    reader.start()
    with atomic_text(tmp_path / "pipe") as file:
        file.write("through")
    reader.join()
    assert received == ["through"]
    assert (tmp_path / "pipe").is_fifo()


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="cannot be written"), atomic_text(tmp_path / "file" / "a.txt"):
        pass


def test_a_folder_appears_when_it_is_complete(tmp_path):
    with pytest.raises(RuntimeError), atomic_folder(tmp_path / "a") as part:
        (part / "x").write_text("x")
        raise RuntimeError
    assert not any(tmp_path.iterdir())
    with atomic_folder(tmp_path / "a") as part:
        (part / "x").write_text("x")
    assert (tmp_path / "a" / "x").read_text() == "x"
    with pytest.raises(FileError, match="is already there"), atomic_folder(tmp_path / "a"):
        pass


def test_no_command_writes_over_its_input(tmp_path):
    (tmp_path / "a").write_text("")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(FileError, match="is the input itself"):
        refuse_same_file(tmp_path / "a", tmp_path / "b")
    refuse_same_file(tmp_path / "a", tmp_path / "c")


def test_standard_input(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    assert list(read_lines(Path("-"))) == [(1, "one"), (2, "two")]
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(FileError, match="standard input is closed"):
        list(read_lines(Path("-")))


def test_line_ends_can_be_kept(tmp_path):
    (tmp_path / "a").write_bytes(b"one\r\ntwo\n")
    assert [line for _, line in read_lines(tmp_path / "a", keep_ends=True)] == ["one\r\n", "two\n"]
