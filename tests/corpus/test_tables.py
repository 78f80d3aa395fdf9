import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig
from taxocaps.corpus.tables import read_csv, read_tsv, write_csv, write_tsv
from taxocaps.errors import CorpusError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "d.csv"


def records(path, content, reader=read_csv, **options):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(reader(path, CorpusConfig(**options).with_usual_names()))


def test_rows_become_fields(path):
    first, second = records(path, "id,text,labels\n1,one,a;b\n2,two,\n")
    assert first.fields == {"id": "1", "text": "one", "labels": "a;b"}
    assert second.fields == {"id": "2", "text": "two", "labels": ""}
    assert second.location == f"{path}, line 3"


def test_quoted_cells_keep_newlines_and_the_line_numbers_stay_right(path):
    first, second = records(path, 'text,id\r\n"a ""quoted"", text\r\nof two lines",1\r\nb,2\r\n')
    assert first.fields["text"] == 'a "quoted", text\r\nof two lines'
    assert (first.location, second.location) == (f"{path}, line 2", f"{path}, line 4")


def test_tabs(path):
    (record,) = records(path, "id\ttext\n1\tone, two\n", read_tsv)
    assert record.fields == {"id": "1", "text": "one, two"}


def test_byte_order_mark_blank_lines_and_padded_header(path):
    (record,) = records(path, b"\xef\xbb\xbftext , id\n\nx,1\n\n")
    assert record.fields == {"text": "x", "id": "1"}


def test_blank_tokens_are_none(path):
    (record,) = records(path, "text,tokens\nx,\n")
    assert record.fields["tokens"] is None


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (b"x", "1 cells, but the header has 2"),
        (b"x,1,2", "3 cells, but the header has 2"),
        (b'"x" y,1', "a row ending on line 2 cannot be read"),
        (b"x\x00,1", "NUL"),
        (b"x\xff,1", "not valid UTF-8"),
    ],
)
def test_broken_rows_are_told_and_the_next_is_read(path, row, words):
    broken, good = records(path, b"text,id\n" + row + b"\ny,2\n")
    assert words in broken.problem
    assert broken.location == f"{path}, line 2"
    assert good.fields == {"text": "y", "id": "2"}


def test_an_open_quote_is_told_with_all_its_lines(path):
    (broken,) = records(path, 'text,id\n"x,1\ny,2\n')
    assert "ending on line 3" in broken.problem
    assert "--quotes none" in broken.problem


def test_quotes_may_be_plain_text(path):
    (record,) = records(path, 'text\tid\n"x" said\t1\n', read_tsv, quotes="none")
    assert record.fields["text"] == '"x" said'


def test_huge_cells(path):
    (record,) = records(path, "text\n" + "x" * 1_000_000 + "\n")
    assert len(record.fields["text"]) == 1_000_000


def test_an_empty_table_has_no_records(path):
    assert records(path, "") == []
    assert records(path, "text,id\n") == []


def test_a_header_alone_is_told_from_a_wrong_header(path):
    with pytest.raises(CorpusError, match="line 1: only a header, and no document below it"):
        records(path, "Nr;Beschreibung\n")


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("body,id", "line 1: no field 'text'"),
        ("text,id,id", "line 1: the header contains 'id' twice"),
        ("text;id", "the fields are: 'text;id'"),
    ],
)
def test_a_bad_header_is_an_error(path, header, words):
    with pytest.raises(CorpusError) as caught:
        records(path, f"{header}\nx,1\n")
    assert words in str(caught.value)


def test_what_is_written_is_a_plain_table(path):
    documents = [Document('a "b"\nc', "1", ("x", "y")), Document("d", "2", ())]
    assert write_csv(path, documents, CorpusConfig(text_field="body").with_usual_names()) == 2
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows == [["id", "body", "labels"], ["1", 'a "b"\nc', "x;y"], ["2", "d", ""]]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (Document("x", labels=("a;b",), id="1"), "'a;b' contains the separator ';'"),
        (Document("x", labels=None, id="1"), "no labels field"),
        (Document("x", labels=(), id="1", split="dev"), "it has split but the first document has none"),
        (Document("x\0", labels=(), id="1"), r"'\x00'"),
    ],
)
def test_what_a_table_cannot_hold_is_refused(path, document, words):
    with pytest.raises(CorpusError) as caught:
        write_csv(path, [Document("first", id="0", labels=()), document], CorpusConfig().with_usual_names())
    message = str(caught.value)
    assert words in message
    assert "document '1'" in message
    assert "JSONL" in message
    assert not path.exists()


@pytest.mark.parametrize("tokens", [("a b",), ("",)])
def test_tokens_with_white_space_are_refused(path, tokens):
    with pytest.raises(CorpusError, match="which separates tokens in a cell"):
        write_csv(path, [Document(tokens=tokens)], CorpusConfig().with_usual_names())


def test_empty_tokens_beside_a_text_are_refused(path):
    with pytest.raises(CorpusError, match="empty list of tokens"):
        write_csv(path, [Document("x", tokens=())], CorpusConfig().with_usual_names())


@pytest.mark.parametrize("text", ["a\tb", "a\nb", "a\rb"])
def test_without_quotes_separators_are_refused(path, text):
    with pytest.raises(CorpusError, match="contains the character"):
        write_tsv(path, [Document(text, "1")], CorpusConfig(quotes="none").with_usual_names())


def test_without_quotes_the_rest_is_written_bare(path):
    write_tsv(path, [Document('"a, b', "1")], CorpusConfig(quotes="none").with_usual_names())
    assert path.read_text() == 'id\ttext\n1\t"a, b\n'


cells = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=4))
def test_tables_of_the_csv_module_are_read_back(tmp_path_factory, rows):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows([("text", "more"), *rows])
    found = records(tmp_path_factory.getbasetemp() / "any.csv", buffer.getvalue())
    assert [(record.fields["text"], record.fields["more"]) for record in found] == rows


@given(st.binary(max_size=60))
def test_any_bytes_give_records(tmp_path_factory, content):
    for record in records(tmp_path_factory.getbasetemp() / "any.csv", b"text,id\n" + content):
        assert record.problem or set(record.fields) == {"text", "id"}
