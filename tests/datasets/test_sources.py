import gzip
import io
import lzma
import tarfile
import zipfile

import pytest

from taxocaps.datasets.sources import Publication, Source
from taxocaps.errors import FileError

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
    assert [record["id"] for record in file.records("id", "text")] == [1, 2]
    with pytest.raises(FileError, match=r"a\.jsonl, line 1: no field 'labels'"):
        list(file.records("id", "labels"))
    for broken in ("{", "[1]"):
        path.write_text(broken)
        with pytest.raises(FileError, match=r"a\.jsonl, line 1: no JSON object"):
            list(file.records("id"))


def test_only_newlines_part_lines_and_no_byte_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_bytes("one\u2028still one\r\ntwo".encode() + b"\xff\n")
    assert list(source(tmp_path).one("a.txt").lines()) == ["one\u2028still one", "two\ufffd"]
