import gzip
import io
import lzma
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.corpus.document import Document
from taxocaps.corpus.fields import CorpusConfig, Format
from taxocaps.corpus.readers import READERS, SUFFIXES, ReadReport, format_of, read_documents
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import CorpusError, FileError, TaxocapsError

LINES = b'{"text": "a", "split": "train"}\n{"text": \n{"text": "b", "split": "dev"}\n{"txt": "c"}\n'


def zstd_bytes(content):
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    return zstd.compress(content)


PACKERS = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd_bytes}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "d.jsonl"


def test_every_format_has_a_reader_and_a_suffix():
    assert set(READERS) == set(get_args(Format)) == set(SUFFIXES.values())


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.jsonl", "jsonl"), ("a.NDJSON.xz", "jsonl"), ("a.tab", "tsv"), ("a.b.csv.zst", "csv"), ("-", "jsonl")],
)
def test_the_name_tells_the_format(name, format):
    assert format_of(Path(name)) == format


def test_the_format_may_be_given(tmp_path):
    (tmp_path / "data").write_text("text\nx\n")
    assert list(read_documents(tmp_path / "data", CorpusConfig(format="csv"))) == [Document("x")]


def test_a_name_that_tells_nothing_is_an_error_at_once(tmp_path):
    (tmp_path / "d.docx").touch()
    with pytest.raises(FileError, match="nothing: no such file or folder"):
        read_documents(tmp_path / "nothing")
    with pytest.raises(FileError, match=r"d\.docx: the name does not tell the format; .*corpus\.format"):
        read_documents(tmp_path / "d.docx")


def test_a_broken_record_stops_the_reading_after_what_came_before(path):
    path.write_bytes(LINES)
    documents = read_documents(path)
    assert next(documents).text == "a"
    with pytest.raises(CorpusError, match=r"d\.jsonl, line 2: invalid JSON.*corpus\.on_error=skip"):
        next(documents)


def test_broken_records_may_be_skipped_and_are_reported(path):
    path.write_bytes(LINES)
    report = ReadReport()
    documents = list(read_documents(path, CorpusConfig(on_error="skip"), report=report))
    assert [document.text for document in documents] == ["a", "b"]
    assert (report.documents, report.skipped) == (2, 2)
    assert [message.partition(": ")[0] for message in report.messages] == [f"{path}, line 2", f"{path}, line 4"]


def test_only_the_first_messages_are_kept(path):
    path.write_bytes(b'{"text": "a"}\n' + b"{\n" * 100)
    report = ReadReport()
    list(read_documents(path, CorpusConfig(on_error="skip"), report=report))
    assert report.skipped == 100
    assert len(report.messages) == 5


def test_one_report_for_several_files(tmp_path):
    report = ReadReport()
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(b'{"text": "a"}\n{\n')
        list(read_documents(tmp_path / name, CorpusConfig(on_error="skip"), report=report))
    assert (report.documents, report.skipped) == (2, 2)
    (tmp_path / "c.jsonl").write_bytes(b"")
    with pytest.raises(CorpusError, match="there are no documents in it"):
        list(read_documents(tmp_path / "c.jsonl", report=report))


def test_one_split(path):
    path.write_bytes(LINES)
    report = ReadReport()
    found = list(read_documents(path, CorpusConfig(on_error="skip", split="dev"), report=report))
    assert found == [Document("b", split="dev")]
    assert report.other_splits == 1


def test_an_absent_split_names_those_there(path):
    path.write_bytes(b'{"text": "a", "split": "train"}\n{"text": "a", "split": "train"}\n{"text": "b"}\n')
    with pytest.raises(CorpusError, match=r"no document of the split 'dev'; .*: 'train' \(2\), none \(1\)"):
        list(read_documents(path, CorpusConfig(split="dev")))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_error(path, content):
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=r"d\.jsonl: there are no documents in it"):
        list(read_documents(path))


def test_an_empty_folder_and_a_header_alone_are_errors(tmp_path):
    (tmp_path / "d.csv").write_text("text\n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(CorpusError, match="there are no documents in it"):
        list(read_documents(tmp_path / "d.csv"))
    with pytest.raises(CorpusError, match=r"there are no text files \(\*\.txt\) in it"):
        list(read_documents(tmp_path / "folder"))


def test_nothing_but_broken_records_is_an_error(path):
    path.write_bytes(b"{\n{\n")
    with pytest.raises(CorpusError, match=r"all 2 records are broken; the first: .*line 1"):
        list(read_documents(path, CorpusConfig(on_error="skip")))


def test_no_such_file(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        list(read_documents(tmp_path / "none.jsonl"))


@pytest.mark.parametrize("suffix", list(PACKERS))
@pytest.mark.parametrize(
    ("name", "content"), [("d.jsonl", b'{"text": "a"}\n'), ("d.csv", b"text\na\n"), ("d.txt", b"a")]
)
def test_compressed_files(tmp_path, name, content, suffix):
    path = tmp_path / f"{name}{suffix}"
    path.write_bytes(PACKERS[suffix](content))
    assert [document.text for document in read_documents(path)] == ["a"]


@pytest.mark.parametrize("suffix", list(PACKERS))
def test_a_cut_compressed_file_is_an_error_even_when_skipping(tmp_path, suffix):
    lines = "".join(f'{{"text": "number {n} of many {n * n}"}}\n' for n in range(5000)).encode()
    path = tmp_path / f"d.jsonl{suffix}"
    path.write_bytes(PACKERS[suffix](lines)[:-200])
    with pytest.raises(FileError, match=r"d\.jsonl\..*: the compressed file is cut off"):
        list(read_documents(path, CorpusConfig(on_error="skip")))


@pytest.mark.parametrize("suffix", list(PACKERS))
def test_a_file_that_is_not_compressed_as_named_is_an_error(tmp_path, suffix):
    path = tmp_path / f"d.jsonl{suffix}"
    path.write_bytes(LINES)
    with pytest.raises(FileError, match="cannot be read"):
        list(read_documents(path))


@pytest.mark.parametrize(
    ("format", "content", "text"),
    [("jsonl", b'{"text": "a"}\n', "a"), ("csv", b"text\na\n", "a"), ("text", b"all\nof it", "all\nof it")],
)
def test_standard_input(format, content, text, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert list(read_documents("-", CorpusConfig(format=format))) == [
        Document(text, labels=None),
    ]
    assert not sys.stdin.closed


def test_standard_input_of_a_process_and_its_name_in_messages():
    program = "from taxocaps.corpus import read_documents; print([d.text for d in read_documents('-')])"
    run = [sys.executable, "-c", program]
    good = subprocess.run(run, input='{"text": "a"}\n', capture_output=True, text=True, check=True)
    assert good.stdout == "['a']\n"
    bad = subprocess.run(run, input='{"text": "a"}\n{\n', capture_output=True, text=True, check=False)
    assert "CorpusError: standard input, line 2: invalid JSON" in bad.stderr


def test_memory_does_not_grow_with_the_file(path):
    write_documents((Document("word " * 200, id=str(n)) for n in range(20_000)), path)
    tracemalloc.start()
    count = sum(1 for _ in read_documents(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 20_000
    assert path.stat().st_size > 20_000_000
    assert peak < 1_000_000


@given(st.sampled_from(["jsonl", "csv", "tsv", "text"]), st.binary(max_size=80), st.sampled_from(["raise", "skip"]))
def test_whatever_a_file_holds_only_clear_errors_come(tmp_path_factory, format, content, on_error):
    path = tmp_path_factory.getbasetemp() / "anything"
    path.write_bytes(content)
    try:
        documents = list(read_documents(path, CorpusConfig(format=format, on_error=on_error)))
    except TaxocapsError as error:
        assert "anything" in str(error)
        assert "\n" not in str(error)
    else:
        assert documents
