from pathlib import Path

import pytest

from taxocaps.datasets.reuters_sgml import Story, modapte_split, read_stories
from taxocaps.datasets.sources import SourceFile
from taxocaps.errors import FileError


def read(tmp_path, content):
    path = tmp_path / "reut2-000.sgm"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("latin-1"))
    return list(read_stories(SourceFile("reut2-000.sgm", Path(path))))


def story(text, topics="<D>earn</D>", attributes='TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET"'):
    return (
        f'<REUTERS {attributes} OLDID="5544" NEWID="7">\n<TOPICS>{topics}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n'
        f"{text}\n</REUTERS>\n"
    )


def test_a_story_of_the_usual_type(tmp_path):
    text = (
        "<TEXT>&#2;\n<TITLE>BAHIA COCOA REVIEW</TITLE>\n<AUTHOR>    By A. Writer</AUTHOR>\n"
        "<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>Showers continued.\n    The dry period.\n Reuter\n&#3;"
        "</BODY></TEXT>"
    )
    head = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n'
    expected = Story(7, "BAHIA COCOA REVIEW\nShowers continued.\n    The dry period.", ("earn",), "train")
    assert read(tmp_path, head + story(text) + story(text)) == [expected, expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<TEXT TYPE="UNPROC">&#2;\nFED REPORT 1\n  Reserves...644\n\n\n&#3;</TEXT>', "FED REPORT 1\n  Reserves...644"),
        (
            '<TEXT TYPE="BRIEF">&#2;\n******<TITLE>ASSETS ROSE</TITLE>\nBlah.\n&#3;\n\n</TEXT>',
            "ASSETS ROSE\n******Blah.",
        ),
        ("<TEXT>&#2;\n<TITLE>ONLY A TITLE</TITLE>\n</TEXT>", "ONLY A TITLE"),
        ("<TEXT><BODY>AT&T, S&amp;P &lt;GM> &gt;5\n REUTER\n&#3;</BODY></TEXT>", "AT&T, S&P <GM> >5"),
        ("<TEXT><BODY>Said Reuter.\nReuter news\n</BODY></TEXT>", "Said Reuter.\nReuter news"),
        ("<TEXT><BODY>gr\xfcn\x03\x1f\x80 &#127;&#30;tea\r\nor\ttwo</BODY></TEXT>", "gr\xfcn tea\nor\ttwo"),
        ("", ""),
    ],
    ids=["unproc", "brief", "no body", "entities", "reuter in the text", "bytes", "no text"],
)
def test_the_quirks_of_the_collection(tmp_path, text, expected):
    assert read(tmp_path, story(text))[0].text == expected


def test_topics_stand_in_their_own_element_and_are_given_once(tmp_path):
    assert read(tmp_path, story("", "<D>trade</D><D>earn</D><D>trade</D>"))[0].topics == ("trade", "earn")
    assert read(tmp_path, story("", ""))[0].topics == ()


@pytest.mark.parametrize(
    ("lewis", "topics", "split"),
    [
        ("TRAIN", "YES", "train"),
        ("TEST", "YES", "test"),
        ("NOT-USED", "YES", "unused"),
        ("TRAIN", "NO", "unused"),
        ("TEST", "BYPASS", "unused"),
    ],
)
def test_modapte_goes_by_the_attributes(tmp_path, lewis, topics, split):
    assert modapte_split(lewis, topics) == split
    # Attributes come in any order, and some stories have one more.
    attributes = f'CSECS="x" LEWISSPLIT="{lewis}" TOPICS="{topics}"'
    assert read(tmp_path, story("", attributes=attributes))[0].split == split


def test_a_story_without_an_id(tmp_path):
    with pytest.raises(FileError, match=r"reut2-000\.sgm: a story without a NEWID"):
        read(tmp_path, '<REUTERS TOPICS="YES">\n</REUTERS>')
