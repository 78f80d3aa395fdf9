"""The raw news of RCV1: one file `2286newsML.xml` an item (Reuters Corpus, Volume 1, 2000)."""

from dataclasses import dataclass
from xml.etree import ElementTree

from taxocaps.datasets.sources import SourceFile
from taxocaps.errors import FileError

__all__ = ["NewsItem", "read_item"]

_TOPICS = "bip:topics:1.0"
_REGIONS = "bip:countries:1.0"


@dataclass(frozen=True)
class NewsItem:
    """The text of an item, title first, its topic codes and its region codes."""

    text: str
    topics: tuple[str, ...]
    regions: tuple[str, ...]


def read_item(file: SourceFile) -> NewsItem:
    """Read one item; its XML says its own encoding.

    Raises:
        FileError: When the file is no XML.
    """
    with file.open() as content:
        try:
            root = ElementTree.fromstring(content.read())
        except ElementTree.ParseError as error:
            raise FileError(f"{file}: not well-formed XML: {error}; copy the file again") from error
    title = root.findtext("title") or root.findtext("headline") or ""
    paragraphs = ("".join(paragraph.itertext()) for paragraph in root.iterfind("text/p"))
    lines = (line.strip() for line in (title, *paragraphs))
    return NewsItem("\n".join(filter(None, lines)), _codes(root, _TOPICS), _codes(root, _REGIONS))


def _codes(root: ElementTree.Element, kind: str) -> tuple[str, ...]:
    groups = (group for group in root.iter("codes") if group.get("class") == kind)
    return tuple(dict.fromkeys(code.get("code", "") for group in groups for code in group.iterfind("code")))
