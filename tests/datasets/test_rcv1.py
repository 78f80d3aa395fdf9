"""RCV1: token files, raw news, topics."""

import gzip
import zipfile
from pathlib import Path

import pytest

from taxocaps.corpus.document import Document
from taxocaps.datasets import rcv1
from taxocaps.datasets.loading import SourceFile, StreamedSplit
from taxocaps.datasets.rcv1 import NewsItem, built_in_topics, read_item, read_topics
from taxocaps.errors import CorpusError, FileError
from taxocaps.taxonomy.writers import write_taxonomy


def tokens(*numbers):
    return "".join(f".I {number}\n.W\nrecov recov{number}\nmexic\n\n" for number in numbers)


@pytest.fixture
def token_files(tmp_path):
    """Eight training documents, out of order, and five test documents in four files, one of them compressed."""
    (tmp_path / "lyrl2004_tokens_train.dat").write_text(tokens(2287, 2286, 2288, 2289, 2290, 2291, 2292, 26150))
    (tmp_path / "lyrl2004_tokens_test_pt0.dat.gz").write_bytes(gzip.compress(tokens(26151, 26152).encode()))
    for number in (1, 2, 3):
        (tmp_path / f"lyrl2004_tokens_test_pt{number}.dat").write_text(tokens(30000 + number))
    numbers = [*range(2286, 2293), 26150, 26151, 26152, 30001, 30002]
    lines = [line for number in numbers for line in (f"E11 {number} 1", f"ECAT {number} 1")]
    (tmp_path / "rcv1-v2.topics.qrels").write_text("\n".join([*lines, "M11 2286 1"]) + "\n")
    write_taxonomy(built_in_topics(), tmp_path / "rcv1.topics.hier.orig")
    return tmp_path


def test_documents_have_ready_tokens_and_topics(token_files):
    dataset = rcv1.load(token_files, check=False)
    train = (*dataset.splits["train"], *dataset.splits["dev"])
    assert [document.id for document in train] == [*map(str, range(2286, 2293)), "26150"]
    assert [document.id for document in dataset.splits["dev"]] == ["26150"]  # the last
    words = ("recov", "recov2286", "mexic")
    assert train[0] == Document("", "2286", ("E11", "ECAT", "M11"), words, "train")
    assert dataset.taxonomy == built_in_topics()


def test_test_documents_are_streamed(token_files):
    test = rcv1.load(token_files, check=False).splits["test"]
    assert isinstance(test, StreamedSplit)
    assert [(document.id, document.labels, document.split) for document in test] == [
        ("26151", ("E11", "ECAT"), "test"),
        ("26152", ("E11", "ECAT"), "test"),
        ("30001", ("E11", "ECAT"), "test"),
        ("30002", ("E11", "ECAT"), "test"),
        ("30003", (), "test"),
    ]


@pytest.mark.parametrize(
    "name",
    ["lyrl2004_tokens_train.dat", "lyrl2004_tokens_test_pt2.dat", "rcv1-v2.topics.qrels", "rcv1.topics.hier.orig"],
)
def test_every_missing_file_is_named(token_files, name):
    (token_files / name).unlink()
    with pytest.raises(FileError) as caught:
        rcv1.load(token_files)
    assert f"no {name}" in str(caught.value)
    assert "jmlr.org" in str(caught.value)


def test_counts_are_checked(token_files, monkeypatch):
    with pytest.raises(CorpusError, match="8 training documents, but officially there are 23,149"):
        rcv1.load(token_files)
    monkeypatch.setattr(rcv1, "_OFFICIAL", {"topics": 103, "training documents": 8})
    test = rcv1.load(token_files).splits["test"]
    with pytest.raises(CorpusError, match="5 documents of this split, but officially there are 781,265"):
        list(test)


def test_a_folder_with_topics_only_is_told_apart(tmp_path):
    (tmp_path / "rcv1v2_topics_by_doc.tsv").write_text("2286\tE11 ECAT\n")
    with pytest.raises(FileError, match="there are topics, but no text"):
        rcv1.load(tmp_path)


def test_broken_lines_are_named(token_files):
    qrels = token_files / "rcv1-v2.topics.qrels"
    good = qrels.read_text()
    qrels.write_text("E11 2286 1\nNONSENSE 2286 1\n")
    with pytest.raises(FileError, match=r"qrels, line 2: not a known topic"):
        rcv1.load(token_files, check=False)
    qrels.write_text(good)
    (token_files / "lyrl2004_tokens_train.dat").write_text(".I one\n.W\na\n")
    with pytest.raises(FileError, match=r"'\.I one' does not begin a document"):
        rcv1.load(token_files, check=False)


def news(topics, regions="USA"):
    def codes(kind, names):
        inside = "".join(f'<code code="{name}"/>' for name in names.split())
        return f'<codes class="bip:{kind}:1.0">{inside}</codes>'

    return (
        '<?xml version="1.0" encoding="iso-8859-1" ?>\n<newsitem><title>USA: News.</title><text><p>It is.</p></text>'
        f"<metadata>{codes('countries', regions)}{codes('topics', topics)}</metadata></newsitem>"
    )


@pytest.fixture
def raw_news(tmp_path):
    """Items in a dated folder and in daily archives; one without a region and one without a topic."""
    (tmp_path / "19960820").mkdir()
    for number in range(2286, 2296):
        (tmp_path / "19960820" / f"{number}newsML.xml").write_text(news("C1511"))
    (tmp_path / "19960820" / "2300newsML.xml").write_text(news("C1511", regions=""))
    for day, numbers in (("19960901", (26151, 26152)), ("19970819", (810597, 100000))):
        with zipfile.ZipFile(tmp_path / f"{day}.zip", "w") as archive:
            for number in numbers:
                archive.writestr(f"{number}newsML.xml", news("" if number == 26152 else "M11 XYZ"))
    return tmp_path


def test_raw_news_become_rcv1_v2(raw_news):
    dataset = rcv1.load(raw_news, check=False)
    assert [document.id for document in dataset.splits["train"]] == [str(number) for number in range(2286, 2295)]
    assert [document.id for document in dataset.splits["dev"]] == ["2295"]
    assert dataset.splits["dev"][0] == Document(
        "USA: News.\nIt is.", "2295", ("CCAT", "C15", "C151", "C1511"), split="dev"
    )
    assert [(document.id, document.labels) for document in dataset.splits["test"]] == [
        ("26151", ("MCAT", "M11")),
        ("100000", ("MCAT", "M11")),
        ("810597", ("MCAT", "M11")),
    ]


def test_official_topics_win_over_the_codes_of_raw_news(raw_news):
    (raw_news / "rcv1-v2.topics.qrels").write_text("E11 2286 1\nE11 2287 1\nE11 26152 1\n")
    dataset = rcv1.load(raw_news, check=False)
    assert [(document.id, document.labels) for _, document in dataset.documents()] == [
        ("2286", ("E11",)),
        ("2287", ("E11",)),
        ("26152", ("E11",)),
    ]


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


ITEM = """<?xml version="1.0" encoding="iso-8859-1" ?>
<newsitem itemid="2286" id="root" date="1996-08-20" xml:lang="en">
<title>MEXICO: Recovery excitement brings Mexican markets to life.</title>
<headline>Recovery excitement brings Mexican markets to life.</headline>
<byline>Henry Tricks</byline>
<dateline>MEXICO CITY</dateline>
<text>
<p>Emerging evidence that M\xe9xico&apos;s economy was back &amp; well.</p>
<p></p>
<p>"It was <quote>good</quote>," he said.</p>
</text>
<copyright>(c) Reuters Limited 1996</copyright>
<metadata>
<codes class="bip:countries:1.0"><code code="MEX"><editdetail attribution="Reuters"/></code></codes>
<codes class="bip:topics:1.0"><code code="E11"/><code code="ECAT"/><code code="E11"/></codes>
</metadata>
</newsitem>
"""


def read(tmp_path, content):
    path = tmp_path / "2286newsML.xml"
    path.write_bytes(content.encode("latin-1"))
    return read_item(SourceFile(path.name, Path(path)))


def test_title_and_paragraphs_topics_and_regions(tmp_path):
    text = (
        "MEXICO: Recovery excitement brings Mexican markets to life.\n"
        'Emerging evidence that México\'s economy was back & well.\n"It was good," he said.'
    )
    assert read(tmp_path, ITEM) == NewsItem(text, ("E11", "ECAT"), ("MEX",))


def test_an_item_without_title_and_codes(tmp_path):
    item = read(tmp_path, "<newsitem><headline>Short.</headline><text/></newsitem>")
    assert item == NewsItem("Short.", (), ())


def test_broken_xml_is_told_with_its_file(tmp_path):
    with pytest.raises(FileError, match=r"2286newsML\.xml: not well-formed XML"):
        read(tmp_path, "<newsitem>")
