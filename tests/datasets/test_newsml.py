from pathlib import Path

import pytest

from taxocaps.datasets.newsml import NewsItem, read_item
from taxocaps.datasets.sources import SourceFile
from taxocaps.errors import FileError

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
