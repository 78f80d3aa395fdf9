import gzip
import os
import sys

import pytest

from taxocaps.corpus.document import Document
from taxocaps.corpus.readers import CorpusConfig, to_document
from taxocaps.corpus.text_directory import read_texts, write_texts
from taxocaps.errors import CorpusError, FileError


def read(path, **options):
    config = CorpusConfig(**options).with_usual_names()
    return [to_document(record, config) for record in read_texts(path, config)]


@pytest.fixture
def folder(tmp_path):
    files = {
        "b.txt": b"bee",
        "a/z.txt": b"zed\n",
        "a.txt": b"ay",
        "a/b/c.txt": b"sea",
        "a/b/c.labels": "Räuber\n\n two \n".encode(),
        "a/z.labels": b"",
        "notes.md": b"none of ours",
        ".hidden.txt": b"none of ours",
        ".git/x.txt": b"none of ours",
    }
    for name, content in files.items():
        path = tmp_path / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "texts"


def test_files_come_in_the_order_of_their_paths_with_sidecar_labels(folder):
    assert read(folder) == [
        Document("sea", "a/b/c", ("Räuber", "two")),
        Document("zed\n", "a/z", ()),
        Document("ay", "a"),
        Document("bee", "b"),
    ]


def test_folders_may_be_the_labels(folder):
    found = {document.id: document.labels for document in read(folder, directory_labels="folder")}
    assert found == {"a/b/c": ("a", "b"), "a/z": ("a",), "a": (), "b": ()}


def test_compressed_texts(folder):
    with gzip.open(folder / "b.x.txt.gz", "wb") as file:
        file.write(b"packed")
    assert Document("packed", "b.x") in read(folder)


def test_a_single_file_is_one_document(folder):
    assert read(folder / "a" / "b" / "c.txt") == [Document("sea", "c", ("Räuber", "two"))]


def test_line_ends_and_the_byte_order_mark_are_normal(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert read(tmp_path / "x.txt")[0].text == "one\ntwo\nthree\n"


@pytest.mark.parametrize(("content", "words"), [(b"ok\nna\xefve", "not valid UTF-8"), (b"ok\n\0", "NUL")])
def test_broken_texts_are_told_with_file_and_line(folder, content, words):
    (folder / "a.txt").write_bytes(content)
    records = list(read_texts(folder, CorpusConfig().with_usual_names()))
    (broken,) = [record for record in records if record.problem]
    assert broken.location == f"{folder / 'a.txt'}, line 2"
    assert words in broken.problem
    assert len(records) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_to_folders_are_not_followed_links_to_files_are(folder):
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "copy.txt").symlink_to(folder / "b.txt")
    assert [document.id for document in read(folder)] == ["a/b/c", "a/z", "a", "b", "copy"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_closed_folder_is_told(folder):
    (folder / "a").chmod(0)
    try:
        with pytest.raises(FileError, match="cannot be read: Permission denied"):
            read(folder)
    finally:
        (folder / "a").chmod(0o755)


def test_several_text_fields_do_no_harm(folder):
    assert read(folder / "b.txt", text_field="title,body") == [Document("bee", "b")]


def test_written_texts_are_read_back(tmp_path):
    documents = [Document("x\n\ny", "a/b", ("one", "two words")), Document("z", "c", ()), Document("", None)]
    target = tmp_path / "new" / "texts"
    assert write_texts(target, iter(documents), CorpusConfig().with_usual_names()) == 3
    assert read(target) == [Document("", "00000003"), documents[0], documents[1]]
    assert [path.name for path in target.parent.iterdir()] == ["texts"]


def test_written_folders_are_labels(tmp_path):
    config = CorpusConfig(directory_labels="folder").with_usual_names()
    documents = [Document("x", "a/b/c", ("a", "b"))]
    write_texts(tmp_path / "texts", documents, config)
    assert read(tmp_path / "texts", directory_labels="folder") == documents
    with pytest.raises(CorpusError, match="are not the folders of its id"):
        write_texts(tmp_path / "more", [Document("x", "a/b/c", ("b",))], config)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (Document("x", "../up"), "relative path"),
        (Document("x", "/etc/passwd"), "relative path"),
        (Document("x", "a//b"), "relative path"),
        (Document("x", "a/"), "relative path"),
        (Document("x", ".hidden"), "relative path"),
        (Document("x", ""), "relative path"),
        (Document("x", "a\0"), "relative path"),
        (Document("x", "same"), "another document"),
        (Document("x", tokens=("x",)), "cannot store tokens"),
        (Document("x", split="dev"), "cannot store tokens or a split"),
        (Document("x\r\n"), "carriage return"),
        (Document("x", labels=("a\nb",)), "one per line"),
    ],
)
def test_what_files_cannot_hold_is_refused_and_nothing_stays(tmp_path, document, words):
    target = tmp_path / "texts"
    with pytest.raises(CorpusError, match="write JSONL") as caught:
        write_texts(target, [Document("y", "same"), document], CorpusConfig().with_usual_names())
    assert words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_full_folder_is_not_overwritten_an_empty_one_is(tmp_path):
    target = tmp_path / "texts"
    target.mkdir()
    write_texts(target, [Document("x", "a")], CorpusConfig().with_usual_names())
    with pytest.raises(FileError, match="is already there"):
        write_texts(target, [Document("y", "a")], CorpusConfig().with_usual_names())
    assert (target / "a.txt").read_text() == "x"
