"""Texts of documents as offices and the web have them: PDF, DOCX and HTML (they need the extra `documents`).

Each is read within bounds, whoever it comes from: its bytes, what is packed in it, its pages, and the letters of its
text.
"""

import io
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from taxocaps.corpus.recognition import encoding_of
from taxocaps.errors import FileError, TaxoCapsError
from taxocaps.registry import import_extra
from taxocaps.untrusted import check_archive, read_bounded

__all__ = ["DOCUMENT_SUFFIXES", "read_document", "text_of"]

_LARGEST = 64 * 2**20
"""Bytes of a file."""
_MOST_PAGES = 5_000
_MOST_LETTERS = 20_000_000
_LARGEST_PAGE = 16 * 2**20
"""Bytes of the instructions that draw a page of a PDF."""
_MOST_OPERATIONS = 5_000_000
"""Instructions that draw the pages of a PDF in all, what they draw again and again included."""


def read_document(path: Path) -> str:
    """The text of a PDF, DOCX or HTML file; see `text_of`."""
    return text_of(read_bounded(path, _LARGEST), path.suffix, str(path))


def text_of(content: bytes, suffix: str, name: str) -> str:
    """The text of a document.

    Args:
        content: The bytes of a file.
        suffix: One of `DOCUMENT_SUFFIXES`, in any case.
        name: What the document is called in messages.

    Raises:
        FileError: If it is damaged, encrypted or too long, or has no text.
        MissingExtraError: If the library that reads it is not installed.
    """
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of each flaw that it has got over
    parts: list[str] = []
    letters = 0
    try:
        for part in _PARTS[suffix.lower()](content):
            parts.append(part)
            letters += len(part) + 1
            if letters > _MOST_LETTERS:
                raise FileError(f"has more than {_MOST_LETTERS:,} characters; divide it")
    except FileError as error:
        raise FileError(f"{name}: {error}") from None
    except TaxoCapsError:
        raise
    except Exception as error:  # libraries raise whatever their parsers do
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileError(f"{name}: cannot be read as {suffix.lstrip('.').upper()}: {reason[:200]}") from error
    text = "\n".join(parts)
    if not text.strip():
        raise FileError(f"{name}: has no text; if its pages are pictures, recognise their text (OCR) first")
    return text


def _pages(content: bytes) -> Iterator[str]:
    pypdf = import_extra("pypdf", "reading PDF files")
    document = pypdf.PdfReader(io.BytesIO(content))
    if document.is_encrypted and not document.decrypt(""):
        raise FileError("is encrypted; save it without a password")
    if len(document.pages) > _MOST_PAGES:
        raise FileError(f"has {len(document.pages):,} pages; at most {_MOST_PAGES:,} are read")
    left = iter(range(_MOST_OPERATIONS))

    def count(*_: object) -> None:
        if next(left, None) is None:
            raise FileError(f"draws its pages by more than {_MOST_OPERATIONS:,} operations; divide it")

    for page in document.pages:
        drawing = page.get_contents()
        if drawing is not None and len(drawing.get_data()) > _LARGEST_PAGE:
            raise FileError(f"has a page that is drawn by more than {_LARGEST_PAGE:,} bytes; divide it")
        yield page.extract_text(visitor_operand_before=count)


def _paragraphs(content: bytes) -> Iterator[str]:
    docx = import_extra("docx", "reading DOCX files")
    check_archive(io.BytesIO(content))
    for block in docx.Document(io.BytesIO(content)).iter_inner_content():
        yield from _lines(block)


def _lines(block: Any) -> Iterator[str]:
    """The text of a paragraph, or of the rows of a table.

    Cells are taken as they stand in the file: one that says that it spans a billion columns is one cell.
    """
    if hasattr(block, "rows"):
        for row in block._element.tr_lst:
            yield "\t".join("\n".join(paragraph.text for paragraph in cell.p_lst) for cell in row.tc_lst)
    else:
        yield block.text


def _html(content: bytes) -> Iterator[str]:
    html = import_extra("lxml.html", "reading HTML files")
    if not content.strip():
        return
    for tag in _LONG_TAG.finditer(content):
        if len(_BETWEEN_ATTRIBUTES.split(_QUOTED.sub(b" ", tag[0]), _MOST_ATTRIBUTES)) > _MOST_ATTRIBUTES:
            raise FileError(f"has an element with more than {_MOST_ATTRIBUTES:,} attributes")
    encoding = None if _DECLARED.search(content, 0, 2048) else encoding_of(content)
    parser = html.HTMLParser(no_network=True, remove_comments=True, encoding=encoding)
    root = html.document_fromstring(content, parser=parser)
    for element in root.xpath("//script | //style | //template | //noscript"):
        element.drop_tree()
    for element in root.iter(*_BLOCKS):
        element.tail = f"\n{element.tail or ''}"
    lines = "".join(root.itertext()).splitlines()
    yield "\n".join(" ".join(line.split()) for line in lines if line.strip())


_MOST_ATTRIBUTES = 1_000
"""Of an element of HTML: the parser compares each with all others."""
_LONG_TAG = re.compile(rb"""<[a-zA-Z](?:[^>"']|"[^"]*"|'[^']*'){1000,}+""")
_QUOTED = re.compile(rb""""[^"]*"|'[^']*'""")
_BETWEEN_ATTRIBUTES = re.compile(rb"[\s/]+")
_DECLARED = re.compile(rb"charset|encoding", re.IGNORECASE)
_BLOCKS = ("br", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "p", "section", "td", "th", "title", "tr")
"""Elements after which a line ends."""

_PARTS: Mapping[str, Callable[[bytes], Iterator[str]]] = {
    ".pdf": _pages,
    ".docx": _paragraphs,
    ".html": _html,
    ".htm": _html,
}

DOCUMENT_SUFFIXES = tuple(_PARTS)
"""The suffixes of documents that are read as texts."""
