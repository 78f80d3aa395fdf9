"""Reading documents: formats, fields, errors, readers of other packages."""

import gzip
import io
import lzma
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxocaps.config import resolve
from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import (
    READERS,
    CorpusConfig,
    ReadReport,
    Record,
    column_problem,
    format_of,
    line_problem,
    read_documents,
    split_labels,
    to_document,
)
from taxocaps.corpus.writers import write_documents
from taxocaps.errors import ConfigError, CorpusError, FileError, TaxoCapsError

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
    assert list(READERS) == ["jsonl", "csv", "tsv", "xlsx", "parquet", "text", "label-studio"]
    usual = {name: reader for name, reader in READERS.items() if not reader.begins_with}
    suffixes = [suffix for reader in usual.values() for suffix in reader.suffixes]
    assert len(suffixes) == len(set(suffixes)) == 14
    for name, reader in usual.items():
        assert [format_of(Path(f"a{suffix}")) for suffix in reader.suffixes] == [name] * len(reader.suffixes)


PLUGIN = """
from taxocaps.corpus import Reader, Record

def read(path, config):
    for number, line in enumerate(path.read_text(config.encoding).splitlines(), 1):
        yield Record(f"{path}, line {number}", {config.text_field: line, config.labels_field: ["a"]})

READER = Reader(read, (".lst", ".jsonl"))
"""

PROGRAM = """
import sys
from pathlib import Path
from taxocaps.corpus import READERS, CorpusConfig, read_documents
from taxocaps.errors import TaxoCapsError

assert "pyarrow" not in sys.modules
for path, config in [("a.lst", None), ("b.x", CorpusConfig(format="lines")), ("c.jsonl", None)]:
    print([(document.text, document.labels) for document in read_documents(path, config)])
for action in (lambda: CorpusConfig(format="linse"), lambda: read_documents("b.x")):
    try:
        action()
    except TaxoCapsError as error:
        print(error)
print("pyarrow" in sys.modules, READERS.is_external("lines"), READERS.is_external("jsonl"))
"""


def test_other_packages_can_add_a_format(tmp_path):
    (tmp_path / "my_reader.py").write_text(PLUGIN)
    info = tmp_path / "my_reader-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-reader\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[taxocaps.readers]\nlines = my_reader:READER\n")
    for name in ("a.lst", "b.x"):
        (tmp_path / name).write_text("one\ntwo\n")
    (tmp_path / "c.jsonl").write_text('{"text": "json"}\n')
    path = os.pathsep.join(map(str, [tmp_path, *sys.path]))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "[('one', ('a',)), ('two', ('a',))]",
        "[('one', ('a',)), ('two', ('a',))]",
        "[('json', None)]",  # built-in readers come first
        "corpus.format must be one of jsonl, csv, tsv, xlsx, parquet, text, label-studio, lines; got 'linse'; "
        "did you mean lines?",
        "b.x: '.x' is not the suffix of a corpus format; use one of the suffixes .jsonl .ndjson .json .csv .tsv .tab "
        ".xlsx .parquet .pq .txt .pdf .docx .html .htm .lst, or name the format: --format with one of jsonl, csv, tsv, "
        "xlsx, parquet, text, label-studio, lines",
        "False True False",
    ]


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
    (tmp_path / "d.doc").touch()
    with pytest.raises(FileError, match="nothing: no such file or folder"):
        read_documents(tmp_path / "nothing")
    with pytest.raises(FileError, match=r"d\.doc: '\.doc' is not the suffix of a corpus format; .*--format"):
        read_documents(tmp_path / "d.doc")


def test_a_broken_record_stops_the_reading_after_what_came_before(path):
    path.write_bytes(LINES)
    documents = read_documents(path)
    assert next(documents).text == "a"
    with pytest.raises(CorpusError, match=r"d\.jsonl, line 2: invalid JSON.*--on-error skip"):
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
    with pytest.raises(CorpusError, match="contains no documents"):
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
    with pytest.raises(CorpusError, match=r"d\.jsonl: contains no documents"):
        list(read_documents(path))


def test_an_empty_folder_and_a_header_alone_are_errors(tmp_path):
    (tmp_path / "d.csv").write_text("text\n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(CorpusError, match="contains no documents"):
        list(read_documents(tmp_path / "d.csv"))
    with pytest.raises(CorpusError, match=r"contains no text files \(\*\.txt\)"):
        list(read_documents(tmp_path / "folder"))


def test_nothing_but_broken_records_is_an_error(path):
    path.write_bytes(b"{\n{\n")
    with pytest.raises(CorpusError, match=r"all 2 records are invalid; the first: .*line 1"):
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
    except TaxoCapsError as error:
        assert "anything" in str(error)
        assert "\n" not in str(error)
    else:
        assert documents


def make(fields, **options):
    return to_document(Record("f.jsonl, line 3", fields), CorpusConfig(**options).with_usual_names())


def test_all_fields_are_taken():
    fields = {"text": "Hello", "id": "d1", "labels": ["a", "b"], "split": "dev", "tokens": ["hello"], "other": 1}
    assert make(fields) == Document("Hello", "d1", ("a", "b"), ("hello",), "dev")


def test_fields_may_have_other_names():
    fields = {"body": "Hello", "key": 7, "topics": ["a"], "part": "dev", "words": "hel lo"}
    options = {"text_field": "body", "id_field": "key", "labels_field": "topics", "split_field": "part"}
    assert make(fields, tokens_field="words", **options) == Document("Hello", "7", ("a",), ("hel", "lo"), "dev")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"title": "T", "body": "B"}, "T\nB"),
        ({"title": None, "body": "B"}, "B"),
        ({"title": "T", "body": ""}, "T"),
        ({"title": None, "body": None}, ""),
    ],
)
def test_several_text_fields_are_joined(fields, text):
    assert make(fields, text_field="title, body").text == text


def test_an_absent_part_of_the_text_is_an_error():
    with pytest.raises(CorpusError, match=r"f\.jsonl, line 3: no field 'body'"):
        make({"title": "T"}, text_field="title,body")


def test_a_missing_text_names_the_fields_there_and_the_nearest():
    with pytest.raises(CorpusError) as caught:
        make({"Texts": "x", "id": 1})
    message = str(caught.value)
    assert message.startswith("f.jsonl, line 3: no field 'text' with the text, nor 'tokens' with tokens")
    assert "'Texts', 'id'" in message
    assert "did you mean 'Texts'?" in message
    assert "--text-field" in message
    assert "\n" not in message


def test_tokens_stand_in_for_text():
    assert make({"tokens": ["a", "b"]}) == Document(tokens=("a", "b"))
    assert make({"tokens": " a  b\n"}) == Document(tokens=("a", "b"))
    assert make({"tokens": None}) == Document(tokens=())
    assert make({"tokens": None, "text": "x"}) == Document("x")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([], ()),
        (None, None),
        (["b", "a", "b"], ("b", "a")),
        ([2020, "2020", 1.5], ("2020", "1.5")),
        ([" a\n", "a", "b c"], ("a", "b c")),
    ],
)
def test_labels(labels, expected):
    assert make({"text": "x", "labels": labels}).labels == expected


def test_no_label_field_is_no_labels():
    assert make({"text": "x"}).labels is None


def test_labels_in_one_string():
    assert make({"text": "x", "labels": " a;b "}).labels == ("a;b",)
    assert make({"text": "x", "labels": ""}).labels == ()
    assert make({"text": "x", "labels": 5}).labels == ("5",)
    assert make({"text": "x", "labels": "a; b;"}, label_separator=";").labels == ("a", "b")
    assert make({"text": "x", "labels": ["a;b"]}, label_separator=";").labels == ("a;b",)
    assert make({"text": "x", "labels": '["a", 5]'}, label_separator="json").labels == ("a", "5")
    with pytest.raises(CorpusError, match="labels must be a JSON list here"):
        make({"text": "x", "labels": "a, b"}, label_separator="json")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"text": 5}, "'text' must be text; got a number 5"),
        ({"text": ["x"]}, "'text' must be text; got a list"),
        ({"text": "x", "labels": {"a": 1}}, "list of labels, or a text; got an object"),
        ({"text": "x", "labels": True}, "list of labels, or a text; got true or false"),
        ({"text": "x", "labels": ["a", None]}, "blank label"),
        ({"text": "x", "labels": [" "]}, "blank label"),
        ({"text": "x", "labels": [["a"]]}, "'labels' must be text or a number; got a list"),
        ({"text": "x", "labels": [True]}, "'labels' must be text or a number; got true or false"),
        ({"text": "x", "tokens": 5}, "'tokens' must be a list of tokens"),
        ({"text": "x", "tokens": ["a", 5]}, "tokens that are text; got a number 5"),
        ({"text": "x", "tokens": ["a", " "]}, "tokens that are text; got the text ' '"),
        ({"text": "x", "id": {}}, "'id' must be text or a number"),
        ({"text": "x", "split": [1]}, "'split' must be text or a number"),
        ({"text": 5, "labels": ["x" * 1000]}, "must be text"),
    ],
)
def test_wrong_values_are_told_with_place_and_field(fields, words):
    with pytest.raises(CorpusError) as caught:
        make(fields)
    message = str(caught.value)
    assert message.startswith("f.jsonl, line 3: field ")
    assert words in message
    assert len(message) < 300


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_blank_ids_and_splits_are_none(blank):
    assert make({"text": "x", "id": blank, "split": blank}) == Document("x")


def test_a_broken_record_raises_its_problem():
    with pytest.raises(CorpusError, match=r"^here: all wrong$"):
        to_document(Record("here", {}, "all wrong"), CorpusConfig())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["text", "tokens", "id", "labels", "split", "more"]), JSON))
def test_any_record_gives_a_document_or_one_clear_line(fields):
    try:
        document = make(fields)
    except CorpusError as error:
        assert str(error).startswith("f.jsonl, line 3: ")
        assert "\n" not in str(error)
    else:
        assert isinstance(document.text, str)
        assert document.labels is None or all(label.strip() for label in document.labels)
        assert document.labels is None or len(set(document.labels)) == len(document.labels)


@given(st.lists(st.text(st.characters(exclude_characters=";"), min_size=1).map(str.strip).filter(bool)))
def test_split_labels_undoes_joining(labels):
    assert split_labels(";".join(labels), ";") == labels


def test_columns_need_text_or_tokens():
    config = CorpusConfig().with_usual_names()
    assert column_problem(["id", "text"], config) is None
    assert column_problem(["tokens"], config) is None
    assert "the fields are: none" in column_problem([], config)


def test_encoding_problems():
    assert line_problem("naïve", CorpusConfig()) is None
    assert "--encoding latin-1" in line_problem("na\udcefve", CorpusConfig())
    assert "NUL" in line_problem("a\0b", CorpusConfig())


@pytest.mark.parametrize(
    "options",
    [
        {"text_field": ""},
        {"text_field": "title,,body"},
        {"labels_field": " "},
        {"label_separator": ""},
        {"format": "xml"},
        {"on_error": "ignore"},
        {"quotes": "maybe"},
    ],
)
def test_bad_settings_are_refused_by_name(options):
    with pytest.raises(ConfigError, match=rf"^corpus\.{next(iter(options))} must"):
        CorpusConfig(**options)


def test_settings_survive_a_mapping():
    config = CorpusConfig(text_field="title,body", split="train")
    assert config.text_fields == ("title", "body")  # cached, and still no part of what is saved
    assert resolve(CorpusConfig, config.as_mapping()) == config


def test_fields_with_weights_are_repeated(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"title": "One", "body": "Two", "a*b": "Three"}\n')
    (found,) = read_documents(tmp_path / "a.jsonl", CorpusConfig(text_field="title*2, body*1,a*b"))
    assert found.text == "One\nOne\nTwo\nThree"
    for wrong in ("title*0", "title*21", "title*99999999999999999999"):
        with pytest.raises(ConfigError, match=r"corpus\.text_field: a weight is a number from 1 to 20"):
            CorpusConfig(text_field=wrong)
