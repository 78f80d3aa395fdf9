"""Source files, counts, splits and streamed splits."""

import gzip
import io
import lzma
import tarfile
import zipfile

import pytest

from taxocaps.corpus.document import Document
from taxocaps.datasets.loading import (
    Publication,
    Source,
    StreamedSplit,
    check_count,
    check_counts,
    distinct,
    last_tenth,
    shuffled,
    with_split_names,
)
from taxocaps.errors import CorpusError, FileError

PUBLICATION = Publication("Example 1.0", "https://example.org/data", ("example*.zip", "example.tar.gz"))


def source(folder):
    return Source(folder, PUBLICATION)


def write_tar(path, **members):
    with tarfile.open(path, "w:gz") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(f"./top/{name}.txt")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))


@pytest.mark.parametrize("packing", ["plain", "gz", "xz", "zip", "tar"])
def test_a_file_is_found_however_it_is_packed(tmp_path, packing):
    deep = tmp_path / "some" / "where"
    deep.mkdir(parents=True)
    if packing == "plain":
        (deep / "a.txt").write_text("one\ntwo\n")
    elif packing == "gz":
        (deep / "a.txt.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    elif packing == "xz":
        (deep / "a.txt.xz").write_bytes(lzma.compress(b"one\ntwo\n"))
    elif packing == "zip":
        with zipfile.ZipFile(deep / "example-2.zip", "w") as archive:
            archive.writestr("top/a.txt", "one\ntwo\n")
            archive.writestr("__MACOSX/top/._a.txt", "junk")
    else:
        write_tar(deep / "example.tar.gz", a="one\ntwo\n", b="")
    file = source(tmp_path).one("a.txt")
    assert file.read() == "one\ntwo\n"
    assert list(file.lines()) == ["one", "two"]
    with file.on_disk() as path:
        assert path.name.startswith("a.txt")


def test_archives_of_other_names_stay_closed(tmp_path):
    (tmp_path / "holiday.zip").write_bytes(b"not even an archive")
    assert source(tmp_path).get("a.txt") is None


def test_a_pattern_is_about_the_end_of_the_path_and_one_file_is_taken_of_several(tmp_path):
    for folder in ("x/train", "train", "y/test"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "1.JSON").write_text(folder)
    (tmp_path / "train" / "2.json").write_text("two")
    (tmp_path / "train" / "2.json.gz").write_bytes(gzip.compress(b"packed"))
    (tmp_path / "train" / ".2.json").write_text("hidden")
    assert [file.read() for file in source(tmp_path).find("train/*.json")] == ["train", "two"]


def test_several_archives_can_be_read_in_turn(tmp_path):
    for number in (1, 2):
        with zipfile.ZipFile(tmp_path / f"example{number}.zip", "w") as archive:
            archive.writestr(f"{number}a.txt", f"{number}a")
            archive.writestr(f"{number}b.txt", f"{number}b")
    files = source(tmp_path).find("*.txt")
    assert [file.read() for file in files] == ["1a", "1b", "2a", "2b"]
    assert [file.read() for file in reversed(files)] == ["2b", "2a", "1b", "1a"]
    with files[0].open() as first, files[2].open() as second:
        assert (first.read(), second.read()) == (b"1a", b"2a")


def test_a_single_file_may_stand_for_the_folder(tmp_path):
    (tmp_path / "a.txt").write_text("one")
    assert source(tmp_path / "a.txt").one("a.txt").read() == "one"


def test_a_missing_file_is_named_with_its_place_of_publication(tmp_path):
    with pytest.raises(FileError) as caught:
        source(tmp_path).one("b.dat", "b.txt")
    message = str(caught.value)
    assert "\n" not in message
    for part in (str(tmp_path), "b.dat or b.txt", "Example 1.0", "https://example.org/data", "--source"):
        assert part in message


def test_a_missing_folder_and_a_broken_archive(tmp_path):
    with pytest.raises(FileError, match=r"no such folder; .* https://example\.org/data"):
        source(tmp_path / "nowhere")
    (tmp_path / "example.zip").write_bytes(b"broken")
    with pytest.raises(FileError, match=r"example\.zip: cannot be read as an archive"):
        source(tmp_path).get("a.txt")


def test_records_are_lines_of_json_with_their_fields(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "text": "x"}\n\n{"id": 2, "text": ""}\n')
    file = source(tmp_path).one("a.jsonl")
    assert [record["id"] for record in file.records(id=int, text=str)] == [1, 2]
    with pytest.raises(FileError, match=r"a\.jsonl, line 1: labels: Field required"):
        list(file.records(id=int, labels=list[str]))
    for broken in ("{", "[1]"):
        path.write_text(broken)
        with pytest.raises(FileError, match=r"a\.jsonl, line 1: (Invalid JSON|Input should be an object)"):
            list(file.records(id=int))


def test_only_newlines_part_lines_and_no_byte_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_bytes("one\u2028still one\r\ntwo".encode() + b"\xff\n")
    assert list(source(tmp_path).one("a.txt").lines()) == ["one\u2028still one", "two\ufffd"]


def test_equal_counts_pass_and_others_are_told_in_one_line():
    found = {"training documents": 1_234, "topics": 3}
    check_counts("News", found, {"topics": 3})
    with pytest.raises(
        CorpusError, match=r"News: 1,234 training documents, but officially there are 1,235; .*--any-co"
    ):
        check_counts("News", found, {"topics": 3, "training documents": 1_235})
    check_count("News", "topics", 3, 3)


def test_an_id_that_comes_twice():
    items = [(1, "a"), (2, "b"), (1, "c")]
    with pytest.raises(CorpusError, match="the id 1 occurs twice"):
        list(distinct(items, lambda item: item[0], "News", check=True))
    assert list(distinct(items, lambda item: item[0], "News", check=False)) == items[:2]


def test_the_last_tenth():
    first, last = last_tenth(list(range(7_770)))
    assert (len(first), len(last)) == (6_993, 777)
    assert [*first, *last] == list(range(7_770))


def test_a_draw_depends_on_ids_and_seed_alone():
    ids = [str(number) for number in range(100)]
    drawn = shuffled(ids, 0)
    assert sorted(drawn) == sorted(ids)
    assert drawn == shuffled(reversed(ids), 0)
    assert drawn not in (ids, shuffled(ids, 1))
    # Other documents do not change the order of these.
    more = shuffled([*ids, "x", "y"], 0)
    assert [id for id in more if id in ids] == drawn
    assert drawn[:4] == ["87", "46", "15", "44"]  # on every machine


def test_documents_say_their_split():
    splits = with_split_names({"train": [Document("a")], "dev": []})
    assert splits == {"train": (Document("a", split="train"),), "dev": ()}


DOCUMENTS = [Document(str(number)) for number in range(5)]


def test_it_is_the_sequence_of_what_is_read():
    streamed = StreamedSplit(lambda: iter(DOCUMENTS))
    assert len(streamed) == 5
    assert list(streamed) == list(streamed) == DOCUMENTS
    assert (streamed[0], streamed[4], streamed[-1], streamed[1:3]) == (
        *(DOCUMENTS[i] for i in (0, 4, 4)),
        (*DOCUMENTS[1:3],),
    )
    for index in (5, -6):
        with pytest.raises(IndexError):
            streamed[index]


def test_documents_are_read_one_at_a_time():
    read = []

    def documents():
        for document in DOCUMENTS:
            read.append(document)
            yield document

    streamed = StreamedSplit(documents)
    assert read == []
    next(iter(streamed))
    assert len(read) == 1


def test_a_wrong_count_is_told_at_the_end():
    documents = iter(StreamedSplit(lambda: iter(DOCUMENTS), title="News", expected=6))
    assert [next(documents) for _ in range(5)] == DOCUMENTS
    with pytest.raises(CorpusError, match="News: 5 documents of this split, but officially there are 6"):
        next(documents)
    assert len(StreamedSplit(lambda: iter(DOCUMENTS), expected=5)) == 5
