import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import READERS, CorpusConfig, read_documents
from taxocaps.corpus.writers import WRITERS, write_documents
from taxocaps.errors import ConfigError, CorpusError, FileError

pytest.importorskip("pyarrow")

NAMES = {
    "jsonl": "d.jsonl",
    "csv": "d.csv",
    "tsv": "d.tsv",
    "parquet": "d.parquet",
    "text": "d",
}
COMPRESSED = ("d.jsonl.gz", "d.jsonl.zst", "d.jsonl.xz", "d.csv.gz", "d.tsv.zst")

characters = st.characters(exclude_categories=["Cs"])
word = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters=";/\\."), min_size=1, max_size=6)
plain = st.builds(
    Document,
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff"), max_size=20),
    id=st.none(),
    labels=st.lists(word, max_size=4, unique=True).map(tuple),
)
awkward = st.text(st.characters() | st.sampled_from(";,\t\n\r\"' \0\ufeff/."), max_size=6)
anything = st.builds(
    Document,
    text=awkward,
    id=st.none() | awkward,
    labels=st.none() | st.lists(awkward, max_size=3).map(tuple),
    tokens=st.none() | st.lists(awkward, max_size=3).map(tuple),
    split=st.none() | awkward,
)


def test_every_format_has_a_writer():
    assert set(WRITERS) == set(READERS) - {"label-studio", "xlsx"} == set(NAMES)


def test_a_format_that_can_only_be_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setitem(READERS._table, "warc", "taxocaps.corpus.jsonl:READER")
    with pytest.raises(
        ConfigError, match="the format warc can only be read; write one of jsonl, csv, tsv, parquet, text"
    ):
        write_documents([Document("a")], tmp_path / "a.warc", format="warc")
    with pytest.raises(ConfigError, match=r"no corpus reader is called 'jsnl'; did you mean jsonl\?"):
        write_documents([Document("a")], tmp_path / "a", format="jsnl")


@pytest.mark.parametrize("name", [*NAMES.values(), *COMPRESSED])
@given(texts=st.lists(plain, min_size=1, max_size=5))
@settings(max_examples=25, deadline=None)
def test_what_is_written_is_read_back(name, texts):
    documents = [replace(document, id=f"{n:03d}") for n, document in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        assert write_documents(iter(documents), path, format="text" if name == "d" else None) == len(documents)
        assert list(read_documents(path, CorpusConfig(label_separator=";"))) == documents
        assert [found.name for found in Path(folder).iterdir()] == [name]


@pytest.mark.parametrize("format", list(NAMES))
@given(documents=st.lists(anything, min_size=1, max_size=3), quotes=st.sampled_from(["standard", "none"]))
@example(documents=[Document("", labels=("a\x85b",))], quotes="standard")
@example(documents=[Document("")], quotes="none")
@example(documents=[Document("\ud800")], quotes="standard")
@settings(max_examples=100, deadline=None)
def test_documents_are_read_back_or_refused_never_changed(format, documents, quotes):
    config = CorpusConfig(quotes=quotes, label_separator=";")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, NAMES[format])
        try:
            count = write_documents(documents, path, format=format, config=config)
        except (CorpusError, FileError) as error:
            assert str(error).startswith(str(path))
            assert "\n" not in str(error)
            assert list(Path(folder).iterdir()) == []
        else:
            assert count == len(documents)
            found = list(read_documents(path, config))
            assert sorted(map(repr, found)) == sorted(map(repr, map(as_read, documents, [format] * 9, range(9))))


def as_read(document, format, number):
    """What reading makes of a document: blank ids and splits are none, labels are merged."""
    if format in ("csv", "tsv") and document.tokens == ():
        document = replace(document, tokens=None)  # a blank cell
    if format == "text":
        document = replace(document, text=document.text.removeprefix("\ufeff"), id=document.id or f"{number + 1:08d}")
    return replace(
        document,
        id=document.id if document.id and document.id.strip() else None,
        split=document.split if document.split and document.split.strip() else None,
        labels=None if document.labels is None else tuple(dict.fromkeys(document.labels)),
    )


@pytest.mark.parametrize("format", ["jsonl", "csv", "tsv", "parquet"])
def test_tokens_splits_and_other_field_names(tmp_path, format):
    config = CorpusConfig(text_field="body", tokens_field="words", id_field="key", labels_field="l", split_field="part")
    documents = [Document("", "1", ("a",), ("x", "y"), "dev"), Document("", "2", (), ("z",), None)]
    path = tmp_path / f"d.{format}"
    write_documents(documents, path, config=config)
    assert list(read_documents(path, config)) == documents


def test_the_format_may_be_given_or_configured(tmp_path):
    write_documents([Document("x")], tmp_path / "a", format="csv")
    write_documents([Document("x")], tmp_path / "b", config=CorpusConfig(format="csv"))
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text() == '"text"\n"x"\n'


def test_an_old_file_stays_when_writing_fails(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text("old")

    def documents():
        yield Document("x")
        raise CorpusError("stop")

    with pytest.raises(CorpusError, match="stop"):
        write_documents(documents(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("format", list(NAMES))
def test_nothing_to_write_is_an_error(tmp_path, format):
    with pytest.raises(CorpusError, match="there are no documents to write"):
        write_documents([], tmp_path / NAMES[format], format=format)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", list(NAMES))
@pytest.mark.parametrize(
    ("document", "words"),
    [
        (Document("x", "d", labels=(" a",)), "its label ' a' has white space around it"),
        (Document("x", "d", labels=("",)), "blank label"),
        (Document("\ud83d", "d"), "half of a surrogate pair"),
        (Document("x", "d", tokens=("\ud83d",)), "half of a surrogate pair"),
    ],
)
def test_documents_that_no_reader_gives_are_refused(tmp_path, format, document, words):
    with pytest.raises(CorpusError, match=r"document 'd': ") as caught:
        write_documents([document], tmp_path / NAMES[format], format=format)
    assert words in str(caught.value)


def test_several_text_fields_cannot_be_written(tmp_path):
    with pytest.raises(ConfigError, match=r"corpus\.text_field must be one field for writing"):
        write_documents([Document("x")], tmp_path / "d.jsonl", config=CorpusConfig(text_field="title,body"))


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv", "d.parquet"])
def test_a_path_that_cannot_be_written_is_told(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "x").touch()
    with pytest.raises(FileError, match="cannot be written"):
        write_documents([Document("x")], tmp_path / name, format=name.partition(".")[2])
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot be written"):
        write_documents([Document("x")], tmp_path / "file" / name)
