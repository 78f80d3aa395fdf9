"""Files that strangers send: tables whose columns are recognised or chosen, documents, and what is neither."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from taxocaps.errors import CorpusError, FileError, TaxoCapsError
from taxocaps.results import plain
from taxocaps.workflows.uploads import NamedText, Upload, read_upload

TABLE = "nr;title;abstract;year\n7;Crude;Prices rose für uns.;1987\n;Wheat;Harvests fell.;1988\n"


def texts(found):
    return [(one.id, one.text) for one in found.documents]


def test_a_table_as_spreadsheets_write_it():
    found = read_upload(TABLE.encode("cp1252"), "news.CSV")
    assert texts(found) == [("1", "Crude\nPrices rose für uns."), ("2", "Wheat\nHarvests fell.")]
    assert found.fields == ("nr", "title", "abstract", "year")
    assert (found.text_fields, found.id_field) == (("title", "abstract"), None)


def test_other_columns_are_chosen():
    found = read_upload(TABLE.encode(), "news.csv", text_fields=["abstract"], id_field="nr")
    assert texts(found) == [("7", "Prices rose für uns."), ("2", "Harvests fell.")]
    assert (found.text_fields, found.id_field) == (("abstract",), "nr")


@pytest.mark.parametrize("chosen", [(), ("absent",)])
def test_a_table_that_does_not_tell_its_text_gives_its_columns(chosen):
    assert read_upload(b"a,b\n1,2\n", "t.csv", text_fields=chosen) == Upload((), fields=("a", "b"))


def test_invalid_records_are_skipped_and_the_first_is_told():
    lines = ['{"id": 1, "text": "a", "labels": {"odd": 1}}', "{", '{"text": 7}', '{"text": "b"}']
    found = read_upload("\n".join(lines).encode(), "some.jsonl")
    assert texts(found) == [("1", "a"), ("2", "b")]
    assert (found.skipped, found.left) == (2, 0)
    assert found.problem.startswith("some.jsonl, line 2: ")
    assert "--" not in found.problem


def test_what_is_too_much_is_counted():
    lines = "\n".join(json.dumps({"text": "word " * 10}) for _ in range(9)).encode()
    assert (read_upload(lines, "a.jsonl", documents=4).left, len(read_upload(lines, "a.jsonl").documents)) == (5, 9)
    found = read_upload(lines, "a.jsonl", letters=60)
    assert (len(found.documents), found.left) == (2, 7)


def test_a_spreadsheet():
    openpyxl = pytest.importorskip("openpyxl")
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in (("id", "body"), ("x", "Prices rose for the third time this week.")):
        book.active.append(row)
    book.save(file)
    assert texts(read_upload(file.getvalue(), "a.xlsx")) == [("x", "Prices rose for the third time this week.")]


def test_texts_go_by_the_name_of_the_file():
    page = "<html><script>alert(1)</script><body><p>Crude prices</p>rose für uns</body></html>".encode()
    assert read_upload(page, "news.html") == Upload((NamedText("news.html", "Crude prices\nrose für uns"),))
    for name in ("story.txt", "story.md", "story"):
        assert texts(read_upload("für uns".encode("utf-16"), name)) == [(name, "für uns")]


@pytest.mark.parametrize(
    ("name", "content", "kind", "message"),
    [
        ("a.pdf", b"no pdf", CorpusError, "a.pdf: cannot be read as PDF"),
        ("a.docx", b"no archive", CorpusError, "a.docx: cannot be read"),
        ("a.html", b"", CorpusError, "a.html: has no text"),
        ("a.xlsx", b"PK", FileError, "a.xlsx: "),
        ("a.exe", b"MZ\0\1\2" * 9, FileError, "a.exe: is no text; send a text, or one of .jsonl"),
        ("a.txt", b"MZ\0\1\2" * 9, FileError, "a.txt: is no text"),
        ("a.jsonl", b"\n", CorpusError, "a.jsonl: has no documents"),
        ("a.csv", b"", CorpusError, "a.csv: has no documents"),
        ("a.jsonl", b"{", CorpusError, "a.jsonl, line 1: "),
    ],
)
def test_what_cannot_be_read_is_told_by_the_name_that_the_client_knows(name, content, kind, message):
    with pytest.raises(kind) as caught:
        read_upload(content, name)
    assert str(caught.value).startswith(message)
    assert "upload" not in str(caught.value)


LINES = [
    '{"id": "\\ud800", "text": "a"}',
    '{"text": "x \\ud800"}',
    "[1]",
    "text,a,a",
    '"',
    "a;b",
    "<p>&#xD800;",
    "%PDF-",
]


@given(
    some.lists(some.sampled_from(LINES) | some.text(max_size=9), max_size=5).map("\n".join),
    some.sampled_from(["utf-8", "utf-16"]),
    some.sampled_from(["a.jsonl", "a.csv", "a.tsv", "a.json", "a.html", "a.pdf", "a.txt", "a", "\0", ".."]),
    some.sampled_from([{}, {"text_fields": ["a"]}, {"text_fields": ["a*0"]}, {"id_field": "\0"}]),
)
def test_whatever_is_sent_becomes_documents_or_one_error(text, encoding, name, chosen):
    content = text.encode(encoding, "surrogatepass")
    try:
        answer = plain(read_upload(content, name, **chosen))
    except TaxoCapsError as error:
        answer = str(error)
    json.dumps(answer, ensure_ascii=False, allow_nan=False).encode("utf-8")  # as the server answers
