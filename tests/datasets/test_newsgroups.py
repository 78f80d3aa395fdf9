import io
import tarfile

import pytest

from taxocaps.datasets import newsgroups
from taxocaps.errors import CorpusError, FileError

ARTICLE = (
    "From: someone@example.org (A. Writer)\nNewsgroups: comp.graphics\nSubject: Re: Gr\xfc\xdfe \nLines: 3\n\n"
    "In article <1@x> you write:\n> Subject: no header\n\nI agree.\n"
)


@pytest.fixture
def articles(tmp_path):
    names = [f"20news-bydate-train/comp.graphics/{number}" for number in (100, 99, 98, 97, 96, 95, 94, 93, 92, 1001)]
    names += [f"20news-bydate-train/comp.sys.mac.hardware/{number}" for number in range(1, 11)]
    names += ["20news-bydate-test/comp.graphics/2000", "20news-bydate-test/alt.atheism/7"]
    for name in names:
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(ARTICLE.encode("latin-1"))
    return tmp_path / "files"


def test_subject_and_body_are_kept_and_other_headers_are_not(articles):
    document = newsgroups.load(articles, check=False).splits["test"][1]
    assert document.text == "Re: Gr\xfc\xdfe\nIn article <1@x> you write:\n> Subject: no header\n\nI agree."
    assert (document.id, document.labels, document.split) == ("comp.graphics/2000", ("comp.graphics",), "test")


def test_dev_is_the_last_tenth_of_each_group(articles):
    splits = newsgroups.load(articles, check=False).splits
    assert [document.id for document in splits["dev"]] == ["comp.graphics/1001", "comp.sys.mac.hardware/10"]
    assert [len(splits[name]) for name in ("train", "dev", "test")] == [18, 2, 2]


def test_the_taxonomy_follows_the_dots(articles):
    taxonomy = newsgroups.load(articles, check=False).taxonomy
    assert taxonomy.path("comp.sys.mac.hardware") == ("comp", "comp.sys", "comp.sys.mac", "comp.sys.mac.hardware")
    assert taxonomy.leaves == ("alt.atheism", "comp.graphics", "comp.sys.mac.hardware")


def test_the_archive_need_not_be_unpacked(articles, tmp_path):
    (tmp_path / "packed").mkdir()
    with tarfile.open(tmp_path / "packed" / "20news-bydate.tar.gz", "w:gz") as archive:
        for path in articles.rglob("*/*/*"):
            info = tarfile.TarInfo(path.relative_to(articles).as_posix())
            info.size = path.stat().st_size
            archive.addfile(info, io.BytesIO(path.read_bytes()))
    assert newsgroups.load(tmp_path / "packed", check=False) == newsgroups.load(articles, check=False)


def test_missing_folders_and_wrong_counts(articles, tmp_path):
    with pytest.raises(FileError, match=r"no 20news-bydate-train/GROUP/ARTICLE .*qwone\.com"):
        newsgroups.load(tmp_path / "files" / "20news-bydate-test", check=False)
    with pytest.raises(CorpusError, match="3 groups, but officially there are 20"):
        newsgroups.load(articles)
