import pytest

from taxocaps.datasets.rcv1_topics import built_in_topics, read_topics
from taxocaps.errors import FileError
from taxocaps.taxonomy.writers import write_taxonomy


def test_the_built_in_copy_has_the_official_shape():
    topics = built_in_topics()
    assert len(topics) == 104
    assert len(topics.edges) == 103
    assert topics.children("Root") == ("CCAT", "ECAT", "GCAT", "MCAT")
    assert topics.path("C1511") == ("CCAT", "C15", "C151", "C1511")
    assert topics.title("M141") == "SOFT COMMODITIES"


@pytest.mark.parametrize("name", ["rcv1.topics.hier.orig", "rcv1.topics.hier.orig.txt", "taxonomy.tsv"])
def test_official_and_prepared_files_give_the_same(tmp_path, name):
    format = "tsv" if name.endswith("tsv") else "hier"
    write_taxonomy(built_in_topics(), tmp_path / name, format=format)
    assert read_topics(tmp_path) == built_in_topics()


def test_a_missing_hierarchy_is_named(tmp_path):
    with pytest.raises(FileError, match=r"no rcv1\.topics\.hier\.orig .*jmlr\.org"):
        read_topics(tmp_path)
