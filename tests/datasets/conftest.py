"""Small files in the official formats, with the quirks of the real ones."""

import gzip
import json

import pytest

TOPICS = {
    1: ("train", "earn"),
    2: ("train", "earn"),
    3: ("train", "acq"),
    4: ("train", "acq"),
    5: ("train", "grain", "wheat"),
    6: ("train", "crude", "ship"),
    7: ("train", "ship"),
    8: ("train", "gold"),
    9: ("train",),
    10: ("train", "earn", "tin"),  # tin has no test document, so it is not in R90
    11: ("test", "earn"),
    12: ("test", "acq"),
    13: ("test", "grain", "wheat", "ship"),
    14: ("test", "crude"),
    15: ("test",),
    16: ("test", "gold", "gold"),
    17: ("unused", "earn"),
    18: ("unused",),
}
"""The split of each story and its topics."""

DESCRIPTIONS = """money-fx
Some notes, Shipping (SHIP) among them
****Subject Codes (9)

Shipping (SHIP)

**Corporate Codes (2)

Mergers/Acquisitions (ACQ)
Earnings and Earnings Forecasts (EARN)

**Commodity Codes (5)

GOLD
GRAIN
TIN
WHEAT
CORN

**Energy Codes (1)

Crude Oil (CRUDE)

@heading[Organization Codes (56)]
African Development Bank (ADB-AFRICA)@*
"""

ATTRIBUTES = {
    "train": 'TOPICS="YES" LEWISSPLIT="TRAIN"',
    "test": 'TOPICS="YES" LEWISSPLIT="TEST"',
    "unused": 'TOPICS="BYPASS" LEWISSPLIT="TRAIN"',
}


def sgml_story(number, split, topics, text):
    marked = "".join(f"<D>{topic}</D>" for topic in topics)
    return (
        f'<REUTERS {ATTRIBUTES[split]} CGISPLIT="TRAINING-SET" OLDID="{5543 + number}" NEWID="{number}">\n'
        f"<DATE>26-FEB-1987 15:01:01.79</DATE>\n<TOPICS>{marked}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n"
        f"<UNKNOWN> \n&#5;&#5;&#5;C T\n&#22;&#22;&#1;f0704&#31;reute\n</UNKNOWN>\n{text}\n</REUTERS>\n"
    )


def stories(texts=None):
    """The stories as SGML, and the same as prepared records."""
    sgml, records = [], []
    for number, (split, *topics) in TOPICS.items():
        text = (
            f"<TEXT>&#2;\n<TITLE>STORY {number} &lt;ABC></TITLE>\n<DATELINE>    NEW YORK, Feb 26 - </DATELINE>"
            f"<BODY>Cocoa & coffee\nin number {number}.\n Reuter\n&#3;</BODY></TEXT>"
        )
        sgml.append(sgml_story(number, split, topics, text))
        plain = f"STORY {number} <ABC>\nCocoa & coffee\nin number {number}."
        records.append({"id": number, "text": plain, "labels": topics, "split": split})
    return sgml, records


@pytest.fixture
def reuters_official(tmp_path):
    """A folder with two files of stories and the descriptions of topics."""
    folder = tmp_path / "official" / "reuters21578"
    folder.mkdir(parents=True)
    sgml, _ = stories()
    head = '<!DOCTYPE lewis SYSTEM "lewis.dtd">\n'
    (folder / "reut2-000.sgm").write_text(head + "".join(sgml[:10]), encoding="latin-1")
    (folder / "reut2-001.sgm").write_text(head + "".join(sgml[10:]), encoding="latin-1")
    (folder / "cat-descriptions_120396.txt").write_text(DESCRIPTIONS)
    return folder.parent


@pytest.fixture
def reuters_prepared(tmp_path):
    """The same as a prepared folder."""
    folder = tmp_path / "prepared"
    folder.mkdir()
    with gzip.open(folder / "reuters21578.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in stories()[1])
    edges = (
        "Root\tship\nRoot\tCORPORATE\nCORPORATE\tacq\nCORPORATE\tearn\nRoot\tCOMMODITY\nCOMMODITY\tgold\n"
        "COMMODITY\tgrain\nCOMMODITY\ttin\nCOMMODITY\twheat\nCOMMODITY\tcorn\nRoot\tENERGY\nENERGY\tcrude\n"
    )
    (folder / "taxonomy.tsv").write_text(edges)
    names = "ship\tShipping\nacq\tMergers/Acquisitions\nearn\tEarnings and Earnings Forecasts\ncrude\tCrude Oil\n"
    (folder / "label_names.tsv").write_text(names)
    return folder
