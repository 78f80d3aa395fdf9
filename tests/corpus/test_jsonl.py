import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.corpus.document import Document
from taxocaps.corpus.jsonl import read_jsonl, write_jsonl
from taxocaps.corpus.readers import CorpusConfig


def records(path, content, **options):
    path.write_bytes(content)
    return list(read_jsonl(path, CorpusConfig(**options).with_usual_names()))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "d.jsonl"


def test_one_object_a_line_with_its_place(path):
    first, second = records(path, b'{"text": "a"}\n{"text": "b"}')
    assert (first.fields, first.problem) == ({"text": "a"}, None)
    assert second.location == f"{path}, line 2"


def test_blank_lines_count_but_give_nothing(path):
    (record,) = records(path, b'\n  \n{"text": "a"}\n\n')
    assert record.location.endswith("line 3")


def test_byte_order_mark_and_crlf(path):
    found = records(path, b'\xef\xbb\xbf{"text": "a"}\r\n{"text": "b"}\r\n')
    assert [record.fields["text"] for record in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"text": "a",}', "invalid JSON at column 14"),
        (b'{"text": "a"} {"text": "b"}', "invalid JSON at column 15: Extra data"),
        (b'[{"text": "a"},', "jq -c"),
        (b"[1, 2]", "must be a JSON object {...}; it starts with '[1, 2]'"),
        (b'"text"', "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b"[" * 100_000, "nested too deep"),
        (b"1" * 10_000, "a number is too long"),
        (b'{"text": "\xff"}', "not valid UTF-8"),
        (b'{"text": "a\x00"}', "NUL"),
        (rb'{"text": "\ud83d"}', "half of a surrogate pair"),
        (rb'{"\ud83d": "a"}', "half of a surrogate pair"),
    ],
)
def test_broken_lines_are_told_and_the_next_is_read(path, line, words):
    broken, good = records(path, line + b'\n{"text": "b"}\n')
    assert words in broken.problem
    assert broken.location == f"{path}, line 1"
    assert "\n" not in broken.problem
    assert good.fields == {"text": "b"}


def test_whole_characters_in_escapes_are_fine(path):
    (record,) = records(path, rb'{"text": "\ud83d\ude00 \u00e9 \\ud83d"}')
    assert record.fields["text"] == "\N{GRINNING FACE} é \\ud83d"


def test_another_encoding(path):
    (record,) = records(path, '{"text": "é"}'.encode("cp1252"), encoding="cp1252")
    assert record.fields["text"] == "é"


def test_fields_a_document_lacks_are_left_out(path):
    documents = [Document("é\n", "1", ("a",), None, "dev"), Document(tokens=("b",)), Document("", labels=())]
    assert write_jsonl(path, documents, CorpusConfig().with_usual_names()) == 3
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == '{"id": "1", "text": "é\\n", "labels": ["a"], "split": "dev"}'
    assert [json.loads(line) for line in lines[1:]] == [{"tokens": ["b"]}, {"text": "", "labels": []}]


@given(st.binary(max_size=60))
def test_any_bytes_give_records(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    for record in records(path, content):
        assert record.problem or isinstance(record.fields, dict)
