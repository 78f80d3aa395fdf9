import io
import shutil
import tarfile

import pytest

from taxocaps.datasets.reuters_stories import read_collection
from taxocaps.errors import CorpusError, FileError
from taxocaps.progress import silent


def read(folder, check=False):
    return read_collection(folder, check=check, progress=silent)


def test_official_and_prepared_files_give_the_same(reuters_official, reuters_prepared):
    official, prepared = read(reuters_official), read(reuters_prepared)
    assert len(official.stories) == 18
    assert official.stories == prepared.stories
    assert official.taxonomy == prepared.taxonomy


def test_the_archive_need_not_be_unpacked(reuters_official, tmp_path):
    (tmp_path / "packed").mkdir()
    with tarfile.open(tmp_path / "packed" / "reuters21578.tar.gz", "w:gz") as archive:
        for path in (reuters_official / "reuters21578").iterdir():
            info = tarfile.TarInfo(f"./{path.name}")
            info.size = path.stat().st_size
            archive.addfile(info, io.BytesIO(path.read_bytes()))
    assert read(tmp_path / "packed").stories == read(reuters_official).stories


def test_topics_stand_under_the_groups_of_the_distribution(reuters_official):
    taxonomy = read(reuters_official).taxonomy
    assert taxonomy.children("Root") == ("ship", "CORPORATE", "COMMODITY", "ENERGY")
    assert taxonomy.children("CORPORATE") == ("acq", "earn")
    assert taxonomy.title("earn") == "Earnings and Earnings Forecasts"
    assert "adb-africa" not in taxonomy


def test_r90_is_what_training_and_test_documents_share(reuters_official):
    assert read(reuters_official).r90() == {"earn", "acq", "grain", "wheat", "crude", "ship", "gold"}


def test_a_missing_file_is_named(reuters_official):
    with pytest.raises(FileError, match=r"no reut2-002\.sgm .*published at https://archive\.ics\.uci\.edu"):
        read(reuters_official, check=True)
    (reuters_official / "reuters21578" / "cat-descriptions_120396.txt").unlink()
    with pytest.raises(FileError, match=r"no cat-descriptions_120396\.txt"):
        read(reuters_official)


def test_a_damaged_list_of_topics(reuters_official):
    path = reuters_official / "reuters21578" / "cat-descriptions_120396.txt"
    path.write_text(path.read_text().replace("WHEAT\n", ""))
    with pytest.raises(FileError, match="the 135 subject codes are not there"):
        read(reuters_official)


def test_counts_and_ids_must_be_the_official_ones(reuters_prepared, reuters_official):
    with pytest.raises(CorpusError, match="18 documents, but officially there are 21,578"):
        read(reuters_prepared, check=True)
    folder = reuters_official / "reuters21578"
    for number in range(2, 22):
        shutil.copy(folder / "reut2-001.sgm", folder / f"reut2-{number:03}.sgm")
    with pytest.raises(CorpusError, match="the id 11 occurs twice"):
        read(reuters_official, check=True)
    assert len(read(reuters_official).stories) == 18
