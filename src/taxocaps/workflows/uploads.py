"""Documents of a file that a client has sent: read as all files of documents are, within the bounds of a request."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from taxocaps.corpus.document import Document
from taxocaps.corpus.document_files import DOCUMENT_SUFFIXES
from taxocaps.corpus.readers import (
    READERS,
    CorpusConfig,
    Reader,
    ReadReport,
    documents_of,
    format_of,
    recognised,
)
from taxocaps.corpus.recognition import AUTO, encoding_of
from taxocaps.errors import CorpusError, FileError

__all__ = ["NamedText", "Upload", "read_upload"]

_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".tab", ".xlsx", ".txt", *DOCUMENT_SUFFIXES)
"""What is read from strangers; other formats, and compressed files, are for the command line."""
_LOOKED_AT = 200
"""Records whose fields are looked at."""
_MOST_FIELDS = 100
_MOST_COUNTED = 100_000
_NO_FIELD = "\0"
"""A name that no field has: labels are not wanted, and not validated."""


@dataclass(frozen=True)
class NamedText:
    """A document as pages show it."""

    id: str
    text: str


@dataclass(frozen=True)
class Upload:
    """The documents of a file.

    Attributes:
        documents: The documents, each with an id. There are none if it is not known which fields make the text.
        left: How many more there are; counting ends at 100,000.
        skipped: How many records are invalid.
        problem: What is wrong with the first of those.
        fields: The fields that can make the text, such as the columns of a table; none if it is a text itself.
        text_fields: Those that make the text.
        id_field: The one with the id, if there is one.
    """

    documents: tuple[NamedText, ...]
    left: int = 0
    skipped: int = 0
    problem: str | None = None
    fields: tuple[str, ...] = ()
    text_fields: tuple[str, ...] = ()
    id_field: str | None = None


def read_upload(
    content: bytes,
    name: str,
    *,
    text_fields: Sequence[str] = (),
    id_field: str | None = None,
    corpus: CorpusConfig | None = None,
    documents: int = 1_000,
    letters: int = 4_000_000,
) -> Upload:
    """Read a file; how it is written and what its fields are is recognised. Invalid records are skipped.

    Args:
        content: Its bytes.
        name: Its name, whose suffix tells the format; a file of an unknown one is a text.
        text_fields: The fields that make the text; by default they are recognised.
        id_field: The field with the id; by default it is recognised.
        corpus: What is known of files, such as the fields that a model was trained on.
        documents: The most documents.
        letters: The most letters of all documents together.

    Raises:
        CorpusError: If it has no documents.
        FileError: If it is damaged, or no text.
    """
    asked = {"text_field": ",".join(text_fields) or AUTO, "id_field": id_field or AUTO}
    config = (corpus or CorpusConfig()).replace(on_error="skip", **asked)
    with tempfile.TemporaryDirectory(prefix="taxocaps-") as folder:
        path = Path(folder) / f"upload{_suffix(content, name)}"
        path.write_bytes(content)
        try:
            return _read(path, name, config, documents, letters)
        except (CorpusError, FileError) as error:
            raise type(error)(_renamed(str(error), path, name)) from None


def _suffix(content: bytes, name: str) -> str:
    """The suffix that tells how to read a file."""
    suffix = Path(name).suffix.lower()
    if suffix in _SUFFIXES and suffix != ".txt":
        return suffix
    if b"\0" in content and not encoding_of(content).startswith(("utf-16", "utf-32")):
        raise FileError(f"{name}: is no text; send a text, or one of {', '.join(_SUFFIXES)}")
    return ".txt"


def _read(path: Path, name: str, config: CorpusConfig, most: int, letters: int) -> Upload:
    reader = READERS[format_of(path)]
    fields = _fields(path, config, reader)
    found = recognised(path, config)
    if fields and not set(found.text_fields) <= set(fields):
        return Upload((), fields=fields)
    report = ReadReport()
    stream = documents_of(reader.read(path, found), found.replace(labels_field=_NO_FIELD), report)
    documents = tuple(_within(stream, None if fields else name, most, letters))
    left = sum(1 for _ in islice(stream, _MOST_COUNTED))
    problem = _renamed(report.messages[0], path, name) if report.messages else None
    if problem and fields:
        problem = problem.partition("; ")[0]  # what follows is advice for the command line
    if not documents:
        raise CorpusError(problem or f"{name}: has no documents")
    id_field = found.id_field if found.id_field in fields else None
    text_fields = tuple(dict.fromkeys(found.text_fields)) if fields else ()
    return Upload(documents, left, report.skipped, problem, fields, text_fields, id_field)


def _fields(path: Path, config: CorpusConfig, reader: Reader) -> tuple[str, ...]:
    """The names of the fields; without a name for the text, no reader complains that it is missing."""
    if not reader.has_columns:
        return ()
    records = reader.read(path, recognised(path, config).replace(text_field=AUTO))
    names = dict.fromkeys(name for record in islice(records, _LOOKED_AT) for name in record.fields)
    # A comma separates the names of fields in the configuration.
    return tuple(islice((name for name in names if name.strip() and "," not in name), _MOST_FIELDS))


def _within(stream: Iterator[Document], name: str | None, most: int, letters: int) -> Iterator[NamedText]:
    """Documents as long as there is room for them, the first in any case; called by `name`, or by id or number."""
    for number, document in enumerate(islice(stream, most), 1):
        letters -= len(document.text)
        yield NamedText(name or document.id or str(number), document.text)
        if letters <= 0:
            return


def _renamed(message: str, path: Path, name: str) -> str:
    return message.replace(str(path), name)
